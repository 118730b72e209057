"""Noise keeps proportions proportions, and is as large as privacy asks."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from llpgan import Bags
from llpgan.data.bagging import gaussian_deviation, gaussian_noise, laplace_noise, round_proportions, swap_labels

SEEDS = st.integers(0, 2**32 - 1)
NOISES = [
    partial(laplace_noise, epsilon=0.3),
    partial(gaussian_noise, epsilon=0.3, delta=1e-3),
    partial(swap_labels, share=0.6),
]


def some_bags(n_bags=8, size=5, n_classes=3, seed=0):
    labels = np.concatenate(
        [np.arange(n_classes), np.random.default_rng(seed).integers(n_classes, size=n_bags * size)]
    )
    labels = labels[: n_bags * size]
    return Bags.from_labels(np.zeros((len(labels), 1)), labels, np.arange(len(labels)) // size)


@pytest.mark.parametrize("noise", NOISES)
@given(st.integers(1, 10), st.integers(3, 9), SEEDS)
def test_noisy_proportions_lie_on_the_simplex(noise, n_bags, size, seed):
    bags = some_bags(n_bags, size, seed=seed)
    noisy = noise(bags, seed=seed)
    assert (noisy.proportions >= 0).all()
    np.testing.assert_allclose(noisy.proportions.sum(axis=1), 1)
    assert noisy.instances is bags.instances and noisy.bag_ids == bags.bag_ids


@pytest.mark.parametrize("noise", NOISES)
def test_the_seed_decides_and_the_bags_given_stay(noise):
    bags = some_bags()
    before = bags.proportions.copy()
    first, again, other = (noise(bags, seed=seed).proportions for seed in (0, 0, 1))
    assert (first == again).all() and (first != other).any() and (first != before).any()
    assert (bags.proportions == before).all()


@pytest.mark.parametrize(
    ("noise", "deviation"),
    [
        (partial(laplace_noise, epsilon=0.5), 2**0.5 * 2 / 0.5),
        (partial(gaussian_noise, epsilon=0.5, delta=1e-4), gaussian_deviation(0.5, 1e-4, 2**0.5)),
    ],
)
def test_counts_move_by_noise_of_the_scale_that_privacy_asks(noise, deviation):
    size = 20_000  # so large that nothing is clipped and the sum hardly moves
    bags = Bags(np.zeros((60 * size, 1), np.int8), np.repeat(np.arange(60), size), np.full((60, 4), 0.25),
                tuple(range(60)), np.arange(4))  # fmt: skip
    moved = (noise(bags, seed=0).proportions - 0.25) * size
    assert moved.std() == pytest.approx(deviation * (3 / 4) ** 0.5, rel=0.15)  # less the mean of four


@given(st.floats(0.01, 20), st.floats(1e-12, 0.5), st.floats(0.1, 10))
def test_the_normal_deviation_is_the_least_that_is_private(epsilon, delta, sensitivity):
    deviation = gaussian_deviation(epsilon, delta, sensitivity)

    def worst(deviation):
        """The largest excess of probability over e^ε times the neighbour's: beyond one threshold."""
        threshold = epsilon * deviation**2 / sensitivity + sensitivity / 2
        mass, other = norm.sf(threshold - sensitivity, scale=deviation), norm.sf(threshold, scale=deviation)
        return mass - np.exp(epsilon) * other

    assert worst(deviation) == pytest.approx(delta, rel=1e-3)
    assert worst(1.01 * deviation) < delta < worst(0.99 * deviation)
    if epsilon < 1:
        assert deviation < sensitivity * np.sqrt(2 * np.log(1.25 / delta)) / epsilon  # the textbook's


def test_a_bag_where_no_count_is_left_gets_equal_proportions():
    bags = some_bags(n_bags=200, size=3)
    proportions = laplace_noise(bags, epsilon=0.01, seed=0).proportions
    assert (proportions == 1 / 3).all(axis=1).sum() == pytest.approx(200 / 8, abs=15)  # three noises below zero


def test_little_noise_changes_little():
    bags = some_bags()
    np.testing.assert_allclose(laplace_noise(bags, 1e6, seed=0).proportions, bags.proportions, atol=1e-4)
    np.testing.assert_allclose(gaussian_noise(bags, 1e6, 1e-3, seed=0).proportions, bags.proportions, atol=1e-2)


@given(st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5]), SEEDS)
def test_rounded_proportions_were_multiples_of_the_step(step, seed):
    bags = some_bags(size=7, seed=seed)
    steps = np.round(bags.proportions / step)
    found = round_proportions(bags, step).proportions
    np.testing.assert_allclose(found.sum(axis=1), 1)
    some = steps.sum(axis=1) > 0
    np.testing.assert_allclose(found[some] * steps[some].sum(axis=1, keepdims=True), steps[some], atol=1e-9)
    assert (found[~some] == 1 / 3).all()


def test_shares_that_all_round_to_nothing_are_shown_as_equal():
    bags = Bags.from_labels(np.eye(30), np.arange(30), np.zeros(30, int))
    assert round_proportions(bags, 0.1).proportions == pytest.approx(np.full((1, 30), 1 / 30))


@given(st.integers(1, 30), st.floats(0, 1), SEEDS)
def test_swapped_bags_keep_the_set_of_proportions(n_bags, share, seed):
    weights = np.arange(1, n_bags + 1) / (n_bags + 1)  # all different
    bags = Bags(np.zeros((n_bags, 1)), np.arange(n_bags), np.column_stack([weights, 1 - weights]),
                tuple(range(n_bags)), np.arange(2))  # fmt: skip
    found = swap_labels(bags, share, seed).proportions
    moved = (found != bags.proportions).any(axis=1).sum()
    n_chosen = round(share * n_bags)
    assert moved == (n_chosen if n_chosen > 1 else 0)  # one alone has none to exchange with
    assert sorted(found.tolist()) == sorted(bags.proportions.tolist())


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (partial(laplace_noise, epsilon=0, seed=0), "epsilon must be a number above 0, got 0"),
        (partial(laplace_noise, epsilon=np.nan, seed=0), "epsilon must be a number above 0, got nan"),
        (partial(gaussian_noise, epsilon=-1, delta=0.1, seed=0), "epsilon must be a number above 0, got -1"),
        (partial(gaussian_noise, epsilon=1, delta=0, seed=0), "delta must lie between 0 and 1, got 0"),
        (partial(gaussian_noise, epsilon=1, delta=1, seed=0), "delta must lie between 0 and 1, got 1"),
        (partial(round_proportions, step=0), "the step must lie between 0 and 1, got 0"),
        (partial(swap_labels, share=1.5, seed=0), "the share of bags must lie between 0 and 1, got 1.5"),
    ],
)
def test_parameters_that_cannot_be(noise, message):
    with pytest.raises(ValueError, match=message):
        noise(some_bags())
