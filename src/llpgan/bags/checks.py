"""Checks of bags, proportions and labels, with errors that name what is wrong."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.bags.grouping import count_if_sorted
from llpgan.utils.arrays import Array, check_argument, check_labels, check_numbers, is_frame, refuse_masked
from llpgan.utils.messages import did_you_mean

Table = NDArray[np.float64]
_CHUNK_BYTES = 2**24
ROUNDING = 1e-9
SAME_SHARE = 1e-9  # shares that differ by no more differ by rounding
_LAST_DIGITS = 1e-14
LARGEST = 1e38  # of an instance's values: single precision ends at 3.4e38, and differences must not pass it


def check_instances(values: Array, features: Sequence[str] | None = None, first_row: int = 0) -> None:
    """Refuse what is not a non-empty array of finite numbers up to 1e38, one row per instance.

    Messages count rows from ``first_row`` on, where the instances are a part of all.
    """
    if values.ndim < 2:
        raise ValueError(f"instances need one row each, (rows, features), got an array of shape {values.shape}")
    if len(values) == 0:
        raise ValueError("there are no instances: the array has 0 rows")
    if 0 in values.shape:
        raise ValueError(f"instances have no features: the array has shape {values.shape}")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"instances must be numbers, got dtype {values.dtype}")
    if values.dtype.kind == "f" and not getattr(values, "finite", False):  # a store knows that it is
        check_finite(values, features, first_row)


def check_finite(values: Array, features: Sequence[str] | None = None, first_row: int = 0) -> None:
    """Refuse values that are not finite, or that single precision cannot hold; named by row and column.

    The rows are looked through a few at a time, so that a memory-mapped array is never read as a whole.
    """
    step = max(1, _CHUNK_BYTES // max(1, values[:1].nbytes))
    for start in range(0, len(values), step):
        chunk = np.asarray(values[start : start + step])
        fine = np.isfinite(chunk)
        if chunk.dtype != np.float16:  # which ends long before
            fine &= np.abs(chunk) <= LARGEST
        if not fine.all():
            row, *place = (int(i) for i in np.argwhere(~fine)[0])
            column = f"position {tuple(place)}"
            if len(place) == 1:
                column = f"column {place[0] if features is None else repr(features[place[0]])}"
            value, where = float(chunk[(row, *place)]), f"row {first_row + start + row}, {column}"
            if np.isfinite(value):
                limit = f"instances must stay within ±{LARGEST:.0e}; give them in another unit"
                raise ValueError(f"{value:g} in {where}: {limit}")
            raise ValueError(f"{'NaN' if np.isnan(value) else 'inf'} in {where}: instances must be finite")


def check_same_length(name: str, values: Any, other_name: str, other: Any) -> None:
    """Refuse arrays that should have one entry a row, and differ in length."""
    if len(values) != len(other):
        raise ValueError(f"{len(values)} {name}, but {len(other)} {other_name}: there must be one for each row")


def check_positions(which: Any, what: str, n: int) -> NDArray[np.int64]:
    """Different positions among n things, in order; or those where a truth value for each of them is true."""
    given = refuse_masked(which, f"{what}s")
    if given.ndim != 1:
        raise ValueError(f"{what}s are chosen by a list of positions from 0 to {n - 1}, got {which!r}")
    if given.dtype == bool:
        check_same_length(f"{what}s", range(n), "truth values", given)
        given = np.flatnonzero(given)
    if len(given) == 0:
        raise ValueError(f"no {what} is chosen: there must be at least one")
    if given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n:
        raise ValueError(f"{what}s are chosen by positions from 0 to {n - 1}, got {given.tolist()[:10]}")
    found, counts = np.unique(given, return_counts=True)
    if counts.max() > 1:
        raise ValueError(f"{what} {found[counts.argmax()]} is chosen more than once")
    return found


def check_labelled_rows(rows: Any, labels: Any, n_rows: int) -> tuple[NDArray[np.int64], Array]:
    """The positions of rows whose labels are known, in order, and the label of each."""
    chosen, where, given = check_positions(rows, "row", n_rows), np.asarray(rows), refuse_masked(labels, "labels")
    check_same_length("labels", given, "rows", chosen)
    return chosen, given if where.dtype == bool else given[np.argsort(where)]


def refuse_empty_bag(bag_index: NDArray[np.int64], bag_ids: Sequence[Hashable]) -> None:
    """Refuse bags without rows, and rows that point at no bag."""
    sizes = count_if_sorted(bag_index)
    if sizes is None:
        if bag_index.min() < 0 or bag_index.max() >= len(bag_ids):
            row = int(np.argmax((bag_index < 0) | (bag_index >= len(bag_ids))))
            raise ValueError(f"row {row} is in bag number {bag_index[row]}, but there are {len(bag_ids)} bags")
        sizes = np.bincount(bag_index, minlength=len(bag_ids))
    check_same_length("bag sizes", sizes, "bag ids", bag_ids)
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        raise ValueError(f"bag {bag_ids[empty[0]]!r} is empty: no row belongs to it")


def check_classes(names: Array, table: Table) -> None:
    """Refuse fewer than two classes, names that repeat, and names that do not match the proportions."""
    if len(names) < 2:
        raise ValueError(f"a classifier needs at least two classes, got {len(names)} class: {names.tolist()}")
    if any(name != name for name in names.tolist()):
        raise ValueError(f"a class name is missing: the classes are {names.tolist()}")
    if np.ndim(table) != 2 or table.shape[1] != len(names):
        raise ValueError(f"{len(names)} class names, but proportions of shape {np.shape(table)}")
    if len(set(names.tolist())) < len(names):
        raise ValueError(f"class names must differ, but the classes are {names.tolist()}")


def check_tolerance(given: Any) -> None:
    """Refuse what is not a small share: how far sums of proportions may be from one."""
    if isinstance(given, bool) or not isinstance(given, int | float | np.floating) or not 0 <= given < 1:
        raise ValueError(f"tolerance must be a number from 0 to below 1, got {given!r}")


def check_switch(given: Any, name: str) -> None:
    """Refuse what is neither true nor false; a text such as "no" would count as true."""
    if not isinstance(given, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {given!r}")


def check_proportions(
    table: Table, bag_ids: Sequence[Hashable], tolerance: float, classes: Sequence[Hashable] | None = None
) -> Table:
    """The proportions, renormalised where they sum to one within the tolerance; refused where they do not."""
    if len(table) != len(bag_ids):
        raise ValueError(f"{len(table)} rows of proportions, but {len(bag_ids)} bags")
    unknown = (
        "is not a number; if the share is not known, say so (partial), or (within) if the others are those within "
        "the classes that are given"
    )
    above = "is above one (counts go in as counts, percentages divided by 100)"
    refused = {
        unknown: np.isnan(table),
        "is not a number": ~np.isfinite(table),
        "is negative": table < 0,
        above: table > 1 + tolerance,
    }
    for why, wrong in refused.items():
        if wrong.any():
            raise _wrong_share(wrong, table, bag_ids, why, classes)
    sums = table.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > tolerance + ROUNDING)
    if len(wrong):
        bag = wrong[0]
        raise ValueError(f"bag {bag_ids[bag]!r}: proportions sum to {sums[bag]:.6g}, not 1")
    exact = np.abs(sums - 1) <= _LAST_DIGITS  # else what was put right, and stored, would be put right again
    return np.where(exact[:, None], table, table / sums[:, None])


def check_noisy_proportions(table: Table, bag_ids: Sequence[Hashable], classes: Sequence[Hashable]) -> Table:
    """Shares that were reported with noise: finite, but they may be negative and need not sum to one."""
    if not np.isfinite(table).all():
        raise _wrong_share(~np.isfinite(table), table, bag_ids, "is not a number", classes)
    return table


def proportions_from_counts(
    table: Table, bag_ids: Sequence[Hashable], classes: Sequence[Hashable], *, within: bool = False
) -> Table:
    """Each bag's counts over their sum, which need not be the bag's size: the rows may be a sample of it.

    Within the classes that are given, the others are NaN, and stay so.
    """
    if table.shape[1] != len(classes):
        raise ValueError(f"{len(classes)} class names, but counts of shape {table.shape}")
    for bag, column in np.argwhere(~((np.isfinite(table) & (table >= 0)) | (np.isnan(table) & within))):
        hint = "; if this class was not counted there, say so (within)" if np.isnan(table[bag, column]) else ""
        raise ValueError(
            f"bag {bag_ids[bag]!r}: {table[bag, column]:g} of class {classes[column]!r} is not a count{hint}"
        )
    sums = (np.nansum if within else np.sum)(table, axis=1, keepdims=True)
    for bag in np.flatnonzero(sums == 0).tolist():
        raise ValueError(f"bag {bag_ids[bag]!r}: its counts sum to 0")
    return table / sums


def refuse_shares_without_groups(rows: Table) -> None:
    """Refuse shares of bags where nobody has said which rows belong to which bag."""
    if rows.ndim == 2 and not np.isin(rows, (0, 1)).all():
        raise ValueError(
            "proportions need groups, the bag of each row; in cross_val_score and GridSearchCV they arrive "
            "after sklearn.set_config(enable_metadata_routing=True)"
        )


def check_weights(given: Any, n_rows: int, name: str = "sample_weight") -> Table:
    """One finite weight for each row, none of them negative."""
    with check_argument(name):
        found = check_numbers(given, name).astype(np.float64)
        if found.shape != (n_rows,):
            raise ValueError(f"{name} has shape {found.shape}, but there are {n_rows} rows")
        for row in np.flatnonzero(~(np.isfinite(found) & (found >= 0))):
            raise ValueError(f"{name} must be finite and not negative, but row {row} has {found[row]}")
        for row in np.flatnonzero(found > LARGEST):
            raise ValueError(f"{name} must be at most {LARGEST:.0e}, but row {row} has {found[row]:g}: divide all")
        if found.sum() == 0:
            raise ValueError(f"{name} must not all be zero")
        return found


def refuse_weightless_bag(totals: NDArray[Any], bag_ids: Sequence[Hashable]) -> None:
    """Refuse a bag whose rows all have weight zero."""
    for bag in np.flatnonzero(totals == 0).tolist():
        raise ValueError(f"bag {bag_ids[bag]!r}: its weights sum to 0")


def check_probabilities(given: Any, n_rows: int, n_classes: int) -> Table:
    """The probability of each class for each row."""
    with check_argument("probabilities"):
        table = check_numbers(given, "probabilities").astype(np.float64)
        if table.ndim != 2 or table.shape[1] != n_classes:
            raise ValueError(f"probabilities need one column for each of {n_classes} classes, got {table.shape}")
        if len(table) != n_rows:
            raise ValueError(
                f"{n_rows} instances, but {len(table)} rows of probabilities: there must be one for each"
            )
        if not np.isfinite(table).all():
            raise ValueError("probabilities must be finite, but some are NaN or infinite")
        return table


def first_rows_that_agree(rows: Table, bag_index: NDArray[np.int64], bag_ids: Sequence[Hashable]) -> Table:
    """The proportions of each bag, given once for each of its rows; refused where rows of a bag disagree."""
    if rows.ndim != 2:
        raise ValueError(f"proportions of each row must be (rows, classes), got shape {rows.shape}")
    _, first = np.unique(bag_index, return_index=True)
    expected = rows[first][bag_index]
    differs = ~np.isclose(rows, expected, rtol=0, atol=1e-8, equal_nan=True).all(axis=1)
    for row in np.flatnonzero(differs):
        bag = bag_index[row]
        raise ValueError(
            f"rows {first[bag]} and {row} of bag {bag_ids[bag]!r} give different proportions: "
            f"{rows[first[bag]].tolist()} and {rows[row].tolist()}"
        )
    return rows[first]


def _wrong_share(
    wrong: NDArray[np.bool_],
    table: Table,
    bag_ids: Sequence[Hashable],
    why: str,
    classes: Sequence[Hashable] | None,
) -> ValueError:
    """The error of the first share that is wrong."""
    bag, column = np.argwhere(wrong)[0]
    name = column if classes is None else repr(classes[column])
    return ValueError(f"bag {bag_ids[bag]!r}: the value {table[bag, column]:g} of class {name} {why}")


def match_labels(labels: Any, classes: Array, name: str) -> Array:
    """The labels as the classes have them: the same values, or the same as text (0 and '0').

    A label that is no class stays as it is, and is then never right; where all are such, that is an error.

    >>> match_labels([1, 0, 1], np.array(["0", "1"]), "y").tolist()
    ['1', '0', '1']
    """
    found, index = np.unique(check_labels(labels, name), return_inverse=True)
    values = found.tolist()
    places = [_match_place(value, classes.tolist()) for value in values]
    if all(place is None for place in places):
        raise ValueError(f"{name}: no label is one of the classes {_few(classes)}; there are {_few(found)}")
    named = np.empty(len(values), dtype=object)
    known = classes.tolist()
    named[:] = [value if place is None else known[place] for value, place in zip(values, places, strict=True)]
    return named[index]


def match_columns(table: Any, classes: Array, name: str) -> NDArray[np.float64]:
    """The proportions of each row in the order of the classes: a frame's by the names of its columns.

    >>> import pandas as pd
    >>> match_columns(pd.DataFrame({"yes": [0.75], "no": [0.25]}), np.array(["no", "yes"]), "y")
    array([[0.25, 0.75]])
    """
    with check_argument(name):
        rows = check_numbers(table, name).astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(classes):
            raise ValueError(
                f"proportions need one column for each of the {len(classes)} classes {_few(classes)}, got an "
                f"array of shape {rows.shape}"
            )
        if not is_frame(table):
            return rows
        columns = list(table.columns)
        places = []
        for name in classes.tolist():
            if (place := _match_place(name, columns)) is None:
                raise ValueError(f"no column for the class {name!r}{did_you_mean(name, columns)}")
            places.append(place)
        return rows[:, places]


def _match_place(name: Hashable, names: Sequence[Hashable]) -> int | None:
    """Where a name is among others: itself, or the only one that reads the same."""
    if name in names:
        return names.index(name)
    alike = [place for place, other in enumerate(names) if _plain_text(other) == _plain_text(name)]
    return alike[0] if len(alike) == 1 else None


def _plain_text(name: Any) -> str:
    """0, 0.0 and '0' read the same."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _few(names: Array) -> str:
    shown = ", ".join(map(repr, names.tolist()[:5]))
    return shown + (" ..." if len(names) > 5 else "")
