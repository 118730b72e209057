"""Rows in any order, written to a file in which they stand bag after bag: a counting sort on disk."""

import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from llpgan.bags.sorted_rows import runs
from llpgan.utils.arrays import Array

Index = NDArray[np.int64]
_BUFFER_BYTES = 2**27  # the more, the longer the pieces that are written
_GATHERED_BYTES = 2**23


class SortingWriter:
    """Writes instances to an ``.npy`` file, each to its bag's place; within a bag they keep their order.

    Rows are gathered until there are many, sorted by bag, and written where those of their bag before them end.

    Parameters
    ----------
    path : Path
        Of the file.
    sizes : Index
        Of the bags, in the order in which they are to stand.
    shape : tuple of int
        Of an instance.
    dtype : dtype
        Of its values.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SortingWriter(Path(folder, "x.npy"), np.array([1, 2]), (1,), np.dtype(float)) as writer:
    ...         writer.add(np.array([[1.0], [2.0]]), np.array([1, 0]))
    ...         writer.add(np.array([[3.0]]), np.array([1]))
    ...     np.load(f"{folder}/x.npy")
    array([[2.],
           [1.],
           [3.]])
    """

    def __init__(self, path: Path, sizes: Index, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.path = path
        self.next_row = np.cumsum(sizes) - sizes
        self.row_bytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        n_rows = int(sizes.sum())
        _refuse_full(path.parent, n_rows * self.row_bytes)
        capacity = min(n_rows, max(1, _BUFFER_BYTES // self.row_bytes))
        self.waiting = np.empty((capacity, *shape), dtype)
        self.bag_index = np.empty(capacity, dtype=np.int64)
        self.n_waiting = 0
        with path.open("wb") as file:
            header = {
                "descr": np.lib.format.dtype_to_descr(dtype),
                "fortran_order": False,
                "shape": (n_rows, *shape),
            }
            np.lib.format.write_array_header_1_0(file, header)
            self.first_byte = file.tell()
            file.truncate(self.first_byte + n_rows * self.row_bytes)

    def __enter__(self) -> Self:
        self.file = os.open(self.path, os.O_WRONLY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._write_waiting()
        finally:
            os.close(self.file)

    def add(self, instances: Array, bag_index: Index) -> None:
        """Some instances, and the bag of each."""
        done = 0
        while done < len(instances):
            if self.n_waiting == len(self.waiting):
                self._write_waiting()
            n = min(len(instances) - done, len(self.waiting) - self.n_waiting)
            here = slice(self.n_waiting, self.n_waiting + n)
            self.waiting[here] = instances[done : done + n]
            self.bag_index[here] = bag_index[done : done + n]
            self.n_waiting += n
            done += n

    def _write_waiting(self) -> None:
        bags = self.bag_index[: self.n_waiting]
        order = np.argsort(bags, kind="stable")
        rows = self._places(bags[order])
        step = max(1, _GATHERED_BYTES // self.row_bytes)
        for start in range(0, len(order), step):
            self._write(self.waiting[order[start : start + step]], rows[start : start + step])
        self.n_waiting = 0

    def _places(self, sorted_bags: Index) -> Index:
        """The row of the file for each of some rows that are sorted by bag."""
        bags, starts, counts = np.unique(sorted_bags, return_index=True, return_counts=True)
        rows = np.arange(len(sorted_bags)) + np.repeat(self.next_row[bags] - starts, counts)
        self.next_row[bags] += counts
        return rows

    def _write(self, instances: Array, rows: Index) -> None:
        for start, stop in runs(rows).tolist():
            left = instances[start:stop].reshape(-1).view(np.uint8).data
            place = self.first_byte + int(rows[start]) * self.row_bytes
            while left:
                n_written = os.pwrite(self.file, left, place)
                left, place = left[n_written:], place + n_written


def _refuse_full(folder: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise OSError(f"{folder}: the store takes {n_bytes / 1e9:.2f} GB, but only {free / 1e9:.2f} GB are free")
