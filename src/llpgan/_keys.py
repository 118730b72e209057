"""Bag ids: from any hashable values to positions, and tables keyed by bag to rows in that order."""

import warnings
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


def index_of(bag_of_row: Any) -> tuple[Index, tuple[Hashable, ...]]:
    """For each row the position of its bag, and the bags' ids: sorted, or by first appearance if they can't be.

    >>> index_of(["b", "a", "b"])
    (array([1, 0, 1]), ('a', 'b'))
    """
    if not hasattr(bag_of_row, "__array__"):
        return _index_of_objects(list(bag_of_row))
    values = np.asarray(bag_of_row)
    if values.ndim != 1:
        raise ValueError(f"the bag of each row must be one value a row, got an array of {values.shape}")
    if values.dtype == object:
        return _index_of_objects(values.tolist())
    for row in np.flatnonzero(values != values):  # NaN and NaT differ from themselves
        raise ValueError(f"row {row} has no bag: its id is {values[row]}")
    ids, index = np.unique(values, return_inverse=True)
    return index.astype(np.int64), tuple(ids.tolist())


def index_of_groups(groups: Any, n_rows: int) -> tuple[Index, tuple[Hashable, ...]]:
    """The same for scikit-learn's ``groups``, where None makes every row a bag of its own."""
    return index_of(np.arange(n_rows) if groups is None else groups)


def rows_by_bag(
    table: Any, bag_ids: tuple[Hashable, ...], key: str | None
) -> tuple[NDArray[np.float64], tuple[Hashable, ...] | None]:
    """The table's row of each bag, in the order of ``bag_ids``, and its names of the classes if it has any."""
    if hasattr(table, "columns"):
        rows, classes = _frame_rows(table, key)
        return _ordered_rows(rows, bag_ids), classes
    if isinstance(table, Mapping):
        return _ordered_rows(table, bag_ids), None
    array = np.asarray(table, dtype=np.float64)
    if array.ndim != 2 or len(array) != len(bag_ids):
        raise ValueError(
            f"proportions given as an array need one row a bag, in the order of the sorted ids: "
            f"({len(bag_ids)}, classes), got {array.shape}"
        )
    return array, None


def _index_of_objects(values: list[Hashable]) -> tuple[Index, tuple[Hashable, ...]]:
    position: dict[Hashable, int] = {}
    index = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        if value is None or value != value:
            raise ValueError(f"row {row} has no bag: its id is {value}")
        index[row] = position.setdefault(value, len(position))
    try:
        ids = tuple(sorted(position))  # type: ignore[type-var]
    except TypeError:
        return index, tuple(position)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[[position[bag] for bag in ids]] = np.arange(len(ids))
    return rank[index], ids


def _frame_rows(frame: Any, key: str | None) -> tuple[dict[Hashable, Any], tuple[Hashable, ...]]:
    columns = list(frame.columns)
    if key is None and not hasattr(frame, "index"):
        raise ValueError(f"this frame has no index: name the column of its bags with key=, one of {columns}")
    if key is not None and key not in columns:
        raise ValueError(f"no column {key!r} in the proportions; there are {columns}")
    ids = list(frame.index if key is None else frame[key])
    classes = tuple(name for name in columns if name != key)
    values = np.asarray(frame[list(classes)])
    rows: dict[Hashable, Any] = {}
    for bag, row in zip(ids, values, strict=True):
        if bag in rows:
            raise ValueError(f"bag {bag!r} has more than one row of proportions")
        rows[bag] = row
    return rows, classes


def _ordered_rows(rows: Mapping[Any, Any], bag_ids: tuple[Hashable, ...]) -> NDArray[np.float64]:
    missing = [bag for bag in bag_ids if bag not in rows]
    if missing:
        raise ValueError(f"no proportions for bag {missing[0]!r}{_and_more(missing)}")
    spare = rows.keys() - set(bag_ids)
    if spare:
        names = sorted(map(repr, spare))
        warnings.warn(f"proportions of {names[0]}{_and_more(names)}, but no instances", stacklevel=4)
    n_classes = np.size(rows[bag_ids[0]])
    for bag in bag_ids:
        if np.size(rows[bag]) != n_classes:
            raise ValueError(
                f"bag {bag!r} has {np.size(rows[bag])} classes, but bag {bag_ids[0]!r} has {n_classes}"
            )
    try:
        return np.array([rows[bag] for bag in bag_ids], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"proportions must be numbers: {error}") from None


def _and_more(names: list[Any]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""
