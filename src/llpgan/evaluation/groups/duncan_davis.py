"""What the two margins of a unit imply with certainty: the method of bounds."""

import numpy as np
from numpy.typing import NDArray

from llpgan.evaluation.groups.group_counts import GroupCounts

Table = NDArray[np.float64]


def cell_bounds(counts: GroupCounts) -> tuple[Table, Table]:
    """The least and the most people that each cell of each unit can hold.

    In a unit of n people with g in the group and v with the outcome,
    max(0, v − (n − g)) ≤ cell ≤ min(g, v).

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units.

    Returns
    -------
    low, high : ndarray of shape (n_units, n_groups, n_outcomes)
        The result.

    References
    ----------
    O. D. Duncan and B. Davis, "An alternative to ecological correlation", American Sociological Review 18 (1953).

    Examples
    --------
    >>> low, high = cell_bounds(GroupCounts([[80, 20]], [[90, 10]]))
    >>> low[0].tolist(), high[0].tolist()
    ([[70.0, 0.0], [10.0, 0.0]], [[80.0, 10.0], [20.0, 10.0]])
    """
    members, results = counts.groups[:, :, None], counts.outcomes[:, None, :]
    low = np.maximum(0.0, results - (counts.totals[:, None, None] - members))
    return low, np.minimum(members, results)


def share_bounds(counts: GroupCounts) -> tuple[Table, Table]:
    """The least and the greatest share of each outcome in each group over all units together.

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units.

    Returns
    -------
    low, high : ndarray of shape (n_groups, n_outcomes)
        The result.

    Examples
    --------
    >>> low, high = share_bounds(GroupCounts([[80, 20], [10, 90]], [[90, 10], [50, 50]]))
    >>> low.round(3).tolist()
    [[0.778, 0.0], [0.455, 0.364]]
    """
    sizes = counts.groups.sum(axis=0)[:, None]
    low, high = cell_bounds(counts)
    return low.sum(axis=0) / sizes, high.sum(axis=0) / sizes
