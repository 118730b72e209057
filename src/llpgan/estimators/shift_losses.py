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
from scipy.special import softmax

from llpgan.bags import Bags
from llpgan.estimators.base import Array

LEAST = 1e-12  # of a mean prediction, so that its logarithm is finite
_LEAST_VARIANCE = 1e-4
_GRID = 513
_REPRESENTATIVES = 32  # bags that stand for all where an expectation over bags is taken


@dataclass(frozen=True)
class Step:
    """What is known of a loss at some scores.

    Attributes
    ----------
    slope : array of shape (n_rows, n_outputs)
        Of the loss in each score.
    leaf_values : callable
        From an output, the leaf of each row and the number of leaves to Newton's step in the leaves' values.
    """

    slope: Array
    leaf_values: Callable[[int, Array, int], Array]


class ShiftLoss(Protocol):
    """What boosting asks of a loss.

    Attributes
    ----------
    n_units : int
        How many units it is a sum over, which can be held out: bags or rows.
    """

    n_units: int

    def row_weights(self, held_out: Array) -> Array:
        """(N,): 0 for the rows of held-out units, else 1."""

    def step(self, found: Array, row_weights: Array) -> Step:
        """Slope and Newton's step at probabilities (N, K)."""

    def losses(self, found: Array) -> Array:
        """(n_units,): the loss of each unit."""


def probabilities_of(scores: Array) -> Array:
    """(N, K): the softmax of the scores; one score is the log-odds of the second of two classes.

    >>> probabilities_of(np.array([[0.0]]))
    array([[0.5, 0.5]])
    """
    if scores.shape[1] > 1:
        return np.asarray(softmax(scores, axis=1))
    odds_against = np.exp(-np.abs(scores[:, 0]))
    smaller = odds_against / (1 + odds_against)
    second = np.where(scores[:, 0] >= 0, 1 - smaller, smaller)
    return np.column_stack([1 - second, second])


def prior_scores(prior: Array) -> Array:
    """(outputs,): scores whose probabilities are the overall shares.

    >>> prior_scores(np.array([0.5, 0.5]))
    array([0.])
    """
    logs = np.log(np.maximum(prior, LEAST))
    return logs[1:] - logs[:1] if len(prior) == 2 else logs - logs.mean()


def bag_means(bags: Bags, values: Array) -> Array:
    """(n_bags, columns): as :meth:`Bags.means`, quicker for few columns."""
    index = np.asarray(bags.bag_index)
    sums = [np.bincount(index, column, bags.n_bags) for column in values.T]
    return np.column_stack(sums) / bags.sizes[:, None]


def bag_losses(bags: Bags, found: Array) -> Array:
    """(n_bags,): −Σ_k p_ik log p̄_ik, the cross-entropy of each bag's proportions and mean prediction."""
    means = np.maximum(bag_means(bags, found), LEAST)
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
    l2 : float
        The penalty of leaf values, in rows.
    correlation : float
        ρ, from 0 to 1.
    """

    def __init__(self, bags: Bags, l2: float, correlation: float) -> None:
        self._bags, self._l2 = bags, l2
        self._targets = _outputs(bags.proportions)
        self._counts = bags.sizes / (1 + correlation * (bags.sizes - 1))
        self.n_units = bags.n_bags

    def row_weights(self, held_out: Array) -> Array:
        """Held-out bags have none."""
        weights = np.ones(self.n_units)
        weights[held_out] = 0
        return weights[self._bags.bag_index]

    def step(self, found: Array, row_weights: Array) -> Step:
        """Slope, and Newton's step in all leaves at once."""
        found = _outputs(found)
        curves, means = found * (1 - found), bag_means(self._bags, found)
        residuals = self._targets - means
        counts = self._counts * row_weights[self._bags.row_order[self._bags.starts]]
        information = counts[:, None] / np.maximum(means * (1 - means), _LEAST_VARIANCE)
        of_row, sizes = self._bags.bag_index, self._bags.sizes[:, None]
        slope = -(information * residuals / sizes)[of_row] * curves

        def leaf_values(output: int, leaves: Array, n_leaves: int) -> Array:
            cells = of_row * n_leaves + leaves
            effect = np.bincount(cells, curves[:, output], len(sizes) * n_leaves).reshape(-1, n_leaves) / sizes
            weighted = information[:, output, None] * effect
            penalty = self._l2 * np.eye(n_leaves)
            return np.linalg.solve(effect.T @ weighted + penalty, weighted.T @ residuals[:, output])

        return Step(slope, leaf_values)

    def losses(self, found: Array) -> Array:
        """The cross-entropy of each bag."""
        return bag_losses(self._bags, found)


