"""Rows counted by bag, and by bag and value, while they go by."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from llpgan.tables import column_values
from llpgan.tables.bag_join import bag_keys
from llpgan.tables.leakage import counts_by_bag
from llpgan.tables.rows import Rows

Index = NDArray[np.int64]
MOST_LABELS = 10_000


class PartBags(NamedTuple):
    """The bags of a part: the position of each row's among them, and the place of each among all bags seen."""

    of_row: Index
    places: Index


class SeenBags:
    """Bags in the order in which they first appear, and how many rows each has."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns
        self.place: dict[Hashable, int] = {}
        self.counts = Growing(1)

    def add(self, rows: Rows) -> PartBags:
        """Some rows more."""
        found = self.of(rows)
        self.counts.add(found.places, np.bincount(found.of_row)[:, None])
        return found

    def of(self, rows: Rows) -> PartBags:
        """The bags of rows; new ones get the next place."""
        of_row, ids = bag_keys(rows.table, self.columns, rows.name, rows.first_row)
        return PartBags(of_row, np.array([self.place.setdefault(bag, len(self.place)) for bag in ids]))

    def sizes(self) -> Index:
        """How many rows each bag has."""
        return self.counts.rows(len(self.place))[:, 0]


class Growing:
    """A table of counts to which rows are added at its end as bags appear.

    >>> counts = Growing(2)
    >>> counts.add(np.array([3]), np.array([[1, 2]]))
    >>> counts.rows(4).tolist()
    [[0, 0], [0, 0], [0, 0], [1, 2]]
    """

    def __init__(self, n_columns: int, dtype: DTypeLike = np.int64) -> None:
        self.table = np.zeros((1024, n_columns), dtype=dtype)

    def add(self, places: Index, counts: Index) -> None:
        """Add counts at different places."""
        needed = int(places.max()) + 1
        if needed > len(self.table):
            more = np.zeros((max(needed, 2 * len(self.table)), self.table.shape[1]), dtype=self.table.dtype)
            more[: len(self.table)] = self.table
            self.table = more
        if counts.shape[1] > self.table.shape[1]:
            self.table = np.pad(self.table, ((0, 0), (0, counts.shape[1] - self.table.shape[1])))
        self.table[places, : counts.shape[1]] += counts

    def rows(self, n_rows: int) -> Index:
        """The first rows."""
        needed = max(0, n_rows - len(self.table))
        return np.pad(self.table, ((0, needed), (0, 0)))[:n_rows]


class Coded:
    """Values as numbers 0, 1, ... in the order in which they appear, counted by bag."""

    def __init__(self) -> None:
        self.codes: dict[Any, int] = {}
        self.counts = Growing(2)

    def add(
        self, bags: PartBags, found: Sequence[Any], of_row: Index, weights: NDArray[np.float64] | None = None
    ) -> None:
        """A part: its different values, and for each row the position of its own among them; -1 for none."""
        codes = np.array([*(self.codes.setdefault(value, len(self.codes)) for value in found), -1])[of_row]
        there = codes >= 0
        if there.any():
            times = None if weights is None else weights[there]
            counts = counts_by_bag(bags.of_row[there], codes[there], len(bags.places), times)
            self.counts.add(bags.places, counts)

    def table(self, n_bags: int) -> Index:
        """(bags, values)."""
        return self.counts.rows(n_bags)[:, : len(self.codes)]


class Labels:
    """The labels of all rows, of which only the counts in each bag are kept."""

    def __init__(self, column: str) -> None:
        self.column, self.coded = column, Coded()

    def add(self, rows: Rows, bags: PartBags, weights: NDArray[np.float64] | None = None) -> None:
        """Some rows more; each counts as often as its weight says."""
        found, of_row = np.unique(label_values(rows, self.column), return_inverse=True)
        if weights is not None and self.coded.counts.table.dtype == np.int64:
            self.coded.counts = Growing(2, np.float64)
        self.coded.add(bags, found.tolist(), of_row, weights)
        if len(self.coded.codes) > MOST_LABELS:
            raise ValueError(f"column {self.column!r} has more than {MOST_LABELS:,} values: it is no label")

    def sorted(self, n_bags: int) -> tuple[NDArray[Any], Index]:
        """The classes in order, and the counts (bags, classes)."""
        classes = sorted(self.coded.codes)
        return np.array(classes), self.coded.table(n_bags)[:, [self.coded.codes[name] for name in classes]]


class FewValues:
    """The values of a column that has only a few: counted by bag, to see whether it is the label in disguise."""

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most = name, most
        self.coded: Coded | None = Coded()
        self.is_text = False

    def add(self, column: pa.ChunkedArray, bags: PartBags) -> None:
        """A part of the column; once there are more values than a few, it is of no interest."""
        if self.coded is None:
            return
        if column_values.has_more_values_than(column, self.most):
            self.coded = None
            return
        self.is_text = column_values.is_text(column)
        text = column_values.plain(column_values.as_text(self.name, column)).combine_chunks().dictionary_encode()
        of_row = np.asarray(text.indices.fill_null(-1), dtype=np.int64)
        self.coded.add(bags, text.dictionary.to_pylist(), of_row)

    def table(self, n_bags: int) -> Index | None:
        """(bags, values), if there are two to a few values."""
        if self.coded is None or not 2 <= len(self.coded.codes) <= self.most:
            return None
        return self.coded.table(n_bags)


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
    for row in np.flatnonzero(column_values.missing(column)):
        raise ValueError(f"{rows.name}, row {rows.first_row + row} has no label: its {label!r} is missing")
    if pa.types.is_nested(column_values.plain(column).type):
        raise ValueError(f"{rows.name}: column {label!r} holds {column.type}: one class per row would be right")
    return np.asarray(column_values.plain(column).to_numpy())
