"""One column's values: numbers, days and text, whatever type a table holds them in."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llpgan.tables import columns as column_values


def column(*entries, kind=None):
    return pa.chunked_array([pa.array(entries, kind)])


NUMBERS = {
    "integers": column(3, None, -1),
    "floats": column(3.0, None, -1.0),
    "nan": pa.chunked_array([np.array([3, np.nan, -1])]),
    "half precision": pa.chunked_array([np.array([3, np.nan, -1], dtype=np.float16)]),
    "decimals": column(Decimal("3.0"), None, Decimal("-1.0")),
    "text": column("3", None, "-1"),
    "text in other forms": column(" 3. ", None, "-10e-1"),
    "a plus": column("+3", None, "-1"),
    "codes of text": column("3", None, "-1").dictionary_encode(),
    "codes of numbers": column(3, None, -1).dictionary_encode(),
    "two chunks": pa.chunked_array([[3.0], [None, -1.0]]),
}


@pytest.mark.parametrize("given_as", NUMBERS.values(), ids=NUMBERS)
def test_numbers_from_every_type(given_as):
    np.testing.assert_array_equal(column_values.as_numbers("n", given_as), [3, np.nan, -1])


@given(st.lists(st.floats(-1e38, 1e38), min_size=1))
def test_numbers_written_as_text_are_the_same_numbers(numbers):
    text = column(*map(repr, numbers))
    assert column_values.as_numbers("n", text).tolist() == numbers
    summary = column_values.ColumnSummary.from_column("n", text)
    assert summary.n_number_texts == len(numbers)


def test_booleans_are_zero_and_one():
    np.testing.assert_array_equal(column_values.as_numbers("b", column(True, None, False)), [1, np.nan, 0])


def test_integers_beyond_the_precision_of_floats_are_rounded():
    assert column_values.as_numbers("hash", column(2**60 + 1, -3)).tolist() == [2.0**60, -3]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (column("1", "two", "three"), "column 'n', row 1: 'two' is not a number"),
        (column("1", "1,5"), "column 'n', row 1: '1,5' is not a number"),
        (column("1", "inf"), "column 'n', row 1: 'inf' is not a number"),
        (column("1", "0x10"), "column 'n', row 1: '0x10' is not a number"),
        (column("1", None, "1e999"), "column 'n', row 2: inf is not a finite number"),
        (column(1.0, None, 1e300), "column 'n', row 2: 1e+300 is not within ±1e+38: use another unit"),
        (column(1.0, None, -np.inf), "column 'n', row 2: -inf is not a finite number"),
        (column(dt.date(2016, 11, 8)), "column 'n' holds date32[day], not numbers"),
    ],
)
def test_what_is_no_number_is_named_by_its_row(wrong, said):
    with pytest.raises(ValueError) as error:
        column_values.as_numbers("n", wrong)
    assert said in str(error.value)


NEW_YORK = dt.timezone(dt.timedelta(hours=-5))
NOON = dt.datetime(1970, 1, 2, 12)
DAYS = {
    "dates": (column(dt.date(1970, 1, 3), None), 2),
    "milliseconds' dates": (column(dt.date(1970, 1, 3), None, kind=pa.date64()), 2),
    "moments": (column(NOON, None), 1.5),
    "seconds": (column(NOON, None, kind=pa.timestamp("s")), 1.5),
    "nanoseconds": (column(NOON, None, kind=pa.timestamp("ns")), 1.5),
    "nanoseconds of today": (column(dt.datetime(2020, 1, 1, 12), None, kind=pa.timestamp("ns")), 18262.5),
    "moments of a zone": (column(NOON.replace(tzinfo=dt.UTC), None), 1.5),
    "moments of another zone": (
        column(NOON.replace(hour=7, tzinfo=NEW_YORK), None, kind=pa.timestamp("ms", "America/New_York")),
        1.5,
    ),
    "times of the day": (column(dt.time(18), None), 0.75),
    "times in seconds": (column(dt.time(18), None, kind=pa.time32("s")), 0.75),
    "times in nanoseconds": (column(dt.time(18), None, kind=pa.time64("ns")), 0.75),
    "durations": (column(dt.timedelta(days=-2, hours=6), None), -1.75),
    "text of dates": (column("1970-01-03", None), 2),
    "text of moments": (column("1970-01-02 12:00:00", None), 1.5),
    "text with a T": (column("1970-01-02T12:00", None), 1.5),
    "codes of text": (column("1970-01-03", None).dictionary_encode(), 2),
}


@pytest.mark.parametrize(("given_as", "expected"), DAYS.values(), ids=DAYS)
def test_days_from_every_type(given_as, expected):
    np.testing.assert_array_equal(column_values.as_days("d", given_as), [expected, np.nan])


def test_a_column_of_nothing_is_missing_days():
    assert np.isnan(column_values.as_days("d", column(None, None))).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            column("2016-11-08", None, "11/08/2016", "soon"),
            "column 'd', row 2: '11/08/2016' is not a date such as 2016-11-08 or 2016-11-08 20:15:00",
        ),
        (column("2016-02-30"), "column 'd', row 0: '2016-02-30' is not a date"),
        (column(20161108), "column 'd' holds int64: it cannot be read as dates"),
    ],
)
def test_what_is_no_date_is_named_by_its_row(wrong, said):
    with pytest.raises(ValueError) as error:
        column_values.as_days("d", wrong)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("given_as", "expected"),
    [
        (column(7, None), ["7", None]),
        (column(7.0, None, float("nan")), ["7", None, None]),
        (column(7.0, 7.5, -2.0), ["7", "7.5", "-2"]),
        (column(1e10, 0.5), ["10000000000", "0.5"]),
        (column(1e10, float("inf")), ["10000000000", "inf"]),
        (column(7.0, 7.25, kind=pa.float32()), ["7", "7.25"]),
        (pa.chunked_array([np.array([7, 0.5], dtype=np.float16)]), ["7", "0.5"]),
        (column(Decimal("7.00"), Decimal("7.50")), ["7", "7.5"]),
        (column(7.0, 8.0).dictionary_encode(), ["7", "8"]),
        (column(True, None), ["true", None]),
        (column("007", None), ["007", None]),
        (column(dt.date(2016, 11, 8)), ["2016-11-08"]),
    ],
)
def test_text_from_every_type(given_as, expected):
    assert column_values.as_text("t", given_as).to_pylist() == expected


def test_the_text_of_a_number_does_not_depend_on_its_neighbours():
    together = column_values.as_text("zone", column(1e10, 0.5)).to_pylist()
    apart = [column_values.as_text("zone", column(number)).to_pylist()[0] for number in (1e10, 0.5)]
    assert together == apart


def test_numbers_among_texts_are_counted():
    several = column("1", "x", None, "2.5", "1").dictionary_encode()
    assert column_values.ColumnSummary.from_column("n", several).n_number_texts == 3
    assert column_values.ColumnSummary.from_column("n", column("", "-", "1 2")).n_number_texts == 0
    assert column_values.has_words(column("", "-", "1 2", None).dictionary_encode())
    assert not column_values.has_words(several)
    assert not column_values.has_words(column(1, 2))


def test_missing_values_are_nulls_and_nans():
    assert column_values.missing_values(column(1.0, None, float("nan"))).tolist() == [False, True, True]
    assert column_values.missing_values(column("a", None).dictionary_encode()).tolist() == [False, True]
    assert column_values.ColumnSummary.from_column("n", column(1.0, None, float("nan"))).n_missing == 2
    assert column_values.ColumnSummary.from_column("n", column("a", None)).n_missing == 1


def test_different_values_are_counted_beyond_the_first_rows_and_without_missing_ones():
    late = pa.chunked_array([[0] * 5000 + [1, 2]])
    assert column_values.find_few_values("n", late, 2) is None
    assert column_values.find_few_values("n", late, 3)[0] == ["0", "1", "2"]
    values, index = column_values.find_few_values("n", column(1.0, None, float("nan")), 1)
    assert (values, index.tolist()) == (["1"], [0, -1, -1])


def test_a_source_is_named_before_what_is_wrong_with_it():
    said = r"^people\.csv: column 'n', row 1: 'x' is not a number$"
    with pytest.raises(ValueError, match=said), column_values.naming_source("people.csv"):
        column_values.as_numbers("n", column("1", "x"))
