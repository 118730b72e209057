"""alter-∝SVM: a support vector machine and the labels it separates, by turns."""

import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from llpgan.bags import Bags
from llpgan.estimators.bag_labels import RankedBags, signs_of_shares
from llpgan.estimators.inv_cal import fit_tubes, log_odds_tubes
from llpgan.estimators.linear_scores import Features, Linear
from llpgan.estimators.one_vs_rest import ProbabilityOf
from llpgan.estimators.proportion_svm import ProportionSVM, fit_svm, hinge, with_probabilities
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval

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
        return with_probabilities(best.model, features, bags, shares)


@dataclass(frozen=True)
class Turn:
    """Where a search stands: the classifier, the labels, and their objective at this C."""

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
        for C in annealed(self.C, first):
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
        return signs_of_shares(self.bags, self.features.scores(model)[0], self.shares)

    def random_signs(self, random: RandomState) -> Array:
        """Labels drawn at random, with each bag's share; the order of bags in the table does not matter."""
        scores = np.empty(len(self.features))
        scores[self.bags.row_order] = random.uniform(size=len(scores))
        return signs_of_shares(self.bags, scores, self.shares)


def share_cost(positives: Array | int, sizes: Array, shares: Array, epsilon: float) -> Array:
    """m · max(0, |R/m − p| − ε) for R positives of m.

    >>> share_cost(np.array([1, 2]), np.array([4, 4]), np.array([0.5, 0.5]), epsilon=0.0)
    array([1., 0.])
    """
    return sizes * np.maximum(0.0, np.abs(positives / sizes - shares) - epsilon)


def annealed(C: float, first: float) -> Iterator[float]:
    """C of each stage, from the first part of it to its full value.

    >>> list(annealed(9.0, first=1 / 3))
    [3.0, 4.5, 6.75, 9.0]
    """
    current = first * C
    while current < C:
        yield current
        current *= _GROWTH
    yield C
