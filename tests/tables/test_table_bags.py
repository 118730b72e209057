"""From a user's tables to bags, and from a model back to the user's tables."""

import datetime as dt
import gzip
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llpgan import Bags, MeanMap
from llpgan.tables import Columns, label_values, open_rows

RNG = np.random.default_rng(0)
N = 60
PEOPLE = {
    "state": [["Ohio", "Iowa", "Utah"][i % 3] for i in range(N)],
    "age": [None if i % 7 == 0 else int(age) for i, age in enumerate(RNG.integers(18, 90, size=N))],
    "income": [float(x) for x in RNG.normal(50, 20, size=N).round(2)],
    "city": [None if i % 9 == 0 else str(x) for i, x in enumerate(RNG.choice(["Rome", "Oslo", "Bonn"], size=N))],
    "owner": [bool(x) for x in RNG.integers(2, size=N)],
    "since": [dt.date(2000, 1, 1) + dt.timedelta(int(x)) for x in RNG.integers(7000, size=N)],
    "seen": [dt.datetime(2020, 1, 1) + dt.timedelta(seconds=int(x)) for x in RNG.integers(10**7, size=N)],
}
RESULTS = {"state": ["Iowa", "Ohio", "Utah"], "other": [0.3, 0.6, 0.5], "trump": [0.7, 0.4, 0.5]}
FEW = {"state": ["Ohio", "Iowa", "Utah"], "age": [20, 60, 44]}


def csv_bytes(columns, delimiter=","):
    buffer = pa.BufferOutputStream()
    pa.csv.write_csv(pa.table(columns), buffer, pa.csv.WriteOptions(delimiter=delimiter))
    return buffer.getvalue().to_pybytes()


def parquet_bytes(columns):
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue().to_pybytes()


SOURCES = {
    "csv": lambda write, name, table: write(f"{name}.csv", csv_bytes(table)),
    "csv.gz": lambda write, name, table: write(f"{name}.csv.gz", gzip.compress(csv_bytes(table))),
    "tsv": lambda write, name, table: write(f"{name}.tsv", csv_bytes(table, "\t")),
    "parquet": lambda write, name, table: write(f"{name}.parquet", parquet_bytes(table)),
    "pandas": lambda write, name, table: pd.DataFrame(table),
    "polars": lambda write, name, table: pl.DataFrame(table),
    "arrow": lambda write, name, table: pa.table(table),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_same_bags_from_every_source(source, write):
    expected = Bags.from_tables(PEOPLE, RESULTS, bag="state")
    bags = Bags.from_tables(source(write, "people", PEOPLE), source(write, "results", RESULTS), bag="state")
    assert bags.features == expected.features
    assert bags.bag_ids == expected.bag_ids
    assert bags.classes.tolist() == ["other", "trump"]
    np.testing.assert_array_equal(bags.instances, expected.instances)
    np.testing.assert_array_equal(bags.bag_index, expected.bag_index)
    np.testing.assert_array_equal(bags.proportions, expected.proportions)


def test_good_tables_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Bags.from_tables(PEOPLE, RESULTS, bag="state")


def test_the_order_of_rows_is_kept():
    bags = Bags.from_tables(FEW, RESULTS, bag="state")
    assert [bags.bag_ids[place] for place in bags.bag_index] == FEW["state"]
    ages = np.array(FEW["age"])
    np.testing.assert_allclose(bags.instances[:, 0], (ages - ages.mean()) / ages.std(), rtol=1e-6)


@given(st.permutations(range(N)))
@settings(max_examples=10)
def test_other_orders_of_rows_give_the_same_bags(order):
    bags = Bags.from_tables(PEOPLE, RESULTS, bag="state")
    shuffled = {name: [values[i] for i in order] for name, values in PEOPLE.items()}
    other = Bags.from_tables(shuffled, RESULTS, bag="state")
    np.testing.assert_allclose(other.instances, bags.instances[order], atol=1e-5)
    np.testing.assert_array_equal(other.bag_index, bags.bag_index[order])


@given(st.lists(st.sampled_from(["no", "yes", "maybe"]), min_size=N, max_size=N))
@settings(max_examples=20)
def test_labels_never_reach_the_instances(labels):
    """Whatever the labels are, the instances are those of the table without them."""
    without = Bags.from_tables(PEOPLE, RESULTS, bag="state")
    labelled = {"voted": labels, **PEOPLE}
    beside_proportions = Bags.from_tables(labelled, RESULTS, bag="state", label="voted")
    np.testing.assert_array_equal(beside_proportions.instances, without.instances)
    assert beside_proportions.features == without.features
    np.testing.assert_array_equal(beside_proportions.proportions, without.proportions)
    if len(set(labels)) > 1:
        told = Columns(numbers=["owner"])  # which may have a class's share in every bag by chance, as a leak has
        counted = Bags.from_tables(labelled, bag="state", label="voted", columns=told)
        np.testing.assert_array_equal(counted.instances, without.instances)


@given(st.data())
@settings(max_examples=10)
def test_labels_may_change_places_within_their_bag(data):
    labels = ["no", "yes", "yes"] * (N // 3)
    groups = [[i for i in range(N) if i % 3 == rest] for rest in range(3)]
    moved = list(labels)
    for group in groups:
        for place, source in zip(group, data.draw(st.permutations(group)), strict=True):
            moved[place] = labels[source]
    bags, other = (
        Bags.from_tables({**PEOPLE, "voted": column}, bag="state", label="voted") for column in (labels, moved)
    )
    np.testing.assert_array_equal(bags.instances, other.instances)
    np.testing.assert_array_equal(bags.proportions, other.proportions)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["no", "yes", "yes"], ["no", "yes"]),
        ([0, 1, 1], [0, 1]),
        ([False, True, True], [False, True]),
        ([1.5, 2.5, 2.5], [1.5, 2.5]),
    ],
)
def test_labels_are_counted_in_each_bag(labels, classes):
    table = {"state": ["Ohio", "Ohio", "Iowa"], "age": [1, 2, 3], "voted": labels}
    bags = Bags.from_tables(table, bag="state", label="voted")
    assert bags.classes.tolist() == classes
    assert bags.proportions.tolist() == [[0, 1], [0.5, 0.5]]
    assert bags.features == ("age",)


