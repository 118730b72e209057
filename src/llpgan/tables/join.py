"""Rows joined with the proportions of their bags."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from llpgan.bags.checks import (
    check_instances,
    proportions_from_counts,
)
from llpgan.bags.known_shares import KnownShares, parse_known_shares
from llpgan.tables.columns import (
    as_numbers,
    as_text,
    has_words,
    missing_values,
    naming_source,
    plain_values,
    value_type,
)
from llpgan.tables.read import Rows, RowStream, missing_column_error, read_table, source_name
from llpgan.tables.spec import TableSpec, refuse_empty_path
from llpgan.tables.streams import FOLDER_COLUMN
from llpgan.utils.arrays import Array, check_argument, check_class_names
from llpgan.utils.messages import and_more, did_you_mean, warn_user

Index = NDArray[np.int64]
ShareArray = NDArray[np.float64]
_ROUNDING = 1e-6  # of sums
_TOTALS, _WORDS_OF_TOTALS = {"all", "n", "size"}, {"population", "sum", "total", "totals"}
_MISSING_IN_CSV = " (?, NA, N/A, null, None and NaN also count as missing: write such a name in another way)"


def names_total(column: str) -> bool:
    """Return whether a column of counts seems to count all rows of a bag, by its name.

    >>> names_total("Total votes"), names_total("n"), names_total("n_sick"), names_total("all others")
    (True, True, False, False)
    """
    words = re.findall(r"[^\W_]+", column.casefold())
    return not _WORDS_OF_TOTALS.isdisjoint(words) or "".join(words) in _TOTALS


def bag_keys(
    table: pa.Table, names: Sequence[str], file: str = "the table", number: Callable[[int], int] = int
) -> tuple[Index, tuple[Hashable, ...]]:
    """For each row the position of its bag, and the bags' ids in order: values of one column, tuples of several.

    Where the table is a part of the file, ``number`` gives the number of a row in the file, for messages.

    >>> bag_keys(pa.table({"state": ["OH", "IA", "OH"], "county": [1, 1, 2]}), ["state", "county"])
    (array([1, 0, 2]), (('IA', 1), ('OH', 1), ('OH', 2)))
    """
    index: Index | None = None
    ids: list[Any] = []
    for name in names:
        if name not in table.column_names:
            error = missing_column_error(file, name, table.column_names)
            why = "; the bag of an image is its folder, which this column names" if name == FOLDER_COLUMN else ""
            raise ValueError(f"{error}{why}")
        column = table[name]
        if pa.types.is_nested(column.type):
            raise ValueError(f"{file}: column {name!r} holds {column.type}: each row needs a single bag id")
        for row in np.flatnonzero(missing_values(column)).tolist():
            raise ValueError(
                f"{file}, row {number(row)} has no bag: its {name!r} is missing. Name the bag or leave the row out"
                f"{_MISSING_IN_CSV if '.csv' in file or '.tsv' in file else ''}"
            )
        codes = column.combine_chunks() if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
        used, of_row = np.unique(np.asarray(codes.indices), return_inverse=True)
        values = codes.dictionary.take(pa.array(used))
        if pa.types.is_integer(values.type) or pa.types.is_string(values.type):
            order = np.asarray(pc.sort_indices(values)).astype(np.int64)  # as Python sorts them, and quicker
        else:
            order = np.argsort(np.array(values.to_pylist(), dtype=object), kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        of_row, found = rank[of_row], values.take(pa.array(order)).to_pylist()
        if index is None:
            index, ids = of_row, found
            continue
        ids = [(value,) for value in ids] if name == names[1] else ids
        pairs, index = np.unique(index * len(found) + of_row, return_inverse=True)
        ids = [(*ids[pair // len(found)], found[pair % len(found)]) for pair in pairs.tolist()]
    assert index is not None
    return index, tuple(ids)


@dataclass(frozen=True)
class BagTable:
    """The proportions (or counts) of bags as a user's table gives them: one row per bag, one column per class.

    Classes keep the type of their names: a frame may have columns 0 and 1, which are no text.
    """

    ids: tuple[Hashable, ...]
    numbers: ShareArray
    classes: tuple[Hashable, ...]
    file: str

    @classmethod
    def from_table(
        cls,
        table: pa.Table,
        bag: Sequence[str],
        classes: Sequence[Hashable] | None,
        file: str,
        names: Mapping[str, Hashable] | None = None,
    ) -> BagTable:
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
        given = [" ".join(str(name).split()) for name in classes]
        if "" in given:
            raise ValueError(
                f"{file}: a column has no name, so it names no class: name it, leave it out, or name the columns "
                f"that are classes (classes)"
            )
        if len(set(given)) < len(given):
            raise ValueError(
                f"{file}: two classes have the same name but for spaces: {', '.join(map(repr, classes))}"
            )
        if not classes:
            raise ValueError(f"{file} has only the columns of the bag: it also needs one column per class")
        numbers = np.empty((len(ids), len(classes)))
        for place, name in enumerate(map(str, classes)):
            if name not in table.column_names:
                there = did_you_mean(name, table.column_names)
                raise ValueError(f"classes: {file} has no column {name!r} for that class{there}")
            try:
                numbers[:, place] = as_numbers(name, table[name])
            except ValueError as error:
                advice = "name the columns that are classes (classes) if this is none"
                raise ValueError(f"{file}: {error}; {advice}") from None
        if len(classes) > 2:
            _refuse_total(numbers, classes, file)
        return cls(ids, numbers[np.argsort(index)], tuple(classes), file)

    def convert_ids(self, types: Sequence[pa.DataType]) -> BagTable:
        """Read ids that are text as the types of the rows' bags, where they can be; a total row keeps its name."""
        columns: list[Sequence[Hashable]] = list(zip(*self.ids, strict=True)) if len(types) > 1 else [self.ids]
        read = [_read_ids(column, kind) for column, kind in zip(columns, types, strict=True)]
        ids = tuple(zip(*read, strict=True)) if len(types) > 1 else tuple(read[0])
        return replace(self, ids=ids) if len(set(ids)) == len(ids) else self

    def find_rows(self, bag_ids: Sequence[Hashable], instances_file: str, advice: str | None = "") -> ShareArray:
        """The row of each bag of instances. Bags without a row are refused; rows without a bag get a note.

        The advice ends the message of the error; None where rows without a bag are known.
        """
        place = {bag: row for row, bag in enumerate(self.ids)}
        lacking = [bag for bag in bag_ids if bag not in place]
        if "." in lacking:  # what the folder of images calls itself
            raise ValueError(
                f"an image lies directly in {instances_file}, in the folder of no bag: move it to its bag"
            )
        if lacking:
            mine, theirs = lacking[0], self.ids[0]
            if type(mine) is type(theirs):
                meant = did_you_mean(mine, self.ids)
            else:
                meant = (
                    f": ids are {type(mine).__name__} here and {type(theirs).__name__} there, such as {theirs!r}"
                )
            raise ValueError(
                f"bag {lacking[0]!r}{and_more(lacking)} of {instances_file} has no row in {self.file}{meant}"
                f"{'.' if advice and not meant.endswith(('?', '.')) else ''}{advice or ''}"
            )
        spare = sorted(place.keys() - set(bag_ids), key=place.__getitem__)
        if spare and advice is not None:
            warn_user(f"bag {spare[0]!r}{and_more(spare)} of {self.file} has no instance in {instances_file}")
        return self.numbers[[place[bag] for bag in bag_ids]]


