import numpy as np
import pytest
from scipy import stats

from llpgan.evaluation.scores import jackknife


def test_of_plain_means_it_is_the_t_interval_of_the_logarithm(rng):
    values = rng.gamma(50, size=400)
    others = (values.sum() - values) / 399
    found = jackknife(values.mean(), others, np.array(0.0), 400).at()
    half = stats.t.ppf(0.975, 399) * values.std(ddof=1) / 20 / values.mean()
    assert np.log(found.high / found.value) == pytest.approx(half, rel=0.01)


def test_the_variance_by_theory_counts_as_ten_bags():
    others = np.array([0.4, 0.5, 0.6])
    own = 2 / 3 * 0.02
    expected = 0.09
    mixed = (2 * own + 10 * expected) / 12
    found = jackknife(np.array(0.5), others, np.array(expected), 10**6, top=np.inf)
    wanted = np.exp(stats.t.ppf(0.975, 2) * np.sqrt(mixed) / 0.5)
    assert found.high / 0.5 == pytest.approx(wanted, rel=0.05)


def test_a_share_is_no_more_precise_than_with_all_labels():
    found = jackknife(np.array(0.9), np.full(50, 0.9), np.array(0.0), 1000, top=1.0, share=True).at()
    assert found.high - found.low > 2 * 1.96 * np.sqrt(0.9 * 0.1 / 1000) * 0.95
