import numpy as np
import pytest

from llpgan import Bags
from llpgan.evaluation import randomness_test
from llpgan.evaluation.without_labels import _column_spread, _share_spread


def random_bags(seed, n_bags=30, size=20):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n_bags * size, 3)), rng.pareto(1, size=n_bags * size)])
    return Bags.from_labels(X, rng.integers(3, size=n_bags * size), np.arange(n_bags * size) // size)


def test_random_bags_raise_an_alarm_in_about_one_case_of_twenty():
    alarms = sum(not randomness_test(random_bags(seed), permutations=59).looks_random for seed in range(100))
    assert alarms <= 11  # 5 are expected; more than 11 in one run of 200


def test_a_single_column_that_differs_is_found_and_named(rng):
    bags = random_bags(0)
    X = bags.instances + np.eye(4)[1] * rng.normal(scale=0.7, size=30)[bags.bag_index, None]
    found = randomness_test(Bags.from_arrays(X, bags.bag_index, bags.proportions), permutations=99)
    assert not found.looks_random
    assert found.columns[0][0] == "column 1"
    assert "most of all in column 1" in found.describe()


@pytest.mark.parametrize("shares", [np.tile([0.5, 0.5], (30, 1)), np.repeat([[0.1, 0.9], [0.9, 0.1]], 15, axis=0)])
def test_shares_that_differ_too_little_or_too_much_are_found(rng, shares):
    bags = Bags.from_arrays(rng.normal(size=(600, 2)), np.arange(600) // 20, shares)
    found = randomness_test(bags, permutations=99)
    assert found.p_proportions < 0.05 < found.p_features
    assert "shares of the classes" in found.describe()


def test_spreads_by_plain_loops(rng):
    bags = random_bags(1)
    order = bags.row_order
    wanted = [sum(20 * bags.instances[bags.bag_index == b, d].mean() ** 2 for b in range(30)) for d in range(4)]
    np.testing.assert_allclose(_column_spread(bags.instances[order], bags), wanted)
    chi2 = 0.0
    for b in range(30):
        for k in range(3):
            expected = 20 * bags.prior[k]
            chi2 += (20 * bags.proportions[b, k] - expected) ** 2 / expected
    assert _share_spread(bags.proportions, bags.sizes) == pytest.approx(chi2)


def test_the_same_seed_gives_the_same_answer_and_images_are_taken(rng):
    images = Bags.from_labels(rng.normal(size=(200, 3, 10, 10)), rng.integers(2, size=200), np.arange(200) // 10)
    one, two = (randomness_test(images, permutations=49, random_state=3) for _ in range(2))
    assert one == two
    assert one.columns == ()
    assert one.describe()


def test_bags_of_one_row_are_random(rng):
    assert randomness_test(Bags.from_labels(rng.normal(size=(90, 2)), np.arange(90) % 3)).p_value > 0.5