def shares_from_counts_table(
    table: BagTable, counts: ShareArray, bag_ids: Sequence[Hashable], *, within: bool = False
) -> ShareArray:
    """Each bag's counts over their sum. They may be of a larger population than the rows at hand."""
    sums = counts.sum(axis=1)
    if (sums <= 1 + 1e-6).all() and (counts % 1 != 0).any():  # and none is NaN
        warn_user(
            f"{table.file}: the counts of each bag sum to 1, so these are shares: give them as (proportions)"
        )
    with naming_source(table.file):
        return proportions_from_counts(counts, bag_ids, table.classes, within=within)


def _spread_classes(
    table: pa.Table, bag: Sequence[str], long: Sequence[str], file: str, *, partial: bool
) -> tuple[pa.Table, list[str]]:
    """A table with one row per bag from one with one row for each bag and class, and the classes.

    A class that a bag has no row for has a share of zero there, or an unknown one if some are (partial).
    """
    name_column, share_column = long
    for name in long:
        if name not in table.column_names:
            raise missing_column_error(file, name, table.column_names)
    index, ids = bag_keys(table, bag, file)
    names, column = np.unique(as_text(name_column, table[name_column]).to_pylist(), return_inverse=True)
    cells = index * len(names) + column
    for cell in np.flatnonzero(np.bincount(cells) > 1)[:1].tolist():
        bag_id, name = ids[cell // len(names)], names[cell % len(names)].item()
        raise ValueError(f"{file}: bag {bag_id!r} has more than one row of class {name!r}")
    numbers = np.full(len(ids) * len(names), np.nan if partial else 0.0)
    numbers[cells] = as_numbers(share_column, table[share_column])
    first = np.unique(index, return_index=True)[1]
    shares = dict(zip(names.tolist(), numbers.reshape(len(ids), -1).T, strict=True))
    return pa.table({**{name: table[name].take(pa.array(first)) for name in bag}, **shares}), names.tolist()


def _refuse_long(table: pa.Table, others: Sequence[str], file: str) -> None:
    """Refuse a table that seems to have one row for each bag and class, and say how to read it.

    One of its two columns other than those of the bag then holds names of classes.
    """
    names = [name for name in others if has_words(table[name])]
    if len(names) == 1 and table[names[0]].null_count == 0:
        share = next(name for name in others if name not in names)
        raise ValueError(
            f"{file} seems to have one row for each bag and class: name the columns of the class and of its "
            f"share, such as {names[0]},{share} (long)"
        )


def _add_complement(table: pa.Table, name: str, file: str, classes: Sequence[Hashable] | None) -> pa.Table:
    """Add the share of the other of two classes, which may be known, before the one share of a table.

    The named class is then the second, so that a label of 1 means it and 0 means the other.
    """
    shares = as_numbers(name, table[name])
    if (shares > 1).any():
        raise ValueError(
            f"column {name!r} is the only class, and has the value {shares.max():g}, which is no share: divide "
            "percentages by 100 (or write 72 %), or give counts, of all classes or of one and the total"
        )
    if not (shares >= 0).all() or (shares == 1).all():
        return table
    other = _name_others(name, classes)
    warn_user(f"{file} has the share of one class, {name!r}; the others are called {other!r}")
    return table.add_column(table.column_names.index(name), other, pa.array(1 - shares))


def _subtract_from_total(
    table: pa.Table, names: Sequence[str], file: str, classes: Sequence[Hashable] | None
) -> pa.Table:
    """Replace the total of two classes by the count of the one that has no column, before the other."""
    totals = [name for name in names if names_total(name)]
    if len(totals) != 1:
        return table
    (total,), (name,) = totals, [name for name in names if name not in totals]
    rest = as_numbers(total, table[total]) - as_numbers(name, table[name])
    if not (rest >= 0).all():
        return table
    other = _name_others(name, classes)
    warn_user(f"{file}: {total!r} is read as the count of all; those that are not {name!r} are called {other!r}")
    without = table.drop_columns([total])
    return without.add_column(without.column_names.index(name), other, pa.array(rest))


def _name_others(name: str, classes: Sequence[Hashable] | None) -> str:
    """The other of two classes, if they are known."""
    known = [str(each) for each in classes or ()]
    return next(each for each in known if each != name) if len(known) == 2 and name in known else f"not {name}"


def _refuse_size(counts: ShareArray, classes: Sequence[Hashable], sizes: NDArray[Any], file: str) -> None:
    """Refuse a column of two that is the number of rows in every bag, so it is not a class."""
    for column, name in enumerate(classes):
        if len(classes) == 2 and counts[:, 1 - column].all() and np.array_equal(counts[:, column], sizes):
            raise ValueError(
                f"{file}: column {name!r} is the number of rows in every bag, so it is not a class: call it "
                "'total', or give the counts of both classes"
            )


def _refuse_total(numbers: ShareArray, classes: Sequence[Hashable], file: str) -> None:
    """Refuse a column that counts the rows of the others again, such as the margins of a cross table."""
    for column, name in enumerate(classes):
        others = np.delete(numbers, column, axis=1).sum(axis=1)
        if names_total(str(name)) and (numbers[:, column] >= others * (1 - _ROUNDING)).all():
            raise ValueError(
                f"{file}: column {name!r} is the sum of the others, or more, so it is a total and not a class: "
                "leave it out (name the columns that are classes: classes), or replace it by those in no class"
            )


def _read_ids(ids: Sequence[Hashable], kind: pa.DataType) -> Sequence[Hashable]:
    """Ids that are text as the type of other ids, where they are written as one of them would be."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return ids
    found = list(ids)
    for place, value in enumerate(ids):
        if isinstance(value, str):
            with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
                (read,) = pa.array([value]).cast(kind).to_pylist()
                if not pa.types.is_integer(kind) or str(read) == value:  # 01 is another bag than 1
                    found[place] = read
    return found


MOST_LABELS = 10_000


class PartBags(NamedTuple):
    """The bags of a part: the position of each row's among them, and the place of each among all bags seen."""

    of_row: Index
    places: Index


class BagCounts:
    """How many rows of each bag have each value, or how much they weigh, counted part by part.

    Bags and values may be new in each part; values are numbered in the order in which they appear.

    >>> counts = BagCounts()
    >>> counts.add(PartBags(np.array([0, 0, 1]), np.array([3, 0])), ["no", "yes"], np.array([0, 1, 1]))
    >>> counts.values, counts.table(4).astype(int).tolist()
    ({'no': 0, 'yes': 1}, [[0, 1], [0, 0], [0, 0], [1, 1]])
    """

    def __init__(self) -> None:
        self.values: dict[Any, int] = {}
        self._table = np.zeros((1024, 2))

    def add(
        self,
        bags: PartBags,
        values: Sequence[Any] = ("row",),
        of_row: Index | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a part: its different values, and for each row the position of its value among them; -1 for none.

        Without values, rows are counted.
        """
        of_row = np.zeros(len(bags.of_row), dtype=np.int64) if of_row is None else of_row
        codes = np.array([*(self.values.setdefault(value, len(self.values)) for value in values), -1])[of_row]
        there = codes >= 0
        if not there.any():
            return
        n_bags, n_codes = len(bags.places), int(codes.max()) + 1
        cells = bags.of_row[there] * n_codes + codes[there]
        counts = np.bincount(cells, None if weights is None else weights[there], minlength=n_bags * n_codes)
        self._make_room(int(bags.places.max()) + 1, n_codes)
        self._table[bags.places, :n_codes] += counts.reshape(n_bags, n_codes)

    def merge(self, other: BagCounts, places: Index) -> None:
        """Add the counts of other rows; ``places`` are those of their bags among all bags."""
        codes = np.array([self.values.setdefault(value, len(self.values)) for value in other.values], np.int64)
        if len(places) and len(codes):
            self._make_room(int(places.max()) + 1, len(self.values))
            self._table[np.ix_(places, codes)] += other.table(len(places))

    def _make_room(self, n_bags: int, n_values: int) -> None:
        if not self._table.flags.writeable:  # as Ray hands over arrays of other processes
            self._table = self._table.copy()
        height, width = self._table.shape
        more = max(n_bags, 2 * height) - height if n_bags > height else 0
        if more or n_values > width:
            self._table = np.pad(self._table, ((0, more), (0, max(0, n_values - width))))

    def to_arrays(self) -> dict[str, pa.Array]:
        """Values, the shape of the table, and the table, from which :meth:`restore` reads them."""
        shape = pa.array(self._table.shape)
        return {"values": pa.array(list(self.values)), "shape": shape, "table": pa.array(self._table.ravel())}

    def restore(self, arrays: Mapping[str, pa.Array]) -> None:
        """Take on the counts that :meth:`to_arrays` returned."""
        self.values = {value: place for place, value in enumerate(arrays["values"].to_pylist())}
        self._table = np.array(arrays["table"]).reshape(arrays["shape"].to_pylist())

    def table(self, n_bags: int) -> NDArray[np.float64]:
        """The counts so far, of shape (n_bags, n_values)."""
        lacking = max(0, n_bags - len(self._table))
        return np.pad(self._table, ((0, lacking), (0, 0)))[:n_bags, : len(self.values)]


def count_labels(
    counts: BagCounts, rows: Rows, label: str, bags: PartBags, weights: NDArray[np.float64] | None
) -> None:
    """Add the labels of rows; each counts as often as its weight says, and one of weight zero is not there."""
    labels = label_values(rows, label)
    counted = np.ones(len(labels), dtype=bool) if weights is None else weights > 0
    found, positions = np.unique(labels[counted], return_inverse=True)
    of_row = np.full(len(labels), -1)
    of_row[counted] = positions
    counts.add(bags, found.tolist(), of_row, weights)
    refuse_many_labels(counts, label)


def refuse_many_labels(counts: BagCounts, label: str) -> None:
    """Refuse a column with more values than any label has."""
    if len(counts.values) > MOST_LABELS:
        raise ValueError(f"column {label!r} has more than {MOST_LABELS:,} values: it is no label")


def label_values(rows: Rows, label: str) -> NDArray[Any]:
    """Return the labels of all rows.

    Parameters
    ----------
    rows : Rows
        The rows.
    label : str
        The column of the labels.

    Returns
    -------
    ndarray of shape (n_samples,)
        The labels.

    Raises
    ------
    ValueError
        If a label is missing, or is not a single value.
    """
    column = rows.column(label)
    if len(without := np.flatnonzero(missing_values(column))):
        more = f" (and {len(without) - 1:,} more)" if len(without) > 1 else ""
        raise ValueError(
            f"{rows.name}, row {rows.number(without[0])}{more} has no label: its {label!r} is missing. Give all "
            "labels, or a file of the rows that have one"
        )
    if pa.types.is_nested(plain_values(column).type):
        raise ValueError(f"{rows.name}: column {label!r} holds {column.type}: one class per row would be right")
    return np.asarray(plain_values(column).to_numpy())


class Shares(NamedTuple):
    """The proportions of each bag, the classes' names, and the table that they are from."""

    proportions: NDArray[np.float64]
    classes: Array
    source: str
    share_constraints: KnownShares | None = None


def read_bag_tables(stream: RowStream, spec: TableSpec) -> dict[str, BagTable]:
    """Read the tables of proportions, counts or bounds, with ids of the types that those of the rows have.

    There are none if labels are counted.
    """
    if not spec.tables_of_bags and spec.label is None:
        raise ValueError("the classes' shares are not known: give proportions, counts, or a label to count")
    bag_columns = spec.bag_columns(stream)
    fields = [stream.schema.field(name) for name in bag_columns]
    text = [field.name for field in fields if value_type(field) == "text"]
    tables: dict[str, BagTable] = {}
    for name, given in spec.tables_of_bags.items():
        table = _read_bag_table(given, name, bag_columns, text, spec)
        if len(text) < len(fields):
            table = table.convert_ids([field.type for field in fields])
        tables[name] = table
        first = next(iter(tables.values()))
        if table.classes != first.classes:
            raise ValueError(
                f"{table.file} has classes {list(table.classes)}, but {first.file} has {list(first.classes)}"
            )
    return tables


def _read_bag_table(given: Any, what: str, bag: Sequence[str], text: Sequence[str], spec: TableSpec) -> BagTable:
    """Read a table, whichever form it has, as one row per bag and one column per class."""
    file = source_name(given, f"the table of {what}")
    refuse_empty_path(given, what)
    is_file = isinstance(given, str | Path) and Path(given).is_file()
    with nullcontext() if is_file else check_argument(what):
        frame = given if is_file else _bags_as_columns(given, bag)
        table, classes = read_table(frame, text, bag), spec.classes
        columns = frame if isinstance(frame, Mapping) else getattr(frame, "columns", ())
        names = {str(name): name for name in columns if isinstance(name, Hashable)}
        if spec.long is not None:
            table, found = _spread_classes(table, bag, spec.long, file, partial=spec.partial or spec.within)
            classes = found if classes is None else classes
        elif set(bag) <= set(table.column_names):
            others = [name for name in table.column_names if name not in bag]
            is_wide = classes is not None and {*map(str, classes)} <= {*others}
            if len(others) == 2 and not is_wide:
                _refuse_long(table, others, file)
            with naming_source(file):
                if len(others) == 1 and what == "proportions" and not (spec.partial or spec.within):
                    table = _add_complement(table, others[0], file, classes)
                if len(others) == 2 and what == "counts" and not is_wide:
                    table = _subtract_from_total(table, others, file, classes)
        return BagTable.from_table(table, bag, classes, file, names)


def known_bags(tables: Mapping[str, BagTable]) -> frozenset[Hashable]:
    """The bags that all tables have."""
    first, *others = (table.ids for table in tables.values())
    return frozenset(first).intersection(*others)


def drop_unmatched(
    stream: RowStream, spec: TableSpec, known: Container[Hashable], found: dict[Hashable, int]
) -> RowStream:
    """Return the rows of known bags; ``found`` counts the rows of all bags that were read so far."""
    columns = spec.bag_columns(stream)

    def parts(n_rows: int) -> Iterator[Rows]:
        for rows in stream.rows(n_rows):
            if rows.array is not None:  # which is checked again without the rows that are left out
                check_instances(rows.array, None, rows.first_row)
            index, ids = bag_keys(rows.table, columns, rows.name, rows.number)
            for bag, n in zip(ids, np.bincount(index).tolist(), strict=True):
                found[bag] = found.get(bag, 0) + n
            kept = np.flatnonzero(np.array([bag in known for bag in ids])[index])
            if len(kept):
                yield rows if len(kept) == len(rows) else rows.take(kept)

    return replace(stream, rows=parts)


def note_unmatched(name: str, tables: Mapping[str, BagTable], found: Mapping[Hashable, int]) -> None:
    """Note how many of the rows that were found in each bag were left out; refuse if no row is left."""
    known, first = known_bags(tables), next(iter(tables.values()))
    if not known & found.keys():
        raise ValueError(f"no bag of {name} has a row in {first.file}, such as {first.ids[0]!r}: no row is left")
    lacking = [bag for bag in found if bag not in known]
    spare = [bag for bag in first.ids if bag not in found]
    n_rows = sum(found[bag] for bag in lacking)
    here = [f"{n_rows:,} rows of {name} in {_count_bags(lacking)} without proportions"] if lacking else []
    there = [f"{_count_bags(spare)} of {first.file} without rows"] if spare else []
    if here or there:
        warn_user(f"left out: {' and '.join([*here, *there])} (unmatched)")


def _count_bags(bags: Sequence[Hashable]) -> str:
    return f"bag {bags[0]!r}" if len(bags) == 1 else f"{len(bags):,} bags, such as {bags[0]!r},"


def _bags_as_columns(frame: Any, bag_columns: Sequence[str]) -> Any:
    """A frame whose index says the bag, as that of a cross table does, with the index as columns."""
    if hasattr(frame, "iloc") and not hasattr(frame, "columns"):
        raise TypeError("a table has one row per bag and one column per class, not a single column: see unstack()")
    if not hasattr(frame, "reset_index") or set(bag_columns) <= {str(name) for name in frame.columns}:
        return frame
    index = frame.index
    is_counted = index.names == [None] and index.dtype.kind in "iu"  # 0, 1, 2, ..., which name no bag
    is_another_name = len(bag_columns) == index.nlevels == 1 and not is_counted
    if not is_another_name and not set(bag_columns) <= set(index.names):
        return frame
    named = frame.set_axis(list(frame.columns), axis=1)
    return (named.rename_axis(list(bag_columns)) if is_another_name else named).reset_index()


def shares_from_tables(
    tables: Mapping[str, BagTable],
    spec: TableSpec,
    bag_ids: Sequence[Hashable],
    sizes: NDArray[Any],
    source: str,
    advice: str | None = "",
) -> Shares:
    """What such tables say of the bags of a source; for the advice, see :meth:`BagTable.find_rows`."""
    first = next(iter(tables.values()))
    rows = {name: table.find_rows(bag_ids, source, advice) for name, table in tables.items()}
    if "proportions" in rows:
        given = rows["proportions"]
        sums = given.sum(axis=1)
        if len(sums) and (np.abs(sums - 100) <= 1).all():  # and none is NaN
            warn_user(f"{first.file}: the proportions of each bag sum to 100, and are read as percentages")
            rows["proportions"] = given / 100
    if "counts" in rows:
        _refuse_size(rows["counts"], first.classes, sizes, first.file)
        rows["proportions"] = shares_from_counts_table(first, rows.pop("counts"), bag_ids, within=spec.within)
    classes = check_class_names(list(first.classes), "classes")
    if rows.keys() == {"proportions"} and not (spec.partial or spec.within or spec.proportions_sd is not None):
        return Shares(rows["proportions"], classes, first.file)
    with naming_source(first.file):
        shares, known = parse_known_shares(
            rows,
            bag_ids,
            first.classes,
            np.asarray(sizes, dtype=np.float64),
            partial=spec.partial,
            within=spec.within,
            sd=spec.proportions_sd,
            tolerance=spec.tolerance,
        )
    return Shares(shares, classes, first.file, known)


def shares_from_labels(labels: BagCounts, places: Index, source: str) -> Shares:
    """From how many rows of each bag have each label, for the bags at these places."""
    classes = sorted(labels.values)
    counts = labels.table(len(places))[places][:, [labels.values[name] for name in classes]]
    shares = counts / counts.sum(axis=1, keepdims=True)
    with naming_source(source):
        return Shares(shares, check_class_names(np.array(classes).tolist(), "label"), source)