class LabelShiftLoss:
    """−Σ_j log Σ_k f_k(x_j) p_ik / π_k, i the bag of row j: how likely the row's bag is for the row.

    With P(x | y) the same in all bags, P(bag i | x) = (m_i / N) Σ_k f_k(x) p_ik / π_k, f being P(y | x) overall.
    The slope is f − q, q_k ∝ f_k p_ik / π_k the row's posterior in its bag; the curvature is Fisher's information,
    Σ_i P(bag i | x) (q_ik − f_k)². That of labels, f (1 − f), would make far too small steps.

    Parameters
    ----------
    bags : Bags
        To learn from.
    l2 : float
        The penalty of leaf values, in rows.
    """

    def __init__(self, bags: Bags, l2: float) -> None:
        self._bags, self._l2 = bags, l2
        self._ratios = bags.proportions / np.maximum(bags.prior, LEAST)
        self._some_ratios = self._ratios[_representatives(bags)]
        self.n_units = len(bags.bag_index)

    def row_weights(self, held_out: Array) -> Array:
        """Held-out rows have none."""
        weights = np.ones(self.n_units)
        weights[held_out] = 0
        return weights

    def step(self, found: Array, row_weights: Array) -> Step:
        """Slope, and Newton's step in each leaf by itself, since rows do not share residuals."""
        of_row = self._bags.bag_index
        slope = _outputs(found - _posterior(found, self._ratios[of_row])) * row_weights[:, None]
        curvature = _outputs(self._information(found)) * row_weights[:, None]

        def leaf_values(output: int, leaves: Array, n_leaves: int) -> Array:
            total = np.bincount(leaves, curvature[:, output], n_leaves) + self._l2
            return -np.bincount(leaves, slope[:, output], n_leaves) / total

        return Step(slope, leaf_values)

    def losses(self, found: Array) -> Array:
        """The loss of each row."""
        likelihood = (found * self._ratios[self._bags.bag_index]).sum(axis=1)
        return np.asarray(-np.log(np.maximum(likelihood, LEAST)))

    def _information(self, found: Array) -> Array:
        """Fisher's, of each class; of two classes it depends on one number, and is interpolated."""
        if found.shape[1] > 2:
            return fisher_information(found, self._some_ratios)
        grid = np.linspace(0, 1, _GRID)
        at_grid = fisher_information(np.column_stack([1 - grid, grid]), self._some_ratios)[:, 1]
        return np.tile(np.interp(found[:, 1], grid, at_grid)[:, None], 2)


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


def _posterior(found: Array, ratios: Array) -> Array:
    joint = found * ratios
    return joint / np.maximum(joint.sum(axis=1, keepdims=True), LEAST)


def _outputs(values: Array) -> Array:
    """Of each class; of two classes, the second alone."""
    return values[:, 1:] if values.shape[1] == 2 else values


def _representatives(bags: Bags) -> Array:
    """Bags at equal steps through all rows, sorted by proportions: a few that are distributed as all are."""
    order = np.lexsort(bags.proportions.T)
    ends = np.cumsum(bags.sizes[order])
    n_taken = min(_REPRESENTATIVES, len(bags.bag_index))
    return order[np.searchsorted(ends, (np.arange(n_taken) + 0.5) * ends[-1] / n_taken)]
