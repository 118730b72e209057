"""Instances that stay in their file, and the moments of columns, in chunks of rows."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from llpgan.bags.checks import check_finite
from llpgan.bags.grouping import consecutive_runs
from llpgan.utils.arrays import Array
from llpgan.utils.workers import find_workers

_BYTES_AT_ONCE = 2**24
_MOST_READ = 2**30  # by one call of the system's, some of which give less than two gigabytes


class StoredInstances:
    """The array of an ``.npy`` file, of which only the requested rows are read into memory.

    Slices and arrays of rows are read into a new array. Rows that follow each other in the file, such as those of
    a bag in a store, are read by one call. The file is read and not memory-mapped, because mapped pages count as
    memory of the process and would add up to the whole file.

    ``np.asarray`` reads the whole array. Processes may share an object of this class, and it may be pickled: the
    file is then opened again.

    Parameters
    ----------
    path : str or Path
        The path of the file. Its array must be in C order and must not hold objects.
    finite : bool, default=False
        Whether all values are known to be finite, so that they are not checked again.
    rows : ndarray of int, default=None
        The rows of the file that are instances, in order. None means all.

    Raises
    ------
    ValueError
        If the file is not such an array, or is cut short.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.arange(10.0).reshape(5, 2))
    ...     stored = StoredInstances(f"{folder}/x.npy")
    ...     stored.shape, stored[1:3], stored[[4, 0]]
    ((5, 2), array([[2., 3.],
           [4., 5.]]), array([[8., 9.],
           [0., 1.]]))
    """

    def __init__(self, path: str | Path, *, finite: bool = False, rows: NDArray[np.int64] | None = None) -> None:
        self.path, self.finite, self.rows = Path(path), finite, rows
        self.shape, self.dtype, self._first_byte = _header(self.path)
        self._row_bytes = self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))
        wanted = self._first_byte + self.shape[0] * self._row_bytes
        if (there := self.path.stat().st_size) < wanted:
            raise ValueError(f"{self.path} is cut short: it has {there:,} bytes of {wanted:,}")
        if rows is not None:
            self.shape = (len(rows), *self.shape[1:])
        self._file = os.open(self.path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    @property
    def ndim(self) -> int:
        """The number of dimensions: 2 for a table, 4 for images."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of the whole array in bytes."""
        return int(self.shape[0] * self._row_bytes)

    def select(self, rows: NDArray[np.int64]) -> StoredInstances:
        """Return the instances at some positions, which stay in the file.

        Parameters
        ----------
        rows : ndarray of int
            The positions, in order.

        Returns
        -------
        StoredInstances
            The selected instances.
        """
        return StoredInstances(self.path, finite=self.finite, rows=rows if self.rows is None else self.rows[rows])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> Array:
        if isinstance(which, slice):
            start, stop, step = which.indices(len(self))
            return self._run(start, stop) if step == 1 else self._rows(np.arange(start, stop, step))
        rows = np.asarray(which)
        if rows.ndim == 0 and rows.dtype.kind in "iu":
            return self._rows(self._check_rows(rows[None]))[0]
        if rows.ndim != 1 or (rows.dtype.kind not in "biu" and len(rows)):
            raise IndexError("stored instances are chosen by a slice, or by an array of rows")
        return self._rows(self._check_rows(np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self[:].astype(dtype or self.dtype, copy=False)

    def __iter__(self) -> Iterator[Array]:
        step = max(1, _BYTES_AT_ONCE // self._row_bytes)
        return (row for start in range(0, len(self), step) for row in self[start : start + step])

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_mapped, (self.path, self.finite, self.rows)

    def __repr__(self) -> str:
        return f"StoredInstances({str(self.path)!r}, shape {self.shape}, {self.dtype})"

    def _check_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        if len(rows) and (rows.min() < -len(self) or rows.max() >= len(self)):
            wrong = rows[(rows < -len(self)) | (rows >= len(self))][0]
            raise IndexError(f"row {wrong} of {self.path}, which has {len(self)}")
        return np.where(rows < 0, rows + len(self), rows)

    def _run(self, start: int, stop: int) -> Array:
        if self.rows is not None:
            return self._rows(np.arange(start, max(start, stop)))
        found = np.empty((max(0, stop - start), *self.shape[1:]), self.dtype)
        self._read(found, start)
        return found

    def _rows(self, rows: NDArray[np.int64]) -> Array:
        rows = rows if self.rows is None else self.rows[rows]
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        for start, stop in consecutive_runs(rows).tolist():
            self._read(found[start:stop], int(rows[start]))
        return found

    def _read(self, into: Array, first_row: int) -> None:
        """Fill an array with rows that follow each other."""
        if into.nbytes == 0:
            return
        left = into.reshape(-1).view(np.uint8).data
        place = self._first_byte + first_row * self._row_bytes
        while left:
            n_read = os.preadv(self._file, [left[:_MOST_READ]], place)
            if n_read == 0:
                raise ValueError(f"{self.path} was cut short while it was read")
            left, place = left[n_read:], place + n_read


def _open_mapped(path: Path, finite: bool, rows: NDArray[np.int64] | None = None) -> StoredInstances:
    return StoredInstances(path, finite=finite, rows=rows)


def _header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, type, and where the first row begins."""
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, fortran, dtype = read(file)
        except (ValueError, KeyError) as error:
            raise ValueError(f"{path} is not a file of an array (.npy) that can be read: {error}") from error
        if dtype.hasobject:
            raise ValueError(f"{path} holds objects, which could run code: numbers would be right")
        if len(shape) < 1 or (fortran and len(shape) > 1):
            raise ValueError(f"{path} does not hold an array of rows: save it in C order (np.ascontiguousarray)")
        return shape, dtype, file.tell()


def is_stored(instances: object) -> bool:
    """Whether instances stay in their file."""
    return isinstance(instances, StoredInstances)


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
