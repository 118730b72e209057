"""What columns become, seen from their values or said by a user."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from llpgan.tables import Columns, TableEncoder, open_rows
from llpgan.tables.columns import ColumnSummary, as_days
from llpgan.tables.encode import Category, Date, LeftOut, Number, choose_encoder


def kind_of(values, columns=None, name="x"):
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    columns = columns or Columns()
    summary = ColumnSummary.from_column(name, column, columns.kinds().get(name))
    return type(choose_encoder(summary, columns).encoder)


SEEN = {
    "integers": ([3, 1, 2], Number),
    "floats": ([0.5, None], Number),
    "decimals": ([Decimal("0.5"), Decimal("1.5")], Number),
    "booleans": ([True, False], Number),
    "codes of numbers": (pa.chunked_array([[3, 1, 3]]).dictionary_encode(), Number),
    "numbers as text": (["3", "1.5", None], Number),
    "text": (["a", "b", "a"], Category),
    "codes of text": (pa.chunked_array([["a", "b", "a"]]).dictionary_encode(), Category),
    "dates": ([dt.date(2016, 11, 8), dt.date(2020, 11, 3)], Date),
    "moments": ([dt.datetime(2016, 11, 8), None], Date),
    "times": ([dt.time(8), dt.time(9)], Date),
    "durations": ([dt.timedelta(8), dt.timedelta(9)], Date),
    "dates as text": (["2016-11-08", "2020-11-03", "2016-11-08"], Category),
    "half of it numbers": (["1", "x", "2", "y"], Category),
}


@pytest.mark.parametrize(("values", "kind"), SEEN.values(), ids=SEEN)
def test_the_kind_is_seen_from_the_values(values, kind):
    assert kind_of(values) is kind


SAID = {
    "numbers as categories": ([3, 1, 2], Columns(categories=["x"]), Category),
    "booleans as categories": ([True, False], Columns(categories=["x"]), Category),
    "text as dates": (["2016-11-08", "2020-11-03"], Columns(dates=["x"]), Date),
    "text as numbers": (["3", "1"], Columns(numbers=["x"]), Number),
    "a name alone": ([3, 1, 2], Columns(categories="x"), Category),
    "a constant": ([3, 3, 3], Columns(numbers="x"), Number),
    "ids": (list(range(100)), Columns(numbers="x"), Number),
    "names": ([f"name {i}" for i in range(100)], Columns(categories="x"), Category),
    "binary text as categories": ([b"a", b"b"], Columns(categories="x"), Category),
}


@pytest.mark.parametrize(("values", "columns", "kind"), SAID.values(), ids=SAID)
def test_the_user_says_otherwise(values, columns, kind):
    assert kind_of(values, columns) is kind


SHUFFLED = np.random.default_rng(0).permutation(1000)
NOTHING_TO_LEARN = {
    "a constant": ([7] * 30, "x", "all rows have the same value, 7"),
    "a constant text": (["-"] * 3, "x", "all rows have the same value, '-'"),
    "running numbers": (SHUFFLED.tolist(), "x", "every row has a different number, as ids do"),
    "large ids by their name": ((SHUFFLED * 10**6).tolist(), "person_id", "every row has a different number"),
    "names": (
        [f"name {i}" for i in range(30)],
        "x",
        "nearly every row has a different text",
    ),
}


@pytest.mark.parametrize(("values", "name", "why"), NOTHING_TO_LEARN.values(), ids=NOTHING_TO_LEARN)
def test_uninformative_columns_are_left_out(values, name, why):
    with pytest.raises(LeftOut, match=why):
        kind_of(values, name=name)


TAKEN = {
    "a constant that is missing at times": ([7] * 30 + [None], "x"),
    "few rows that all differ": ([5, 9, 7], "x"),
    "few texts that all differ": (["a", "b", "c"], "x"),
    "floats that all differ": (list(np.random.default_rng(0).normal(size=100)), "person_id"),
    "large numbers that all differ": ((SHUFFLED * 10**6).tolist(), "income"),
    "numbers with one repeated": ([*range(100), 5], "person_id"),
}


@pytest.mark.parametrize(("values", "name"), TAKEN.values(), ids=TAKEN)
def test_columns_that_only_look_like_ids_are_features(values, name):
    assert kind_of(values, name=name) in (Number, Category)


WRONG = {
    "one stray text among numbers": (
        ["1", "2", "n.a.", "3"],
        None,
        "column 'x', row 2: 'n.a.' is not a number, as 3 of the 4 values of this column are: correct it, or name "
        "the column among the categories",
    ),
    "text that should be numbers": (
        ["1", "x", "y"],
        Columns(numbers="x"),
        "column 'x', row 1: 'x' is not a number",
    ),
    "text that should be dates": (["x"], Columns(dates="x"), "column 'x', row 0: 'x' is not a date such as"),
    "numbers that should be dates": (
        [1],
        Columns(dates="x"),
        "column 'x' holds int64: it cannot be read as dates",
    ),
    "nothing": ([None, None], None, "column 'x' has no value in any row: correct it, or leave it out (drop)"),
    "nothing but nan": (np.full(3, np.nan), None, "column 'x' has no value in any row"),
    "no number": (np.full(3, np.nan), Columns(numbers="x"), "column 'x' has no value in any row"),
    "no category": (np.full(3, np.nan), Columns(categories="x"), "column 'x' has no value in any row"),
    "lists": ([[1], [2, 3]], None, "column 'x' holds list<item: int64>: one number, text or date per row"),
    "structs": ([{"a": 1}], None, "column 'x' holds struct<a: int64>: one number, text or date per row"),
    "lists as categories": ([[1], [2]], Columns(categories="x"), "column 'x' holds list<item: int64>"),
    "bytes": ([b"a", b"b"], None, "column 'x' holds binary: one number, text or date per row would be right"),
    "infinity": ([1.0, np.inf], None, "column 'x', row 1: inf is not a finite number"),
}


@pytest.mark.parametrize(("values", "columns", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_learned_from_is_named(values, columns, said):
    with pytest.raises(ValueError) as error:
        kind_of(values, columns)
    assert said in str(error.value)


AVAILABLE = ["state", "age", "city", "voted"]


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        (Columns(), ["age", "city"]),
        (Columns(only=["city"]), ["city"]),
        (Columns(only=["city", "age"]), ["age", "city"]),
        (Columns(only="city", numbers="age"), ["age", "city"]),
        (Columns(drop=["city"]), ["age"]),
        (Columns(drop="city"), ["age"]),
        (Columns(drop="voted"), ["age", "city"]),
        (Columns(categories="age"), ["age", "city"]),
    ],
)
def test_columns_are_chosen_in_the_tables_order_without_bag_and_label(columns, chosen):
    assert columns.choose(AVAILABLE, reserved=["state", "voted"]) == chosen


@pytest.mark.parametrize("option", ["only", "drop", "numbers", "categories", "dates"])
def test_an_unknown_column_is_named(option):
    with pytest.raises(ValueError, match="no column 'wage'; there are 'state', 'age', 'city', 'voted'"):
        Columns(**{option: ["wage"]}).choose(AVAILABLE, [])


@pytest.mark.parametrize("option", ["only", "numbers", "categories", "dates"])
def test_the_bag_and_the_label_cannot_be_asked_for(option):
    with pytest.raises(ValueError, match="column 'voted' is the bag, the label or the weight"):
        Columns(**{option: ["voted"]}).choose(AVAILABLE, ["state", "voted"])


def test_wishes_that_contradict_each_other():
    with pytest.raises(ValueError, match="column 'age' is given two kinds"):
        Columns(numbers=["age"], categories=["city", "age"])
    with pytest.raises(ValueError, match="column 'age' is both asked for and left out"):
        Columns(only=["age"], drop=["age"])
    with pytest.raises(ValueError, match="column 'age' is both asked for and left out"):
        Columns(dates="age", drop="age")


FORMS = {
    "slashes": ([f"2010/{1 + i % 12}/{1 + i % 28:02d}" for i in range(40)], "is read as dates, such as 2010/1/01"),
    "a time": ([f"{1 + i % 28}.01.2010 10:{i:02d}" for i in range(40)], "is read as dates with the day first"),
    "no such day": (["30.02.2010", *(f"{1 + i % 28}.01.2010" for i in range(39))], "of days that do not exist"),
    "words": ([f"{1 + i % 28} Dec 2010" for i in range(40)], "look like dates with names of months"),
    "digits": ([20100101 + i % 28 for i in range(40)], "though 20100101 looks like a date"),
    "a code": ([-999 if i % 10 == 0 else 18 + i % 60 for i in range(200)], "has the value -999 in some rows"),
    "brackets": (
        [f"({i}.5)" if i % 2 else f"{i}.5" for i in range(0, 400)] * 3,
        "600 of its 1200 values are numbers",
    ),
    "Arabic digits": (
        ["\u0661", "\u0662", "\u0663", "\u0664", "\u0665", "\u0666", "\u0667"] * 6,
        "look like numbers",
    ),
}


@pytest.mark.parametrize(("values", "note"), FORMS.values(), ids=FORMS)
def test_unusual_values_are_read_or_noted(values, note):
    encoder = TableEncoder.learn(open_rows({"seen": values, "x": [i % 7 for i in range(len(values))]}).table)
    assert note in "\n".join(encoder.notes)


def test_numbers_in_one_range_are_no_codes():
    ages = [99 if i % 10 == 0 else 18 + i % 60 for i in range(200)]
    encoder = TableEncoder.learn(open_rows({"age": ages, "weight": [99.0, *range(1, 200)]}).table)
    assert not encoder.notes


def test_dates_are_read_whatever_separates_their_parts():
    texts = [["2010-12-05", "2011-01-31"], ["2010/12/5", "2011/1/31"], ["5.12.2010", "31.01.2011"]]
    days = [as_days("seen", pa.chunked_array([each])).tolist() for each in texts]
    assert days[0] == days[1] == days[2]
    with pytest.raises(ValueError, match=r"column 'seen', row 1: '30.02.2010' is not a date"):
        as_days("seen", pa.chunked_array([["05.12.2010", "30.02.2010"]]))
