"""Whatever is handed over becomes bags, or is refused with the name of the argument."""

import datetime as dt
import itertools
import math
import traceback
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import llpgan
from llpgan import Bags
from llpgan.tables import Columns

X = np.arange(8.0).reshape(4, 2)
GROUPS = ["a", "b", "a", "b"]
SHARES = {"a": [0.5, 0.5], "b": [1, 0]}

WRONG_INSTANCES = {
    "sparse": (scipy.sparse.csr_matrix(X), "instances is sparse: give a dense array"),
    "text": (
        pd.DataFrame({"n": [1] * 4, "city": list("abcd")}),
        "instances: column 'city', row 0: 'a' (str) is not",
    ),
    "categories": (pd.DataFrame({"city": pd.Categorical(list("abcd"))}), "instances: column 'city', row 0: 'a'"),
    "text of polars": (pl.DataFrame({"city": list("abcd")}), "instances: column 'city'"),
    "moments": (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"] * 4)}), "instances: column 't' holds dates"),
    "dates": ([[dt.date(2020, 1, 1)]] * 4, "instances must be numbers, got datetime.date(2020, 1, 1) (date)"),
    "generator": ((row for row in X), "instances must be an array, a frame or a list, got a generator"),
    "set": ({1, 2, 3, 4}, "instances must be an array, a frame or a list, got a set"),
    "dict": ({"a": [1]}, "instances must be an array, a frame or a list, got a dict"),
    "ragged": ([[1], [1, 2], [1], [1]], "instances cannot be made an array: its rows have different lengths"),
    "huge": ([[10**400]] * 4, "instances: 1000"),
    "complex": (X * 1j, "instances must be numbers, got complex numbers"),
    "masked": (np.ma.masked_array(X, X > 6), "instances: the value at [3, 1] is masked"),
    "two columns of a name": (pd.DataFrame(X, columns=["a", "a"]), "instances has more than one column 'a'"),
    "none": (None, "instances must be an array, a frame or a list, got nothing"),
    "Arrow": (pa.table({"x": [1, 2, 3, 4]}), "instances is an Arrow table, which goes to Bags.from_tables"),
}


@pytest.mark.parametrize(("instances", "said"), WRONG_INSTANCES.values(), ids=WRONG_INSTANCES)
def test_what_are_no_instances_is_named(instances, said):
    with pytest.raises((ValueError, TypeError)) as error:
        Bags.from_arrays(instances, GROUPS, SHARES)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_values_of_pandas_are_named_by_row_and_column():
    frame = pd.DataFrame({"age": pd.array([1, None, 2, 3], dtype="Int64")})
    with pytest.raises(ValueError, match="NaN in row 1, column 'age'"):
        Bags.from_arrays(frame, GROUPS, SHARES)


@pytest.mark.parametrize("number", [10**30, Decimal("1.5"), Fraction(1, 2), True, np.float16(2)], ids=repr)
def test_numbers_of_all_types_are_read(number):
    assert Bags.from_arrays([[number]] * 4, GROUPS, SHARES).instances[0, 0] == float(number)


def test_a_masked_array_without_masked_values_is_an_array():
    bags = Bags.from_arrays(np.ma.masked_array(X, False), GROUPS, SHARES)
    np.testing.assert_array_equal(bags.instances, X)


WRONG_ARGUMENTS = {
    "bags in a set": (dict(bag_of_row={"a", "b"}), "bag_of_row must be an array, a frame or a list, got a set"),
    "bags in a text": (dict(bag_of_row="abab"), "bag_of_row must be an array, a frame or a list, got a str"),
    "bags in lists": (dict(bag_of_row=[["a"]] * 4), "bag_of_row: row 0: the id of a bag must be hashable"),
    "masked bags": (
        dict(bag_of_row=np.ma.masked_array([1, 2, 1, 2], [0, 1, 0, 0])),
        "bag_of_row: the value at [1]",
    ),
    "missing bag of pandas": (dict(bag_of_row=pd.array(["a", None, "b", "b"])), "bag_of_row: row 1 has no bag"),
    "tolerance": (dict(tolerance=math.nan), "tolerance must be a number from 0 to below 1, got nan"),
    "tolerance of text": (dict(tolerance="0.1"), "tolerance must be a number from 0 to below 1, got '0.1'"),
    "class of NaN": (dict(classes=["a", math.nan]), "classes are named by text or numbers, but one is nan"),
    "class of a date": (
        dict(classes=[dt.date(2020, 1, 1), "a"]),
        "classes are named by text or numbers, but one is",
    ),
    "classes in a set": (dict(classes={"a", "b"}), "classes must be an array, a frame or a list, got a set"),
    "proportions in sets": (dict(proportions={"a": {1}, "b": [1]}), "bag 'a': proportions must be an array"),
    "ragged proportions": (dict(proportions=[[1], [0.5, 0.5]]), "proportions cannot be made an array"),
    "masked proportions": (
        dict(proportions=np.ma.masked_array([[0.5, 0.5], [1, 0]], [[0, 1], [0, 0]])),
        "proportions: the value at [0, 1] is masked",
    ),
    "key of a dict": (dict(key="a"), "key names a column of a frame, but proportions is a dict"),
    "a misspelt bag": (
        dict(proportions={"A ": [1, 0], "b": [1, 0]}),
        "no proportions for bag 'a'; there are 'A ', 'b'. D",
    ),
    "counts of other classes": (
        dict(proportions=None, counts=SHARES, classes=["x", "y", "z"]),
        "3 class names, but counts of shape (2, 2)",
    ),
}


@pytest.mark.parametrize(("change", "said"), WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS)
def test_what_is_no_argument_is_named(change, said):
    with pytest.raises((ValueError, TypeError)) as error:
        Bags.from_arrays(**{"instances": X, "bag_of_row": GROUPS, "proportions": SHARES, **change})
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0, 1, math.nan, 1], "labels: row 2 has no label, but nan"),
        (["a", None, "b", "b"], "labels: row 1 has no label, but None"),
        (["a", 1, "b", "b"], "labels must be all text or all numbers, got both"),
        ([[0], [1], [0], [1]], "labels needs one value for each row"),
        ({0, 1}, "labels must be an array, a frame or a list, got a set"),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)] * 2, "labels: classes are named by text or numbers"),
    ],
)
def test_what_are_no_labels_is_named(labels, said):
    with pytest.raises((ValueError, TypeError)) as error:
        Bags.from_labels(X, labels, GROUPS)
    assert said in str(error.value)


