"""The shift and scale of columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike, NDArray

from llpgan.bags.checks import check_finite
from llpgan.utils.arrays import Array
from llpgan.utils.workers import find_workers

_CHUNK_ROWS = 4096
TO_ZERO = float(
    np.finfo(np.float32).max
)  # a scale that leaves nothing of a column; finite, so that sums of it are
_ROUNDING = 16  # units in the last place: a column that varies by no more is constant


def is_constant(mean: Array, deviation: Array, precision: DTypeLike = np.float64) -> NDArray[np.bool_]:
    """Which columns vary by no more than rounding."""
    kind = np.finfo(precision)
    return np.asarray((deviation <= _ROUNDING * float(kind.eps) * np.abs(mean)) | (deviation < float(kind.tiny)))


def robust_scale(table: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Mean and scale of each column: its deviation, or a sixth of its range where that is more.

    A sixth of the range is about the deviation of a bell curve. A column that is nearly always the same, such as a
    pixel of the margin, is then not blown up by its deviation. The scale of a constant column is ``TO_ZERO``, so
    that it becomes zero. A column that varies by no more than rounding is constant too, whatever its size.

    >>> robust_scale(np.array([[6.0, 5.0, 1e18 + 128]] + [[0.0, 5.0, 1e18]] * 99))[1]
    array([1.00000000e+00, 3.40282347e+38, 3.40282347e+38])
    """
    mean, deviation = column_moments(table, weights)
    deviation = np.where(is_constant(mean, deviation), TO_ZERO, deviation)
    low, high = np.full_like(mean, np.inf), np.full_like(mean, -np.inf)
    for chunk, _ in row_chunks(table):
        low, high = np.minimum(low, chunk.min(axis=0)), np.maximum(high, chunk.max(axis=0))
    low, high = -find_workers().largest(-low), find_workers().largest(high)
    return mean, np.maximum(deviation, (high - low) / 6)


def column_moments(table: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Mean and standard deviation of each column, rows weighted or not.

    Sums are of differences from the first row: a constant column has exactly its value as mean, and deviation 0.
    A value that is not finite is refused, also in a file that was said to hold none.

    >>> column_moments(np.full((3, 1), 0.1))
    (array([0.1]), array([0.]))
    """
    workers = find_workers()
    first = np.asarray(table[:1], dtype=np.float64)[0]
    total, reach, squares = np.zeros((3, table.shape[1]))
    n = len(table) if weights is None else float(weights.sum())
    for chunk, times in row_chunks(table, weights):
        from_first = chunk - first
        total += from_first.sum(axis=0) if times is None else times @ from_first
        reach = np.maximum(reach, np.abs(from_first).max(axis=0))
    (total,), reach = workers.sum(total), workers.largest(reach)
    mean = first + total / n
    if not np.isfinite(mean).all():
        check_finite(table)
    unit = np.where(reach > 0, reach, 1.0)  # so that no square is beyond double precision, or rounded to zero
    for chunk, times in row_chunks(table, weights):
        around = np.square((chunk - mean) / unit)
        squares += around.sum(axis=0) if times is None else times @ around
    (squares,) = workers.sum(squares)
    return mean, unit * np.sqrt(squares / n)


def row_chunks(instances: Array, weights: Array | None = None) -> Iterator[tuple[Array, Array | None]]:
    """Some thousand rows at a time, in double precision, and their weights; of several workers, each has some."""
    workers = find_workers()
    starts = range(0, len(instances), _CHUNK_ROWS)
    first, stop = (len(starts) * rank // workers.count for rank in (workers.rank, workers.rank + 1))
    for start in starts[first:stop]:
        rows = slice(start, start + _CHUNK_ROWS)
        yield np.asarray(instances[rows], dtype=np.float64), None if weights is None else weights[rows]
