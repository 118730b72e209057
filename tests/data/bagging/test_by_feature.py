"""Bags by features: rows that agree are together, small groups are merged or dropped, and it is said."""

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llpgan.data.bagging import NO_BAG, feature_bags
from reproduction.datasets import load_adult
from tests.reproduction.datasets.real import real

LETTERS = ["b", "a", "b", "c", "b", "a"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), min_size=1, max_size=60))
def test_rows_share_a_bag_just_if_they_agree_in_all_features(rows):
    letters, numbers = zip(*rows, strict=True)
    bag_of_row = feature_bags(list(letters), np.array(numbers))
    position = {row: k for k, row in enumerate(sorted(set(rows)))}
    assert bag_of_row.tolist() == [position[row] for row in rows]


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=60), st.integers(1, 12), st.booleans())
def test_no_bag_is_smaller_than_the_minimum(rows, minimum, merge):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bag_of_row = feature_bags(rows, minimum=minimum, merge=merge)
    kept = bag_of_row[bag_of_row != NO_BAG]
    sizes = np.bincount(kept)
    assert (sizes >= minimum).all()
    left = sum(size for size in Counter(rows).values() if size < minimum)
    assert len(rows) - len(kept) == (0 if merge and left >= minimum else left)


def test_small_groups_make_one_last_bag():
    with pytest.warns(UserWarning, match="3 rows of 2 groups smaller than 3 make one bag"):
        assert feature_bags(LETTERS, minimum=3).tolist() == [0, 1, 0, 1, 0, 1]


def test_small_groups_are_dropped_where_asked():
    with pytest.warns(UserWarning, match="3 of 6 rows are in no bag: 2 groups are smaller than 3"):
        assert feature_bags(LETTERS, minimum=3, merge=False).tolist() == [0, -1, 0, -1, 0, -1]


def test_small_groups_that_are_too_small_together_are_dropped():
    with pytest.warns(UserWarning, match="1 of 6 rows are in no bag: 1 groups are smaller than 2"):
        assert feature_bags(LETTERS, minimum=2).tolist() == [1, 0, 1, -1, 1, 0]


def test_large_groups_need_no_word(recwarn):
    assert feature_bags(pd.Series(LETTERS), minimum=1).tolist() == [1, 0, 1, 2, 1, 0]
    assert not recwarn.list


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="at least one feature"):
        feature_bags()
    with pytest.raises(ValueError, match="3 values of the first feature, but 2 values of another"):
        feature_bags([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="row 1 has no bag: its id is nan"):
        feature_bags([1.0, np.nan])


def test_adults_by_education_and_occupation():
    columns = load_adult(real("adult.csv.gz")).columns
    with pytest.warns(UserWarning, match="groups smaller than 50 make one bag"):
        bag_of_row = feature_bags(columns["education"], columns["occupation"], minimum=50)
    pairs = Counter(zip(columns["education"].tolist(), columns["occupation"].tolist(), strict=True))
    large = [size for _, size in sorted(pairs.items()) if size >= 50]
    assert np.bincount(bag_of_row).tolist() == [*large, len(bag_of_row) - sum(large)]
