"""Values of columns, and their statistics."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from llpgan.bags.checks import LARGEST
from llpgan.utils.arrays import Array
from llpgan.utils.messages import quote_text

Values = NDArray[np.float64]
_MINUS = "\u2212"
_SIGN = f"[+{_MINUS}-]?"
_BETWEEN = "[,'\u2019 \u00a0\u202f]"  # thousands
_PLAIN = rf"^\s*{_SIGN}(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_GROUPED = rf"^\s*{_SIGN}\d{{1,3}}({_BETWEEN}\d{{3}})+(\.\d*)?\s*%?\s*$"  # 4,015.91 and 4 015.91
_PERCENT = rf"^\s*{_SIGN}(\d+[.,]?\d*|[.,]\d+)\s*%\s*$"  # 37 %, 37.2 % and 37,2 %
_WITH_UNIT = re.compile(r"\s*[$€£¥₹]?\s*[+\u2212-]?\s*[$€£¥₹]?\s*\d[\d.,'\u2019\s]*(\D{0,8})")
_RANGE = re.compile(
    r"^\s*([<>≤≥~]=?\s*\d[\d.]*|\d[\d.]*\s*(\+|plus|((or|and)\s+)?(more|over|older|above|less|fewer|under|below)"
    r"|(-|–|to)\s*\d[\d.]*))\s*$",
    re.IGNORECASE | re.ASCII,
)
_FEW_TEXTS = 5
_NUMBER = f"{_PLAIN}|{_GROUPED}|{_PERCENT}"
_CLOCK = r"(?:[ T](\d{2}:\d{2}(?::\d{2})?))?"
_DOTTED_DATE = rf"^\s*(\d{{1,2}})\.(\d{{1,2}})\.(\d{{4}}){_CLOCK}\s*$"  # 05.12.2010: day, month, year
_SLASHED_DATE = rf"^\s*(\d{{4}})/(\d{{1,2}})/(\d{{1,2}}){_CLOCK}\s*$"  # 2010/12/05
_OTHER_DATE = r"^\s*(\d{1,2}[/-]\d{1,2}[/-]\d{2,4}|\d{1,2}\.\d{1,2}\.\d{2})\s*$"  # of which the order is unknown
_ISO_DATE = r"^\s*\d{4}-\d{2}-\d{2}([ T][\d:.Z+-]*)?\s*$"
_WORD_DATE = r"^\s*(\d{1,2}[. -]+\pL{3,9}\.?[, -]+\d{2,4}|\pL{3,9}\.? \d{1,2},? \d{4})\s*$"  # 5 Dec 2010
_ANY_DATE = "|".join((_OTHER_DATE, _DOTTED_DATE, _SLASHED_DATE, _ISO_DATE, _WORD_DATE))
_DAY = 24 * 3600.0
_FIRST_ROWS = 1000
_ROUNDING = 1e-12  # of sums of weights
_WHOLE = 2.0**53  # above it, floats are too coarse to be distinguished from integers


class RowError(ValueError):
    """A value that cannot be read, by its column and row."""

    def __init__(self, column: str, row: int, why: str) -> None:
        super().__init__(f"column {column!r}, row {row}: {why}")
        self.column, self.row, self.why = column, row, why

    def at(self, row: int) -> RowError:
        """The same of another row: where rows are a part of a table, the row's number in it."""
        return RowError(self.column, row, self.why)


@contextmanager
def naming_source(source: str) -> Iterator[None]:
    """What is wrong with the values of a source is said with its name."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


ValueType = Literal["text", "number", "time", "nothing", "other"]


def value_type(column: Any) -> ValueType:
    """What a column holds, also if it holds codes: yes and no are numbers too, and durations are times.

    >>> value_type(pa.chunked_array([["a", "b"]]).dictionary_encode()), value_type(pa.field("x", pa.bool_()))
    ('text', 'number')
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    if any(is_type(kind) for is_type in numbers):
        return "number"
    if pa.types.is_temporal(column.type):
        return "time"
    return "nothing" if pa.types.is_null(kind) else "other"


def has_words(column: pa.ChunkedArray) -> bool:
    """Whether a column holds texts, of which none is a number."""
    if value_type(column) != "text":
        return False
    return not pc.any(pc.match_substring_regex(plain_values(column), _NUMBER)).as_py()


