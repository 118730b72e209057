"""The columns of a table in one scale, found without a copy of it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_CHUNK_ROWS = 4096


def standard(table: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column; one for a constant column, so that it becomes zero.

    >>> standard(np.array([[0.0, 5.0], [4.0, 5.0]]))
    (array([2., 5.]), array([2., 1.]))
    """
    mean, deviation = moments(table)
    constant = deviation <= 1e-6 * np.abs(mean)  # float32 would see nothing but rounding
    return mean, np.where(constant, 1.0, deviation)


def steady(table: Array) -> tuple[Array, Array]:
    """The same, but a sixth of a column's range where that is more, which is about the deviation of a bell curve.

    A column that is nearly always the same, such as a pixel of the margin, is then not blown up by its deviation.

    >>> steady(np.array([[6.0]] + [[0.0]] * 99))[1]
    array([1.])
    """
    mean, deviation = standard(table)
    low = np.min([chunk.min(axis=0) for chunk in chunks(table)], axis=0)
    high = np.max([chunk.max(axis=0) for chunk in chunks(table)], axis=0)
    return mean, np.maximum(deviation, (high - low) / 6)


def moments(table: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column."""
    total, squares = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    for chunk in chunks(table):
        total += chunk.sum(axis=0)
    mean = total / len(table)
    for chunk in chunks(table):
        squares += np.square(chunk - mean).sum(axis=0)
    return mean, np.sqrt(squares / len(table))


def chunks(instances: Array) -> Iterator[Array]:
    """The instances, some thousand at a time, in double precision."""
    return (
        np.asarray(instances[start : start + _CHUNK_ROWS], dtype=np.float64)
        for start in range(0, len(instances), _CHUNK_ROWS)
    )
