"""conv-∝SVM: the convex relaxation of the proportion SVM."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import ClassVar

import numpy as np

from llpgan.bags import Bags
from llpgan.estimators.bag_labels import signs_of_shares, signs_within
from llpgan.estimators.linear_scores import Features, Linear, fit_linear
from llpgan.estimators.one_vs_rest import ProbabilityOf
from llpgan.estimators.proportion_svm import ProportionSVM, fit_svm, hinge, with_probabilities
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval

_VIOLATION = 1e-3  # a cut that adds less than this part to the objective's quadratic term ends the search
_MIXING = 1e-3  # and so does a change of the mixture's weights
_MAX_MIXINGS = 30
_DIRECTIONS = 32  # in which a new cut is looked for
_TOL = 1e-5
_ROUNDING = 1e-9
_SAY = 1e-6


@dataclass(kw_only=True, eq=False, repr=False)
class ConvSVM(ProportionSVM):
    """Convex proportion SVM (conv-∝SVM): the convex relaxation of the alternating proportion SVM.

    The dual of an SVM depends on the labels y only through y yᵀ. Among all matrices in the convex hull of those
    whose labels agree with the bags, the best is found by

        min_{M ∈ conv{y yᵀ}} max_{0 ≤ α ≤ C} Σ_j α_j − ½ αᵀ (K ∘ M) α,

    with cutting planes: the solution is a mixture of label vectors, to which the most violated one is added until
    none is violated. M determines the labels up to one common sign, which is chosen by the error on the bags. The
    scores of the mixture then rank the instances of each bag; the highest are labelled positive, as many as the
    proportion says, and an SVM is trained on these labels. K is the kernel plus one, so that f has an intercept.

    Parameters
    ----------
    C : float, default=None
        The weight of the loss against ½‖w‖². None means 0.01. The larger it is, the more label vectors fit at
        once, and the less their mixture says.
    max_cuts : int, default=20
        The maximum number of label vectors in the mixture.
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    AlterSVM : Searches for the labels themselves.
    InvCal : Regression on the means of bags.

    References
    ----------
    .. [1] F. X. Yu, D. Liu, S. Kumar, T. Jebara and S.-F. Chang, "∝SVM for learning with label proportions",
       International Conference on Machine Learning, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import ConvSVM
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = ConvSVM(random_state=0).fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    max_cuts: int = 20

    usual_weights: ClassVar = (0.01, 0.01)

    _parameter_constraints: ClassVar = {
        **ProportionSVM._parameter_constraints,
        "max_cuts": [Interval(Integral, 1, None, closed="left")],
    }

    def _separate(self, features: Features, bags: Bags, shares: Array) -> ProbabilityOf:
        augmented = np.column_stack([features.array(), np.ones(len(features))])
        relaxation = Relaxation(augmented, bags, shares, self.epsilon, self._weight())
        scores = with_sign_of_bags(relaxation.solve(self.max_cuts).scores, bags, shares)
        signs = signs_of_shares(bags, scores, shares)
        model = fit_svm(features, signs, self._weight(), Linear.zero(1, features.n_columns))
        return with_probabilities(model, features, bags, shares)


@dataclass(frozen=True)
class Mixture:
    """Label vectors, a row each; the score of each instance, and its dual variable."""

    labels: Array
    scores: Array
    alpha: Array


