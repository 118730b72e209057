"""Tables of counts of pairs of columns (aggregated reports)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags.checks import check_classes, check_same_length
from llpgan.tables.columns import as_numbers, naming_source
from llpgan.tables.encode import ValueEncoder, value_texts
from llpgan.tables.spec import check_class_columns
from llpgan.tables.streams import open_rows
from llpgan.utils.arrays import Array, refuse_masked, to_frame
from llpgan.utils.old_names import OldName

Table = NDArray[np.float64]
Pair = tuple[str, str]
_ROUNDING, _CHANCE = 1e-6, 8.0  # of counts; standard deviations that no noise has
KEYS = ("column_1", "value_1", "column_2", "value_2")


@dataclass(frozen=True, eq=False)
class MarginalTables:
    """Counts of the classes for all pairs of values of all pairs of categorical columns.

    Use :meth:`from_counts` for a report that exists, and :meth:`from_rows` to make one from labelled rows.

    Parameters
    ----------
    values : dict
        From each column to the tuple of its values, as texts.
    counts : dict
        From each pair of columns, in the order of ``values``, to an array of shape (values of the first, values of
        the second, n_classes). NaN stands for a cell that was left out of the report because it is small.
    classes : ndarray of shape (n_classes,)
        The names of the classes.
    sd : float, default=0.0
        The standard deviation of the noise in each count.
    threshold : float, default=0.0
        Cells with fewer rows than this were left out of the report.

    See Also
    --------
    llpgan.MarginalLogistic : Learns a classifier from them.

    Examples
    --------
    >>> rows = {"sex": ["f", "m", "f"], "job": ["clerk", "clerk", "nurse"]}
    >>> tables = MarginalTables.from_rows(rows, ["no", "yes", "yes"])
    >>> tables
    MarginalTables(2 columns, 1 pair of columns, 4 cells, 2 classes, 3 rows)
    >>> tables.counts["sex", "job"][0]  # of women, by job and class
    array([[1., 0.],
           [0., 1.]])
    """

    values: dict[str, tuple[str, ...]]
    counts: dict[Pair, Table]
    classes: Array
    sd: float = 0.0
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if len(self.values) < 2:
            raise ValueError(f"there must be at least two columns, got {list(self.values)}")
        check_classes(self.classes, np.zeros((1, len(self.classes))))
        _refuse_no_amount("sd", self.sd)
        _refuse_no_amount("threshold", self.threshold)
        for first, second in self.pairs:
            if (first, second) not in self.counts:
                raise ValueError(
                    f"there is no table of the columns {first!r} and {second!r}: all pairs are needed"
                )
            self._check_counts(first, second)
        for place in np.flatnonzero(self.totals <= 0).tolist():
            raise ValueError(f"class {self.classes[place].item()!r}: its counts sum to {self.totals[place]:g}")
        for name in self.values:
            self._refuse_contradictions(name)

    @classmethod
    def from_rows(
        cls,
        rows: Any,
        labels: ArrayLike,
        *,
        columns: Sequence[str] | None = None,
        sd: float = 0.0,
        threshold: float = 0.0,
        random_state: int | None = None,
    ) -> Self:
        """Count labelled rows by all pairs of columns, as whoever holds the rows would for a report.

        Parameters
        ----------
        rows : table or path
            The rows: a file, a frame or a dict of columns. A missing value counts as a separate value.
        labels : array-like of shape (n_rows,)
            The class of each row.
        columns : sequence of str, default=None
            The columns to count by. None means all columns.
        sd : float, default=0.0
            The standard deviation of Gaussian noise to add to each count.
        threshold : float, default=0.0
            Cells whose counts, with their noise, sum to less than this are left out.
        random_state : int, default=None
            The seed of the noise. None means another noise each time.

        Returns
        -------
        MarginalTables
            The tables.

        Raises
        ------
        ValueError
            If a column is missing or holds fractional numbers, or there are not as many labels as rows.
        """
        opened = open_rows(rows)
        classes, label_index = np.unique(refuse_masked(labels, "labels"), return_inverse=True)
        check_same_length("rows", opened, "labels", label_index)
        names = list(opened.table.column_names if columns is None else columns)
        found = {name: np.unique(value_texts(opened, name), return_inverse=True) for name in names}
        values = {name: tuple(known.tolist()) for name, (known, _) in found.items()}
        rng, counts = np.random.default_rng(random_state), {}
        for pair in combinations(names, 2):
            shape = (*(len(values[name]) for name in pair), len(classes))
            cell = np.ravel_multi_index((*(found[name][1] for name in pair), label_index), shape)
            exact = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
            noisy = exact + rng.normal(scale=sd, size=exact.shape) if sd else exact
            left_out = (threshold > 0) & (noisy.sum(axis=2, keepdims=True) < threshold)
            counts[pair] = np.where(left_out, np.nan, noisy)
        return cls(values, counts, classes, sd, threshold)

    @classmethod
    def from_counts(
        cls, table: Any, *, classes: Sequence[str] | None = None, sd: float = 0.0, threshold: float = 0.0
    ) -> Self:
        """Read tables from one long table, with one row for each cell.

        Parameters
        ----------
        table : table or path
            A file, a frame or a dict of columns, with the columns ``column_1``, ``value_1``, ``column_2`` and
            ``value_2`` that name a cell, and one column of counts per class.
        classes : sequence of str, default=None
            The columns that hold counts. None means all other columns.
        sd : float, default=0.0
            The standard deviation of the noise in each count. The noise of Laplace's mechanism with sensitivity 1
            has the standard deviation √2 / ε.
        threshold : float, default=0.0
            Cells with fewer rows than this were left out. Of a cell that is not in the table, nothing else is
            known then; with a threshold of zero it is empty.

        Returns
        -------
        MarginalTables
            The tables.

        Raises
        ------
        ValueError
            If a column is missing, a cell is there twice, a pair of columns has no table, or a count cannot be
            one.

        Examples
        --------
        >>> report = {
        ...     "column_1": ["sex", "sex"], "value_1": ["f", "m"],
        ...     "column_2": ["job", "job"], "value_2": ["nurse", "clerk"],
        ...     "no": [10, 30], "yes": [20, 5],
        ... }
        >>> MarginalTables.from_counts(report).counts["sex", "job"].tolist()
        [[[0.0, 0.0], [10.0, 20.0]], [[30.0, 5.0], [0.0, 0.0]]]
        """
        _refuse_no_amount("sd", sd)
        _refuse_no_amount("threshold", threshold)
        if classes is not None:
            check_class_columns(classes)
        rows = open_rows(table, KEYS)
        keys = [value_texts(rows, name).tolist() for name in KEYS]
        names = [n for n in rows.table.column_names if n not in KEYS] if classes is None else list(classes)
        with naming_source(rows.name):
            given = [as_numbers(name, rows.column(name)) for name in names]
        numbers = np.column_stack(given) if given else np.zeros((len(rows), 0))
        for row, k in np.argwhere(np.isnan(numbers))[:1].tolist():
            raise ValueError(f"{rows.name}: row {row} has no count of class {names[k]!r}")
        found: dict[str, set[str]] = {}
        for first, value, second, other in zip(*keys, strict=True):
            found.setdefault(first, set()).add(value)
            found.setdefault(second, set()).add(other)
        values = {name: tuple(sorted(several)) for name, several in found.items()}
        counts = _cells(rows.name, values, keys, numbers)
        if threshold == 0:
            counts = {pair: np.nan_to_num(cells) for pair, cells in counts.items()}
        with naming_source(rows.name):
            return cls(values, counts, np.array(names), sd, threshold)

    @property
    def pairs(self) -> list[Pair]:
        """All pairs of columns."""
        return list(combinations(self.values, 2))

    @property
    def totals(self) -> Table:
        """The number of rows of each class, from the smallest table, in which noise adds up least."""
        smallest = min(self.pairs, key=lambda pair: self.counts[pair].size)
        return np.asarray(self.fill_counts(*smallest).sum(axis=(0, 1)))

    filled = OldName("fill_counts")

    def fill_counts(self, first: str, second: str) -> Table:
        """Return the counts of a pair of columns in any order, with an estimate of cells that were left out.

        A cell that was left out has what it would have if the columns were independent, but at most half of the
        threshold.

        Parameters
        ----------
        first : str
            The column of the rows of the table.
        second : str
            The column of its columns.

        Returns
        -------
        ndarray of shape (n_first, n_second, n_classes)
            The counts, which noise may make negative.
        """
        swapped = (first, second) not in self.counts
        cells = self.counts[second, first].swapaxes(0, 1) if swapped else self.counts[first, second]
        if not np.isnan(cells).any():
            return cells
        known = np.nan_to_num(cells)
        total = np.maximum(known.sum(axis=(0, 1)), 1e-12)
        expected = np.maximum(known.sum(axis=1, keepdims=True) * known.sum(axis=0, keepdims=True) / total, 0)
        return np.where(np.isnan(cells), np.minimum(expected, self.threshold / 2 * total / total.sum()), cells)

    def column_counts(self, name: str) -> Table:
        """Return the counts of the values of one column by class, from its smallest table.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        ndarray of shape (n_values, n_classes)
            The counts.
        """
        others = (other for other in self.values if other != name)
        other = min(others, key=lambda candidate: len(self.values[candidate]))
        return np.asarray(self.fill_counts(name, other).sum(axis=1))

    def positions(self, rows: Any) -> NDArray[np.int64]:
        """Return the position of each row's value among the values of each column.

        Parameters
        ----------
        rows : table or path
            Rows with these columns: a file, a frame or a dict of columns.

        Returns
        -------
        ndarray of shape (n_columns, n_rows)
            The positions, and −1 for a value that the tables do not have.
        """
        encoder = ValueEncoder(self.values)
        return encoder.encode(open_rows(rows, encoder.text_columns)).T

    def to_frame(self) -> Any:
        """Return the tables as one long pandas frame, which :meth:`from_counts` reads back.

        Returns
        -------
        pandas.DataFrame
            One row for each cell that was not left out: the two columns and their values, and the counts.

        Examples
        --------
        >>> rows = {"sex": ["f", "m", "f"], "job": ["clerk", "clerk", "nurse"]}
        >>> tables = MarginalTables.from_rows(rows, ["no", "yes", "yes"])
        >>> tables.to_frame().iloc[0].astype(str).tolist()
        ['sex', 'f', 'job', 'clerk', '1.0', '0.0']
        """
        cells = [
            (first, value, second, other, *self.counts[first, second][i, j].tolist())
            for first, second in self.pairs
            for (i, value), (j, other) in product(enumerate(self.values[first]), enumerate(self.values[second]))
            if not np.isnan(self.counts[first, second][i, j]).any()
        ]
        names = [*KEYS, *map(str, self.classes.tolist())]
        return to_frame(dict(zip(names, zip(*cells, strict=True), strict=True)))

    def __repr__(self) -> str:
        cells = sum(int((~np.isnan(table[..., 0])).sum()) for table in self.counts.values())
        pairs = f"{len(self.pairs)} pair{'s' * (len(self.pairs) > 1)} of columns"
        return (
            f"MarginalTables({len(self.values)} columns, {pairs}, {cells} cells, {len(self.classes)} classes, "
            f"{self.totals.sum():.0f} rows)"
        )

    def _refuse_contradictions(self, name: str) -> None:
        """Refuse tables that differ in how many rows have a value of a column, beyond noise and cells left out."""
        ranges = {pair: self._range_of_column(name, *pair) for pair in self.pairs if name in pair}
        for (one, (low, _)), (other, (_, high)) in product(ranges.items(), ranges.items()):
            for place, k in np.argwhere(low > high + _ROUNDING * np.maximum(1, np.abs(high)))[:1].tolist():
                counts = [np.nansum(self._index_by_value(name, *pair)[place, :, k]) for pair in (one, other)]
                value, cause = (
                    f"{name}={self.values[name][place]!r}",
                    "" if self.sd else "; give sd, if counts are noisy",
                )
                raise ValueError(
                    f"the tables contradict each other: {counts[0]:,.10g} rows of class "
                    f"{self.classes[k].item()!r} have {value} in the table of {one[0]!r} and {one[1]!r}, but "
                    f"{counts[1]:,.10g} in that of {other[0]!r} and {other[1]!r}{cause}"
                )

    def _range_of_column(self, name: str, first: str, second: str) -> tuple[Table, Table]:
        """The fewest and the most rows that may have each value of a column, by class, as one table says."""
        cells = self._index_by_value(name, first, second)
        sums, left_out = np.nansum(cells, axis=1), np.isnan(cells).sum(axis=1)
        noise = _CHANCE * self.sd
        slack = noise * np.sqrt(cells.shape[1])
        return sums - slack, sums + slack + left_out * (self.threshold + noise * np.sqrt(cells.shape[2]))

    def _index_by_value(self, name: str, first: str, second: str) -> Table:
        """(values of the column, values of the other, classes): the counts of a pair of columns."""
        cells = self.counts[first, second]
        return cells if name == first else cells.swapaxes(0, 1)

    def _check_counts(self, first: str, second: str) -> None:
        table, where = self.counts[first, second], f"the table of {first!r} and {second!r}"
        shape = (len(self.values[first]), len(self.values[second]), len(self.classes))
        if table.shape != shape:
            raise ValueError(f"{where} has the shape {table.shape}, not {shape}")
        wrong = np.isinf(table) | ((table < 0) & (self.sd == 0))
        for row, column, k in np.argwhere(wrong)[:1]:
            cell = f"{first}={self.values[first][row]!r}, {second}={self.values[second][column]!r}"
            raise ValueError(
                f"{where}: {table[row, column, k]:g} of class {self.classes[k].item()!r} in {cell} is not a count"
                + ("; give sd, if counts are noisy" if np.isfinite(table[row, column, k]) else "")
            )


def _cells(
    file: str, values: Mapping[str, Sequence[str]], keys: Sequence[Sequence[str]], numbers: Table
) -> dict[Pair, Table]:
    """The table of each pair of columns that is named, filled row by row; NaN where a cell has no row."""
    named = {frozenset(pair) for pair in zip(keys[0], keys[2], strict=True)}
    counts = {
        (a, b): np.full((len(values[a]), len(values[b]), numbers.shape[1]), np.nan)
        for a, b in combinations(values, 2)
        if {a, b} in named
    }
    place = {name: {value: i for i, value in enumerate(known)} for name, known in values.items()}
    for row, (first, value, second, other) in enumerate(zip(*keys, strict=True)):
        if first == second:
            raise ValueError(f"{file}: row {row} names the column {first!r} twice")
        if (first, second) not in counts:
            first, value, second, other = second, other, first, value
        cell = counts[first, second][place[first][value], place[second][other]]
        if not np.isnan(cell).all():
            raise ValueError(f"{file}: row {row}: {first}={value!r}, {second}={other!r} is there twice")
        cell[:] = numbers[row]
    return counts


def _refuse_no_amount(name: str, given: Any) -> None:
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not 0 <= given < np.inf:
        raise ValueError(f"{name} must be a number that is not negative, got {given!r}")