def missing_values(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """For each row, whether it has no value."""
    return np.asarray(pc.is_null(column, nan_is_null=True))


def plain_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values themselves, where a column holds codes."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def as_numbers(name: str, column: pa.ChunkedArray) -> Values:
    """The values as floats, NaN where they are missing. Of texts, 4,015.91 is a number too, and 37 % is 0.37.

    >>> as_numbers("age", pa.chunked_array([["31", None, "4e1", "4,015.5", "4 015", "37,5 %"]])).tolist()
    [31.0, nan, 40.0, 4015.5, 4015.0, 0.375]
    """
    column = plain_values(column)
    if value_type(column) == "text":
        looks_like = pc.fill_null(pc.match_substring_regex(column, _NUMBER), True)
        for row in np.flatnonzero(~np.asarray(looks_like)):
            raise RowError(name, int(row), f"{quote_text(column[int(row)].as_py())} is not a number")
        column = _plain_numbers(column)
    numbers = np.asarray(_cast(name, column, pa.float64(), "numbers").fill_null(np.nan).to_numpy())
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
    if value_type(column) == "text":
        column = _measure_times(name, column)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    ticks_a_day = 1.0
    if pa.types.is_date(column.type):
        ticks = column.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type) or pa.types.is_time(column.type):
        ticks_a_day = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit] * _DAY
        ticks = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64()).cast(pa.int64())
    else:
        raise ValueError(f"column {name!r} holds {column.type}: it cannot be read as dates")
    return np.asarray(ticks.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()) / ticks_a_day


def as_text(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as text; whole numbers alike, whether a table holds them as 7, as 7.0 or as decimals.

    >>> as_text("zone", pa.chunked_array([[7.0, None]])).to_pylist()
    ['7', None]
    """
    if value_type(column) == "text":
        return column
    column = plain_values(column)
    if pa.types.is_decimal(column.type) or pa.types.is_float16(column.type):
        column = column.cast(pa.float64())
    if not pa.types.is_floating(column.type):
        return _cast(name, column, pa.string(), "text")
    column = pc.if_else(pc.is_nan(column), None, column)
    whole = pc.and_(pc.equal(pc.round(column), column), pc.less(pc.abs(column), _WHOLE))
    integers = pc.if_else(whole, column, None).cast(pa.int64()).cast(pa.string())
    return pc.coalesce(integers, column.cast(pa.string()))


def find_few_values(name: str, column: pa.ChunkedArray, most: int) -> tuple[list[str], NDArray[np.int64]] | None:
    """The different values of a column, as texts, and for each row the position of its value, -1 if it has none.

    None means that there are more values than ``most``, which often the first rows show.

    >>> find_few_values("sex", pa.chunked_array([["m", "f", None, "m"]]), most=2)
    (['m', 'f'], array([ 0,  1, -1,  0]))
    """
    for part in (column.slice(0, _FIRST_ROWS), column):
        different = plain_values(part).unique()
        if len(different) - missing_values(different).sum() > most:
            return None
    codes = plain_values(as_text(name, column)).combine_chunks().dictionary_encode()
    return codes.dictionary.to_pylist(), np.asarray(codes.indices.fill_null(-1), dtype=np.int64)


def _measure_times(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    given, column = column, _write_year_first(column)
    for dates in (given, column):
        if _has_moments(dates):
            return dates.cast(pa.timestamp("s"))
    row = bisect_left(range(len(column)), True, key=lambda row: not _has_moments(column.slice(0, row + 1)))
    raise RowError(
        name, row, f"{quote_text(given[row].as_py())} is not a date such as 2016-11-08 or 2016-11-08 20:15:00"
    )


def _has_moments(column: pa.ChunkedArray) -> bool:
    try:
        column.cast(pa.timestamp("s"))
    except pa.ArrowInvalid:
        return False
    return True


def _write_year_first(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts such as 5.12.2010 or 2010/12/5 10:30 as 2010-12-05 10:30, whether there is such a day or not."""
    for pattern, order in ((_DOTTED_DATE, r"\3-\2-\1 \4"), (_SLASHED_DATE, r"\1-\2-\3 \4")):
        column = pc.replace_substring_regex(column, pattern, order)
    column = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"^(\d{4})-(\d)-", r"\1-0\2-")
    return pc.replace_substring_regex(column, r"^(\d{4}-\d{2})-(\d)($| )", r"\1-0\2\3")