def test_bags_of_quantiles():
    bins = pd.qcut(pd.Series([0.1, 0.9, 0.2, 0.8]), 2)
    counts = pd.crosstab(bins, pd.Series([0, 1, 1, 1]))
    assert Bags.from_arrays(X, bins, counts=counts).proportions.tolist() == [[0.5, 0.5], [0, 1]]
    people = pd.DataFrame({"age": [20.0, 31, 44, 57], "bin": bins})
    assert Bags.from_tables(people, counts=counts.rename_axis("bin"), bag="bin").sizes.tolist() == [2, 2]


@pytest.mark.parametrize("names", [[0, 1], [1.5, 2.5], [False, True], ["no", "yes"], [0, "other"]], ids=repr)
def test_class_names_keep_their_type(names):
    frame = pd.DataFrame([[0.5, 0.5], [1, 0]], index=["a", "b"], columns=pd.Index(names, dtype=object))
    people = {"bag": GROUPS, "age": [20, 31, 44, 57]}
    rows = frame.loc[GROUPS].reset_index(drop=True)
    for bags in (
        Bags.from_arrays(X, GROUPS, frame),
        Bags.from_arrays(X, GROUPS, SHARES, classes=names),
        Bags.from_tables(people, frame, bag="bag"),
        Bags.from_row_proportions(X, rows, GROUPS),
    ):
        assert bags.classes.tolist() == names
        assert [type(name) for name in bags.classes.tolist()] == [type(name) for name in names]


def test_counts_mean_the_same_in_arrays_and_in_tables():
    counts = pd.DataFrame({"no": [3_000_000, 1], "yes": [1_000_000, 0]}, index=["a", "b"])
    people = {"bag": GROUPS, "age": [20, 31, 44, 57]}
    of_arrays = Bags.from_arrays(X, GROUPS, counts=counts)
    of_tables = Bags.from_tables(people, counts=counts, bag="bag")
    assert of_arrays.proportions.tolist() == of_tables.proportions.tolist() == [[0.75, 0.25], [1, 0]]


def test_proportions_without_groups_are_labels_or_refused():
    assert Bags.from_row_proportions(X[:2], [[0, 1], [1, 0]]).n_bags == 2
    with pytest.raises(ValueError, match="proportions need groups, the bag of each row"):
        Bags.from_row_proportions(X[:2], [[0.5, 0.5], [1, 0]])


