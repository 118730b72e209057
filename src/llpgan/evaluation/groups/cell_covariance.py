"""How uncertain cells are that are known only by their margins."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
AGGREGATION_BIAS = 0.2
_LONGEST_STEP = 1.0  # of a logit, to which cells move about linearly
_FILL = 1e-9  # of the total, in directions of which no unit tells anything


def sum_zero_basis(n: int) -> Table:
    """Orthonormal columns that span the vectors of length n with sum zero.

    Parameters
    ----------
    n : int
        The length of the vectors.

    Returns
    -------
    ndarray of shape (n, n - 1)
        The result.

    Examples
    --------
    >>> basis = sum_zero_basis(3)
    >>> bool(np.allclose(basis.sum(axis=0), 0)), bool(np.allclose(basis.T @ basis, np.eye(2)))
    (True, True)
    """
    return np.linalg.qr(np.eye(n)[:, : n - 1] - 1 / n)[0]


def cell_covariance(
    spreads: Iterable[Table],
    overdispersion: float,
    prior_scale: float,
    aggregation_bias: float = AGGREGATION_BIAS,
    departures: Table | None = None,
) -> Table:
    """The covariance of the total number of people in each cell, given the margins of all units.

    The model: the logits of group r in unit i are θ_r + u_i, up to chance. Each unit has its own shift u_i of
    unknown size, and the interactions of θ have a normal prior with scale σ. Let A_ir be the covariance of the
    outcomes of group r in unit i by chance alone, and H_i = Σ_r A_ir. The margins tell of θ as much as
    M = Σ_i A_i H_i⁻¹ A_iᵀ. The totals of cells move with θ, or by chance, as
    K = Σ_i (diag_r A_ir − A_i H_i⁻¹ A_iᵀ). With P the projection on interactions, the covariance is ::

        φ K (M + φ P / σ²)⁻¹ K  +  φ K  +  τ² K P K.

    The terms are what the margins leave open of θ; by how much groups depart from θ by chance and from unit to
    unit, which the overdispersion φ measures; and departures that depend on who lives in a unit. The last ones
    do not average out over units and leave no trace in the margins, so their scale τ is an assumption.

    Parameters
    ----------
    spreads : iterable of ndarray of shape (n_units, n_groups, n_outcomes, n_outcomes)
        A_ir of all units, some of them at a time: for g people with shares p, g (diag p − p pᵀ).
    overdispersion : float
        φ, how many times more than by chance outcomes vary.
    prior_scale : float
        σ, the scale of the log odds ratios that are not known; infinite for no prior.
    aggregation_bias : float, default=0.2
        τ, the scale of the bias of log odds ratios. The default was chosen on two elections of New Zealand (2002
        and 2008), so that intervals hold the truth about equally often for large and small groups, many units
        and few.
    departures : ndarray of shape (n_groups, n_outcomes), default=None
        Where θ was not fitted to the margins but predicted: how many people more each cell has after the margins
        were met than before. With δ = (M + φ P / σ²)⁻¹ · departures, cut at ±1, by which a fit would about move θ,
        (K δ)(K δ)ᵀ is added: the covariance is then around the prediction.

    Returns
    -------
    ndarray of shape (n_groups, n_outcomes, n_groups, n_outcomes)
        Of the numbers of people in the cells.
    """
    if not 0 <= aggregation_bias < np.inf:
        raise ValueError(f"aggregation_bias must be a finite number, 0 or above, got {aggregation_bias!r}")
    known, moving, n_groups, n_outcomes = np.zeros((1, 1)), np.zeros((1, 1)), 0, 0
    for block in spreads:
        n_groups, n_outcomes = block.shape[1:3]
        more_known, more_moving = _known_and_moving(block)
        known, moving = known + more_known, moving + more_moving
    free = np.kron(np.eye(n_groups) - 1 / n_groups, np.eye(n_outcomes - 1))
    least = _FILL * max(np.trace(known), np.trace(moving)) * np.eye(len(known))
    told = known + overdispersion / prior_scale**2 * free + least
    covariance = overdispersion * (moving @ np.linalg.solve(told, moving) + moving)
    covariance += aggregation_bias**2 * moving @ free @ moving
    if departures is not None:
        step = np.linalg.solve(told, (departures @ sum_zero_basis(n_outcomes)).ravel())
        moved = moving @ np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        covariance += np.outer(moved, moved)
    widen = np.kron(np.eye(n_groups), sum_zero_basis(n_outcomes))
    return (widen @ covariance @ widen.T).reshape(n_groups, n_outcomes, n_groups, n_outcomes)


def _known_and_moving(spreads: Table) -> tuple[Table, Table]:
    """What some units add to M and K of :func:`cell_covariance`, in contrasts of outcomes."""
    n_groups, n_outcomes = spreads.shape[1:3]
    basis, size = sum_zero_basis(n_outcomes), n_groups * (n_outcomes - 1)
    reduced = np.einsum("ca,ircd,db->irab", basis, spreads, basis, optimize=True)
    together = reduced.sum(axis=1)
    least = _FILL * (np.einsum("iaa->i", together).mean() + _FILL) * np.eye(n_outcomes - 1)
    solved = np.linalg.solve((together + least)[:, None], reduced)  # where all have one outcome, it is filled up
    known = np.einsum("irab,isbc->rasc", reduced, solved, optimize=True).reshape(size, size)
    moving = np.zeros((n_groups, n_outcomes - 1, n_groups, n_outcomes - 1))
    places = np.arange(n_groups)
    moving[places, :, places, :] = reduced.sum(axis=0)
    return known, moving.reshape(size, size) - known


def spreads_of(cells: Table) -> Table:
    """A_ir of :func:`cell_covariance` for cells with all people of a group alike.

    Parameters
    ----------
    cells : ndarray of shape (n_units, n_groups, n_outcomes)
        The number of people in each cell.

    Returns
    -------
    ndarray of shape (n_units, n_groups, n_outcomes, n_outcomes)
        The result.

    Examples
    --------
    >>> spreads_of(np.array([[[30.0, 10.0]]]))[0, 0].tolist()
    [[7.5, -7.5], [-7.5, 7.5]]
    """
    outcomes = np.arange(cells.shape[2])
    shares = cells / np.maximum(cells.sum(axis=2, keepdims=True), 1e-300)
    spreads = -cells[:, :, :, None] * shares[:, :, None, :]
    spreads[:, :, outcomes, outcomes] += cells
    return spreads
