"""Splitters: whole bags on one side, in balance, and the same with the same seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, cross_val_score

from llpgan import Bags, MeanMap
from llpgan.evaluation.splitters import BagKFold, BagShuffleSplit, WithinBagKFold, bag_folds

SPLITTERS = [BagKFold(4), BagShuffleSplit(4), WithinBagKFold(4)]


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), min_size=5, max_size=60), st.integers(2, 5), st.integers(0, 9))
def test_folds_hold_whole_bags_and_every_row_once(sizes, n_folds, seed):
    bag_of_row = np.repeat(np.arange(len(sizes)), sizes)
    tests = []
    for train, test in BagKFold(n_folds, random_state=seed).split(bag_of_row, groups=bag_of_row):
        assert len(test) > 0
        assert not set(bag_of_row[train]) & set(bag_of_row[test])
        tests.extend(test.tolist())
    assert sorted(tests) == list(range(len(bag_of_row)))


def test_folds_are_balanced_by_bags_rows_and_proportions(rng):
    sizes = rng.integers(5, 60, 100)
    bag_of_row = np.repeat(np.arange(100), sizes)
    labels = rng.random(len(bag_of_row)) < rng.beta(0.5, 0.5, 100)[bag_of_row]
    tests = [test for _, test in BagKFold(5).split(bag_of_row, labels, groups=bag_of_row)]
    n_rows, shares = [len(test) for test in tests], [labels[test].mean() for test in tests]
    n_bags = [len(set(bag_of_row[test])) for test in tests]
    assert max(n_rows) < 1.05 * min(n_rows)
    assert max(n_bags) - min(n_bags) <= 4
    assert np.ptp(shares) < 0.02


def test_row_proportions_balance_as_labels_do(rng):
    bag_of_row = np.repeat(np.arange(20), 5)
    labels = rng.integers(2, size=100)
    bags = Bags.from_labels(np.zeros((100, 1)), labels, bag_of_row)
    by_labels = BagKFold(4).split(bag_of_row, labels, groups=bag_of_row)
    by_rows = BagKFold(4).split(bag_of_row, bags.proportions[bag_of_row], groups=bag_of_row)
    for (_, one), (_, other) in zip(by_labels, by_rows, strict=True):
        np.testing.assert_array_equal(one, other)


def test_draws_are_whole_bags_and_nearer_to_balance_than_chance(rng):
    sizes = rng.integers(1, 200, 40)
    bag_of_row = np.repeat(np.arange(40), sizes)
    shares = []
    for train, test in BagShuffleSplit(20, test_size=0.25).split(bag_of_row, groups=bag_of_row):
        assert not set(bag_of_row[train]) & set(bag_of_row[test])
        assert len(set(bag_of_row[test])) == 10
        shares.append(len(test) / len(bag_of_row))
    assert np.abs(np.array(shares) - 0.25).max() < 0.05


def test_inside_bags_every_fold_has_its_part_of_every_bag():
    bag_of_row = np.repeat(["a", "b", "c"], [20, 33, 7])
    tests = [test for _, test in WithinBagKFold(4).split(bag_of_row, groups=bag_of_row)]
    assert sorted(np.concatenate(tests)) == list(range(60))
    for bag, size in (("a", 20), ("b", 33), ("c", 7)):
        counts = [int((bag_of_row[test] == bag).sum()) for test in tests]
        assert max(counts) - min(counts) <= 1
        assert sum(counts) == size


@pytest.mark.parametrize("splitter", SPLITTERS, ids=lambda s: type(s).__name__)
def test_the_same_seed_splits_the_same_and_another_does_not(splitter):
    bag_of_row = np.repeat(np.arange(20), 6)
    again = type(splitter)(n_splits=4, random_state=0)
    other = type(splitter)(n_splits=4, random_state=1)
    first = [test.tolist() for _, test in splitter.split(bag_of_row, groups=bag_of_row)]
    assert first == [test.tolist() for _, test in again.split(bag_of_row, groups=bag_of_row)]
    assert first != [test.tolist() for _, test in other.split(bag_of_row, groups=bag_of_row)]


@pytest.mark.parametrize("splitter", SPLITTERS, ids=lambda s: type(s).__name__)
def test_scikit_learn_takes_them(splitter, blobs):
    instances, labels, bag_of_row = blobs
    assert splitter.get_n_splits() == 4
    assert cross_val_score(MeanMap(), instances, labels, groups=bag_of_row, cv=splitter).mean() > 0.5
    search = GridSearchCV(MeanMap(), {"C": [0.1, 1.0]}, cv=splitter).fit(instances, labels, groups=bag_of_row)
    assert search.best_params_["C"] in (0.1, 1.0)


def test_settings_are_seen_from_outside():
    assert repr(BagKFold(3)) == "BagKFold(n_splits=3, random_state=0)"
    assert repr(WithinBagKFold(random_state=7)) == "WithinBagKFold(n_splits=5, random_state=7)"


def test_bags_are_split_as_bags(bags):
    for fold in bag_folds(bags, cv=5):
        assert sorted(fold.train.bag_ids + fold.test.bag_ids) == list(bags.bag_ids)
    for fold in bag_folds(bags, cv=WithinBagKFold(2)):
        assert fold.train.bag_ids == fold.test.bag_ids == bags.bag_ids
        np.testing.assert_array_equal(fold.test.proportions, bags.proportions)


@pytest.mark.parametrize(
    ("splitter", "groups", "message"),
    [
        (BagKFold(3), None, "give groups, the bag of each row"),
        (BagKFold(3), ["a", "a", "b"], "3 folds of 2 bags"),
        (BagShuffleSplit(), ["a", "a", "a"], "a single bag"),
        (WithinBagKFold(3), ["a", "a", "b"], "at most 2 rows: split whole bags"),
    ],
)
def test_what_cannot_be_split_is_said(splitter, groups, message):
    with pytest.raises(ValueError, match=message):
        list(splitter.split(["a", "a", "b"], groups=groups))


def test_settings_that_make_no_sense_are_refused():
    for folds in (BagKFold, WithinBagKFold):
        with pytest.raises(ValueError, match="at least two folds"):
            folds(1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        BagShuffleSplit(test_size=1.0)
    with pytest.raises(ValueError, match="at least one split"):
        BagShuffleSplit(0)
