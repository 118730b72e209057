from itertools import permutations

import numpy as np
import pytest

from llpgan import Bags
from llpgan.evaluation import worst_case
from llpgan.evaluation.without_labels import hoeffding


def test_the_bounds_are_those_of_all_arrangements_of_labels(rng):
    labels = np.array([0, 0, 1, 2, 1, 0, 2, 2, 2])
    bag_of_row = np.repeat([0, 1], [4, 5])
    probabilities = rng.dirichlet(np.ones(3), size=9)
    named = probabilities.argmax(1)
    lowest = highest = 0
    for bag in (0, 1):
        rows = bag_of_row == bag
        hits = [np.sum(named[rows] == order) for order in permutations(labels[rows])]
        lowest, highest = lowest + min(hits), highest + max(hits)
    found = worst_case(Bags.from_labels(np.zeros((9, 1)), labels, bag_of_row), probabilities)
    assert found.lowest_accuracy == pytest.approx(lowest / 9)
    assert found.highest_accuracy == pytest.approx(highest / 9)


def test_pure_bags_leave_nothing_open(rng):
    labels, probabilities = np.array([0, 0, 1, 1]), rng.dirichlet(np.ones(2), size=4)
    found = worst_case(Bags.from_labels(np.zeros((4, 1)), labels), probabilities)
    truth = np.mean(probabilities.argmax(1) == labels)
    assert found.lowest_accuracy == pytest.approx(truth)
    assert found.highest_accuracy == pytest.approx(truth)
    assert found.purity == 1


def test_hoeffdings_interval():
    found = hoeffding(0.5, 100, confidence=0.9)
    assert found.high - 0.5 == pytest.approx((np.log(20) / 200) ** 0.5)
    assert hoeffding(0.01, 10).low == 0
