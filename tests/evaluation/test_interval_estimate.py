import numpy as np
import pytest
from scipy import stats

from llpgan.evaluation.scores import Estimate, _placements, auc_estimate, mean, share


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (40, 100), (1, 1)])
def test_intervals_of_shares_are_wilsons(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    found = share(hits, n)
    np.testing.assert_allclose([found.low, found.high], expected, atol=1e-6)


def test_intervals_of_means_are_students(rng):
    values = rng.exponential(size=12) + 5
    found = mean(values)
    expected = stats.t.interval(0.95, 11, loc=values.mean(), scale=stats.sem(values))
    np.testing.assert_allclose([found.low, found.high], expected)


def test_one_value_has_no_interval():
    assert mean(np.array([2.0])) == Estimate(2.0)


def test_placements_by_a_plain_loop(rng):
    positives, negatives = rng.integers(5, size=7), rng.integers(5, size=9)
    above, below = _placements(positives, negatives)
    wins = [[(p > n) + 0.5 * (p == n) for n in negatives] for p in positives]
    np.testing.assert_allclose(above, np.mean(wins, axis=1))
    np.testing.assert_allclose(below, np.mean(wins, axis=0))


def test_the_aucs_interval_covers_the_truth_about_as_often_as_it_says(rng):
    truth, covered = stats.norm.cdf(1 / np.sqrt(2)), 0
    positive = np.arange(80) < 40
    for _ in range(400):
        found = auc_estimate(rng.normal(size=80) + positive, positive)
        covered += found.low < truth < found.high
    assert 0.92 < covered / 400 < 0.98


@pytest.mark.parametrize("scores", [[0, 0, 1, 1], [1, 1, 0, 0]])
def test_a_perfect_auc_has_no_interval(scores):
    found = auc_estimate(np.array(scores), np.array([False, False, True, True]))
    assert found.value in (0, 1)
    assert found.low is None
