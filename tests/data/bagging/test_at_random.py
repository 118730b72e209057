"""Random bags: every row in exactly one, of the sizes asked for."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llpgan.data.bagging import NO_BAG, poisson_sizes, random_bags, uniform_sizes, varying_bags

SEEDS = st.integers(0, 2**32 - 1)


@given(st.integers(1, 200), st.integers(1, 50), SEEDS)
def test_bags_of_one_size_and_a_rest(n_instances, bag_size, seed):
    sizes = np.bincount(random_bags(n_instances, bag_size, seed))
    assert sizes.sum() == n_instances
    assert (sizes[:-1] == bag_size).all() and 1 <= sizes[-1] <= bag_size


@given(st.lists(st.integers(1, 20), max_size=10), st.integers(0, 5), SEEDS)
def test_bags_of_given_sizes(sizes, spare, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bag_of_row = varying_bags(sum(sizes) + spare, sizes, seed)
    assert np.bincount(bag_of_row + 1, minlength=len(sizes) + 1).tolist() == [spare, *sizes]


@given(st.integers(1, 200), st.integers(1, 10), st.integers(0, 10), SEEDS)
def test_bags_by_a_law_use_up_all_rows(n_instances, smallest, more, seed):
    sizes = np.bincount(varying_bags(n_instances, uniform_sizes(smallest, smallest + more), seed))
    assert sizes.sum() == n_instances and sizes.min() >= 1
    assert (sizes[:-1] >= smallest).all() and (sizes <= smallest + more).all()


def test_every_size_between_is_drawn_alike():
    sizes = np.bincount(varying_bags(30_000, uniform_sizes(2, 4), seed=0))
    np.testing.assert_allclose(np.bincount(sizes)[2:] / len(sizes), [1 / 3] * 3, atol=0.02)


def test_poisson_sizes_have_their_mean_and_are_never_empty():
    sizes = np.bincount(varying_bags(30_000, poisson_sizes(3.0), seed=0))
    assert sizes.min() == 1
    assert sizes.mean() == pytest.approx(3, abs=0.1)
    assert sizes.var() == pytest.approx(2, abs=0.15)  # of the number on top of the one


def test_rows_are_drawn_and_the_seed_decides_them():
    first = varying_bags(60, [30, 30], seed=0)
    assert (
        first.tolist()
        == varying_bags(60, [30, 30], seed=0).tolist()
        != varying_bags(60, [30, 30], seed=1).tolist()
    )
    assert 5 < (first[:30] == 0).sum() < 25


def test_rows_left_over_are_said():
    with pytest.warns(UserWarning, match="2 of 7 rows are in no bag: the sizes sum to 5"):
        bag_of_row = varying_bags(7, [3, 2], seed=0)
    assert (bag_of_row == NO_BAG).sum() == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random_bags(5, 0, seed=0), "at least one row, got bag_size=0"),
        (lambda: varying_bags(5, [3, 3], seed=0), "bags of 6 rows in all, but there are only 5 instances"),
        (lambda: varying_bags(5, [3, 0], seed=0), "bag 1: a bag needs at least one row, got a size of 0"),
        (lambda: varying_bags(5, lambda rng: 0, seed=0), "the law drew a size of 0 for bag 0"),
        (lambda: uniform_sizes(0, 3), "between 0 and 3"),
        (lambda: uniform_sizes(4, 3), "between 4 and 3"),
        (lambda: poisson_sizes(0.5), "the mean cannot be 0.5"),
    ],
)
def test_sizes_that_cannot_be(call, message):
    with pytest.raises(ValueError, match=message):
        call()