def test_labels_of_codes_come_as_text(write):
    path = write("people.csv", "voted\nyes\nno\n")
    assert label_values(open_rows(path), "voted").tolist() == ["yes", "no"]


def test_counts_of_a_larger_population():
    counts = {"state": ["Utah", "Iowa", "Ohio"], "other": [5, 3_000_000, 1], "trump": [5, 1_000_000, 3]}
    bags = Bags.from_tables(FEW, counts=counts, bag="state")
    assert bags.proportions.tolist() == [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]


def test_bags_of_several_columns(write):
    people = write("people.csv", "state,county,age\nOH,1,20\nIA,1,60\nOH,2,44\nOH,1,30\n")
    results = write("results.csv", "county,state,no,yes\n2,OH,0.2,0.8\n1,OH,0.4,0.6\n1,IA,0.1,0.9\n")
    bags = Bags.from_tables(people, results, bag=["state", "county"])
    assert bags.bag_ids == (("IA", 1), ("OH", 1), ("OH", 2))
    assert bags.bag_index.tolist() == [1, 0, 2, 1]
    assert bags.proportions[:, 0].tolist() == [0.1, 0.4, 0.2]
    assert bags.features == ("age",)


def test_ids_that_are_text_in_one_file_are_read_as_text_in_the_other(write):
    people = write("people.csv", "district,age\n1,20\nA2,60\n1,44\n")
    results = write("results.csv", "district,no,yes\n1,0.4,0.6\nA2,0.1,0.9\n")
    assert Bags.from_tables(people, results, bag="district").bag_ids == ("1", "A2")
    frame = pd.DataFrame({"district": ["1", "2", "1"], "age": [20, 60, 44]})
    results = write("results.csv", "district,no,yes\n1,0.4,0.6\n2,0.1,0.9\n")
    assert Bags.from_tables(frame, results, bag="district").bag_ids == ("1", "2")


def test_classes_may_be_some_of_the_columns():
    results = {**RESULTS, "capital": ["Des Moines", "Columbus", "Salt Lake City"]}
    bags = Bags.from_tables(FEW, results, bag="state", classes=["trump", "other"])
    assert bags.classes.tolist() == ["trump", "other"]
    assert bags.proportions[0].tolist() == [0.7, 0.3]


