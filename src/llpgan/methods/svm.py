"""Proportion SVMs: alter-∝SVM and conv-∝SVM."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit, xlogy
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from llpgan.bags import Bags
from llpgan.bags.checks import SAME_SHARE
from llpgan.methods.inv_cal import fit_tubes, log_odds_tubes
from llpgan.methods.linear import (
    BinaryClassifier,
    Features,
    KernelMap,
    Linear,
    ProbabilityOf,
    Sigmoid,
    fit_linear,
    positive_part,
)
from llpgan.methods.mean_map import RankedBags, signs_from_shares, signs_within
from llpgan.utils.arrays import Array

_WIDTH = 0.1  # of the hinge's rounded corner
_TOL = 1e-4
_STEEPNESS = (np.log(1e-2), np.log(1e2))


@dataclass(kw_only=True, eq=False, repr=False)
class ProportionSVM(BinaryClassifier):
    """Base class of the proportion SVMs: support vector machines whose labels are known only through the bags.

    The hinge loss is that of Chapelle (2007), with its corner rounded within 0.1 of the margin. Probabilities are
    σ(a·f(x)), with the a for which the mean probabilities of the bags match their proportions best.

    Parameters
    ----------
    epsilon : float, default=0.0
        The deviation ε from the proportion of a bag that costs nothing.
    n_components : int, default=None
        The number of rows, drawn at random, for a Nyström approximation of the kernel. None means the exact
        kernel, whose memory grows with the square of the number of rows; it is logged, and refused above 4 GB.
    {random_state: the rows of the Nyström approximation and, in :class:`AlterSVM`, the initial labels}
    {inherited}

    Attributes
    ----------
    kernel_map_ : KernelMap or None
        The map to features whose inner products are the kernel. None for the linear kernel.
    {inherited}
    """

    epsilon: float = 0.0
    n_components: int | None = None
    random_state: int | RandomState | None = None

    _parameter_constraints: ClassVar = {
        **BinaryClassifier._parameter_constraints,
        "epsilon": [Interval(Real, 0, 1, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def _learn_features(self, bags: Bags) -> Features:
        self.kernel_map_ = None
        features = super()._learn_features(bags)
        if self.kernel == "linear":
            return features
        rows = features.array()
        random = check_random_state(self.random_state)
        self.kernel_map_ = KernelMap.from_kernel(self._kernel(rows), rows, self.n_components, random)
        return Features.from_rows(self.kernel_map_(rows))

    def _fit_binary(self, features: Features, bags: Bags, shares: Array) -> ProbabilityOf:
        """A class with the same share in every bag gets that share as its probability: the bags show no more."""
        if np.ptp(shares) > SAME_SHARE:
            return self._separate(features, bags, shares)
        nearest = 1 / len(features)
        log_odds = logit(np.clip(shares[:1], nearest, 1 - nearest))
        return Sigmoid(Linear(np.zeros((1, features.n_columns)), log_odds))

    @abstractmethod
    def _separate(self, features: Features, bags: Bags, shares: Array) -> ProbabilityOf:
        """Learn the class of which each bag has this share, where shares differ."""

    def _features(self, instances: Array) -> Features:
        features = super()._features(instances)
        return features if self.kernel_map_ is None else Features.from_rows(self.kernel_map_(features.array()))


def hinge(margins: Array) -> tuple[Array, Array]:
    """The rounded hinge of y·f(x), and its slope."""
    loss, slope = positive_part(1 - margins, _WIDTH)
    return loss, -slope


def fit_svm(features: Features, signs: Array, C: float, start: Linear) -> Linear:
    """The minimum of ½‖w‖² + C Σ_j hinge(y_j (w·x_j + b)), from a start that it is never above."""

    def loss(scores: Array) -> tuple[float, Array]:
        losses, slopes = hinge(signs * scores)
        return float(losses.mean()), signs * slopes / len(signs)

    return fit_linear(loss, features, 1 / (C * len(signs)), start, tol=_TOL)


def calibrate_scores(model: Linear, features: Features, bags: Bags, shares: Array) -> Sigmoid:
    """The classifier with the steepness whose bag means have the least cross-entropy to the bags' shares."""
    scores = features.scores(model).T

    def cross_entropy(log_steepness: float) -> float:
        means = np.clip(bags.means(expit(np.exp(log_steepness) * scores))[:, 0], 1e-12, 1 - 1e-12)
        return float(-np.sum(xlogy(shares, means) + xlogy(1 - shares, 1 - means)))

    return Sigmoid(model, float(np.exp(minimize_scalar(cross_entropy, bounds=_STEEPNESS, method="bounded").x)))


