"""Values of columns, and their statistics."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from llpgan.bags.checks import LARGEST
from llpgan.utils.arrays import Array

Values = NDArray[np.float64]
_MINUS = "\u2212"
_SIGN = f"[+{_MINUS}-]?"
_BETWEEN = "[,'\u2019 \u00a0\u202f]"  # thousands
_PLAIN = rf"^\s*{_SIGN}(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_GROUPED = rf"^\s*{_SIGN}\d{{1,3}}({_BETWEEN}\d{{3}})+(\.\d*)?\s*%?\s*$"  # 4,015.91 and 4 015.91
_PERCENT = rf"^\s*{_SIGN}(\d+[.,]?\d*|[.,]\d+)\s*%\s*$"  # 37 %, 37.2 % and 37,2 %
_WITH_UNIT = re.compile(r"\s*[$€£¥₹]?\s*[+\u2212-]?\s*[$€£¥₹]?\s*\d[\d.,'\u2019\s]*(\D{0,8})")
_FEW_TEXTS = 5
_NUMBER = f"{_PLAIN}|{_GROUPED}|{_PERCENT}"
_DOTTED_DATE = r"^\s*\d{1,2}\.\d{1,2}\.\d{4}\s*$"  # 05.12.2010: day, month, year
_OTHER_DATE = r"^\s*(\d{1,2}[/-]\d{1,2}[/-]\d{2,4}|\d{1,2}\.\d{1,2}\.\d{2})\s*$"  # of which the order is unknown
_ISO_DATE = r"^\s*\d{4}-\d{2}-\d{2}([ T][\d:.Z+-]*)?\s*$"
_WORD_DATE = r"^\s*(\d{1,2}[. -]+\pL{3,9}\.?[, -]+\d{2,4}|\pL{3,9}\.? \d{1,2},? \d{4})\s*$"  # 5 Dec 2010
_DAY = 24 * 3600.0
_FIRST_ROWS = 1000
_WHOLE = 2.0**53  # above it, floats are too coarse to be told from integers


class RowError(ValueError):
    """A value that cannot be read, by its column and row."""

    def __init__(self, column: str, row: int, why: str) -> None:
        super().__init__(f"column {column!r}, row {row}: {why}")
        self.column, self.row, self.why = column, row, why

    def at(self, row: int) -> "RowError":
        """The same of another row: where rows are a part of a table, the row's number in it."""
        return RowError(self.column, row, self.why)


@contextmanager
def naming_source(source: str) -> Iterator[None]:
    """What is wrong with the values of a source is said with its name."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def is_text(column: pa.ChunkedArray) -> bool:
    """Whether the values are strings, also where they are held as codes."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_time(column: pa.ChunkedArray) -> bool:
    """Whether the values are dates, moments, times of the day or durations."""
    return bool(pa.types.is_temporal(column.type))