def _are_days_first(column: pa.ChunkedArray) -> bool:
    """Whether all texts are days such as 24.12.2010."""
    is_like = pc.all(pc.match_substring_regex(column, _DOTTED_DATE), min_count=1).as_py()
    return bool(is_like) and _has_moments(_write_year_first(column))


TextForm = Literal[
    "dates, day first", "dates, slashed", "dates, year first", "dates, unclear", "dates, unread", "ranges",
    "amounts", "words",
]  # fmt: skip


def find_text_form(texts: Sequence[str]) -> TextForm:
    """What all of some texts are, of which not all are numbers.

    Ranges come with numbers, such as 3+ after 0, 1 and 2; amounts are numbers with the same unit, or a sign of a
    currency.

    >>> find_text_form(["05.12.2010", "24.1.2011"]), find_text_form(["5/12/2010"]), find_text_form(["0", "2+"])
    ('dates, day first', 'dates, unclear', 'ranges')
    >>> find_text_form([f"{i} kg" for i in range(9)]), find_text_form([f"B{i}" for i in range(9)])
    ('amounts', 'words')
    """
    different = pa.chunked_array([texts], pa.string())
    if _are_days_first(different):
        return "dates, day first"
    is_slashed = pc.all(pc.match_substring_regex(different, _SLASHED_DATE), min_count=1).as_py()
    if is_slashed and _has_moments(_write_year_first(different)):
        return "dates, slashed"
    dates: dict[TextForm, str] = {
        "dates, year first": _ISO_DATE, "dates, unclear": _OTHER_DATE, "dates, unread": _ANY_DATE
    }  # fmt: skip
    for form, pattern in dates.items():
        if pc.all(pc.match_substring_regex(different, pattern)).as_py():
            return form
    are_numbers = [re.match(_NUMBER, text, re.ASCII) is not None for text in texts]
    are_numbers_or_ranges = (number or _RANGE.match(text) for number, text in zip(are_numbers, texts, strict=True))
    if any(are_numbers) and all(are_numbers_or_ranges):
        return "ranges"
    found = [_WITH_UNIT.fullmatch(text) for text in texts]
    has_one_unit = all(found) and len({each and each[1].strip() for each in found}) == 1
    return "amounts" if len(texts) > _FEW_TEXTS and has_one_unit else "words"


def _cast(name: str, column: pa.ChunkedArray, to: pa.DataType, what: str) -> pa.ChunkedArray:
    try:
        return column.cast(to, safe=False)  # integers beyond 2⁵³ are rounded
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"column {name!r} holds {column.type}, not {what}") from error


Kind = Literal["number", "date", "category"]
ReadNumbers = Callable[[str, pa.ChunkedArray], Array]
READ: dict[str, ReadNumbers] = {"number": as_numbers, "date": as_days}
SAMPLE = 2**16  # rows, of which medians are taken
MOST_TEXTS = 2**18  # different ones that are counted exactly


class Moments(NamedTuple):
    """Number (or weight), mean and squared deviations of numbers, merged part by part (Chan et al., 1983).

    >>> Moments(2, 1.5, 0.5).merge(Moments(1, 6.0, 0.0))
    Moments(n=3, mean=3.0, squares=14.0)
    """

    n: float = 0
    mean: float = 0.0
    squares: float = 0.0

    def merge(self, other: Moments) -> Moments:
        """Those of both."""
        n, apart = self.n + other.n, other.mean - self.mean
        squares = self.squares + (other.squares + apart**2 * self.n * other.n / n)
        return Moments(n, self.mean + apart * other.n / n, squares)


def weighted_median(values: Array, weights: Array | None) -> float:
    """The median of numbers of which each occurs as often as its weight says.

    >>> weighted_median(np.array([5.0, 1.0, 2.0]), np.array([1, 2, 1])), np.median([1, 1, 2, 5])
    (1.5, np.float64(1.5))
    """
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    sums, values = np.cumsum(weights[order], dtype=np.float64), values[order]
    half = sums[-1] / 2
    low = int(np.searchsorted(sums, half * (1 - _ROUNDING)))
    high = low + (sums[low] <= half * (1 + _ROUNDING))  # half of the weight ends here: the middle of two values
    return (float(values[low]) + float(values[min(high, len(values) - 1)])) / 2


