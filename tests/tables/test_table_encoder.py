"""A whole table: columns by name, in any order; the same for new rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llpgan.tables import Columns, TableEncoder, open_rows
from llpgan.tables.read import Rows

PEOPLE = {
    "state": ["OH", "IA", "OH", "IA"],
    "age": [20, 60, None, 40],
    "city": ["Rome", "Oslo", "Rome", None],
    "note": ["-"] * 4,
}


def learned(table, columns=None, reserved=()):
    return TableEncoder.learn(open_rows(table).table, columns or Columns(min_count=1), reserved)


def test_columns_stand_in_the_order_of_the_training_table():
    encoder = learned(PEOPLE, reserved=["state"])
    assert encoder.features == ("age", "age=(missing)", "city=Oslo", "city=Rome", "city=(missing)")
    assert encoder.positions == {"age": [0, 1], "city": [2, 3, 4]}
    instances = encoder.encode(open_rows(PEOPLE))
    assert instances.dtype == np.float32
    assert instances[:, 1:].tolist() == [[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]


def test_columns_left_out_have_their_word():
    encoder = learned(PEOPLE, reserved=["state"])
    assert encoder.left_out == {"note": "all rows have the same value, '-'"}
    assert encoder.notes == ["column 'note' is left out: all rows have the same value, '-'"]


def test_categories_are_to_be_read_as_text():
    assert learned(PEOPLE, Columns(categories=["age"])).text_columns == ["state", "age", "city"]


@given(st.permutations(["age", "city", "state", "more"]))
def test_new_tables_may_have_columns_in_any_order_and_more_of_them(order):
    encoder = learned(PEOPLE, reserved=["state"])
    table = {**PEOPLE, "more": [1, 2, 3, 4]}
    other = open_rows({name: table[name] for name in order})
    np.testing.assert_array_equal(encoder.encode(other), encoder.encode(open_rows(PEOPLE)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, dict])
def test_rows_are_encoded_one_by_one(frame):
    """What a row becomes does not depend on the rows beside it."""
    encoder = learned(PEOPLE)
    together = encoder.encode(open_rows(frame(PEOPLE)))
    for row in range(4):
        alone = {name: values[row : row + 1] for name, values in PEOPLE.items()}
        np.testing.assert_array_equal(encoder.encode(open_rows(frame(alone)))[0], together[row])


def test_new_rows_may_lack_all_values_of_a_column(write):
    encoder = learned({"day": ["2016-11-08", "2016-11-10"], **{k: v[:2] for k, v in PEOPLE.items()}})
    rows = open_rows(write("new.csv", "state,age,city,day\nOH,,,\n"))
    assert np.isfinite(encoder.encode(rows)).all()
    dates = learned({"day": ["2016-11-08", "2016-11-10"]}, Columns(dates="day"))
    assert dates.encode(open_rows({"day": [None]})).tolist() == [[0]]


def test_an_absent_column_is_refused_by_name(write):
    path = write("new.csv", "city\nRome\n")
    with pytest.raises(ValueError) as error:
        learned(PEOPLE).encode(open_rows(path))
    assert str(error.value) == (
        f"{path} has no column 'state', 'age', which the model was trained on; there are 'city'"
    )


def test_large_tables_are_encoded_in_parts_that_name_the_right_row(write):
    encoder = learned({"age": [1.0, 2.0, 4.0]})
    ages = [str(age) for age in range(50_000)]
    one_by_one = encoder.encode(open_rows({"age": list(range(50_000))}))
    np.testing.assert_array_equal(encoder.encode(open_rows({"age": ages})), one_by_one)
    path = write("new.csv", "age\n" + "\n".join([*ages[:40_000], "old", *ages]))
    with pytest.raises(ValueError) as error:
        encoder.encode(open_rows(path))
    assert str(error.value) == f"{path}: column 'age', row 40000: 'old' is not a number"


def test_dates_of_new_rows_are_named_too(write):
    encoder = learned({"day": ["2016-11-08", "2016-11-10"]}, Columns(dates="day"))
    path = write("new.csv", "day\n2016-11-08\nyesterday\n")
    with pytest.raises(ValueError) as error:
        encoder.encode(open_rows(path))
    assert str(error.value).startswith(f"{path}: column 'day', row 1: 'yesterday' is not a date")


def test_a_table_that_need_not_stay_is_let_go_while_it_is_encoded():
    encoder, table = learned(PEOPLE), open_rows(PEOPLE).table
    rows = Rows("people", table, keep=False)
    np.testing.assert_array_equal(encoder.encode(rows), encoder.encode(Rows("people", table)))
    assert rows.table.num_rows == 0


@pytest.mark.parametrize(
    ("table", "reserved", "said"),
    [
        ({"a": [1, 2]}, ["a"], "no column is left to learn from: all are of bags or labels"),
        ({"a": [1, 1]}, [], "no column is left to learn from: 'a' is left out, all rows have the same value, 1"),
    ],
)
def test_a_table_with_nothing_to_learn_from(table, reserved, said):
    with pytest.raises(ValueError, match=said):
        learned(table, reserved=reserved)


@given(
    st.lists(
        st.tuples(st.none() | st.integers(-9, 9), st.none() | st.sampled_from("abc"), st.booleans()),
        min_size=2,
        max_size=30,
    )
)
@settings(max_examples=30)
def test_instances_are_always_finite_and_as_wide_as_their_names(rows):
    number, letter, yes = zip(*rows, strict=True)
    table = {"number": [0, *number], "letter": ["a", *letter], "yes": [True, False, *yes[1:]]}
    encoder = learned(table, Columns(numbers="number", categories="letter", min_count=2))
    instances = encoder.encode(open_rows(table))
    assert instances.shape == (len(rows) + 1, len(encoder.features))
    assert np.isfinite(instances).all()
    assert [place for places in encoder.positions.values() for place in places] == list(range(instances.shape[1]))
