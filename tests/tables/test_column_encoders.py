"""One column at a time: what is learned from the training's values, and done with others."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llpgan.tables.columns import ColumnSummary
from llpgan.tables.encode import ENCODERS, Category, Date, Number


def column(values):
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values)])


def learned(kind, values, min_count=1, max_categories=32):
    (name,) = [name for name, encoder in ENCODERS.items() if encoder is kind]
    return kind.from_summary(ColumnSummary.from_column("x", column(values), name), min_count, max_categories)


def encoded(encoder, values):
    out = np.zeros((len(column(values)), len(encoder.features)), dtype=np.float32)
    encoder.write(column(values), out)
    return out.round(4).tolist()


def test_numbers_get_mean_zero_and_deviation_one():
    encoder = learned(Number, [2, 4, 6])
    np.testing.assert_allclose(encoded(encoder, [2, 4, 6]), [[-1.2247], [0], [1.2247]])
    np.testing.assert_allclose(encoded(encoder, [40]), [[22.0454]])


def test_missing_numbers_become_the_median_with_a_column_that_tells():
    encoder = learned(Number, [0, 1, 2, 100, None])
    assert encoder.median == 1.5
    assert encoder.features == ["x", "x=(missing)"]
    as_the_median = encoded(encoder, [1.5])[0][0]
    assert encoded(encoder, [None, 1.5]) == [[as_the_median, 1], [as_the_median, 0]]


@pytest.mark.parametrize("missing", [None, np.nan])
def test_few_missing_numbers_get_no_column(missing):
    encoder = learned(Number, [0.0, 1.0, 2.0, missing], min_count=2)
    assert encoder.features == ["x"]
    assert encoded(encoder, [missing, 1.0]) == [[0], [0]]


@pytest.mark.parametrize("value", [0.0, 5.0, 1e12, 0.1])
def test_a_constant_number_becomes_zero(value):
    assert encoded(learned(Number, [value] * 30), [value, value + 1]) == [[0], [1]]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50), st.lists(st.booleans(), min_size=50, max_size=50))
def test_numbers_agree_with_a_plain_computation(numbers, there):
    there = [True, *there][: len(numbers)]
    values = [x if known else None for x, known in zip(numbers, there, strict=True)]
    encoder = learned(Number, values)
    median = np.median([x for x in values if x is not None])
    filled = np.array([median if x is None else x for x in values])
    scale = filled.std() if filled.std() > 1e-9 * abs(filled.mean()) else 1
    expected = (filled - filled.mean()) / scale
    np.testing.assert_allclose([row[0] for row in encoded(encoder, values)], expected, atol=2e-4)


def test_dates_are_numbers_in_days():
    encoder = learned(Date, [dt.date(2016, 11, 8), dt.date(2016, 11, 10), None])
    assert encoder.features == ["x", "x=(missing)"]
    np.testing.assert_allclose(encoder.scale, np.sqrt(2 / 3))
    assert encoded(encoder, ["2016-11-09"]) == [[0, 0]]
    assert encoded(encoder, [dt.datetime(2016, 11, 9, 12)])[0][0] == pytest.approx(0.5 / np.sqrt(2 / 3), abs=1e-4)


def test_each_category_gets_a_column_in_alphabetical_order():
    encoder = learned(Category, ["b", "a", "b", "c"])
    assert encoder.features == ["x=a", "x=b", "x=c"]
    assert encoded(encoder, ["c", "b", "a"]) == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_a_category_that_training_never_saw_has_zeros():
    assert encoded(learned(Category, ["a", "b"]), ["z", None, "a"]) == [[0, 0], [0, 0], [1, 0]]


def test_rare_categories_share_a_column_with_those_never_seen():
    encoder = learned(Category, ["a"] * 3 + ["b"] * 2 + ["c"], min_count=2)
    assert encoder.features == ["x=a", "x=b", "x=(other)"]
    assert encoded(encoder, ["c", "z", "b"]) == [[0, 0, 1], [0, 0, 1], [0, 1, 0]]


def test_missing_categories_have_a_column_where_they_are_many():
    values = ["a", "b", "a", "b", None, None]
    encoder = learned(Category, values, min_count=2)
    assert encoder.features == ["x=a", "x=b", "x=(missing)"]
    assert encoded(encoder, [None, "a"]) == [[0, 0, 1], [1, 0, 0]]
    assert learned(Category, values[:-1], min_count=2).features == ["x=a", "x=b"]


def test_nan_is_a_missing_category():
    encoder = learned(Category, [7.0, np.nan, 8.0])
    assert encoder.features == ["x=7", "x=8", "x=(missing)"]
    assert encoded(encoder, [np.nan, 7.0]) == [[0, 0, 1], [1, 0, 0]]


def test_rare_and_missing_categories_have_columns_of_their_own():
    encoder = learned(Category, ["a", "a", "b", None, None], min_count=2)
    assert encoder.features == ["x=a", "x=(other)", "x=(missing)"]
    assert encoded(encoder, ["b", None, "a"]) == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_the_most_frequent_categories_are_kept():
    encoder = learned(Category, ["c"] * 3 + ["b"] * 2 + ["a"], max_categories=2)
    assert encoder.features == ["x=b", "x=c", "x=(other)"]


def test_a_small_table_keeps_its_categories_though_all_are_rare():
    assert learned(Category, ["b", "a"], min_count=10).features == ["x=a", "x=b"]


@pytest.mark.parametrize(
    "later", [[7, 8], [7.0, 8.0], ["7", "8"], column(["7", "8"]).dictionary_encode()], ids=str
)
@pytest.mark.parametrize("first", [[7, 8, 9], [7.0, 8.0, 9.0], ["7", "8", "9"]], ids=str)
def test_numbers_as_categories_are_the_same_in_every_type(first, later):
    assert encoded(learned(Category, first), later) == [[1, 0, 0], [0, 1, 0]]


def test_leading_zeros_distinguish_categories():
    assert encoded(learned(Category, ["07", "7"]), ["7", "07"]) == [[0, 1], [1, 0]]


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1), st.integers(1, 4), st.integers(1, 3))
def test_every_training_row_with_a_value_has_exactly_one_one(values, min_count, max_categories):
    values = ["a", *values]
    encoder = learned(Category, values, min_count, max_categories)
    for value, row in zip(values, encoded(encoder, values), strict=True):
        assert sum(row) == (1 if value is not None else encoder.tells_missing)
        if value in encoder.known:
            assert row[encoder.known.index(value)] == 1
