"""Which rows belong to which bag."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from llpgan.utils.arrays import check_argument, check_numbers, check_one_per_row, is_frame, is_missing
from llpgan.utils.messages import and_more, did_you_mean

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
    def take(self, rows: Index) -> Index:
        """The entries of some rows."""

    def take_all(self) -> Index:
        """The entries of all rows."""
        return self.take(np.arange(self.n_rows))

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return self.take(np.arange(*which.indices(self.n_rows)))
        which = np.asarray(which)
        rows = np.flatnonzero(which) if which.dtype == bool else which
        return self.take(np.where(rows < 0, rows + self.n_rows, rows))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.take_all().astype(dtype or self.dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [np.asarray(each) if isinstance(each, ComputedIndex) else each for each in inputs]
        return getattr(ufunc, method)(*arrays, **options)


class SortedBagIndex(ComputedIndex):
    """The bag of each row, from the sizes of bags whose rows follow one another.

    >>> bag_index = SortedBagIndex(np.array([2, 3]))
    >>> bag_index[1:4], np.asarray(bag_index)
    (array([0, 1, 1]), array([0, 0, 1, 1, 1]))
    """

    def __init__(self, sizes: Index) -> None:
        self.sizes = np.asarray(sizes, dtype=np.int64)
        self.ends = np.cumsum(self.sizes)
        super().__init__(int(self.ends[-1]) if len(self.ends) else 0)

    def take(self, rows: Index) -> Index:
        """The bag of each."""
        return np.searchsorted(self.ends, rows, side="right")

    def take_all(self) -> Index:
        """Each bag as often as it has rows."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def tobytes(self) -> bytes:
        """Of the sizes, which say the same: for digests."""
        return self.sizes.tobytes()


class RowsInOrder(ComputedIndex):
    """0, 1, 2, ...: the order of rows sorted by bag.

    >>> RowsInOrder(5)[np.array([3, 1])]
    array([3, 1])
    """

    def take(self, rows: Index) -> Index:
        """Themselves."""
        return rows


def count_if_sorted(bag_index: Any) -> Index | None:
    """The sizes of bags whose rows are known to follow one another; None of others."""
    return bag_index.sizes if isinstance(bag_index, SortedBagIndex) else None


def rows_of_bags(starts: Index, sizes: Index) -> Index:
    """All rows of bags that begin at these rows, bag after bag.

    >>> rows_of_bags(np.array([7, 0]), np.array([2, 3]))
    array([7, 8, 0, 1, 2])
    """
    ends = np.cumsum(sizes)
    return np.arange(ends[-1]) + np.repeat(starts - (ends - sizes), sizes)


def consecutive_runs(rows: Index) -> Index:
    """Where the rows go on without a gap: a line for each run, with its place among ``rows`` and that of its end.

    >>> consecutive_runs(np.array([4, 5, 6, 1, 2, 9]))
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


def index_ids(bag_of_row: Any, name: str = "bag_of_row") -> tuple[Index, tuple[Hashable, ...]]:
    """For each row the position of its bag, and the bags' ids: sorted, or by first appearance if they can't be.

    >>> index_ids(["b", "a", "b"])
    (array([1, 0, 1]), ('a', 'b'))
    """
    with check_argument(name):
        values = check_one_per_row(bag_of_row, name)
        if isinstance(values, list) or values.dtype == object:
            return _index_of_objects(list(values))
        for row in np.flatnonzero(values != values):  # NaN and NaT differ from themselves
            raise ValueError(f"row {row} has no bag: its id is {values[row]}")
        if values.dtype.kind in "mM":  # finer units would become plain integers
            values = values.astype(f"{values.dtype.kind}8[us]")
        ids, index = np.unique(values, return_inverse=True)
        return index.astype(np.int64), tuple(ids.tolist())


def index_groups(groups: Any, n_rows: int) -> tuple[Index, tuple[Hashable, ...]]:
    """The same for scikit-learn's ``groups``, where None means one bag per row."""
    return index_ids(np.arange(n_rows) if groups is None else groups, "groups")