class Awkward:
    """Raises what no caller expects, whatever is asked of it."""

    def __array__(self, *_, **__):
        raise ZeroDivisionError("no array")

    def __len__(self):
        raise KeyError("no length")


SIMPLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.decimals(),
    st.fractions(),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.sampled_from(GROUPS),
)
MADE = [
    lambda: (n for n in range(3)),
    lambda: itertools.count(),
    lambda: {1, 2},
    lambda: frozenset("ab"),
    lambda: range(4),
    lambda: object(),
    lambda: object,
    lambda: print,
    lambda: Awkward(),
    lambda: Ellipsis,
    lambda: memoryview(b"abcd"),
    lambda: slice(3),
    lambda: np.datetime64("2020-01-01"),
    lambda: np.zeros(4, dtype=[("a", "f4"), ("b", "i4")]),
    lambda: np.array(["2020-01-01"] * 4, dtype="M8[ns]"),
    lambda: np.zeros(()),
    lambda: np.zeros((4, 0)),
    lambda: np.zeros((0, 2)),
    lambda: np.zeros((4, 2, 2)),
    lambda: np.ma.masked_array(X, X > 3),
    lambda: scipy.sparse.eye(4).tocsr(),
    lambda: pa.table({"a": [1, 2]}),
    lambda: pa.array([1, 2]),
    lambda: pd.DataFrame(),
    lambda: pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
    lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
    lambda: pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
    lambda: pd.Series([1, "x", None]),
    lambda: pd.Series([0.1, 0.9, 0.2, 0.8]).pipe(pd.qcut, 2),
    lambda: pd.DataFrame({"s": pd.arrays.SparseArray([0, 0, 1, 0])}),
    lambda: pl.DataFrame({"a": [[1], [2]]}),
    lambda: pl.Series([1, None]),
    lambda: Columns(),
]
ANYTHING = st.one_of(
    st.recursive(
        SIMPLE,
        lambda part: st.one_of(
            st.lists(part, max_size=4),
            st.tuples(part, part),
            st.dictionaries(st.text(max_size=3), part, max_size=3),
        ),
        max_leaves=8,
    ),
    st.sampled_from(MADE).map(lambda make: make()),
)
OURS = str(Path(llpgan.__file__).parent)
FINE = {
    Bags.from_arrays: {"instances": X, "bag_of_row": GROUPS, "proportions": SHARES},
    Bags.from_tables: {
        "instances": {"bag": GROUPS, "age": [20.0, 31.0, 44.0, 57.5]},
        "proportions": {"bag": ["a", "b"], "no": [0.5, 1], "yes": [0.5, 0]},
        "bag": "bag",
    },
}
ARGUMENTS = [
    *((Bags.from_arrays, name) for name in ("instances", "bag_of_row", "proportions", "counts", "classes", "key")),
    *((Bags.from_tables, name) for name in ("instances", "proportions", "counts", "bag", "label", "classes")),
    *((Bags.from_tables, name) for name in ("columns", "image", "image_size")),
    (Bags.from_arrays, "tolerance"),
    (Bags.from_tables, "tolerance"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "name"), ARGUMENTS, ids=lambda part: getattr(part, "__name__", part))
@given(value=ANYTHING)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_object_makes_bags_or_an_error_of_ours_that_names_the_argument(make, name, value):
    arguments = {**FINE[make], name: value}
    if name == "counts":
        arguments["proportions"] = None
    try:
        bags = make(**arguments)
    except FileNotFoundError:
        assert isinstance(value, str)  # the path of no file
    except (ValueError, TypeError) as error:
        assert traceback.extract_tb(error.__traceback__)[-1].filename.startswith(OURS), error
        assert any(word in str(error) for word in said_of(name)), error
    else:
        assert isinstance(bags, Bags)


def said_of(name):
    """An argument by its name, or by what it holds: several checks concern two arguments at once."""
    words = {
        "bag_of_row": ["entries of bag_of_row", "proportions"],
        "counts": ["the classes' shares", "proportions", "classes"],
        "proportions": ["the classes' shares", "classes"],
        "bag": ["proportions"],
        "classes": ["class names"],
        "key": ["proportions"],
        "instances": ["the table", "bag"],
    }
    return [name, *words.get(name, [])]
