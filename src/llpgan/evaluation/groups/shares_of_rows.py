"""Shares of classes by group, from the predictions of rows and the proportions of their bags."""

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import Bags, validation
from llpgan.bags.bags import refuse_other_than_bags
from llpgan.evaluation.groups.cell_covariance import AGGREGATION_BIAS, cell_covariance
from llpgan.evaluation.groups.duncan_davis import share_bounds
from llpgan.evaluation.groups.goodman import goodman_rates
from llpgan.evaluation.groups.group_counts import GroupCounts
from llpgan.evaluation.groups.group_shares import GroupShares
from llpgan.evaluation.groups.matched_predictions import clipped_probabilities, matched_probabilities
from llpgan.evaluation.groups.minimum_information import PRIOR_SCALE, refuse_no_scale

Table = NDArray[np.float64]
Index = NDArray[np.int64]
_NUMBERS_AT_ONCE = 2**22  # of the spreads of a block of bags


def shares_of_rows(
    bags: Bags,
    probabilities: ArrayLike,
    group_of_row: Index,
    groups: Sequence[Hashable],
    *,
    prior_scale: float = PRIOR_SCALE,
    aggregation_bias: float = AGGREGATION_BIAS,
) -> GroupShares:
    """The share of each class in each group of rows, after the predictions were matched to each bag's proportions.

    Intervals are of 95 %. They hold what the bags leave open of how a group departs from its predictions, what
    they say against these, and by how much groups depart from bag to bag; see
    :func:`~llpgan.evaluation.groups.cell_covariance.cell_covariance`.
    The overdispersion is twice the divergence between matched and predicted probabilities, divided by the number
    of proportions.

    Parameters
    ----------
    bags : Bags
        Which row belongs to which bag, and the proportions of each bag.
    probabilities : array-like of shape (n_rows, n_classes)
        The predicted probability of each class.
    group_of_row : ndarray of shape (n_rows,)
        The position of each row's group in ``groups``.
    groups : sequence of hashable
        The names of the groups.
    prior_scale : float, default=1.5
        How far the log odds of a group may be from those predicted, as a standard deviation.
    aggregation_bias : float, default=0.2
        The scale of errors of log odds that come from groups that behave differently where they are many.

    Returns
    -------
    GroupShares
        The shares.
    """
    refuse_other_than_bags(bags, "bags")
    refuse_no_scale(prior_scale)
    validation.same_length("groups of rows", group_of_row, "rows in bags", bags.bag_index)
    predicted = clipped_probabilities(bags, probabilities)
    matched = matched_probabilities(bags, predicted)
    weights = bags.row_weights
    sizes = group_sizes(group_of_row, weights, groups)
    cells, before = (_sums(weights[:, None] * table, group_of_row, len(groups)) for table in (matched, predicted))
    blocks = _spreads(bags, matched, group_of_row, len(groups))
    overdispersion = _overdispersion(bags, matched, predicted)
    covariance = cell_covariance(blocks, overdispersion, prior_scale, aggregation_bias, cells - before)
    return GroupShares(
        tuple(groups),
        tuple(bags.classes.tolist()),
        sizes,
        cells / sizes[:, None],
        covariance / np.multiply.outer(sizes, sizes)[:, None, :, None],
        *_bounds_and_goodman(bags, group_of_row, len(groups)),
    )


def group_sizes(group_of_row: Index, weights: Table, groups: Sequence[Hashable]) -> Table:
    """How much the rows of each group weigh; a group without weight is refused.

    Parameters
    ----------
    group_of_row : ndarray of shape (n_rows,)
        The position of each row's group in ``groups``.
    weights : ndarray of shape (n_rows,)
        The weight of each row.
    groups : sequence of hashable
        The names of the groups.

    Returns
    -------
    ndarray of shape (n_groups,)
        The result.

    Examples
    --------
    >>> group_sizes(np.array([0, 1, 1]), np.array([1.0, 2.0, 0.5]), ["a", "b"]).tolist()
    [1.0, 2.5]
    """
    sizes = np.bincount(group_of_row, weights, len(groups)).astype(np.float64)
    for group in np.flatnonzero(sizes == 0).tolist():
        raise ValueError(f"group {groups[group]!r}: the weights of its rows sum to 0")
    return sizes


def _sums(table: Table, group_of_row: Index, n_groups: int) -> Table:
    return np.stack([np.bincount(group_of_row, column, n_groups) for column in table.T], axis=1)


def _overdispersion(bags: Bags, matched: Table, predicted: Table) -> float:
    logs = np.log(np.maximum(matched, 1e-300)) - np.log(predicted)
    degrees = max(1, bags.n_bags - 1) * (bags.n_classes - 1)
    return max(1.0, float(2 * (bags.row_weights[:, None] * matched * logs).sum() / degrees))


def _spreads(bags: Bags, matched: Table, group_of_row: Index, n_groups: int) -> Iterator[Table]:
    """Σ_j w_j (diag q_j − q_j q_jᵀ) over the rows of each bag and group, some bags at a time."""
    n_classes, weights = matched.shape[1], bags.row_weights
    at_once = max(1, _NUMBERS_AT_ONCE // (n_groups * n_classes**2))
    for first in range(0, bags.n_bags, at_once):
        n_bags = min(at_once, bags.n_bags - first)
        rows = np.concatenate([bags.rows_of(bag) for bag in range(first, first + n_bags)])
        place = (bags.bag_index[rows] - first) * n_groups + group_of_row[rows]
        shares, spread = matched[rows], np.empty((n_bags * n_groups, n_classes, n_classes))
        for c in range(n_classes):
            for d in range(c, n_classes):
                products = weights[rows] * shares[:, c] * ((c == d) - shares[:, d])
                spread[:, c, d] = spread[:, d, c] = np.bincount(place, products, len(spread))
        yield spread.reshape(n_bags, n_groups, n_classes, n_classes)


def _bounds_and_goodman(bags: Bags, group_of_row: Index, n_groups: int) -> tuple[Table, Table, Table]:
    """What the numbers of each group in each bag and the proportions say without any prediction."""
    place = np.asarray(bags.bag_index) * n_groups + group_of_row
    members = np.bincount(place, bags.row_weights, bags.n_bags * n_groups).astype(np.float64)
    results = bags.totals[:, None] * bags.proportions
    there = results.sum(axis=0) > 0
    if n_groups == 1 or there.sum() == 1:  # then nothing is unknown
        certain = np.tile(results.sum(axis=0) / results.sum(), (n_groups, 1))
        return certain, certain, certain
    low, high, goodman = (np.zeros((n_groups, bags.n_classes)) for _ in range(3))
    counts = GroupCounts(members.reshape(bags.n_bags, n_groups), results[:, there])
    low[:, there], high[:, there] = share_bounds(counts)
    goodman[:, there] = goodman_rates(counts)
    return low, high, goodman
