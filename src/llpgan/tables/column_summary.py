"""What has to be known of a column to choose how it is encoded: gathered part after part, or at once."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from llpgan.tables import column_values
from llpgan.utils.arrays import Array

Kind = Literal["number", "date", "category"]
ReadNumbers = Callable[[str, pa.ChunkedArray], Array]
READ: dict[str, ReadNumbers] = {"number": column_values.as_numbers, "date": column_values.as_days}
SAMPLE = 2**16  # rows, of which medians are taken
MOST_TEXTS = 2**18  # different ones that are counted exactly


class NumberFacts(NamedTuple):
    """How many numbers are missing, and the others' median; mean and deviation of all, with it for the missing."""

    n_missing: int
    median: float
    mean: float
    deviation: float


class TextFacts(NamedTuple):
    """How many rows have each text, and how many have none."""

    counts: list[tuple[str, int]]
    n_missing: int


class Sample:
    """Some of the values, each row with the same chance: those with the smallest of random numbers.

    >>> sample = Sample(size=2)
    >>> sample.add(np.array([10, 20, 30]), chance=np.array([0.5, 0.9, 0.1]))
    >>> sorted(sample.values)
    [np.int64(10), np.int64(30)]
    """

    def __init__(self, size: int = SAMPLE) -> None:
        self.size = size
        self.values: Array = np.empty(0, dtype=np.int64)
        self.chance: Array = np.empty(0)

    def add(self, values: Array, chance: Array | None) -> None:
        """More rows, with a random number each; without such numbers, these are all rows, and all are kept."""
        if chance is None:
            self.values = values
            return
        if len(self.chance) == self.size:
            near = chance < self.chance.max()
            values, chance = values[near], chance[near]
        self.values = np.concatenate([self.values, values]) if len(self.values) else values.copy()
        self.chance = np.concatenate([self.chance, chance])
        if len(self.chance) > self.size:
            kept = np.argpartition(self.chance, self.size)[: self.size]
            self.values, self.chance = self.values[kept], self.chance[kept]


class Moments:
    """Number, mean, squared deviations and limits of numbers, joined part by part (Chan et al., 1983).

    >>> moments = Moments()
    >>> moments.add(np.array([1.0, 2.0])), moments.add(np.array([6.0]))
    (None, None)
    >>> moments.n, moments.mean, moments.squares
    (3, 3.0, 14.0)
    """

    def __init__(self) -> None:
        self.n, self.mean, self.squares = 0, 0.0, 0.0
        self.low, self.high = np.inf, -np.inf

    def add(self, numbers: Array) -> None:
        """More of them."""
        if len(numbers):
            mean = float(numbers.mean())
            self.join(len(numbers), mean, float(np.square(numbers - mean).sum()))
            self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))

    def join(self, n: int, mean: float, squares: float) -> None:
        """Others, of which only these are known."""
        total = self.n + n
        apart = mean - self.mean
        self.squares += squares + apart**2 * self.n * n / total
        self.mean += apart * n / total
        self.n = total


class Numbers:
    """The numbers of a column."""

    def __init__(self, read: ReadNumbers) -> None:
        self.read = read
        self.moments, self.sample, self.n_missing = Moments(), Sample(), 0

    def add(self, name: str, column: pa.ChunkedArray, chance: Array | None) -> None:
        """A part of the column."""
        numbers = self.read(name, column)
        there = ~np.isnan(numbers)
        self.moments.add(numbers[there])
        exact = pa.types.is_integer(column.type) and there.all()  # as they are: floats would round large ones
        self.sample.add(
            (np.asarray(column) if exact else numbers)[there], None if chance is None else chance[there]
        )
        self.n_missing += int((~there).sum())

    def has_one_value(self) -> bool:
        """Whether all are the same."""
        return self.moments.low == self.moments.high and bool(np.all(self.sample.values == self.sample.values[0]))

    def all_different(self) -> bool:
        """Whether all in the sample differ."""
        return len(np.unique(self.sample.values)) == len(self.sample.values)

    def facts(self, name: str) -> NumberFacts:
        """The median is the sample's: of a column of up to 65,536 numbers, that of all."""
        if self.moments.n == 0:
            raise no_value(name)
        median = float(np.median(self.sample.values))
        filled = Moments()
        filled.join(self.moments.n, self.moments.mean, self.moments.squares)
        if self.n_missing:
            filled.join(self.n_missing, median, 0.0)
        return NumberFacts(self.n_missing, median, filled.mean, float(np.sqrt(filled.squares / filled.n)))


