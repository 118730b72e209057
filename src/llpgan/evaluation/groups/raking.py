"""Tables changed as little as possible so that they have given margins: raking, and its dual."""

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
_TINY = 1e-300
_LONGEST_STEP = 2.0  # of a shift of logits, in one iteration
_HALVINGS = 40


def raked(
    tables: Table, row_totals: Table, column_totals: Table, *, max_iter: int = 1000, tol: float = 1e-9
) -> Table:
    """Scale rows and columns in turn until each table has its margins (iterative proportional fitting).

    The result is the table T with these margins that minimises Σ T log(T / table): it has the odds ratios of the
    table that it starts from.

    Parameters
    ----------
    tables : ndarray of shape (n_tables, n_rows, n_columns)
        Positive wherever a cell may be positive.
    row_totals : ndarray of shape (n_tables, n_rows)
        The sums of the rows to meet.
    column_totals : ndarray of shape (n_tables, n_columns)
        The sums of the columns to meet; each table has the same total as in ``row_totals``.
    max_iter : int, default=1000
        The greatest number of sweeps over rows and columns.
    tol : float, default=1e-9
        Stop when the rows' totals are met to within this share of the table's total. Columns are met exactly.

    Returns
    -------
    ndarray of shape (n_tables, n_rows, n_columns)
        The result.

    Examples
    --------
    >>> raked(np.ones((1, 2, 2)), np.array([[3.0, 1.0]]), np.array([[2.0, 2.0]]))[0].tolist()
    [[1.5, 1.5], [0.5, 0.5]]
    """
    scaled, allowed = tables.copy(), tol * np.maximum(row_totals.sum(axis=1, keepdims=True), _TINY)
    for _ in range(max_iter):
        scaled *= (row_totals / np.maximum(scaled.sum(axis=2), _TINY))[:, :, None]
        scaled *= (column_totals / np.maximum(scaled.sum(axis=1), _TINY))[:, None, :]
        if (np.abs(scaled.sum(axis=2) - row_totals) <= allowed).all():
            break
    return scaled


def matching_shifts(
    logits: Table, weights: Table, totals: Table, start: Table, *, max_iter: int = 200, tol: float = 1e-6
) -> Table:
    """For each unit the shift of all logits with which the weighted probabilities sum to its totals.

    Solves Σ_r w_r softmax(logits_r + u) = totals for u, which is raking of the rows w_r softmax(logits_r). It is
    the minimum of the convex function Σ_r w_r logsumexp(logits_r + u) − totals · u, found by Newton steps that are
    halved until the function falls.

    Parameters
    ----------
    logits : ndarray of shape (n_units, n_rows, n_classes), or one that broadcasts to it
        Of the rows' probabilities before the shift.
    weights : ndarray of shape (n_units, n_rows)
        How much each row counts.
    totals : ndarray of shape (n_units, n_classes)
        Positive, with the same sum as the weights of the unit.
    start : ndarray of shape (n_units, n_classes)
        Shifts to start from.
    max_iter : int, default=200
        The greatest number of Newton steps.
    tol : float, default=1e-6
        Stop when all totals are met to within this share of their sum.

    Returns
    -------
    ndarray of shape (n_units, n_classes)
        The result.

    Examples
    --------
    >>> logits, one = np.log([[[0.5, 0.5], [0.2, 0.8]]]), np.ones((1, 2))
    >>> shifts = matching_shifts(logits, one, np.array([[1.0, 1.0]]), np.zeros((1, 2)))
    >>> softmax(logits + shifts[:, None]).sum(axis=1).round(4).tolist()
    [[1.0, 1.0]]
    """
    shifts, size = start, totals.sum(axis=1, keepdims=True)
    value = _dual(logits, weights, totals, shifts)
    for _ in range(max_iter):
        rates = softmax(logits + shifts[:, None, :])
        cells = weights[:, :, None] * rates
        lacking = totals - cells.sum(axis=1)
        if (np.abs(lacking) <= tol * size).all():
            return shifts
        step = np.linalg.solve(_curvature(cells, rates, size), lacking[:, :, None])[:, :, 0]
        step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(np.abs(step).max(axis=1, keepdims=True), _TINY))
        for _ in range(_HALVINGS):
            new = _dual(logits, weights, totals, shifts + step)
            worse = new > value + 1e-12 * np.abs(value)
            if not worse.any():
                break
            step[worse] /= 2
        shifts, value = shifts + step, new
    raise ValueError("no shift of the logits meets the totals: some probabilities are too close to 0 or 1")


def softmax(logits: Table) -> Table:
    """Probabilities along the last axis; scipy's own takes several times longer for small tables.

    Parameters
    ----------
    logits : ndarray of shape (..., n_classes)
        Any finite numbers.

    Returns
    -------
    ndarray of shape (..., n_classes)
        The result.

    Examples
    --------
    >>> softmax(np.array([0.0, np.log(3)])).round(3).tolist()
    [0.25, 0.75]
    """
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _dual(logits: Table, weights: Table, totals: Table, shifts: Table) -> Table:
    shifted = logits + shifts[:, None, :]
    largest = shifted.max(axis=2)
    normalisers = largest + np.log(np.exp(shifted - largest[:, :, None]).sum(axis=2))
    return (weights * normalisers).sum(axis=1) - (totals * shifts).sum(axis=1)


def _curvature(cells: Table, rates: Table, size: Table) -> Table:
    """Of the dual in the shifts, with the direction in which it is flat (all shifts alike) filled up."""
    n_classes, classes = cells.shape[2], np.arange(cells.shape[2])
    curvature = -np.einsum("irc,ird->icd", cells, rates) + (size / n_classes**2)[:, :, None]
    curvature[:, classes, classes] += cells.sum(axis=1) + 1e-9 * size
    return curvature
