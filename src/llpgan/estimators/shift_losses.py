"""Two losses of class scores on bags, one for each way in which bags may differ, with steps for trees.

Under *covariate shift* the bags differ in what their instances look like, and P(y | x) is the same in all: the
mean prediction of each bag should meet its proportions. Under *label shift* they differ in how common the classes
are, and P(x | y) is the same in all: a bag's instances look like a mixture of the classes, and so each single row
tells something by the bag that it is in. Bags that are drawn at random have both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, softmax

from llpgan.bags import Bags
from llpgan.utils.arrays import Array

LEAST = 1e-12  # of a mean prediction, so that its logarithm is finite
_LEAST_VARIANCE = 1e-4
_CELLS = 1000  # of a table of the information at probabilities of the second class
_REPRESENTATIVES = 32  # bags that stand for all where an expectation over bags is taken


@dataclass(frozen=True)
class Step:
    """What is known of a loss at some scores.

    Attributes
    ----------
    slope : array of shape (n_rows, n_outputs)
        Of the loss in each score.
    system : callable
        From an output, the leaf of each row and the number of leaves to what Newton's method asks for: the second
        derivatives in the leaves' values, (leaves, leaves), and the slope in each downwards.
    """

    slope: Array
    system: Callable[[int, Array, int], tuple[Array, Array]]


class ShiftLoss(Protocol):
    """What boosting asks of a loss, which is a sum over units that can be held out: bags or rows."""

    def row_weights(self, held_out: Array) -> Array:
        """(N,): 0 for the rows of held-out units, else 1."""

    def fitted(self, found: Array) -> Array:
        """What the loss asks of probabilities (N, K): the mean of each bag, or the likelihood of each row."""

    def step(self, found: Array, fitted: Array, row_weights: Array) -> Step:
        """Slope and Newton's system at probabilities (N, K), of which what is fitted is known."""

    def losses(self, fitted: Array) -> Array:
        """(n_units,): the loss of each unit."""


def probabilities_of(scores: Array) -> Array:
    """(N, K): the softmax of the scores; one score is the log-odds of the second of two classes.

    >>> probabilities_of(np.array([[0.0]]))
    array([[0.5, 0.5]])
    """
    if scores.shape[1] > 1:
        return np.asarray(softmax(scores, axis=1))
    found = np.empty((len(scores), 2))
    expit(scores[:, 0], out=found[:, 1])
    np.subtract(1, found[:, 1], out=found[:, 0])
    return found


def prior_scores(prior: Array) -> Array:
    """(outputs,): scores whose probabilities are the overall shares.

    >>> prior_scores(np.array([0.5, 0.5]))
    array([0.])
    """
    logs = np.log(np.maximum(prior, LEAST))
    return logs[1:] - logs[:1] if len(prior) == 2 else logs - logs.mean()


def bag_means(bags: Bags, values: Array) -> Array:
    """(n_bags, columns): as :meth:`Bags.means`, quicker for few columns."""
    index, weights = np.asarray(bags.bag_index), bags.weights
    columns = values.T if weights is None else values.T * weights
    sums = np.empty((bags.n_bags, len(columns)))
    for number, column in enumerate(columns):
        sums[:, number] = np.bincount(index, column, bags.n_bags)
    return sums / bags.totals[:, None]


def _class_means(bags: Bags, found: Array) -> Array:
    """(n_bags, K): the mean of probabilities, which sum to one."""
    if found.shape[1] > 2:
        return bag_means(bags, found)
    means = bag_means(bags, found[:, 1:])
    return np.concatenate([1 - means, means], axis=1)


def bag_losses(bags: Bags, means: Array) -> Array:
    """(n_bags,): −Σ_k p_ik log p̄_ik, the cross-entropy of each bag's proportions and mean prediction."""
    means = np.maximum(means, LEAST)
    if bags.known is not None:
        return bags.known.losses(means)
    return np.asarray(-(bags.proportions * np.log(means)).sum(axis=1))


class CovariateShiftLoss:
    """Σ_i n_i · (−p_i · log p̄_i), p̄_i the bag's mean prediction: what DLLP and BagLogistic minimise.

    A bag counts as n_i = m_i / (1 + ρ (m_i − 1)) rows: a large one tells no more than its own chance fluctuation
    from the model, ρ, allows. All rows of a bag share one residual, so that the second derivative has one block of
    rank one for each bag. The values of a tree's leaves are one step of Newton's method (Gauss–Newton) with it;
    f (1 − f), as for labels, would make steps that are too small by the size of a bag.

    Parameters
    ----------
    bags : Bags
        To learn from.
    correlation : float
        ρ, from 0 to 1.
    """

    def __init__(self, bags: Bags, correlation: float) -> None:
        self._bags = bags
        self._counts = bags.sizes / (1 + correlation * (bags.sizes - 1))
        if bags.bag_weights is not None:
            self._counts = self._counts * bags.bag_weights

    def row_weights(self, held_out: Array) -> Array:
        """Held-out bags have none."""
        weights = np.ones(self._bags.n_bags)
        weights[held_out] = 0
        return weights[self._bags.bag_index]

    def fitted(self, found: Array) -> Array:
        """(n_bags, K): mean predictions."""
        return _class_means(self._bags, found)

    def step(self, found: Array, fitted: Array, row_weights: Array) -> Step:
        """Slope and Newton's system, in which leaves depend on each other: they share bags."""
        bags, of_row = self._bags, np.asarray(self._bags.bag_index)
        found, means = _outputs(found), _outputs(fitted)
        curves = found * (1 - found)
        if bags.weights is not None:
            curves *= bags.weights[:, None]
        residuals = self._targets(fitted) - means
        counts = self._counts * row_weights[bags.row_order[bags.starts]]
        information = counts[:, None] / np.maximum(means * (1 - means), _LEAST_VARIANCE)
        totals = bags.totals[:, None]
        slope = -(information * residuals / totals)[of_row] * curves

        def system(output: int, leaves: Array, n_leaves: int) -> tuple[Array, Array]:
            cells = of_row * n_leaves + leaves
            effect = np.bincount(cells, curves[:, output], len(totals) * n_leaves).reshape(-1, n_leaves) / totals
            weighted = information[:, output, None] * effect
            return effect.T @ weighted, weighted.T @ residuals[:, output]

        return Step(slope, system)

    def _targets(self, means: Array) -> Array:
        """The shares that mean predictions should meet: of what is allowed, those that are nearest to them."""
        known = self._bags.known
        return _outputs(self._bags.proportions if known is None else known.targets(means))

    def losses(self, fitted: Array) -> Array:
        """The cross-entropy of each bag."""
        losses = bag_losses(self._bags, fitted)
        return losses if self._bags.bag_weights is None else losses * self._bags.bag_weights


