"""Rows that stand bag after bag: the bag of a row follows from the bags' sizes, and no array has to hold it."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

Index = NDArray[np.int64]


class ComputedIndex(NDArrayOperatorsMixin):
    """An index with an entry a row that is computed where it is looked at, and becomes an array for all else."""

    dtype = np.dtype(np.int64)
    ndim = 1

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    @property
    def shape(self) -> tuple[int]:
        """One entry a row."""
        return (self.n_rows,)

    @abstractmethod
    def of_rows(self, rows: Index) -> Index:
        """The entries of some rows."""

    def of_all(self) -> Index:
        """The entries of all rows."""
        return self.of_rows(np.arange(self.n_rows))

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return self.of_rows(np.arange(*which.indices(self.n_rows)))
        which = np.asarray(which)
        rows = np.flatnonzero(which) if which.dtype == bool else which
        return self.of_rows(np.where(rows < 0, rows + self.n_rows, rows))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.of_all().astype(dtype or self.dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [np.asarray(each) if isinstance(each, ComputedIndex) else each for each in inputs]
        return getattr(ufunc, method)(*arrays, **options)


class SortedBagIndex(ComputedIndex):
    """The bag of each row, from the sizes of bags whose rows stand one after the other.

    >>> bag_index = SortedBagIndex(np.array([2, 3]))
    >>> bag_index[1:4], np.asarray(bag_index)
    (array([0, 1, 1]), array([0, 0, 1, 1, 1]))
    """

    def __init__(self, sizes: Index) -> None:
        self.sizes = np.asarray(sizes, dtype=np.int64)
        self.ends = np.cumsum(self.sizes)
        super().__init__(int(self.ends[-1]) if len(self.ends) else 0)

    def of_rows(self, rows: Index) -> Index:
        """The bag of each."""
        return np.searchsorted(self.ends, rows, side="right")

    def of_all(self) -> Index:
        """Each bag as often as it has rows."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def tobytes(self) -> bytes:
        """Of the sizes, which say the same: for digests."""
        return self.sizes.tobytes()


class RowsInOrder(ComputedIndex):
    """0, 1, 2, ...: the order of rows that stand bag after bag.

    >>> RowsInOrder(5)[np.array([3, 1])]
    array([3, 1])
    """

    def of_rows(self, rows: Index) -> Index:
        """Themselves."""
        return rows


def sizes_if_sorted(bag_index: Any) -> Index | None:
    """The sizes of bags whose rows are known to stand one after the other; None of others."""
    return bag_index.sizes if isinstance(bag_index, SortedBagIndex) else None


def rows_of_bags(starts: Index, sizes: Index) -> Index:
    """All rows of bags that begin at these rows, bag after bag.

    >>> rows_of_bags(np.array([7, 0]), np.array([2, 3]))
    array([7, 8, 0, 1, 2])
    """
    ends = np.cumsum(sizes)
    return np.arange(ends[-1]) + np.repeat(starts - (ends - sizes), sizes)


def runs(rows: Index) -> Index:
    """Where the rows go on without a gap: a line for each run, with its place among ``rows`` and that of its end.

    >>> runs(np.array([4, 5, 6, 1, 2, 9]))
    array([[0, 3],
           [3, 5],
           [5, 6]])
    """
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    return (
        np.column_stack([np.append(0, breaks), np.append(breaks, len(rows))])
        if len(rows)
        else np.empty((0, 2), int)
    )