def test_proportions_are_renormalised_within_the_tolerance():
    results = {**RESULTS, "other": [0.32, 0.6, 0.5]}
    with pytest.raises(ValueError, match=r"bag 'Iowa': proportions sum to 1\.02, not 1"):
        Bags.from_tables(FEW, results, bag="state")
    bags = Bags.from_tables(FEW, results, bag="state", tolerance=0.05)
    np.testing.assert_allclose(bags.proportions[0], [0.32 / 1.02, 0.7 / 1.02])


def test_columns_left_out_are_warned_of_where_the_user_called():
    table = {**PEOPLE, "row": list(range(N)), "planet": ["Earth"] * N}
    with pytest.warns(UserWarning) as said:
        bags = Bags.from_tables(table, RESULTS, bag="state")
    assert [str(warning.message) for warning in said] == [
        "column 'row' is left out: every row has a different number, as ids do",
        "column 'planet' is left out: all rows have the same value, 'Earth'",
    ]
    assert {warning.filename for warning in said} == {__file__}
    assert set(bags.encoder.left_out) == {"row", "planet"}


def test_bags_without_rows_are_warned_of_where_the_user_called(write):
    people = write("people.csv", "state,age\nOhio,20\nIowa,60\n")
    results = write("results.csv", csv_bytes(RESULTS))
    with pytest.warns(UserWarning) as said:
        Bags.from_tables(people, results, bag="state")
    assert str(said[0].message) == f"bag 'Utah' of {results} has no instance in {people}"
    assert said[0].filename == __file__


def test_options_of_columns(write):
    rows = "Ohio,01,2,2020-01-01,a\nIowa,1,3,2020-01-02,b\n" * 10
    people = write("people.csv", "state,zip,age,joined,word\n" + rows)
    columns = Columns(only=["age", "zip"], categories=["zip"])
    results = {name: values[:2] for name, values in RESULTS.items()}
    bags = Bags.from_tables(people, results, bag="state", columns=columns)
    assert bags.features == ("zip=01", "zip=1", "age")
    bags = Bags.from_tables(people, results, bag="state", columns=Columns(drop=["zip", "word"], dates="joined"))
    assert bags.features == ("age", "joined")


HALF = "state,other,trump\nIowa,0.5,0.5\nOhio,0.5,0.5\n"
FINE = "state,age\nOhio,20\nIowa,60\nOhio,30\n"
STRAY = "state,age\n" + "Ohio,123456\n" * 100_000 + "Iowa,old\n"

WRONG_PEOPLE = {
    "unknown bag": (FINE, dict(bag="county"), "{people} has no column 'county'; there are 'state', 'age'"),
    "no bag": (
        FINE,
        dict(bag=None),
        "say which column holds the bag of each row (bag); {people} has 'state', 'age'",
    ),
    "unknown label": (FINE, dict(label="voted"), "{people} has no column 'voted'; there are 'state', 'age'"),
    "unknown feature": (FINE, dict(columns=Columns(only="wage")), "{people}: no column 'wage'; there are 'state'"),
    "the bag as a feature": (
        FINE,
        dict(columns=Columns(only="state")),
        "{people}: column 'state' is the bag, the label or the weight",
    ),
    "unknown bag of two": (FINE, dict(bag=["state", "county"]), "{people} has no column 'county'; there are"),
    "bag without proportions": (FINE + "Utah,3\n", {}, "bag 'Utah' of {people} has no row in {results}"),
    "missing bag": (FINE + ",3\n", {}, "{people}, row 3 has no bag: its 'state' is missing"),
    "stray text": (
        FINE + "Iowa,old\n",
        {},
        "{people}: column 'age', row 3: 'old' is not a number, as 3 of the 4 values of this column are",
    ),
    "stray text after a megabyte": (
        STRAY,
        {},
        "{people}: column 'age', row 100000: 'old' is not a number, as 100000 of the 100001 values of",
    ),
    "text that should be numbers": (
        FINE.replace("60", "old"),
        dict(columns=Columns(numbers="age")),
        "{people}: column 'age', row 1: 'old' is not a number",
    ),
    "text that should be dates": (
        FINE,
        dict(columns=Columns(dates="age")),
        "{people}: column 'age' holds int64: it cannot be read as dates",
    ),
    "infinity": (FINE + "Iowa,inf\n", {}, "{people}: column 'age', row 3: inf is not a finite number"),
    "nothing in a column": (
        "state,age,x\nOhio,2,\nIowa,3,?\n",
        {},
        "{people}: column 'x' has no value in any row",
    ),
    "nothing to learn from": ("state\nOhio\nIowa\n", {}, "{people}: no column is left to learn from"),
    "a leak": ("state,trump,age\nOhio,1,2\nIowa,0,3\n", {}, "{people}: column 'trump' looks like the label"),
    "no rows": ("state,age\n", {}, "{people} is empty: it has columns ['state', 'age'], but no rows"),
}