def is_numeric(column: pa.ChunkedArray) -> bool:
    """Whether the values are numbers or yes and no, also where they are held as codes."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def has_more_values_than(column: pa.ChunkedArray, number: int) -> bool:
    """Whether a column has more different values, missing ones aside; mostly its first rows tell.

    >>> has_more_values_than(pa.chunked_array([[1, 2, 1, None]]), 1)
    True
    """
    if pa.types.is_null(column.type):
        return False
    first_rows = column.slice(0, _FIRST_ROWS)
    return any(
        pc.count_distinct(_nan_as_missing(plain_values(part))).as_py() > number for part in (first_rows, column)
    )


def missing_values(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """For each row, whether it has no value."""
    return np.asarray(pc.is_null(column, nan_is_null=True))


def n_missing(column: pa.ChunkedArray) -> int:
    """How many rows have no value.

    >>> n_missing(pa.chunked_array([[1.0, None, float("nan")]]))
    2
    """
    nans = pc.sum(pc.is_nan(column)).as_py() if pa.types.is_floating(column.type) else 0
    return int(column.null_count + (nans or 0))


def plain_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values themselves, where a column holds codes."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def as_numbers(name: str, column: pa.ChunkedArray) -> Values:
    """The values as floats, NaN where they are missing. Of texts, 4,015.91 is a number too, and 37 % is 0.37.

    >>> as_numbers("age", pa.chunked_array([["31", None, "4e1", "4,015.5", "4 015", "37,5 %"]])).tolist()
    [31.0, nan, 40.0, 4015.5, 4015.0, 0.375]
    """
    column = plain_values(column)
    if is_text(column):
        looks_like = pc.fill_null(pc.match_substring_regex(column, _NUMBER), True)
        for row in np.flatnonzero(~np.asarray(looks_like)):
            raise RowError(name, int(row), f"{column[int(row)].as_py()!r} is not a number")
        column = _plain_numbers(column)
    numbers = _floats(_cast(name, column, pa.float64(), "numbers"))
    for row in np.flatnonzero(np.abs(numbers) > LARGEST):
        why = (
            "is not a finite number"
            if np.isinf(numbers[row])
            else f"is not within ±{LARGEST:.0e}: use another unit"
        )
        raise RowError(name, int(row), f"{numbers[row]} {why}")
    return numbers


def _plain_numbers(column: pa.ChunkedArray) -> Any:
    """Texts that are numbers as Arrow reads them: without separators of thousands, and percentages as shares."""
    column = pc.utf8_trim_whitespace(column)
    if not pc.any(pc.match_substring_regex(column, f"{_BETWEEN}|[%{_MINUS}]")).as_py():
        return column
    column = pc.replace_substring(column, _MINUS, "-")
    is_share = pc.match_substring(column, "%")
    ungrouped = pc.if_else(
        pc.match_substring_regex(column, _GROUPED), pc.replace_substring_regex(column, _BETWEEN, ""), column
    )
    digits = pc.replace_substring_regex(pc.replace_substring(ungrouped, ",", "."), r"\s*%", "")
    numbers = digits.cast(pa.float64())
    return pc.if_else(is_share, pc.divide(numbers, 100), numbers)


def as_days(name: str, column: pa.ChunkedArray) -> Values:
    """Dates and moments as days since 1970, times of the day and durations as days; NaN where they are missing.

    >>> as_days("seen", pa.chunked_array([["1970-01-02", "1970-01-01 12:00:00", None]]))
    array([1. , 0.5, nan])
    """
    column = plain_values(column)
    if is_text(column):
        column = _measure_times(name, column)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_date(column.type):
        return _floats(column.cast(pa.date32()).cast(pa.int32()).cast(pa.float64()))
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type) or pa.types.is_time(column.type):
        ticks = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
        wide = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64())
        return _floats(wide.cast(pa.int64()).cast(pa.float64(), safe=False)) / (ticks * _DAY)
    raise ValueError(f"column {name!r} holds {column.type}: it cannot be read as dates")


def as_text(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as text; whole numbers alike, whether a table holds them as 7, as 7.0 or as decimals.

    >>> as_text("zone", pa.chunked_array([[7.0, None]])).to_pylist()
    ['7', None]
    """
    if is_text(column):
        return column
    column = plain_values(column)
    if pa.types.is_decimal(column.type) or pa.types.is_float16(column.type):
        column = column.cast(pa.float64())
    if not pa.types.is_floating(column.type):
        return _cast(name, column, pa.string(), "text")
    column = _nan_as_missing(column)
    whole = pc.and_(pc.equal(pc.round(column), column), pc.less(pc.abs(column), _WHOLE))
    integers = pc.if_else(whole, column, None).cast(pa.int64()).cast(pa.string())
    return pc.coalesce(integers, column.cast(pa.string()))


def count_numbers(column: pa.ChunkedArray) -> int:
    """How many values of a text column are numbers."""
    counts = pc.value_counts(column.drop_null())
    different, rows = counts.field(0), np.asarray(counts.field(1))
    different = different.cast(pa.string()) if pa.types.is_dictionary(different.type) else different
    looks_like = np.asarray(pc.match_substring_regex(different, _NUMBER))
    return int(rows[looks_like].sum())


def is_number_text(text: str) -> bool:
    """Whether a text is a number."""
    return re.match(_NUMBER, text) is not None


def _nan_as_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(pc.is_nan(column), None, column) if pa.types.is_floating(column.type) else column


