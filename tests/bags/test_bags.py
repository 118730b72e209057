"""Bags: what goes in in any order comes out in order, and everything that is wrong is named."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llpgan import Bags

X = np.arange(8.0).reshape(4, 2)
OHIO_IOWA = ["Ohio", "Iowa", "Ohio", "Iowa"]
HALVES = {"Iowa": [0.5, 0.5], "Ohio": [0.25, 0.75]}


def test_bags_stand_in_the_order_of_their_ids():
    bags = Bags.from_arrays(X, OHIO_IOWA, HALVES)
    assert bags.bag_ids == ("Iowa", "Ohio")
    assert bags.bag_index.tolist() == [1, 0, 1, 0]
    assert bags.proportions.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert bags.rows_of(0).tolist() == [1, 3]
    assert bags.classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    "ids",
    [
        [("OH", 1), ("IA", 2), ("OH", 1), ("IA", 2)],
        np.array([7, 3, 7, 3]),
        np.array(["b", "a", "b", "a"]),
        [2.5, 1.5, 2.5, 1.5],
        pd.Series(["b", "a", "b", "a"]),
        pl.Series(["b", "a", "b", "a"]),
        pd.Categorical(["b", "a", "b", "a"]),
        [frozenset("b"), "a", frozenset("b"), "a"],
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_ids_may_be_anything_hashable(ids):
    high, low = list(ids)[:2]
    bags = Bags.from_arrays(X, ids, {low: [1, 0], high: [0, 1]})
    assert bags.proportions[bags.bag_index].tolist() == [[0, 1], [1, 0], [0, 1], [1, 0]]


@pytest.mark.parametrize(
    "table",
    [
        HALVES,
        pd.DataFrame({"no": [0.25, 0.5], "yes": [0.75, 0.5]}, index=["Ohio", "Iowa"]),
        np.array([[0.5, 0.5], [0.25, 0.75]]),
        [[0.5, 0.5], [0.25, 0.75]],
    ],
    ids=["dict", "pandas", "array", "list"],
)
def test_proportions_come_as_dict_frame_or_array(table):
    bags = Bags.from_arrays(X, OHIO_IOWA, table, classes=["no", "yes"])
    assert bags.proportions.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert bags.classes.tolist() == ["no", "yes"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_is_keyed_by_a_column_and_names_the_classes(frame):
    table = frame({"no": [0.25, 0.5], "state": ["Ohio", "Iowa"], "yes": [0.75, 0.5]})
    bags = Bags.from_arrays(X, OHIO_IOWA, table, key="state")
    assert bags.proportions.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert bags.classes.tolist() == ["no", "yes"]


def test_counts_become_proportions_also_of_a_part_of_the_bag():
    bags = Bags.from_arrays(X, OHIO_IOWA, counts={"Ohio": [1, 1], "Iowa": [0, 1]})
    assert bags.proportions.tolist() == [[0, 1], [0.5, 0.5]]


def test_sums_within_the_tolerance_are_renormalised():
    bags = Bags.from_arrays(X, [0, 0, 1, 1], [[0.33, 0.66], [0.5, 0.5]])
    np.testing.assert_allclose(bags.proportions, [[1 / 3, 2 / 3], [0.5, 0.5]])


def test_prior_weighs_bags_by_size():
    bags = Bags.from_arrays(X, [0, 0, 0, 1], [[1, 0], [0, 1]])
    assert bags.prior.tolist() == [0.75, 0.25]


def test_a_memory_mapped_array_stays_one(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert Bags.from_arrays(mapped, OHIO_IOWA, HALVES).instances is mapped


def test_rows_that_share_a_bag_must_agree():
    rows = [[0.5, 0.5], [1, 0], [0.5, 0.5], [0.9, 0.1]]
    with pytest.raises(ValueError, match=r"rows 1 and 3 of bag 'Iowa' give different proportions"):
        Bags.from_row_proportions(X, rows, groups=OHIO_IOWA)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=3))
def test_labels_become_the_share_of_each_class(rows):
    groups, labels = map(list, zip(*rows, strict=True))
    labels[:2] = [0, 1]
    bags = Bags.from_labels(np.zeros((len(rows), 1)), labels, groups)
    for bag, proportions in zip(bags.bag_ids, bags.proportions, strict=True):
        members = [label for label, group in zip(labels, groups, strict=True) if group == bag]
        expected = [members.count(label) / len(members) for label in bags.classes]
        np.testing.assert_allclose(proportions, expected)


def test_proportions_without_a_bag_are_warned_of():
    with pytest.warns(UserWarning, match=r"proportions of 'Utah', but no instances"):
        Bags.from_arrays(X, OHIO_IOWA, {**HALVES, "Utah": [1, 0]})


def test_good_bags_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Bags.from_arrays(X, OHIO_IOWA, HALVES)


def changed(row, column, value):
    table = X.copy()
    table[row, column] = value
    return table


WRONG = {
    "nan": (dict(instances=changed(2, 1, np.nan)), "NaN in row 2, column 1"),
    "inf": (dict(instances=changed(3, 0, np.inf)), "inf in row 3, column 0"),
    "nan in a named column": (
        dict(instances=pd.DataFrame(changed(2, 1, np.nan), columns=["age", "income"])),
        "NaN in row 2, column 'income'",
    ),
    "nan in an image": (
        dict(instances=changed(1, 0, np.nan).reshape(4, 1, 1, 2)),
        "NaN in row 1, position (0, 0, 0)",
    ),
    "text": (dict(instances=[["a"], ["b"], ["c"], ["d"]]), "instances must be numbers"),
    "one-dimensional": (dict(instances=[1.0, 2.0, 3.0, 4.0]), "(rows, features)"),
    "no rows": (
        dict(instances=np.empty((0, 2)), bag_of_row=[], proportions=np.empty((0, 2))),
        "there are no instances",
    ),
    "nan proportion": (
        dict(proportions={**HALVES, "Ohio": [np.nan, 1]}),
        "bag 'Ohio': the value nan of class 0 is not a number",
    ),
    "negative": (
        dict(proportions={**HALVES, "Ohio": [-0.1, 1]}),
        "bag 'Ohio': the value -0.1 of class 0 is negative",
    ),
    "above one": (dict(proportions={**HALVES, "Ohio": [0, 7]}), "bag 'Ohio': the value 7 of class 1 is above one"),
    "sum": (dict(proportions={**HALVES, "Ohio": [0.57, 0.5]}), "bag 'Ohio': proportions sum to 1.07, not 1"),
    "bag without proportions": (dict(proportions={"Ohio": [0, 1]}), "no proportions for bag 'Iowa'"),
    "class count": (
        dict(proportions={**HALVES, "Ohio": [0.2, 0.3, 0.5]}),
        "bag 'Ohio' has 3 classes, but bag 'Iowa' has 2",
    ),
    "one class": (dict(proportions={"Ohio": [1], "Iowa": [1]}), "at least two classes, got 1"),
    "class names": (dict(classes=["a", "b", "c"]), "3 class names, but proportions of shape (2, 2)"),
    "class names twice": (dict(classes=["a", "a"]), "class names must differ"),
    "lengths": (dict(bag_of_row=["Ohio", "Iowa"]), "4 instances, but 2 entries of bag_of_row"),
    "negative counts": (
        dict(proportions=None, counts={"Ohio": [-2, 1], "Iowa": [1, 1]}),
        "bag 'Ohio': -2 of class 0 is not a count",
    ),
    "no counts": (
        dict(proportions=None, counts={"Ohio": [0, 0], "Iowa": [1, 1]}),
        "bag 'Ohio': its counts sum to 0",
    ),
    "both": (dict(counts=HALVES), "either proportions or counts"),
    "neither": (dict(proportions=None), "nothing is known of the bags: give their proportions, counts or bounds"),
    "array of another length": (dict(proportions=[[0.5, 0.5]]), "(2, classes), got (1, 2)"),
    "missing bag": (dict(bag_of_row=["Ohio", None, "Ohio", "Iowa"]), "row 1 has no bag"),
    "nan bag": (dict(bag_of_row=[1.0, np.nan, 1.0, 2.0]), "row 1 has no bag"),
    "bags in two columns": (dict(bag_of_row=np.zeros((4, 2))), "bag_of_row needs one value for each row"),
    "text proportions": (dict(proportions={**HALVES, "Ohio": ["few", "many"]}), "proportions must be numbers"),
    "frame without index": (
        dict(proportions=pl.DataFrame({"no": [0.5]})),
        "name the column of its bags with key=",
    ),
    "unknown key": (dict(proportions=pd.DataFrame({"no": [0.5]}), key="state"), "no column 'state'"),
    "bag twice": (
        dict(proportions=pd.DataFrame({"no": [0.5] * 3, "yes": [0.5] * 3}, index=["Ohio", "Iowa", "Ohio"])),
        "bag 'Ohio' has more than one row of proportions",
    ),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named(change, message):
    arguments = {"instances": X, "bag_of_row": OHIO_IOWA, "proportions": HALVES, **change}
    with pytest.raises(ValueError, match=re.escape(message)):
        Bags.from_arrays(**arguments)


def test_a_bag_without_rows_is_refused():
    with pytest.raises(ValueError, match="bag 'b' is empty"):
        Bags(X, np.zeros(4, dtype=int), np.full((2, 2), 0.5), ("a", "b"), np.arange(2))


def test_a_row_without_a_bag_is_refused():
    with pytest.raises(ValueError, match="row 3 is in bag number 2, but there are 2 bags"):
        Bags(X, np.array([0, 1, 1, 2]), np.full((2, 2), 0.5), ("a", "b"), np.arange(2))


def test_a_subset_of_bags_keeps_their_rows_proportions_and_names():
    bags = Bags.from_arrays(pd.DataFrame(X, columns=["a", "b"]), OHIO_IOWA, HALVES, classes=["no", "yes"])
    ohio = bags.take_bags([1])
    assert (ohio.bag_ids, ohio.features, ohio.classes.tolist()) == (("Ohio",), ("a", "b"), ["no", "yes"])
    assert ohio.instances.tolist() == X[[0, 2]].tolist()
    assert ohio.proportions.tolist() == [[0.25, 0.75]]
    assert bags.take_bags([False, True]).bag_ids == ("Ohio",)
    assert bags.take_bags([1, 0]).bag_ids == bags.bag_ids


def test_a_part_of_the_rows_leaves_each_bag_its_proportions():
    bags = Bags.from_arrays(X, OHIO_IOWA, HALVES)
    part = bags.take_rows([3, 0])
    assert part.bag_ids == bags.bag_ids
    assert part.bag_index.tolist() == [1, 0]
    assert part.proportions.tolist() == bags.proportions.tolist()
    assert bags.take_rows([0]).bag_ids == ("Ohio",)


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ([], "no bag is chosen"),
        ([0, 0], "bag 0 is chosen more than once"),
        ([2], "positions from 0 to 1, got [2]"),
        (["Ohio"], "positions from 0 to 1, got ['Ohio']"),
        ([True], "2 bags, but 1 truth values"),
    ],
)
def test_a_subset_that_is_none_is_refused(which, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Bags.from_arrays(X, OHIO_IOWA, HALVES).take_bags(which)


@pytest.mark.parametrize(("shares", "are_equal"), [([0.3, 0.3 + 1e-12], True), ([0.3, 0.31], False)])
def test_bags_with_equal_shares_are_known(shares, are_equal):
    bags = Bags.from_arrays(
        np.zeros((2, 1)), ["a", "b"], {b: [p, 1 - p] for b, p in zip("ab", shares, strict=True)}
    )
    assert bags.have_equal_shares is are_equal
