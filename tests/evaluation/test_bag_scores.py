import numpy as np
import pytest
from scipy import stats

from llpgan import Bags
from llpgan.evaluation import bag_scores


def test_every_figure_by_a_plain_loop(rng):
    bag_of_row = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 6])
    probabilities = rng.dirichlet(np.ones(3), size=21)
    bags = Bags.from_arrays(rng.normal(size=(21, 1)), bag_of_row, rng.dirichlet(np.ones(3), size=6))
    scores = bag_scores(bags, probabilities)
    for bag, given in enumerate(bags.proportions):
        rows = probabilities[bag_of_row == bag]
        predicted = rows.mean(0)
        hard = np.bincount(rows.argmax(1), minlength=3) / len(rows)
        np.testing.assert_allclose(scores.predicted[bag], predicted)
        assert scores.cross_entropy[bag] == pytest.approx(-(given * np.log(predicted)).sum())
        assert scores.kl[bag] == pytest.approx(stats.entropy(given, predicted))
        assert scores.total_variation[bag] == pytest.approx(np.abs(given - predicted).sum() / 2)
        assert scores.hard_total_variation[bag] == pytest.approx(np.abs(given - hard).sum() / 2)


def test_means_are_over_bags_whatever_their_size(rng):
    bags = Bags.from_arrays(rng.normal(size=(5, 1)), [0, 1, 1, 1, 1], [[1, 0], [0, 1]])
    scores = bag_scores(bags, np.full((5, 2), [0.8, 0.2]))
    assert scores.mean_total_variation.value == pytest.approx((0.2 + 0.8) / 2)
    assert scores.mean_hard_total_variation.value == pytest.approx(0.5)
    assert scores.mean_cross_entropy.value == pytest.approx(-(np.log(0.8) + np.log(0.2)) / 2)
    assert scores.mean_kl.value == pytest.approx(scores.mean_cross_entropy.value)


def test_a_bag_that_is_met_has_no_divergence(bags):
    scores = bag_scores(bags, bags.proportions[bags.bag_index])
    assert scores.mean_kl.value == pytest.approx(0)
    assert scores.mean_total_variation.value == pytest.approx(0)


def test_a_class_that_is_thought_impossible_is_finite(bags):
    assert np.isfinite(bag_scores(bags, np.tile([1.0, 0.0], (80, 1))).cross_entropy).all()


def test_lengths_must_agree(bags):
    with pytest.raises(ValueError, match="80 instances, but 3 rows of probabilities"):
        bag_scores(bags, np.ones((3, 2)) / 2)


def test_bags_count_by_size_where_asked(rng):
    bags = Bags.from_arrays(rng.normal(size=(5, 1)), [0, 1, 1, 1, 1], [[1, 0], [0, 1]])
    scores = bag_scores(bags, np.full((5, 2), [0.8, 0.2]), by_size=True)
    assert scores.mean_total_variation.value == pytest.approx((0.2 + 4 * 0.8) / 5)
