"""One column of a table as columns of numbers: what each kind learns from training rows, and does with others."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from llpgan.tables import column_values
from llpgan.tables.column_summary import ColumnSummary, Kind
from llpgan.utils.arrays import Array

_MISSING, _OTHER = "(missing)", "(other)"


@dataclass(frozen=True)
class ColumnEncoder:
    """How one column is encoded."""

    name: str

    @classmethod
    @abstractmethod
    def of(cls, summary: ColumnSummary, min_count: int, max_categories: int) -> Self:
        """What there is to learn from what is known of the training rows."""

    @property
    @abstractmethod
    def features(self) -> list[str]:
        """The names of the encoded columns."""

    @abstractmethod
    def write(self, column: pa.ChunkedArray, out: Array) -> None:
        """Encode a column into ``out``, (rows, features), which is all zeros before."""


@dataclass(frozen=True)
class Number(ColumnEncoder):
    """A number: a missing one becomes the median; then mean 0 and standard deviation 1.

    Where enough rows of the training had none, a second column tells which.
    """

    median: float
    mean: float
    scale: float
    tells_missing: bool

    @classmethod
    def of(cls, summary: ColumnSummary, min_count: int, max_categories: int) -> Self:
        """Median, mean and standard deviation."""
        n_missing, median, mean, scale = summary.numbers()
        return cls(summary.name, median, mean, scale if scale > 1e-9 * abs(mean) else 1.0, n_missing >= min_count)

    @property
    def features(self) -> list[str]:
        """The number, and whether it is missing."""
        return [self.name, f"{self.name}={_MISSING}"] if self.tells_missing else [self.name]

    def write(self, column: pa.ChunkedArray, out: Array) -> None:
        """The number in units of the training's standard deviation."""
        numbers = self.numbers(self.name, column)
        blank = np.isnan(numbers)
        numbers[blank] = self.median
        out[:, 0] = (numbers - self.mean) / self.scale
        if self.tells_missing:
            out[:, 1] = blank

    @staticmethod
    def numbers(name: str, column: pa.ChunkedArray) -> Array:
        """The column's values, NaN where there is none; an array of its own."""
        return np.array(column_values.as_numbers(name, column))


@dataclass(frozen=True)
class Date(Number):
    """A date, a moment or a time of the day, in days."""

    @staticmethod
    def numbers(name: str, column: pa.ChunkedArray) -> Array:
        """The column's days, NaN where there is none."""
        return np.array(column_values.as_days(name, column))


@dataclass(frozen=True)
class Category(ColumnEncoder):
    """A text of which each value gets a column of its own; rare values share one, and so do missing ones.

    A value that the training never saw is taken for a rare one; where there were none, it has all zeros.
    """

    known: tuple[str, ...]
    has_other: bool
    tells_missing: bool

    @classmethod
    def of(cls, summary: ColumnSummary, min_count: int, max_categories: int) -> Self:
        """The values that are frequent enough, in alphabetical order."""
        counts, n_missing = summary.texts()
        by_count = sorted(counts, key=_rarest_last)
        frequent = [value for value, count in by_count if count >= min_count][:max_categories]
        if not frequent:  # a small table: its most frequent values
            frequent = [value for value, _ in by_count][:max_categories]
        has_other = len(frequent) < len(by_count)
        return cls(summary.name, tuple(sorted(frequent)), has_other, n_missing >= min_count)

    @property
    def features(self) -> list[str]:
        """One for each known value; then those of rare and of missing ones."""
        others = [value for value, there in ((_OTHER, self.has_other), (_MISSING, self.tells_missing)) if there]
        return [f"{self.name}={value}" for value in (*self.known, *others)]

    def write(self, column: pa.ChunkedArray, out: Array) -> None:
        """A one in the column of each row's value."""
        codes = column_values.as_text(self.name, column).combine_chunks()
        codes = codes if pa.types.is_dictionary(codes.type) else codes.dictionary_encode()
        place = {value: position for position, value in enumerate(self.known)}
        other = len(self.known) if self.has_other else -1
        of_missing = len(self.features) - 1 if self.tells_missing else -1
        positions = np.array([place.get(value, other) for value in codes.dictionary.to_pylist()] + [of_missing])
        row_positions = positions[np.asarray(codes.indices.fill_null(len(positions) - 1))]
        rows = np.flatnonzero(row_positions >= 0)
        out[rows, row_positions[rows]] = 1


def _rarest_last(value_and_count: tuple[str, int]) -> tuple[int, str]:
    value, count = value_and_count
    return -count, value


ENCODERS: dict[Kind, type[ColumnEncoder]] = {"number": Number, "date": Date, "category": Category}
