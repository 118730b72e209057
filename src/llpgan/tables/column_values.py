"""The values of one column as numbers, days or text; what cannot be read is named by column and row."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from llpgan.bags.validation import LARGEST

Values = NDArray[np.float64]
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_DAY = 24 * 3600.0
_FIRST_ROWS = 1000
_WHOLE = 2.0**53  # above it, floats are too coarse to be told from integers


class RowError(ValueError):
    """A value that cannot be read, by its column and row."""

    def __init__(self, column: str, row: int, why: str) -> None:
        super().__init__(f"column {column!r}, row {row}: {why}")
        self.column, self.row, self.why = column, row, why

    def at(self, first_row: int) -> "RowError":
        """The same, where rows are a part of a table that begins at this one."""
        return RowError(self.column, first_row + self.row, self.why)


@contextmanager
def of(source: str) -> Iterator[None]:
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


def is_number(column: pa.ChunkedArray) -> bool:
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
    return any(pc.count_distinct(_without_nan(plain(part))).as_py() > number for part in (first_rows, column))


def missing(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """For each row, whether it has no value."""
    return np.asarray(pc.is_null(column, nan_is_null=True))


def n_missing(column: pa.ChunkedArray) -> int:
    """How many rows have no value.

    >>> n_missing(pa.chunked_array([[1.0, None, float("nan")]]))
    2
    """
    nans = pc.sum(pc.is_nan(column)).as_py() if pa.types.is_floating(column.type) else 0
    return int(column.null_count + (nans or 0))


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values themselves, where a column holds codes."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def as_numbers(name: str, column: pa.ChunkedArray) -> Values:
    """The values as floats, NaN where they are missing.

    >>> as_numbers("age", pa.chunked_array([["31", None, "4e1"]]))
    array([31., nan, 40.])
    """
    column = plain(column)
    if is_text(column):
        _refuse_text(name, column)
        column = pc.utf8_trim_whitespace(column)
    numbers = _floats(_cast(name, column, pa.float64(), "numbers"))
    for row in np.flatnonzero(np.abs(numbers) > LARGEST):
        why = (
            "is not a finite number"
            if np.isinf(numbers[row])
            else f"is not within ±{LARGEST:.0e}: use another unit"
        )
        raise RowError(name, int(row), f"{numbers[row]} {why}")
    return numbers


def as_days(name: str, column: pa.ChunkedArray) -> Values:
    """Dates and moments as days since 1970, times of the day and durations as days; NaN where they are missing.

    >>> as_days("seen", pa.chunked_array([["1970-01-02", "1970-01-01 12:00:00", None]]))
    array([1. , 0.5, nan])
    """
    column = plain(column)
    if is_text(column):
        column = _moments(name, column)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_date(column.type):
        return _floats(column.cast(pa.date32()).cast(pa.int32()).cast(pa.float64()))
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type) or pa.types.is_time(column.type):
        wide = column.cast(_in_seconds_or_finer(column.type))
        return _floats(wide.cast(pa.int64()).cast(pa.float64(), safe=False)) / (_ticks(column.type) * _DAY)
    raise ValueError(f"column {name!r} holds {column.type}: it cannot be read as dates")


def as_text(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as text; whole numbers alike, whether a table holds them as 7, as 7.0 or as decimals.

    >>> as_text("zone", pa.chunked_array([[7.0, None]])).to_pylist()
    ['7', None]
    """
    if is_text(column):
        return column
    column = plain(column)
    if pa.types.is_decimal(column.type) or pa.types.is_float16(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_floating(column.type):
        return _text_of_floats(column)
    return _cast(name, column, pa.string(), "text")


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


def _without_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(pc.is_nan(column), None, column) if pa.types.is_floating(column.type) else column


def _text_of_floats(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = _without_nan(column)
    whole = pc.and_(pc.equal(pc.round(column), column), pc.less(pc.abs(column), _WHOLE))
    integers = pc.if_else(whole, column, None).cast(pa.int64()).cast(pa.string())
    return pc.coalesce(integers, column.cast(pa.string()))


def _moments(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if _has_moments(column):
        return column.cast(pa.timestamp("s"))
    row = bisect_left(range(len(column)), True, key=lambda row: not _has_moments(column.slice(0, row + 1)))
    raise RowError(name, row, f"{column[row].as_py()!r} is not a date such as 2016-11-08 or 2016-11-08 20:15:00")


def _has_moments(column: pa.ChunkedArray) -> bool:
    try:
        column.cast(pa.timestamp("s"))
    except pa.ArrowInvalid:
        return False
    return True


def _refuse_text(name: str, column: pa.ChunkedArray) -> None:
    looks_like = pc.fill_null(pc.match_substring_regex(column, _NUMBER), True)
    for row in np.flatnonzero(~np.asarray(looks_like)):
        raise RowError(name, int(row), f"{column[int(row)].as_py()!r} is not a number")


def _cast(name: str, column: pa.ChunkedArray, to: pa.DataType, what: str) -> pa.ChunkedArray:
    try:
        return column.cast(to, safe=False)  # integers beyond 2⁵³ are rounded
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"column {name!r} holds {column.type}, not {what}: {error}") from None


def _floats(column: pa.ChunkedArray) -> Values:
    return np.asarray(column.fill_null(np.nan).to_numpy())


def _ticks(kind: Any) -> float:
    return {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]


def _in_seconds_or_finer(kind: Any) -> pa.DataType:
    """The same values in a type that is as wide as an integer of 64 bits."""
    if pa.types.is_time32(kind):
        return pa.int32()
    return pa.int64()