def _measure_times(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if _has_moments(column):
        return column.cast(pa.timestamp("s"))
    if match_all(column, _DOTTED_DATE):
        with suppress(pa.ArrowInvalid):
            return pc.strptime(pc.utf8_trim_whitespace(column), format="%d.%m.%Y", unit="s")
    row = bisect_left(range(len(column)), True, key=lambda row: not _has_moments(column.slice(0, row + 1)))
    raise RowError(name, row, f"{column[row].as_py()!r} is not a date such as 2016-11-08 or 2016-11-08 20:15:00")


def match_all(column: pa.ChunkedArray, pattern: str) -> bool:
    """Whether all texts of a column match a pattern, and there is one at least."""
    found = pc.match_substring_regex(plain_values(column).unique().drop_null(), pattern)
    return len(found) > 0 and bool(pc.all(found).as_py())


def looks_like_dates(texts: Iterable[str]) -> Literal["day first", "year first", "unclear"] | None:
    """Whether all texts are dates with the day or the year first, or dates of which the form is unclear.

    >>> looks_like_dates(["05.12.2010", "24.1.2011"]), looks_like_dates(["5 Dec 2010"]), looks_like_dates(["5"])
    ('day first', 'unclear', None)
    """
    different = pa.chunked_array([list(texts)], pa.string())
    if match_all(different, _DOTTED_DATE):
        return "day first" if _has_days_first(different) else "unclear"
    if match_all(different, _ISO_DATE):
        return "year first"
    forms = (_OTHER_DATE, _DOTTED_DATE, _ISO_DATE, _WORD_DATE)
    return "unclear" if match_all(different, "|".join(forms)) else None


def look_like_amounts(texts: Sequence[str]) -> bool:
    """Whether all of some texts seem to be numbers with the same unit, or a sign of a currency.

    >>> look_like_amounts([f"{i} kg" for i in range(9)]), look_like_amounts([f"B{i}" for i in range(9)])
    (True, False)
    """
    found = [_WITH_UNIT.fullmatch(text) for text in texts]
    return len(texts) > _FEW_TEXTS and all(found) and len({each and each[1].strip() for each in found}) == 1


def _has_days_first(column: pa.ChunkedArray) -> bool:
    try:
        pc.strptime(pc.utf8_trim_whitespace(column), format="%d.%m.%Y", unit="s")
    except pa.ArrowInvalid:
        return False
    return True


def _has_moments(column: pa.ChunkedArray) -> bool:
    try:
        column.cast(pa.timestamp("s"))
    except pa.ArrowInvalid:
        return False
    return True


def _cast(name: str, column: pa.ChunkedArray, to: pa.DataType, what: str) -> pa.ChunkedArray:
    try:
        return column.cast(to, safe=False)  # integers beyond 2⁵³ are rounded
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"column {name!r} holds {column.type}, not {what}: {error}") from None


def _floats(column: pa.ChunkedArray) -> Values:
    return np.asarray(column.fill_null(np.nan).to_numpy())


