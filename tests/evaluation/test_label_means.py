from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llpgan.evaluation.without_labels import Pairs, _centre_moments, _parts, label_mean


def sum_over_bags(pairs):
    return tuple(part.sum(axis=0) for part in _parts(pairs))


def pairs_of(labels, figures, bag_of_row, noise=0.0):
    """By plain loops."""
    n_bags, n_classes = max(bag_of_row) + 1, figures.shape[1]
    counts, sums, squares = np.zeros((n_bags, n_classes)), np.zeros((n_bags, n_classes)), np.zeros(n_bags)
    for label, figure, bag in zip(labels, figures, bag_of_row, strict=True):
        counts[bag, label] += 1
        sums[bag] += figure
        squares[bag] += (figure**2).sum()
    return Pairs(np.bincount(bag_of_row), counts, sums, squares, noise)


rows = st.lists(
    st.tuples(st.integers(0, 2), st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2)), min_size=6, max_size=6
)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(rows, st.sampled_from([(0, 0, 0, 1, 1, 2), (0, 0, 1, 1, 2, 2), (0, 1, 2, 3, 4, 5), (0, 0, 0, 0, 1, 1)]))
def test_unbiased_over_all_ways_to_deal_the_rows(drawn, bag_of_row):
    labels, figures = np.array([row[0] for row in drawn]), np.array([row[1:] for row in drawn])
    truth = np.mean([figures[row, label] for row, label in enumerate(labels)])
    found = []
    for order in permutations(bag_of_row):
        pairs = pairs_of(labels, figures, order)
        moments = _centre_moments(sum_over_bags(pairs), max(bag_of_row) + 1, pairs)
        plain = moments.product + moments.covariance
        found.append((plain, moments.labels - moments.labels_rows, moments.figures - moments.figures_rows))
    np.testing.assert_allclose(np.mean(found, axis=0), [truth, 0, 0], atol=1e-9)


def test_for_bags_of_one_size_it_is_easy_llp_with_the_prior_of_the_other_bags(rng):
    labels, guesses, bag_of_row = rng.integers(3, size=60), rng.integers(3, size=60), np.arange(60) // 5
    pairs = pairs_of(labels, np.eye(3)[guesses], bag_of_row)
    total = 0.0
    for row, guess in enumerate(guesses):
        bag = bag_of_row[row]
        mine, others = labels[bag_of_row == bag], labels[bag_of_row != bag]
        for k in range(3):
            weight = 5 * np.mean(mine == k) - 4 * np.mean(others == k)
            total += weight * (guess != k)
    moments = _centre_moments(sum_over_bags(pairs), 12, pairs)
    assert moments.product + moments.covariance == pytest.approx(1 - total / 60)


def test_leave_one_out_is_what_the_other_bags_give(rng):
    labels, guesses = rng.integers(2, size=80), rng.integers(2, size=80)
    bag_of_row = np.sort(np.concatenate([np.arange(10), rng.integers(10, size=70)]))
    found = label_mean(pairs_of(labels, np.eye(2)[guesses], bag_of_row))
    for bag in range(10):
        kept = bag_of_row != bag
        others = np.unique(bag_of_row[kept], return_inverse=True)[1]
        again = label_mean(pairs_of(labels[kept], np.eye(2)[guesses[kept]], others))
        assert found.leave_one_out[bag] == pytest.approx(again.value)


def test_figures_that_are_the_labels_are_known_without_error(rng):
    labels, bag_of_row = rng.integers(3, size=300), np.arange(300) // 10
    found = label_mean(pairs_of(labels, np.eye(3)[labels], bag_of_row))
    assert found.value == pytest.approx(1)
    np.testing.assert_allclose(found.leave_one_out, 1)


@pytest.mark.slow
def test_noise_in_proportions_is_subtracted_from_the_spread(rng):
    spreads = []
    for _ in range(300):
        labels, bag_of_row = rng.integers(2, size=400), np.arange(400) // 10
        pairs = pairs_of(labels, np.eye(2)[labels], bag_of_row, noise=0.1)
        noise = rng.normal(scale=1, size=(40, 1)) * [1, -1]
        pairs = pairs._replace(counts=pairs.counts + noise)
        moments = _centre_moments(sum_over_bags(pairs), 40, pairs)
        spreads.append(moments.labels - moments.labels_rows)
    assert abs(np.mean(spreads)) < 3 * np.std(spreads) / 300**0.5
