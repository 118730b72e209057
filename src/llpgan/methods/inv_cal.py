"""InvCal: inverse calibration by support vector regression of bag means."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.svm import SVR
from sklearn.utils._param_validation import Interval

from llpgan.bags import Bags
from llpgan.methods.linear import (
    BinaryClassifier,
    Features,
    Kernel,
    Linear,
    ProbabilityOf,
    Sigmoid,
    fit_linear,
    positive_part,
)
from llpgan.utils.arrays import Array

_ROWS_AT_ONCE = 2048  # of a block of the kernel: 32 MB
_WIDTHS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # of the loss's rounded corners; the last is the error in log-odds
_TOL = 1e-9


@dataclass(kw_only=True, eq=False, repr=False)
class InvCal(BinaryClassifier):
    """Inverse calibration: support vector regression of the log-odds of each bag on its mean.

    A classifier with probabilities σ(f(x)) should give the mean of a bag the log-odds of the bag's proportion p.
    The method minimizes::

        ½‖w‖² + C Σ_i max(0, |w·φ̄_i + b − logit p_i| − ε_i),    ε_i = ε / (p_i (1 − p_i)),

    where φ̄_i is the mean of bag i in the space of the kernel. ε is a tolerance on proportions, and ε_i is the
    same tolerance in log-odds. Proportions are kept at least 1/N away from zero and one.

    Parameters
    ----------
    C : float, default=None
        The weight of the loss of the bags. None means 1 with the linear kernel and 100 with other kernels. Both
        were selected on held-out bags of the digits data; in the space of other kernels the means of bags lie
        close together.
    epsilon : float, default=0.0
        The approximate deviation ε from the proportion of a bag that costs nothing. For a bag with a proportion
        close to zero or one this makes the tolerance in log-odds so wide that the bag says little, so leave it at
        zero if bags are small.
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    AlterSVM : Support vector machine that also searches for the labels.
    ConvSVM : The convex relaxation of that search.

    References
    ----------
    .. [1] S. Rüping, "SVM classifier estimation from group probabilities", International Conference on Machine
       Learning, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import InvCal
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = InvCal().fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    epsilon: float = 0.0

    usual_weights: ClassVar = (1.0, 100.0)

    takes_weights: ClassVar = True
    takes_bag_weights: ClassVar = True

    _parameter_constraints: ClassVar = {
        **BinaryClassifier._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def _fit_binary(self, features: Features, bags: Bags, shares: Array) -> ProbabilityOf:
        low, high = log_odds_tubes(shares, float(bags.totals.sum()), self.epsilon)
        if self.kernel == "linear":
            return Sigmoid(fit_tubes(features.bag_means(bags), low, high, self._weight(), bags.bag_weights))
        instances = features.array()
        kernel = self._kernel(instances, bags.weights)
        of_bags = bag_mean_kernel(kernel, instances, bags)
        weights, intercept = fit_kernel_tubes(of_bags, low, high, self._weight(), bags.bag_weights)
        row_weights = (weights / bags.totals)[bags.bag_index] * bags.row_weights
        return KernelSigmoid(kernel, instances, row_weights, intercept)


def log_odds_tubes(shares: Array, n_instances: float, epsilon: float) -> tuple[Array, Array]:
    """The lowest and highest log-odds that each bag's share allows.

    >>> log_odds_tubes(np.array([0.5]), n_instances=10, epsilon=0.25)
    (array([-1.]), array([1.]))
    """
    clipped = np.clip(shares, 1 / n_instances, 1 - 1 / n_instances)
    half_width = epsilon / (clipped * (1 - clipped))
    return logit(clipped) - half_width, logit(clipped) + half_width


def fit_tubes(bag_means: Array, low: Array, high: Array, C: float, times: Array | None = None) -> Linear:
    """The linear regression whose scores of bag means stay within tubes, or miss them by little; bags count times.

    Its loss has corners: they are rounded, ever less, each time from the minimum before.
    """
    times = np.ones(len(low)) if times is None else times
    features, share = Features.from_rows(bag_means), times / times.sum()
    model = Linear.zero(1, features.n_columns)
    for width in _WIDTHS:

        def loss(scores: Array, width: float = width) -> tuple[float, Array]:
            above, slope_above = positive_part(scores - high, width)
            below, slope_below = positive_part(low - scores, width)
            return float(share @ (above + below)[0]), share * (slope_above - slope_below)

        model = fit_linear(loss, features, 1 / (C * times.sum()), model, tol=_TOL)
    return model


def fit_kernel_tubes(
    kernel: Array, low: Array, high: Array, C: float, times: Array | None = None
) -> tuple[Array, float]:
    """The same in the space of a kernel (n, n) of bags: one weight per bag, and the intercept.

    A tube's loss is the mean of the absolute losses to its two ends, less a constant, and scikit-learn's SVR
    has one tube for all. So it solves the problem without a tube, given each bag twice with half the weight.
    """
    times = np.ones(len(low)) if times is None else times
    if np.array_equal(low, high):
        return _fit_absolute(kernel, low, C, times)
    twice = np.tile(kernel, (2, 2)), np.append(low, high)
    weights, intercept = _fit_absolute(*twice, C / 2, np.tile(times, 2))
    return weights.reshape(2, -1).sum(axis=0), intercept


def _fit_absolute(kernel: Array, targets: Array, C: float, times: Array) -> tuple[Array, float]:
    regression = SVR(kernel="precomputed", C=C, epsilon=0.0, tol=1e-6).fit(kernel, targets, sample_weight=times)
    weights = np.zeros(len(targets))
    weights[regression.support_] = regression.dual_coef_[0]
    return weights, float(regression.intercept_[0])


def bag_mean_kernel(kernel: Kernel, features: Array, bags: Bags) -> Array:
    """(n, n): the mean of the kernel over all pairs of instances of two bags, summed up block by block."""
    sums, weights = np.zeros((bags.n_bags, bags.n_bags)), bags.weights
    for rows, row_bags, row_starts in bags.blocks(_ROWS_AT_ONCE):
        for others, other_bags, other_starts in bags.blocks(_ROWS_AT_ONCE):
            pairs = kernel(features[rows], features[others])
            if weights is not None:
                pairs = pairs * np.outer(weights[rows], weights[others])
            block = np.add.reduceat(pairs, row_starts, axis=0)
            sums[np.ix_(row_bags, other_bags)] += np.add.reduceat(block, other_starts, axis=1)
    return sums / np.outer(bags.totals, bags.totals)


@dataclass(frozen=True)
class KernelSigmoid:
    """σ of a score that is a weighted sum of kernels with the training instances."""

    kernel: Kernel
    instances: Array
    weights: Array
    intercept: float

    def __call__(self, features: Features) -> Array:
        """The probability of each row, a block at a time."""
        rows = features.array()
        starts = range(0, len(rows), _ROWS_AT_ONCE)
        return np.concatenate([self._block_scores(rows[start : start + _ROWS_AT_ONCE]) for start in starts])

    def _block_scores(self, rows: Array) -> Array:
        scores = np.full(len(rows), self.intercept)
        for start in range(0, len(self.instances), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            scores += self.kernel(rows, self.instances[block]) @ self.weights[block]
        return np.asarray(expit(scores))