_FIRST = 1e-4  # where the annealing begins, as a part of C
_INFORMED_FIRST = (1e-4, 1e-2, 1.0)  # where labels that are not random join it: a small C would forget them
_GROWTH = 1.5
_SMALL = 1e-4  # a fall of the objective, as a part of it, that ends a stage


@dataclass(kw_only=True, eq=False, repr=False)
class AlterSVM(ProportionSVM):
    """Alternating proportion SVM (alter-∝SVM): a support vector machine and the labels that it separates.

    The method minimizes over the classifier f = w·φ(x) + b and over all labels y = ±1::

        ½‖w‖² + C Σ_j hinge(y_j f(x_j)) + C_p Σ_i m_i max(0, |share of +1 in bag i − p_i| − ε)

    It alternates between the two, each to its minimum: the classifier starts from the previous one, and the labels
    of each bag are found exactly by trying every number of positives. C is annealed: it starts at 10⁻⁴ of its
    value and grows by half in each stage, which starts from the labels of the stage before. The problem is not
    convex, so several starts compete and the lowest objective wins. Some start from random labels. Three start
    from the labels that InvCal predicts, and enter the annealing at its beginning, at 10⁻² and at 1.

    Parameters
    ----------
    proportion_weight : float, default=10.0
        The cost C_p of missing the proportion of a bag. It should be larger than C, otherwise one class may take
        all instances.
    n_restarts : int, default=10
        The number of starts with random labels.
    n_jobs : int, default=None
        The number of starts that run at the same time, in threads.
    C : float, default=None
        The weight of the hinge loss. None means 0.1 with the linear kernel and 1 with other kernels. Both were
        selected on held-out bags of the digits data.
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    ConvSVM : The convex relaxation of the same problem.
    InvCal : Regression on the means of bags, which provides three of the starts.
    AlternatingMeanMap : Alternates in the same way with a logistic regression.

    References
    ----------
    .. [1] F. X. Yu, D. Liu, S. Kumar, T. Jebara and S.-F. Chang, "∝SVM for learning with label proportions",
       International Conference on Machine Learning, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import AlterSVM
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = AlterSVM(random_state=0).fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    proportion_weight: float = 10.0
    n_restarts: int = 10
    n_jobs: int | None = None

    usual_weights: ClassVar = (0.1, 1.0)

    _parameter_constraints: ClassVar = {
        **ProportionSVM._parameter_constraints,
        "proportion_weight": [Interval(Real, 0, None, closed="neither")],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def _separate(self, features: Features, bags: Bags, shares: Array) -> ProbabilityOf:
        problem = Problem(features, bags, shares, self._weight(), self.proportion_weight, self.epsilon)
        informed = problem.signs_by_inv_cal()
        starts = [(informed, first) for first in _INFORMED_FIRST]
        random = check_random_state(self.random_state)
        starts += [(problem.random_signs(random), _FIRST) for _ in range(self.n_restarts)]
        in_threads = Parallel(n_jobs=self.n_jobs, prefer="threads")
        runs = in_threads(delayed(problem.anneal)(*start) for start in starts)
        best = min(runs, key=lambda run: (run.one_class, run.objective))
        if best.one_class:
            warnings.warn(
                f"every start ended with one class for all instances: proportion_weight is "
                f"{self.proportion_weight:g}, and should be larger than C, which is {self._weight():g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return calibrate_scores(best.model, features, bags, shares)


@dataclass(frozen=True)
class Turn:
    """The state of a search: the classifier, the labels, and their objective at this C."""

    C: float
    model: Linear
    signs: Array
    objective: float

    @property
    def one_class(self) -> bool:
        """Whether one class has taken all instances."""
        return bool(np.ptp(self.signs) == 0)


@dataclass(frozen=True)
class Problem:
    """The binary problem: what is minimised, and each of the two turns."""

    features: Features
    bags: Bags
    shares: Array
    C: float
    proportion_weight: float
    epsilon: float

    def anneal(self, signs: Array, first: float) -> Turn:
        """From labels, and a first part of C, to where they lead at its full value."""
        return deque(self.turns(signs, first), maxlen=1).pop()

    def turns(self, signs: Array, first: float) -> Iterator[Turn]:
        """All turns of all stages; within a stage the objective never rises."""
        model = Linear.zero(1, self.features.n_columns)
        for C in annealed_costs(self.C, first):
            before = np.inf
            while True:
                model = fit_svm(self.features, signs, C, model)
                scores = self.features.scores(model)[0]
                labels = self.best_signs(scores, C)
                turn = Turn(C, model, labels, self.objective(model, scores, labels, C))
                yield turn
                settled = np.array_equal(labels, signs) or before - turn.objective <= _SMALL * turn.objective
                signs, before = labels, turn.objective
                if settled:
                    break

    def objective(self, model: Linear, scores: Array, signs: Array, C: float) -> float:
        """½‖w‖² + C Σ hinge + C_p Σ m·max(0, |share − p| − ε)."""
        positives = np.bincount(self.bags.bag_index, signs > 0)
        losses = hinge(signs * scores)[0]
        missed = share_cost(positives, self.bags.sizes, self.shares, self.epsilon)
        return float(np.sum(model.weights**2) / 2 + C * losses.sum() + self.proportion_weight * missed.sum())

    def best_signs(self, scores: Array, C: float) -> Array:
        """The labels of least objective for these scores: in each bag the best of all numbers of positives."""
        ranked = RankedBags(self.bags, scores)
        row_costs = C * (hinge(scores)[0] - hinge(-scores)[0])
        sizes, shares = (np.repeat(of_bag, self.bags.sizes) for of_bag in (self.bags.sizes, self.shares))
        count_costs = self.proportion_weight * share_cost(ranked.rank + 1, sizes, shares, self.epsilon)
        none_costs = self.proportion_weight * share_cost(0, self.bags.sizes, self.shares, self.epsilon)
        return np.where(ranked.highest(ranked.cheapest_counts(row_costs, count_costs, none_costs)), 1.0, -1.0)

    def signs_by_inv_cal(self) -> Array:
        """The labels that InvCal's scores would have."""
        low, high = log_odds_tubes(self.shares, len(self.features), epsilon=0.0)
        model = fit_tubes(self.features.bag_means(self.bags), low, high, self.C * self.bags.sizes.mean())
        return signs_from_shares(self.bags, self.features.scores(model)[0], self.shares)

    def random_signs(self, random: RandomState) -> Array:
        """Labels drawn at random, with each bag's share; the order of bags in the table does not matter."""
        scores = np.empty(len(self.features))
        scores[self.bags.row_order] = random.uniform(size=len(scores))
        return signs_from_shares(self.bags, scores, self.shares)