@pytest.mark.parametrize(("text", "options", "said"), WRONG_PEOPLE.values(), ids=WRONG_PEOPLE)
def test_what_is_wrong_with_the_instances_is_said_with_their_file(write, text, options, said):
    people, results = write("people.csv", text), write("results.csv", HALF)
    with pytest.raises(ValueError) as error:
        Bags.from_tables(people, results, **{"bag": "state", **options})
    assert said.format(people=people, results=results) in str(error.value)


WRONG_RESULTS = {
    "unknown bag": ("county,other,trump\n1,0.5,0.5\n", {}, "{results} has no column 'state'; there are 'county'"),
    "unknown class": (
        HALF,
        dict(classes=["trump", "clinton"]),
        "{results} has no column 'clinton' for that class",
    ),
    "sum": (HALF.replace("Ohio,0.5", "Ohio,0.57"), {}, "{results}: bag 'Ohio': proportions sum to 1.07, not 1"),
    "negative": (
        HALF.replace("Ohio,0.5,0.5", "Ohio,-0.5,1"),
        {},
        "{results}: bag 'Ohio': the value -0.5 of class 'other' is negative",
    ),
    "missing": (
        HALF.replace("Ohio,0.5,", "Ohio,,"),
        {},
        "{results}: bag 'Ohio': the value nan of class 'other' is not a number",
    ),
    "text": (
        HALF.replace("Ohio,0.5", "Ohio,half"),
        {},
        "{results}: column 'other', row 1: 'half' is not a number; name the columns that are classes",
    ),
    "twice": (HALF + "Ohio,0.5,0.5\n", {}, "{results}: bag 'Ohio' occurs twice, in rows 1 and 2"),
    "missing id": (HALF + ",0.5,0.5\n", {}, "{results}, row 2 has no bag: its 'state' is missing"),
    "one class": (
        "state,other\nIowa,1\nOhio,1\n",
        {},
        "{results}: a classifier needs at least two classes, got 1",
    ),
    "ids of another type": (
        "state,other,trump\n19,0.5,0.5\n39,0.5,0.5\n",
        {},
        "bag 'Iowa' (and 1 more) of {people} has no row in {results}",
    ),
    "no rows": ("state,other,trump\n", {}, "{results} is empty: it has columns"),
}


@pytest.mark.parametrize(("text", "options", "said"), WRONG_RESULTS.values(), ids=WRONG_RESULTS)
def test_what_is_wrong_with_the_proportions_is_said_with_their_file(write, text, options, said):
    people, results = write("people.csv", FINE), write("results.csv", text)
    with pytest.raises(ValueError) as error:
        Bags.from_tables(people, results, bag="state", **options)
    assert said.format(people=people, results=results) in str(error.value)


def test_what_is_wrong_with_counts_is_said_with_their_file(write):
    people, counts = write("people.csv", FINE), write("counts.csv", "state,other,trump\nIowa,-1,3\nOhio,1,1\n")
    with pytest.raises(ValueError, match=rf"^{counts}: bag 'Iowa': -1 of class 'other' is not a count$"):
        Bags.from_tables(people, counts=counts, bag="state")


