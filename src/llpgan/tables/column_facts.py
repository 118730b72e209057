"""What has to be known of a column's values to choose how it is encoded; here of a column that is in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from llpgan.tables import column_values

Values = NDArray[np.float64]
ReadNumbers = Callable[[str, pa.ChunkedArray], Values]


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


class Facts(Protocol):
    """What is known of a column: of all rows, unless said otherwise."""

    @property
    def name(self) -> str:
        """The column's."""

    @property
    def type(self) -> pa.DataType:
        """As Arrow names it."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def n_missing(self) -> int:
        """How many have no value, or NaN."""

    @property
    def n_nulls(self) -> int:
        """How many have no value."""

    @property
    def first(self) -> Any:
        """The first row's value."""

    def has_one_value(self) -> bool:
        """Whether no row differs from the others, missing values aside."""

    def n_different(self) -> int:
        """How many different texts there are."""

    def all_different(self) -> bool:
        """Whether each row has a whole number of its own."""

    def limits(self) -> tuple[float, float]:
        """The smallest and the largest number."""

    def n_number_texts(self) -> int:
        """How many texts are numbers."""

    def refuse_texts(self) -> None:
        """Name the first text that is not a number."""

    def numbers(self, read: ReadNumbers) -> NumberFacts:
        """Of the column's numbers, as ``read`` gives them."""

    def texts(self) -> TextFacts:
        """Of the column's texts."""


@dataclass(frozen=True)
class WholeColumn:
    """Facts of a column that is in memory, each found when it is asked for.

    >>> WholeColumn("age", pa.chunked_array([[20.0, 60.0, None]])).numbers(column_values.as_numbers).median
    40.0
    """

    name: str
    column: pa.ChunkedArray

    @property
    def type(self) -> pa.DataType:
        """As Arrow names it."""
        return self.column.type

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.column)

    @property
    def n_missing(self) -> int:
        """How many have no value, or NaN."""
        return column_values.n_missing(self.column)

    @property
    def n_nulls(self) -> int:
        """How many have no value."""
        return int(self.column.null_count)

    @property
    def first(self) -> Any:
        """The first row's value."""
        return self.column[0].as_py()

    def has_one_value(self) -> bool:
        """Whether no row differs from the others, missing values aside."""
        return not column_values.has_more_values_than(self.column, 1)

    def n_different(self) -> int:
        """How many different texts there are."""
        return len(self.column.unique())

    def all_different(self) -> bool:
        """Whether each row has a whole number of its own."""
        return len(self.column.unique()) == len(self.column)

    def limits(self) -> tuple[float, float]:
        """The smallest and the largest number."""
        limits = pc.min_max(self.column).as_py()
        return limits["min"], limits["max"]

    def n_number_texts(self) -> int:
        """How many texts are numbers."""
        return column_values.count_numbers(self.column)

    def refuse_texts(self) -> None:
        """Name the first text that is not a number."""
        column_values.as_numbers(self.name, self.column)

    def numbers(self, read: ReadNumbers) -> NumberFacts:
        """Of the column's numbers, as ``read`` gives them."""
        numbers = read(self.name, self.column)
        there = numbers[~np.isnan(numbers)]
        if len(there) == 0:
            raise no_value(self.name)
        median = float(np.median(there))
        n_missing = len(numbers) - len(there)
        filled = np.append(there, np.full(n_missing, median))
        return NumberFacts(n_missing, median, float(filled.mean()), float(filled.std()))

    def texts(self) -> TextFacts:
        """Of the column's texts."""
        return text_facts(self.name, self.column)


def text_facts(name: str, column: pa.ChunkedArray) -> TextFacts:
    """The texts of a column, or of a part of it, and how many rows have each."""
    text = column_values.plain(column_values.as_text(name, column))
    counts = pc.value_counts(text.drop_null())
    pairs = zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)
    return TextFacts(list(pairs), int(text.null_count))


def no_value(name: str) -> ValueError:
    """The error of a column from which nothing can be learned."""
    return ValueError(f"column {name!r} has no value in any row: correct it, or leave it out (drop)")