def rows_by_bag(
    table: Any, bag_ids: tuple[Hashable, ...], key: str | None, name: str = "proportions"
) -> tuple[NDArray[np.float64], tuple[Hashable, ...] | None]:
    """The table's row of each bag, in the order of ``bag_ids``, and its names of the classes if it has any."""
    if key is not None and not is_frame(table):
        raise ValueError(f"key names a column of a frame, but {name} is a {type(table).__name__}")
    if is_frame(table):
        rows, classes = _frame_rows(table, key, name)
        return _ordered_rows(rows, bag_ids, name), classes
    if isinstance(table, Mapping):
        return _ordered_rows(table, bag_ids, name), None
    array = check_numbers(table, name).astype(np.float64)
    if array.ndim != 2 or len(array) != len(bag_ids):
        raise ValueError(
            f"{name} given as an array need one row per bag, in the order of the sorted ids: "
            f"({len(bag_ids)}, classes), got {array.shape}"
        )
    return array, None


def class_columns(table: Any) -> tuple[Hashable, ...] | None:
    """The names of a frame's columns, which are classes; of an array there are none."""
    return tuple(table.columns) if is_frame(table) else None


def _index_of_objects(values: list[Hashable]) -> tuple[Index, tuple[Hashable, ...]]:
    position: dict[Hashable, int] = {}
    index = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"row {row} has no bag: its id is {value}")
        if not isinstance(value, Hashable):
            raise TypeError(
                f"row {row}: the id of a bag must be hashable, such as text, got a {type(value).__name__}"
            )
        index[row] = position.setdefault(value, len(position))
    try:
        ids = tuple(sorted(position))  # type: ignore[type-var]
    except TypeError:
        return index, tuple(position)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[[position[bag] for bag in ids]] = np.arange(len(ids))
    return rank[index], ids


def _frame_rows(frame: Any, key: str | None, name: str) -> tuple[dict[Hashable, Any], tuple[Hashable, ...]]:
    columns = list(frame.columns)
    if key is None and not hasattr(frame, "index"):
        raise ValueError(f"this frame has no index: name the column of its bags with key=, one of {columns}")
    if key is not None and key not in columns:
        raise ValueError(f"no column {key!r} in the {name}{did_you_mean(key, columns)}")
    ids = list(frame.index if key is None else frame[key])
    classes = tuple(column for column in columns if column != key)
    values = check_numbers(frame if key is None else frame[list(classes)], name)
    rows: dict[Hashable, Any] = {}
    for bag, row in zip(ids, values, strict=True):
        if bag in rows:
            raise ValueError(f"bag {bag!r} has more than one row of {name}")
        rows[bag] = row
    return rows, classes


def _ordered_rows(rows: Mapping[Any, Any], bag_ids: tuple[Hashable, ...], name: str) -> NDArray[np.float64]:
    missing = [bag for bag in bag_ids if bag not in rows]
    if missing:
        raise ValueError(f"no {name} for bag {missing[0]!r}{and_more(missing)}{did_you_mean(missing[0], rows)}")
    spare = rows.keys() - set(bag_ids)
    if spare:
        names = sorted(map(repr, spare))
        warnings.warn(f"{name} of {names[0]}{and_more(names)}, but no instances", stacklevel=4)
    ordered = [_row_of_bag(rows[bag], bag, name) for bag in bag_ids]
    for bag, row in zip(bag_ids, ordered, strict=True):
        if len(row) != len(ordered[0]):
            raise ValueError(f"bag {bag!r} has {len(row)} classes, but bag {bag_ids[0]!r} has {len(ordered[0])}")
    return np.array(ordered, dtype=np.float64)


def _row_of_bag(row: Any, bag: Hashable, name: str) -> NDArray[Any]:
    with check_argument(name):
        numbers = check_numbers(row, f"bag {bag!r}: {name}")
        if numbers.ndim != 1:
            raise ValueError(f"bag {bag!r}: {name} must be one number for each class, got shape {numbers.shape}")
        return numbers
