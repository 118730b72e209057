"""Shares of outcomes by group that minimise the cross-entropy of the units' outcomes."""

import numpy as np
from numpy.typing import NDArray

from llpgan.evaluation.groups.group_counts import GroupCounts

Table = NDArray[np.float64]
_TINY = 1e-300


def cross_entropy_rates(counts: GroupCounts, *, max_iter: int = 10_000, tol: float = 1e-7) -> Table:
    """The share of each outcome in each group, the same in every unit, that makes the outcomes most likely.

    Minimises −Σ_i v_i · log(g_i B) over B whose rows are shares. The problem is convex; each iteration is
    B ← B ⊙ Gᵀ(V / GB) with normalised rows.

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units.
    max_iter : int, default=10_000
        The greatest number of iterations.
    tol : float, default=1e-7
        Stop when no share changes by more than this.

    Returns
    -------
    ndarray of shape (n_groups, n_outcomes)
        The result.

    Examples
    --------
    >>> cross_entropy_rates(GroupCounts([[80, 20], [20, 80]], [[70, 30], [40, 60]])).round(3).tolist()
    [[0.8, 0.2], [0.3, 0.7]]
    """
    counts = counts.occupied
    rates = np.tile(counts.outcomes.sum(axis=0) / counts.outcomes.sum(), (counts.groups.shape[1], 1))
    for _ in range(max_iter):
        cells = rates * (counts.groups.T @ (counts.outcomes / np.maximum(counts.groups @ rates, _TINY)))
        before, rates = rates, cells / cells.sum(axis=1, keepdims=True)
        if np.abs(rates - before).max() < tol:
            break
    return rates
