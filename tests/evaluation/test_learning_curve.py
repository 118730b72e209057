import numpy as np
import pytest

from llpgan import Bags, MeanMap
from llpgan.evaluation import learning_curve
from llpgan.evaluation.inspect import Step, _power_law


def test_the_law_finds_itself_again():
    steps = tuple(Step(n, 0.05 + 0.6 * n**-0.75, 0.0) for n in (10, 20, 40, 80))
    floor, scale, power = _power_law(steps)
    assert (floor, scale, power) == (
        pytest.approx(0.05, abs=1e-6),
        pytest.approx(0.6, abs=1e-5),
        pytest.approx(0.75),
    )


def test_errors_that_do_not_fall_have_no_slope():
    assert _power_law((Step(10, 0.1, 0), Step(20, 0.1, 0), Step(40, 0.11, 0)))[1] == pytest.approx(0)


def test_more_bags_help_and_the_same_seed_gives_the_same_curve(rng):
    X = rng.normal(size=(960, 10))
    bags = Bags.from_labels(X, X.sum(1) > 0, np.arange(960) // 12)
    curve = learning_curve(bags, MeanMap(C=1.0), repeats=3)
    assert curve == learning_curve(bags, MeanMap(C=1.0), repeats=3)
    assert curve.steps[0].error > curve.steps[-1].error
    assert curve.at(200) <= curve.at(80)


def test_warnings_of_fits_within_it_are_not_shown(rng, recwarn):
    """Features that tell nothing: each fit would warn of that."""
    bags = Bags.from_labels(rng.normal(size=(320, 2)), rng.integers(2, size=320), np.arange(320) // 8)
    assert learning_curve(bags) is not None
    assert not recwarn.list


def test_few_bags_have_no_curve(bags):
    assert learning_curve(bags) is None


def test_some_bags_keep_their_rows_and_shares(bags):
    few = bags.take_bags([7, 2])
    assert few.bag_ids == (bags.bag_ids[2], bags.bag_ids[7])
    np.testing.assert_array_equal(few.instances[few.rows_of(1)], bags.instances[bags.rows_of(7)])
    np.testing.assert_array_equal(few.proportions, bags.proportions[[2, 7]])