def share_cost(positives: Array | int, sizes: Array, shares: Array, epsilon: float) -> Array:
    """m · max(0, |R/m − p| − ε) for R positives of m.

    >>> share_cost(np.array([1, 2]), np.array([4, 4]), np.array([0.5, 0.5]), epsilon=0.0)
    array([1., 0.])
    """
    return sizes * np.maximum(0.0, np.abs(positives / sizes - shares) - epsilon)


def annealed_costs(C: float, first: float) -> Iterator[float]:
    """C of each stage, from the first part of it to its full value.

    >>> list(annealed_costs(9.0, first=1 / 3))
    [3.0, 4.5, 6.75, 9.0]
    """
    current = first * C
    while current < C:
        yield current
        current *= _GROWTH
    yield C


_VIOLATION = 1e-3  # a cut that adds less than this part to the objective's quadratic term ends the search
_MIXING = 1e-3  # and so does a change of the mixture's weights
_MAX_MIXINGS = 30
_DIRECTIONS = 32  # in which a new cut is looked for
_CUTTING_PLANE_TOL = 1e-5
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
        scores = choose_sign_by_bags(relaxation.solve(self.max_cuts).scores, bags, shares)
        signs = signs_from_shares(bags, scores, shares)
        model = fit_svm(features, signs, self._weight(), Linear.zero(1, features.n_columns))
        return calibrate_scores(model, features, bags, shares)


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

        Alternately: the w_t for given weights μ, and μ_t = ‖w_t‖ / Σ ‖w_s‖, which is their minimum.
        """
        weights = np.full(len(labels), 1 / len(labels))
        features = Features.from_rows(self.features)
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

    return fit_linear(loss, features, 1 / (C * len(features)), start, intercept=False, tol=_CUTTING_PLANE_TOL)


def choose_sign_by_bags(scores: Array, bags: Bags, shares: Array) -> Array:
    """The scores or their opposite, whichever misses the bags' shares by less."""
    positive = bags.means((scores > 0)[:, None])[:, 0]
    missed, missed_opposite = (bags.sizes @ np.abs(share - shares) for share in (positive, 1 - positive))
    return scores if missed <= missed_opposite else -scores
