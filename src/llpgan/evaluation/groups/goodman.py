"""Goodman's ecological regression: the outcome shares of units regressed on their group shares."""

import numpy as np
from numpy.typing import NDArray

from llpgan.evaluation.groups.group_counts import GroupCounts

Table = NDArray[np.float64]


def goodman_rates(counts: GroupCounts) -> Table:
    """The share of each outcome in each group, as if it were the same in every unit.

    Weighted least squares of v / n on g / n with weights n. Shares may fall below 0 or exceed 1, which says that
    the assumption is wrong. Where the units' group shares do not determine the regression, all shares are NaN.

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units.

    Returns
    -------
    ndarray of shape (n_groups, n_outcomes)
        The result.

    References
    ----------
    L. A. Goodman, "Ecological regressions and behavior of individuals", American Sociological Review 18 (1953).

    Examples
    --------
    >>> goodman_rates(GroupCounts([[80, 20], [20, 80]], [[70, 30], [40, 60]])).round(3).tolist()
    [[0.8, 0.2], [0.3, 0.7]]
    """
    counts = counts.occupied
    root = np.sqrt(counts.totals)[:, None]
    rates, _, rank, _ = np.linalg.lstsq(counts.groups / root, counts.outcomes / root, rcond=None)
    return np.asarray(rates if rank == counts.groups.shape[1] else np.full_like(rates, np.nan))


def clipped_rates(rates: Table) -> Table:
    """Shares cut to between 0 and 1 and divided by their sum in each group.

    Parameters
    ----------
    rates : ndarray of shape (n_groups, n_outcomes)
        Shares that may lie outside of 0 to 1, such as those of :func:`goodman_rates`.

    Returns
    -------
    ndarray of shape (n_groups, n_outcomes)
        The result.

    Examples
    --------
    >>> clipped_rates(np.array([[1.2, -0.2], [0.3, 0.7]])).tolist()
    [[1.0, 0.0], [0.3, 0.7]]
    """
    inside = np.clip(rates, 0.0, 1.0)
    return inside / inside.sum(axis=1, keepdims=True)
