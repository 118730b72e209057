"""Dirichlet bags: full, disjoint, and as pure or as mixed as the concentration says."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llpgan.data.bagging import NO_BAG, dirichlet_bags


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=100),
    st.integers(1, 100),
    st.floats(1e-3, 1e3),
    st.integers(0, 2**32 - 1),
)
def test_bags_are_full_and_only_the_rest_is_left(labels, bag_size, concentration, seed):
    bag_size = min(bag_size, len(labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bag_of_row = dirichlet_bags(labels, bag_size, concentration, seed)
    assert (np.bincount(bag_of_row[bag_of_row != NO_BAG]) == bag_size).all()
    assert (bag_of_row == NO_BAG).sum() == len(labels) % bag_size


def shares_of(labels, bag_of_row):
    table = np.zeros((bag_of_row.max() + 1, labels.max() + 1))
    np.add.at(table, (bag_of_row, labels), 1)
    return table / table.sum(axis=1, keepdims=True)


def test_the_spread_is_the_distributions():
    labels = np.arange(200_000) % 4
    shares = shares_of(labels, dirichlet_bags(labels, bag_size=200, concentration=2.0, seed=0))[:500]
    # a share is Beta(2, 6): variance 1/48, and a multinomial's of 200 draws on top
    assert shares.mean(axis=0) == pytest.approx([0.25] * 4, abs=0.02)
    assert shares.var(axis=0) == pytest.approx([1 / 48 + (3 / 16 - 1 / 48) / 200] * 4, rel=0.2)


def test_small_concentrations_make_pure_bags_and_large_ones_mixed():
    labels = np.arange(20_000) % 4
    pure = shares_of(labels, dirichlet_bags(labels, 50, concentration=0.01, seed=0)).max(axis=1)
    mixed = shares_of(labels, dirichlet_bags(labels, 50, concentration=1000, seed=0)).max(axis=1)
    assert np.median(pure) > 0.99
    assert mixed.mean() < 0.4


def test_a_rare_class_is_as_rare_in_the_bags():
    labels = (np.arange(20_000) % 10 == 0).astype(int)
    shares = shares_of(labels, dirichlet_bags(labels, 100, concentration=5.0, seed=0))
    assert shares[:100, 1].mean() == pytest.approx(0.1, abs=0.02)  # as in all rows, not a half


def test_rows_are_drawn_and_the_seed_decides_them():
    labels = np.arange(60) % 2
    bags = [dirichlet_bags(labels, 10, 1.0, seed).tolist() for seed in (0, 0, 1)]
    assert bags[0] == bags[1] != bags[2]


def test_labels_may_have_names_and_the_rest_is_said():
    with pytest.warns(UserWarning, match="1 of 5 rows are in no bag: they do not fill a bag of 2"):
        assert dirichlet_bags(["no", "yes", "no", "no", "yes"], 2, 1.0, seed=0).max() == 1


@pytest.mark.parametrize(
    ("bag_size", "concentration", "message"),
    [
        (0, 1.0, "bags of 0 from 3 instances"),
        (4, 1.0, "bags of 4 from 3 instances: there must be 1 to 3 in one"),
        (2, 0.0, "the concentration must be above 0, got 0.0"),
        (2, np.nan, "the concentration must be above 0, got nan"),
    ],
)
def test_what_cannot_be(bag_size, concentration, message):
    with pytest.raises(ValueError, match=message):
        dirichlet_bags([0, 1, 0], bag_size, concentration, seed=0)