@dataclass(frozen=True)
class Relaxation:
    """The convex problem: features with a constant column, and labels that the bags allow."""

    features: Array
    bags: Bags
    shares: Array
    epsilon: float
    C: float

    def solve(self, max_cuts: int) -> Mixture:
        """Add the label vector that violates most, until it hardly does."""
        n_instances = len(self.features)
        mixture = Mixture(np.empty((0, n_instances)), np.zeros(n_instances), np.full(n_instances, self.C))
        while len(mixture.labels) < max_cuts:
            cut = self.most_violating(mixture.alpha)
            known = max((self.violation(labels, mixture.alpha) for labels in mixture.labels), default=0.0)
            if self.violation(cut, mixture.alpha) <= known * (1 + _VIOLATION):
                break
            mixture = self.mix(np.vstack([mixture.labels, cut]))
        return mixture

    def violation(self, labels: Array, alpha: Array) -> float:
        """αᵀ (K ∘ y yᵀ) α = ‖Σ_j α_j y_j φ_j‖²."""
        return float(np.sum(((alpha * labels) @ self.features) ** 2))

    def mix(self, labels: Array) -> Mixture:
        """The best mixture of label vectors: min ½ Σ_t ‖w_t‖² / μ_t + C Σ_j hinge(Σ_t y_tj w_t·φ_j).

        By turns: the w_t for given weights μ, and μ_t = ‖w_t‖ / Σ ‖w_s‖, which is their minimum.
        """
        weights = np.full(len(labels), 1 / len(labels))
        features = Features.of(self.features)
        model = Linear.zero(len(labels), features.n_columns)
        for _ in range(_MAX_MIXINGS):
            scaled = np.sqrt(weights)[:, None] * labels
            model = fit_mixture(features, scaled, self.C, model)
            norms = np.sqrt(weights) * np.linalg.norm(model.weights, axis=1)
            before, weights = weights, norms / norms.sum()
            if np.abs(weights - before).max() < _MIXING:
                break
        each = features.scores(model)
        alpha = -self.C * hinge(np.sum(scaled * each, axis=0))[1]
        return Mixture(labels, np.sqrt(before) @ each, alpha)

    def most_violating(self, alpha: Array) -> Array:
        """Labels with a large violation: the best along single features, then uphill until it stays.

        The largest is hard to find. Each step takes the labels that go furthest along the sum they had, exactly in
        every bag, so that the violation never falls.
        """
        reach = alpha @ np.abs(self.features)
        axes = np.argsort(-reach, kind="stable")[:_DIRECTIONS]
        candidates = [self.furthest(alpha, side * self.features[:, axis]) for axis in axes for side in (1, -1)]
        labels = max(candidates, key=lambda candidate: self.violation(candidate, alpha))
        while True:
            uphill = self.furthest(alpha, self.features @ ((alpha * labels) @ self.features))
            if self.violation(uphill, alpha) <= self.violation(labels, alpha):
                return labels
            labels = uphill

    def furthest(self, alpha: Array, along: Array) -> Array:
        """The labels that the bags allow with the largest Σ_j α_j y_j · (place of j along a direction)."""
        with_a_say = alpha + _SAY * self.C  # or instances with α = 0 would be labelled by the order of rows
        return signs_within(self.bags, with_a_say * along, *self.allowed_counts)

    @cached_property
    def allowed_counts(self) -> tuple[Array, Array]:
        """The fewest and the most positives of each bag: shares within ε, and the nearest whole number always."""
        positives, slack = self.shares * self.bags.sizes, self.epsilon * self.bags.sizes + _ROUNDING
        nearest = np.rint(positives)
        return np.minimum(nearest, np.ceil(positives - slack)), np.maximum(nearest, np.floor(positives + slack))


def fit_mixture(features: Features, scaled_labels: Array, C: float, start: Linear) -> Linear:
    """The minimum of ½ Σ_t ‖v_t‖² + C Σ_j hinge(Σ_t s_tj v_t·φ_j), where s_t are label vectors times √μ_t."""

    def loss(scores: Array) -> tuple[float, Array]:
        losses, slopes = hinge(np.sum(scaled_labels * scores, axis=0))
        return float(losses.mean()), scaled_labels * slopes / len(slopes)

    return fit_linear(loss, features, 1 / (C * len(features)), start, intercept=False, tol=_TOL)


def with_sign_of_bags(scores: Array, bags: Bags, shares: Array) -> Array:
    """The scores or their opposite, whichever misses the bags' shares by less."""
    positive = bags.means((scores > 0)[:, None])[:, 0]
    missed, missed_opposite = (bags.sizes @ np.abs(share - shares) for share in (positive, 1 - positive))
    return scores if missed <= missed_opposite else -scores
