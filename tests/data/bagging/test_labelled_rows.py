"""Rows in no bag are left out of the bags."""

import numpy as np
import pytest

from llpgan.data.bagging import NO_BAG, into_bags


def test_rows_in_no_bag_are_left_out():
    bags = into_bags(np.arange(5.0)[:, None], list("abbab"), np.array([1, NO_BAG, 1, 0, 0]))
    assert bags.instances.ravel().tolist() == [0, 2, 3, 4]
    assert bags.bag_index.tolist() == [1, 1, 0, 0]
    assert bags.proportions.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_without_such_rows_nothing_is_copied(rng):
    instances = rng.normal(size=(4, 2))
    assert into_bags(instances, [0, 1, 0, 1], np.array([0, 0, 1, 1])).instances is instances


def test_lengths_that_disagree():
    with pytest.raises(ValueError, match="3 instances, but 2 entries of bag_of_row"):
        into_bags(np.eye(3), [0, 1, 0], np.array([0, 0]))
    with pytest.raises(ValueError, match="2 labels, but 3 entries of bag_of_row"):
        into_bags(np.eye(3), [0, 1], np.array([0, 0, NO_BAG]))