Kind = Literal["number", "date", "category"]
ReadNumbers = Callable[[str, pa.ChunkedArray], Array]
READ: dict[str, ReadNumbers] = {"number": as_numbers, "date": as_days}
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
        text = plain_values(as_text(name, column))
        counts = pc.value_counts(text.drop_null())
        self.n_missing += int(text.null_count)
        self.counts.update(dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)))
        least = 1
        while len(self.counts) > MOST_TEXTS:
            kept = Counter({text: n for text, n in self.counts.items() if n > least})
            self.n_forgotten += len(self.counts) - len(kept)
            self.counts, least = kept, least + 1


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
    >>> ColumnSummary.from_column("age", pa.chunked_array([[20.0, 60.0, None]])).numbers().median
    40.0
    """

    def __init__(self, name: str, kind: Kind | None = None) -> None:
        self.name, self.kind = name, kind
        self.type: pa.DataType = pa.null()
        self.n_rows = self.n_missing = self.n_nulls = 0
        self.first: Any = None
        self.n_number_texts = 0
        self.not_a_number: RowError | None = None
        self._number: Callable[[int], int] = int
        self._rows: NDArray[Any] | None = None
        self._numbers: Numbers | None = None
        self._texts: Texts | None = None

    @classmethod
    def from_column(cls, name: str, column: pa.ChunkedArray, kind: Kind | None = None) -> Self:
        """Of a column that is in memory as a whole."""
        summary = cls(name, kind)
        summary.add(column)
        return summary

    def add(
        self,
        column: pa.ChunkedArray,
        number: Callable[[int], int] = int,
        chance: Array | None = None,
        counts: NDArray[np.bool_] | None = None,
    ) -> None:
        """Add a part of the column.

        Parameters
        ----------
        column : ChunkedArray
            The values.
        number : callable, default=int
            The number in the source of a row of the part, for messages.
        chance : ndarray, default=None
            A random number for each row, which decides whether it comes into the sample. None means all rows do.
        counts : ndarray of bool, default=None
            Which rows count; the others have a weight of zero. None means all.
        """
        rows = None if counts is None or counts.all() else np.flatnonzero(counts)
        if rows is not None:
            column, chance = column.take(pa.array(rows)), None if chance is None else chance[rows]
        if len(column) == 0:
            return
        if self.n_rows == 0:
            self._begin(column)
        self._number, self._rows = number, rows
        self.n_rows += len(column)
        self.n_missing += n_missing(column)
        self.n_nulls += int(column.null_count)
        try:
            if self._texts is not None:
                self._texts.add(self.name, column)
                if self.kind is None:
                    self._count_numbers(column)
            if self._numbers is not None:
                self._numbers.add(self.name, column, chance)
        except RowError as error:
            raise self._locate_in_file(error) from None

    def _begin(self, column: pa.ChunkedArray) -> None:
        self.type, self.first = column.type, column[0].as_py()
        has_texts = is_text(column)
        kind = self.kind or ("date" if is_time(column) else None)
        if kind is None and (has_texts or is_numeric(column)):
            kind = "number"  # of texts too, until one is none
        self._numbers = Numbers(READ[kind]) if kind in READ else None
        if self.kind == "category" or (self.kind is None and has_texts):
            self._texts = Texts()
        known = self._numbers is not None or self._texts is not None or pa.types.is_null(column.type)
        if pa.types.is_nested(column.type) or not known:
            raise unknown_type(self)

    def _count_numbers(self, column: pa.ChunkedArray) -> None:
        """Of texts: the first that is no number says that the column holds no numbers, but for errors."""
        numbers = count_numbers(column)
        self.n_number_texts += numbers
        if numbers == len(column) - column.null_count or self._numbers is None:
            return
        self._numbers = None
        try:
            as_numbers(self.name, column)
        except RowError as error:
            self.not_a_number = self._locate_in_file(error)

    def _locate_in_file(self, error: RowError) -> RowError:
        """The error with the number that its row has in the source."""
        row = error.row if self._rows is None else int(self._rows[error.row])
        return error.at(self._number(row))

    def read_dates(self) -> None:
        """Take the statistics of texts that are dates with the day first."""
        assert self._texts is not None
        texts = [text for text, n in self._texts.counts.items() for _ in range(n)]
        self._numbers = Numbers(as_days)
        self._numbers.add(self.name, pa.chunked_array([texts], pa.string()), None)
        self._numbers.n_missing = self._texts.n_missing

    def has_one_value(self) -> bool:
        """Whether no row differs from the others, missing values aside."""
        if self._texts is not None:
            return len(self._texts.counts) == 1 and not self._texts.n_forgotten
        if self._numbers is None:
            return False
        moments, values = self._numbers.moments, self._numbers.sample.values
        return moments.low == moments.high and bool(np.all(values == values[0]))

    def n_different(self) -> int:
        """How many different texts there are; as Arrow counts them, a missing one is one more."""
        assert self._texts is not None
        return len(self._texts.counts) + self._texts.n_forgotten + bool(self.n_nulls)

    def all_different(self) -> bool:
        """Whether each row of the sample has a different whole number."""
        assert self._numbers is not None
        values = self._numbers.sample.values
        return len(np.unique(values)) == len(values)

    def limits(self) -> tuple[float, float]:
        """The smallest and the largest number."""
        assert self._numbers is not None
        return self._numbers.moments.low, self._numbers.moments.high

    def numbers(self) -> NumberFacts:
        """Of the column's numbers. The median is the sample's: of up to 65,536 numbers, that of all."""
        assert self._numbers is not None
        moments, n_missing = self._numbers.moments, self._numbers.n_missing
        if moments.n == 0:
            raise no_value(self.name)
        median = float(np.median(self._numbers.sample.values))
        filled = Moments()
        filled.join(moments.n, moments.mean, moments.squares)
        if n_missing:
            filled.join(n_missing, median, 0.0)
        return NumberFacts(n_missing, median, filled.mean, float(np.sqrt(filled.squares / filled.n)))

    def texts(self) -> TextFacts:
        """Of the column's texts."""
        assert self._texts is not None
        return TextFacts(list(self._texts.counts.items()), self._texts.n_missing)


def no_value(name: str) -> ValueError:
    """The error of a column from which nothing can be learned."""
    return ValueError(f"column {name!r} has no value in any row: correct it, or leave it out (drop)")


def unknown_type(summary: ColumnSummary) -> ValueError:
    """The error of a column that is neither numbers nor text nor dates."""
    return ValueError(
        f"column {summary.name!r} holds {summary.type}: one number, text or date per row would be right"
    )
