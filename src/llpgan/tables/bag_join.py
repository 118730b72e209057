"""Rows of one table and proportions of another, joined by bag."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from llpgan.bags import validation
from llpgan.tables import column_values
from llpgan.tables.rows import no_column
from llpgan.utils.callers import warn_user
from llpgan.utils.suggestions import and_more, did_you_mean

Index = NDArray[np.int64]
Shares = NDArray[np.float64]
_TOTALS = {"all", "n", "sum", "total"}
_MISSING_IN_CSV = " (?, NA, N/A, null, None and NaN also count as missing: write such a name in another way)"


def bag_keys(
    table: pa.Table, names: Sequence[str], file: str = "the table", first_row: int = 0
) -> tuple[Index, tuple[Hashable, ...]]:
    """For each row the position of its bag, and the bags' ids in order: values of one column, tuples of several.

    Messages count rows from ``first_row`` on, where the table is a part of the file.

    >>> bag_keys(pa.table({"state": ["OH", "IA", "OH"], "county": [1, 1, 2]}), ["state", "county"])
    (array([1, 0, 2]), (('IA', 1), ('OH', 1), ('OH', 2)))
    """
    for name in names:
        if name not in table.column_names:
            raise no_column(file, name, table.column_names)
    index, ids = _key(table[names[0]], names[0], file, first_row)
    if len(names) == 1:
        return index, ids
    tuples: list[tuple[Hashable, ...]] = [(value,) for value in ids]
    for name in names[1:]:
        more, more_ids = _key(table[name], name, file, first_row)
        pairs, index = np.unique(index * len(more_ids) + more, return_inverse=True)
        tuples = [(*tuples[pair // len(more_ids)], more_ids[pair % len(more_ids)]) for pair in pairs.tolist()]
    return index, tuple(tuples)


def _key(column: pa.ChunkedArray, name: str, file: str, first_row: int) -> tuple[Index, tuple[Hashable, ...]]:
    if pa.types.is_nested(column.type):
        raise ValueError(f"{file}: column {name!r} holds {column.type}: each row needs a single bag id")
    for row in np.flatnonzero(column_values.missing(column)):
        raise ValueError(
            f"{file}, row {first_row + row} has no bag: its {name!r} is missing. Name the bag or leave the row out"
            f"{_MISSING_IN_CSV if '.csv' in file or '.tsv' in file else ''}"
        )
    codes = column.combine_chunks() if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    used, index = np.unique(np.asarray(codes.indices), return_inverse=True)
    ids = np.array(codes.dictionary.take(pa.array(used)).to_pylist(), dtype=object)
    order = np.argsort(ids, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[index], tuple(ids[order].tolist())


@dataclass(frozen=True)
class BagTable:
    """The proportions (or counts) of bags as a user's table gives them: one row per bag, one column per class.

    Classes keep the type of their names: a frame may have columns 0 and 1, which are no text.
    """

    ids: tuple[Hashable, ...]
    numbers: Shares
    classes: tuple[Hashable, ...]
    file: str

    @classmethod
    def of(
        cls,
        table: pa.Table,
        bag: Sequence[str],
        classes: Sequence[Hashable] | None,
        file: str,
        names: Mapping[str, Hashable] | None = None,
    ) -> "BagTable":
        """All columns but those of the bag are classes, unless classes are named.

        Parameters
        ----------
        table : Table
            One row per bag.
        bag : sequence of str
            The columns that say which bag.
        classes : sequence of Hashable or None
            The columns that are classes.
        file : str
            For messages.
        names : mapping, default=None
            Of the columns, as the user has them, where these are no text.
        """
        index, ids = bag_keys(table, bag, file)
        for row in np.flatnonzero(np.bincount(index) > 1):
            twice = np.flatnonzero(index == row)[:2].tolist()
            raise ValueError(f"{file}: bag {ids[row]!r} occurs twice, in rows {twice[0]} and {twice[1]}")
        if classes is None:
            classes = [(names or {}).get(name, name) for name in table.column_names if name not in bag]
        if not classes:
            raise ValueError(f"{file} has only the columns of the bag: it also needs one column per class")
        numbers = np.column_stack([_class_column(table, str(name), file) for name in classes])
        _refuse_total(numbers, classes, file)
        return cls(ids, numbers[np.argsort(index)], tuple(classes), file)

    def rows_of(self, bag_ids: Sequence[Hashable], instances_file: str) -> Shares:
        """The row of each bag of instances. Bags without a row are refused; rows without a bag get a word."""
        place = {bag: row for row, bag in enumerate(self.ids)}
        lacking = [bag for bag in bag_ids if bag not in place]
        if "." in lacking:  # what the folder of images calls itself
            raise ValueError(
                f"an image lies directly in {instances_file}, in the folder of no bag: move it to its bag"
            )
        if lacking:
            raise ValueError(
                f"bag {lacking[0]!r}{and_more(lacking)} of {instances_file} has no row in {self.file}"
                f"{_other_type(lacking[0], self.ids[0]) or did_you_mean(lacking[0], self.ids)}"
            )
        spare = sorted(place.keys() - set(bag_ids), key=place.__getitem__)
        if spare:
            warn_user(f"bag {spare[0]!r}{and_more(spare)} of {self.file} has no instance in {instances_file}")
        return self.numbers[[place[bag] for bag in bag_ids]]


def counts_as_shares(
    table: BagTable, counts: Shares, bag_ids: Sequence[Hashable], *, within: bool = False
) -> Shares:
    """Each bag's counts over their sum. They may be of a larger population than the rows at hand."""
    with column_values.of(table.file):
        return validation.counts_as_proportions(counts, bag_ids, table.classes, within=within)


def _class_column(table: pa.Table, name: str, file: str) -> Shares:
    if name not in table.column_names:
        there = did_you_mean(name, table.column_names)
        raise ValueError(f"classes: {file} has no column {name!r} for that class{there}")
    try:
        return column_values.as_numbers(name, table[name])
    except ValueError as error:
        raise ValueError(f"{file}: {error}; name the columns that are classes (classes) if this is none") from None


def _refuse_total(numbers: Shares, classes: Sequence[Hashable], file: str) -> None:
    """Refuse a column of sums, such as the margins of a cross table, which is no class."""
    for column, name in enumerate(classes):
        others = np.delete(numbers, column, axis=1).sum(axis=1)
        if len(classes) > 2 and str(name).casefold() in _TOTALS and np.allclose(numbers[:, column], others):
            raise ValueError(
                f"{file}: column {name!r} is the sum of the others, so it is not a class: leave it out, or name "
                f"the columns that are classes (classes)"
            )


def _other_type(mine: Any, theirs: Any) -> str:
    if type(mine) is type(theirs):
        return ""
    return f": ids are {type(mine).__name__} here and {type(theirs).__name__} there, such as {theirs!r}"
