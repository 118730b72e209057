"""Bag ids: from any hashable values to positions, and tables keyed by bag to rows in that order."""

import warnings
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.utils import array_input
from llpgan.utils.suggestions import and_more, did_you_mean

Index = NDArray[np.int64]


def index_of(bag_of_row: Any, name: str = "bag_of_row") -> tuple[Index, tuple[Hashable, ...]]:
    """For each row the position of its bag, and the bags' ids: sorted, or by first appearance if they can't be.

    >>> index_of(["b", "a", "b"])
    (array([1, 0, 1]), ('a', 'b'))
    """
    with array_input.argument(name):
        values = array_input.one_per_row(bag_of_row, name)
        if isinstance(values, list) or values.dtype == object:
            return _index_of_objects(list(values))
        for row in np.flatnonzero(values != values):  # NaN and NaT differ from themselves
            raise ValueError(f"row {row} has no bag: its id is {values[row]}")
        if values.dtype.kind in "mM":  # finer units would become plain integers
            values = values.astype(f"{values.dtype.kind}8[us]")
        ids, index = np.unique(values, return_inverse=True)
        return index.astype(np.int64), tuple(ids.tolist())


def index_of_groups(groups: Any, n_rows: int) -> tuple[Index, tuple[Hashable, ...]]:
    """The same for scikit-learn's ``groups``, where None makes every row a bag of its own."""
    return index_of(np.arange(n_rows) if groups is None else groups, "groups")


def rows_by_bag(
    table: Any, bag_ids: tuple[Hashable, ...], key: str | None, name: str = "proportions"
) -> tuple[NDArray[np.float64], tuple[Hashable, ...] | None]:
    """The table's row of each bag, in the order of ``bag_ids``, and its names of the classes if it has any."""
    if key is not None and not array_input.is_frame(table):
        raise ValueError(f"key names a column of a frame, but {name} is a {type(table).__name__}")
    if array_input.is_frame(table):
        rows, classes = _frame_rows(table, key, name)
        return _ordered_rows(rows, bag_ids, name), classes
    if isinstance(table, Mapping):
        return _ordered_rows(table, bag_ids, name), None
    array = array_input.numbers(table, name).astype(np.float64)
    if array.ndim != 2 or len(array) != len(bag_ids):
        raise ValueError(
            f"{name} given as an array need one row per bag, in the order of the sorted ids: "
            f"({len(bag_ids)}, classes), got {array.shape}"
        )
    return array, None


def class_columns(table: Any) -> tuple[Hashable, ...] | None:
    """The names of a frame's columns, which are classes; of an array there are none."""
    return tuple(table.columns) if array_input.is_frame(table) else None


def _index_of_objects(values: list[Hashable]) -> tuple[Index, tuple[Hashable, ...]]:
    position: dict[Hashable, int] = {}
    index = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        if array_input.is_missing(value):
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
    values = array_input.numbers(frame if key is None else frame[list(classes)], name)
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
    with array_input.argument(name):
        numbers = array_input.numbers(row, f"bag {bag!r}: {name}")
        if numbers.ndim != 1:
            raise ValueError(f"bag {bag!r}: {name} must be one number for each class, got shape {numbers.shape}")
        return numbers