class NumberFacts(NamedTuple):
    """How many numbers are missing, and the others' median; mean and deviation of all, with it for the missing."""

    n_missing: int
    median: float
    mean: float
    deviation: float


class ColumnSummary:
    """The statistics of a column: of its numbers, of its texts, or of both as long as all texts are numbers.

    They are the same for parts that are added one after another as for all rows at once, but for two limits. The
    sample of a streamed column has 65,536 rows, each with the same chance. Of more than 262,144 different texts,
    those that have occurred once are forgotten again and again: what is frequent keeps its count but for a few
    rows, and how many there are is a guess from above.

    Weights count for means, deviations and medians: a weight of three is the row three times. How many rows have a
    text, or no value, is a number of rows, whatever these weigh.

    Parameters
    ----------
    name : str
        The name of the column.
    kind : Kind, default=None
        The kind that the user gives it. None means that it is inferred.

    Attributes
    ----------
    type : DataType
        The type of the first part, and ``holds``, what it holds.
    first : object
        The first value.
    n_rows, n_missing : int
        The number of rows, and of those without a value.
    moments : Moments
        Of the numbers; ``low`` and ``high`` are their limits, and ``sample`` holds some of them.
    texts : Counter
        How many rows have each text; ``n_forgotten`` texts are not in it any more.
    weights_of_texts : Counter
        The weight of each text, if rows have weights.
    has_texts : bool
        Whether texts are counted.
    n_number_texts : int
        How many rows have a text that is a number.
    not_a_number : tuple of int and str or None
        The row of the first text that is no number, and the text, for messages.

    Examples
    --------
    >>> ColumnSummary.from_column("age", pa.chunked_array([[20.0, 60.0, None]])).describe_numbers().median
    40.0
    """

    def __init__(self, name: str, kind: Kind | None = None) -> None:
        self.name, self.kind = name, kind
        self.type, self.first = pa.null(), None
        self.holds: ValueType = "nothing"
        self.n_rows = self.n_missing = 0
        self.missing_weight = 0.0
        self.weights_of_texts: Counter[str] = Counter()
        self._sample_weights: Array | None = None
        self._read: ReadNumbers | None = None
        self.moments, self.low, self.high = Moments(), np.inf, -np.inf
        self.sample: Array = np.empty(0, dtype=np.int64)
        self._chance: Array = np.empty(0)  # a random number for each row of the sample, which has the smallest
        self.has_texts = False
        self.texts: Counter[str] = Counter()
        self.n_forgotten = self.n_number_texts = 0
        self.not_a_number: tuple[int, str] | None = None

    @classmethod
    def from_column(cls, name: str, column: pa.ChunkedArray, kind: Kind | None = None) -> Self:
        """Summarize a column that is in memory as a whole."""
        summary = cls(name, kind)
        summary.add(column)
        return summary

    def add(
        self,
        column: pa.ChunkedArray,
        number: Callable[[int], int] = int,
        chance: Array | None = None,
        weights: Array | None = None,
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
        weights : ndarray, default=None
            The weight of each row, which is positive. None means that all rows count the same.
        """
        if len(column) == 0:
            return
        if self.n_rows == 0:
            self._begin(column)
        self.n_rows += len(column)
        is_missing = missing_values(column)
        self.n_missing += int(is_missing.sum())
        self.missing_weight += float(is_missing.sum() if weights is None else weights[is_missing].sum())
        try:
            if self.has_texts:
                self._add_texts(column, number, weights)
            if self._read is not None:
                self._add_numbers(self._read(self.name, column), column, chance, weights)
        except RowError as error:
            raise error.at(number(error.row)) from None

    def _begin(self, column: pa.ChunkedArray) -> None:
        """Decide which statistics to collect, from the type of the first part."""
        self.type, self.holds, self.first = column.type, value_type(column), column[0].as_py()
        kinds: dict[str, Kind] = {"text": "number", "number": "number", "time": "date"}
        self._read = READ.get(self.kind or kinds.get(self.holds, "category"))
        self.has_texts = self.kind == "category" or (self.kind is None and self.holds == "text")
        is_known = self._read is not None or self.has_texts or self.holds == "nothing"
        if pa.types.is_nested(self.type) or not is_known:
            raise ValueError(
                f"column {self.name!r} holds {self.type}: one number, text or date per row would be right"
            )

    def _add_texts(self, column: pa.ChunkedArray, number: Callable[[int], int], weights: Array | None) -> None:
        """Count texts. The first that is no number ends the statistics of numbers, and is kept for messages."""
        texts = plain_values(as_text(self.name, column))
        counts = pc.value_counts(texts.drop_null())
        different, n_rows = counts.field(0), counts.field(1)
        self._count_texts(dict(zip(different.to_pylist(), n_rows.to_pylist(), strict=True)))
        if weights is not None and self.kind is None:
            codes = texts.combine_chunks().dictionary_encode()
            sums = np.bincount(np.asarray(codes.indices.fill_null(len(codes.dictionary))), weights)
            self.weights_of_texts.update(dict(zip(codes.dictionary.to_pylist(), sums.tolist(), strict=False)))
            self._forget_weights()
        if self.kind is not None:
            return
        are_numbers = np.asarray(pc.match_substring_regex(different, _NUMBER))
        self.n_number_texts += int(np.asarray(n_rows)[are_numbers].sum())
        if self._read is not None and not are_numbers.all():
            self._read = None
            row = pc.index(texts, different[int(np.argmin(are_numbers))]).as_py()  # the first to appear is first
            self.not_a_number = number(row), texts[row].as_py()

    def _count_texts(self, counts: Mapping[str, int]) -> None:
        """Add to the counts of texts; forget rare ones if there are too many."""
        self.texts.update(counts)
        least = 1
        while len(self.texts) > MOST_TEXTS:
            kept = Counter({text: n for text, n in self.texts.items() if n > least})
            self.n_forgotten += len(self.texts) - len(kept)
            self.texts, least = kept, least + 1

    def _forget_weights(self) -> None:
        if len(self.weights_of_texts) > len(self.texts):
            self.weights_of_texts = Counter({text: self.weights_of_texts[text] for text in self.texts})

    def _add_numbers(
        self, numbers: Values, column: pa.ChunkedArray, chance: Array | None, weights: Array | None
    ) -> None:
        """Add to moments, limits and sample what was read of a column."""
        there = ~np.isnan(numbers)
        known = numbers[there]
        weights = None if weights is None else np.asarray(weights)[there]
        if len(known):
            mean = float(np.average(known, weights=weights))
            squares = np.square(known - mean)
            of_part = (len(known), squares.sum()) if weights is None else (weights.sum(), weights @ squares)
            self.moments = self.moments.merge(Moments(of_part[0], mean, float(of_part[1])))
            self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))
        if pa.types.is_integer(column.type) and there.all():
            known = np.asarray(column)  # floats would round large ones
        if chance is None:
            self.sample, self._sample_weights = known, weights
            return
        self._add_sample(known, chance[there], weights)

    def _add_sample(self, known: Array, chance: Array, weights: Array | None) -> None:
        """Add numbers to the sample, with the random number of each, and its weight."""
        weights = np.ones(len(known)) if weights is None else weights
        if len(self._chance) == SAMPLE:
            near = chance < self._chance.max()
            known, chance, weights = known[near], chance[near], weights[near]
        before = np.empty(0) if self._sample_weights is None else self._sample_weights
        self.sample = np.concatenate([self.sample, known]) if len(self.sample) else known.copy()
        self._chance, self._sample_weights = np.concatenate([self._chance, chance]), np.append(before, weights)
        if len(self._chance) > SAMPLE:
            kept = np.argpartition(self._chance, SAMPLE)[:SAMPLE]
            self.sample, self._chance = self.sample[kept], self._chance[kept]
            self._sample_weights = self._sample_weights[kept]

    def merge(self, other: ColumnSummary) -> None:
        """Add what another summary has found in the rows that follow, as :meth:`add` would have.

        Parameters
        ----------
        other : ColumnSummary
            The statistics of the same column in other rows.
        """
        if other.n_rows == 0:
            return
        if self.n_rows == 0:
            self._begin(pa.chunked_array([pa.array([other.first], other.type)]))
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing
        self.missing_weight += other.missing_weight
        self._count_texts(other.texts)
        self.weights_of_texts.update(other.weights_of_texts)
        self._forget_weights()
        self.n_forgotten += other.n_forgotten
        self.n_number_texts += other.n_number_texts
        if self.not_a_number is None and other.not_a_number is not None:
            self._read, self.not_a_number = None, other.not_a_number
        if self._read is not None and other.moments.n:
            self.moments = self.moments.merge(other.moments)
            self.low, self.high = min(self.low, other.low), max(self.high, other.high)
            self._add_sample(other.sample, other._chance, other._sample_weights)

    def to_arrays(self) -> dict[str, pa.Array]:
        """Return all statistics as arrays, from which :meth:`restore` reads them.

        Returns
        -------
        dict
            Some arrays by name; none before any row was added.
        """
        if self.n_rows == 0:
            return {}
        counts = (self.n_rows, self.n_missing, self.n_forgotten, self.n_number_texts)
        numbers = (*self.moments, self.low, self.high, self.missing_weight)
        row, text = ([], []) if self.not_a_number is None else ([self.not_a_number[0]], [self.not_a_number[1]])
        return {
            "first": pa.array([self.first], self.type),
            "counts": pa.array(counts, pa.int64()),
            "numbers": pa.array(numbers, pa.float64()),
            "sample": pa.array(self.sample),
            "weights": pa.array([] if self._sample_weights is None else self._sample_weights, pa.float64()),
            "weighted texts": pa.array(self.weights_of_texts.keys(), pa.string()),
            "weights of texts": pa.array(self.weights_of_texts.values(), pa.float64()),
            "chance": pa.array(self._chance),
            "texts": pa.array(self.texts.keys(), pa.string()),
            "rows of texts": pa.array(self.texts.values(), pa.int64()),
            "row of no number": pa.array(row, pa.int64()),
            "text of no number": pa.array(text, pa.string()),
        }

    def restore(self, arrays: Mapping[str, pa.Array]) -> None:
        """Take on the statistics that :meth:`to_arrays` returned.

        Parameters
        ----------
        arrays : Mapping
            The arrays.
        """
        if not arrays:
            return
        self._begin(pa.chunked_array([arrays["first"]]))
        self.n_rows, self.n_missing, self.n_forgotten, self.n_number_texts = arrays["counts"].to_pylist()
        *moments, self.low, self.high, self.missing_weight = arrays["numbers"].to_pylist()
        self.moments = Moments(*moments)
        self.sample, self._chance = np.asarray(arrays["sample"]), np.asarray(arrays["chance"])
        self._sample_weights = np.asarray(arrays["weights"])

        def read_counter(*names: str) -> Counter[str]:
            return Counter(dict(zip(*(arrays[name].to_pylist() for name in names), strict=True)))

        self.texts = read_counter("texts", "rows of texts")
        self.weights_of_texts = read_counter("weighted texts", "weights of texts")
        for row, text in zip(
            *(arrays[f"{what} of no number"].to_pylist() for what in ("row", "text")), strict=True
        ):
            self._read, self.not_a_number = None, (row, text)

    def read_dates(self) -> None:
        """Take the statistics of texts that are dates with the day first."""
        texts = pa.chunked_array([list(self.texts)], pa.string())
        weights = [self.weights_of_texts.get(text, n) for text, n in self.texts.items()]
        self._add_numbers(as_days(self.name, texts), texts, None, np.array(weights))

    def has_one_value(self) -> bool:
        """Whether no row differs from the others, missing values aside."""
        if self.has_texts:
            return len(self.texts) == 1 and not self.n_forgotten
        return self.low == self.high and bool(np.all(self.sample == self.sample[0]))

    def describe_numbers(self) -> NumberFacts:
        """Describe the numbers. The median is the sample's: of up to 65,536 numbers, that of all."""
        if self.moments.n == 0:
            raise no_value(self.name)
        median = weighted_median(self.sample, self._sample_weights)
        moments = Moments().merge(self.moments)
        if self.missing_weight:
            moments = moments.merge(Moments(self.missing_weight, median))
        return NumberFacts(self.n_missing, median, moments.mean, float(np.sqrt(moments.squares / moments.n)))


def no_value(name: str) -> ValueError:
    """The error of a column from which nothing can be learned."""
    return ValueError(f"column {name!r} has no value in any row: correct it, or leave it out (drop)")