class LabelShiftLoss:
    """−Σ_j log Σ_k f_k(x_j) p_ik / π_k, i the bag of row j: how likely the row's bag is for the row.

    With P(x | y) the same in all bags, P(bag i | x) = (m_i / N) Σ_k f_k(x) p_ik / π_k, f being P(y | x) overall.
    The slope is f − q, q_k ∝ f_k p_ik / π_k the row's posterior in its bag; the curvature is Fisher's information,
    Σ_i P(bag i | x) (q_ik − f_k)². That of labels, f (1 − f), would make far too small steps.

    Parameters
    ----------
    bags : Bags
        To learn from.
    whole : Bags, optional
        The bags that these are a part of; None for these.
    """

    def __init__(self, bags: Bags, whole: Bags | None = None) -> None:
        whole = bags if whole is None else whole
        prior = np.maximum(whole.prior, LEAST)
        self._n_rows, self._times = len(bags.bag_index), _times(bags)
        self._row_ratios = (bags.proportions / prior)[bags.bag_index]
        self._some_ratios = whole.proportions[_representatives(whole)] / prior
        self._table = _information_table(self._some_ratios) if bags.n_classes == 2 else None

    def row_weights(self, held_out: Array) -> Array:
        """Held-out rows have none."""
        weights = np.ones(self._n_rows)
        weights[held_out] = 0
        return weights

    def fitted(self, found: Array) -> Array:
        """(N,): how likely the bag of each row is, relative to its size."""
        return np.maximum(np.einsum("ij,ij->i", found, self._row_ratios), LEAST)

    def step(self, found: Array, fitted: Array, row_weights: Array) -> Step:
        """Slope and Newton's system, in which each leaf is by itself."""
        counts = (row_weights if self._times is None else row_weights * self._times)[:, None]
        posterior = _outputs(found) * _outputs(self._row_ratios) / fitted[:, None]
        slope = (_outputs(found) - posterior) * counts
        curvature = self._information(found) * counts

        def system(output: int, leaves: Array, n_leaves: int) -> tuple[Array, Array]:
            second = np.bincount(leaves, curvature[:, output], n_leaves)
            return np.diag(second), -np.bincount(leaves, slope[:, output], n_leaves)

        return Step(slope, system)

    def losses(self, fitted: Array) -> Array:
        """The loss of each row."""
        losses = -np.log(fitted)
        return np.asarray(losses if self._times is None else losses * self._times)

    def _information(self, found: Array) -> Array:
        """Fisher's, of each output; of two classes it depends on one number, and is read from a table."""
        if self._table is None:
            return fisher_information(found, self._some_ratios)
        cells = np.minimum((found[:, 1] * _CELLS).astype(np.intp), _CELLS - 1)
        return self._table[cells, None]


def _times(bags: Bags) -> Array | None:
    """How much each row counts, by its own weight and its bag's; None where all count the same."""
    if bags.weights is None and bags.bag_weights is None:
        return None
    of_bags = np.ones(bags.n_bags) if bags.bag_weights is None else bags.bag_weights
    return np.asarray(bags.row_weights * of_bags[bags.bag_index])


def fisher_information(found: Array, ratios: Array) -> Array:
    """(N, K): Σ_i P(bag i | x) (q_ik − f_k)², bags of equal size having the ratios p_ik / π_k.

    >>> fisher_information(np.array([[0.5, 0.5]]), ratios=np.array([[2.0, 0.0], [0.0, 2.0]]))  # as with labels
    array([[0.25, 0.25]])
    """
    total = np.zeros_like(found)
    for ratio in ratios:
        likelihood = np.maximum(found @ ratio, LEAST)[:, None]
        total += (found * (ratio - likelihood)) ** 2 / likelihood
    return total / len(ratios)


def _information_table(ratios: Array) -> Array:
    middles = (np.arange(_CELLS) + 0.5) / _CELLS
    return fisher_information(np.column_stack([1 - middles, middles]), ratios)[:, 1]


def _outputs(values: Array) -> Array:
    """Of each class; of two classes, the second alone."""
    return values[:, 1:] if values.shape[1] == 2 else values


def _representatives(bags: Bags) -> Array:
    """Bags at equal steps through all rows, sorted by proportions: a few that are distributed as all are."""
    order = np.lexsort(bags.proportions.T)
    ends = np.cumsum(bags.sizes[order])
    n_taken = min(_REPRESENTATIVES, len(bags.bag_index))
    return order[np.searchsorted(ends, (np.arange(n_taken) + 0.5) * ends[-1] / n_taken)]