def test_tables_without_a_file_are_named_by_their_role():
    with pytest.raises(ValueError, match="bag 'Utah' of the table has no row in the table of proportions"):
        Bags.from_tables(FEW, {"state": ["Ohio", "Iowa"], "no": [1, 0], "yes": [0, 1]}, bag="state")
    with pytest.raises(
        ValueError, match=r"bag 7 of the table .* of counts: ids are int here and str there, such as"
    ):
        Bags.from_tables({"s": [7, 7], "age": [1, 2]}, counts={"s": ["x"], "no": [1], "yes": [1]}, bag="s")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (dict(proportions=RESULTS, counts=RESULTS), "give either proportions or counts, and not both"),
        ({}, "the classes' shares are not known: give proportions, counts, or a label to count"),
    ],
)
def test_the_shares_must_come_from_one_table(options, said):
    with pytest.raises(ValueError, match=said):
        Bags.from_tables(FEW, bag="state", **options)


def test_a_row_without_a_label_is_named(write):
    people = write("people.csv", "state,age,voted\nOhio,1,yes\nOhio,2,\n")
    with pytest.raises(ValueError, match=rf"^{people}, row 1 has no label: its 'voted' is missing"):
        Bags.from_tables(people, bag="state", label="voted")
    several = write("several.csv", "state,age,voted\nOhio,1,\nOhio,2,\nOhio,3,yes\n")
    with pytest.raises(ValueError, match=r"row 0 \(and 1 more\) has no label"):
        Bags.from_tables(several, bag="state", label="voted")


@pytest.fixture(scope="module")
def fitted():
    bags = Bags.from_tables(PEOPLE, RESULTS, bag="state")
    return bags, MeanMap().fit_bags(bags)


def test_a_model_of_tables_is_that_of_the_encoded_arrays(fitted):
    bags, model = fitted
    plain = Bags.from_arrays(
        np.array(bags.instances),
        PEOPLE["state"],
        dict(zip(bags.bag_ids, bags.proportions, strict=True)),
        classes=["other", "trump"],
    )
    expected = MeanMap().fit_bags(plain).predict_proba(bags.instances)
    np.testing.assert_array_equal(model.predict_proba(bags), expected)
    np.testing.assert_array_equal(model.predict_encoded(bags.instances), expected)
    np.testing.assert_array_equal(model.predict_proba(PEOPLE), expected)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_models_predict_from_every_source(fitted, source, write):
    bags, model = fitted
    new = {name: list(reversed(values)) for name, values in reversed(PEOPLE.items()) if name != "state"}
    expected = model.predict_encoded(bags.instances[::-1])
    np.testing.assert_array_equal(model.predict_proba(source(write, "new", new)), expected)
    assert set(model.predict(source(write, "new", new))) <= {"other", "trump"}


def test_models_are_scored_on_frames(fitted):
    bags, model = fitted
    frame, labels = pd.DataFrame(PEOPLE), np.array(["other", "trump"] * (N // 2))
    assert model.score(frame, labels) == model.score(bags, labels)
    of_rows = bags.proportions[bags.bag_index]
    by_bags = model.score(frame, of_rows, groups=PEOPLE["state"])
    assert by_bags == model.score(bags, of_rows, groups=bags.bag_index)
    assert 0 <= by_bags <= 1


def test_new_rows_may_hold_what_the_training_never_saw(fitted):
    _, model = fitted
    new = {name: values[:1] for name, values in PEOPLE.items()} | {"city": ["Atlantis"], "age": [None]}
    assert np.isfinite(model.predict_proba(new)).all()


def test_what_is_wrong_with_new_rows_is_named(fitted, write):
    _, model = fitted
    with pytest.raises(
        ValueError, match=r"the table has no column 'since', which the model was trained on; there"
    ):
        model.predict({name: values for name, values in PEOPLE.items() if name != "since"})
    path = write("new.csv", csv_bytes(PEOPLE).replace(b"2020", b"then"))
    with pytest.raises(ValueError, match=rf"^{path}: column 'seen', row 0: 'then-.*' is not a date such as"):
        model.predict(path)
    with pytest.raises(FileNotFoundError, match=r"there is no file nowhere\.csv"):
        model.predict("nowhere.csv")
    with pytest.raises(TypeError, match="a table is a file, a frame or a dict of columns, not a list"):
        model.predict([[1, 2, 3]])