class Texts:
    """The texts of a column and how often each occurs.

    Of more than 262,144 different ones, those that have occurred once are forgotten again and again: what is
    frequent keeps its count but for a few rows, and how many there are is a guess from above.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.n_missing = self.n_forgotten = 0

    def add(self, name: str, column: pa.ChunkedArray) -> None:
        """A part of the column."""
        found = text_facts(name, column)
        self.n_missing += found.n_missing
        self.counts.update(dict(found.counts))
        least = 1
        while len(self.counts) > MOST_TEXTS:
            kept = Counter({text: n for text, n in self.counts.items() if n > least})
            self.n_forgotten += len(self.counts) - len(kept)
            self.counts, least = kept, least + 1

    def n_different(self, nulls: int) -> int:
        """As Arrow counts them: a missing one is one more."""
        return len(self.counts) + self.n_forgotten + bool(nulls)


class ColumnSummary:
    """What is known of a column.

    Parameters
    ----------
    name : str
        The column's.
    kind : Kind, default=None
        What the user says that it is, if so.

    Examples
    --------
    >>> ColumnSummary.of("age", pa.chunked_array([[20.0, 60.0, None]])).numbers().median
    40.0
    """

    def __init__(self, name: str, kind: Kind | None = None) -> None:
        self.name, self.kind = name, kind
        self.type: pa.DataType = pa.null()
        self.n_rows = self.n_missing = self.n_nulls = 0
        self.first: Any = None
        self._number_texts = 0
        self._not_a_number: column_values.RowError | None = None
        self._numbers: Numbers | None = None
        self._texts: Texts | None = None

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray, kind: Kind | None = None) -> Self:
        """Of a column that is in memory as a whole."""
        summary = cls(name, kind)
        summary.add(column)
        return summary

    def add(self, column: pa.ChunkedArray, first_row: int = 0, chance: Array | None = None) -> None:
        """A part of the column, with one random number per row, which says whether it comes into the sample."""
        if self.n_rows == 0:
            self._begin(column)
        self.n_rows += len(column)
        self.n_missing += column_values.n_missing(column)
        self.n_nulls += int(column.null_count)
        try:
            self._add_values(column, chance)
        except column_values.RowError as error:
            raise error.at(first_row) from None

    def _begin(self, column: pa.ChunkedArray) -> None:
        self.type, self.first = column.type, column[0].as_py()
        is_text = column_values.is_text(column)
        kind = self.kind or ("date" if column_values.is_time(column) else None)
        if kind is None and (is_text or column_values.is_number(column)):
            kind = "number"  # of texts too, until one is none
        self._numbers = Numbers(READ[kind]) if kind in READ else None
        if self.kind == "category" or (self.kind is None and is_text):
            self._texts = Texts()
        known = self._numbers is not None or self._texts is not None or pa.types.is_null(column.type)
        if pa.types.is_nested(column.type) or not known:
            raise unknown_type(self)

    def _add_values(self, column: pa.ChunkedArray, chance: Array | None) -> None:
        if self._texts is not None:
            self._texts.add(self.name, column)
        if self._texts is not None and self.kind is None:
            self._count_numbers(column)
        if self._numbers is not None:
            self._numbers.add(self.name, column, chance)

    def _count_numbers(self, column: pa.ChunkedArray) -> None:
        """Of texts: the first that is no number says that the column holds no numbers, but for errors."""
        numbers = column_values.count_numbers(column)
        self._number_texts += numbers
        if numbers == len(column) - column.null_count or self._numbers is None:
            return
        self._numbers = None
        try:
            column_values.as_numbers(self.name, column)
        except column_values.RowError as error:
            self._not_a_number = error.at(self.n_rows - len(column))

    def has_one_value(self) -> bool:
        """Whether no row differs from the others, missing values aside."""
        if self._texts is not None:
            return len(self._texts.counts) == 1 and not self._texts.n_forgotten
        return self._numbers is not None and self._numbers.has_one_value()

    def n_different(self) -> int:
        """How many different texts there are."""
        assert self._texts is not None
        return self._texts.n_different(self.n_nulls)

    def all_different(self) -> bool:
        """Whether each row of the sample has a whole number of its own."""
        assert self._numbers is not None
        return self._numbers.all_different()

    def limits(self) -> tuple[float, float]:
        """The smallest and the largest number."""
        assert self._numbers is not None
        return self._numbers.moments.low, self._numbers.moments.high

    def n_number_texts(self) -> int:
        """How many texts are numbers."""
        return self._number_texts

    def refuse_texts(self) -> None:
        """Name the first text that is not a number."""
        if self._not_a_number is not None:
            raise self._not_a_number

    def numbers(self) -> NumberFacts:
        """Of the column's numbers."""
        assert self._numbers is not None
        return self._numbers.facts(self.name)

    def texts(self) -> TextFacts:
        """Of the column's texts."""
        assert self._texts is not None
        return TextFacts(list(self._texts.counts.items()), self._texts.n_missing)


def text_facts(name: str, column: pa.ChunkedArray) -> TextFacts:
    """The texts of a column, or of a part of it, and how many rows have each."""
    text = column_values.plain(column_values.as_text(name, column))
    counts = pc.value_counts(text.drop_null())
    pairs = zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)
    return TextFacts(list(pairs), int(text.null_count))


def no_value(name: str) -> ValueError:
    """The error of a column from which nothing can be learned."""
    return ValueError(f"column {name!r} has no value in any row: correct it, or leave it out (drop)")


def unknown_type(summary: ColumnSummary) -> ValueError:
    """The error of a column that is neither numbers nor text nor dates."""
    return ValueError(
        f"column {summary.name!r} holds {summary.type}: one number, text or date per row would be right"
    )
