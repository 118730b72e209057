import numpy as np
import pytest

from llpgan import Bags
from llpgan.evaluation import inspect_bags
from llpgan.methods.mean_map import mixing_condition


def random_bags(size, n=3200, n_classes=2, seed=0):
    labels = np.random.default_rng(seed).integers(n_classes, size=n)
    return Bags.from_labels(np.zeros((n, 1)), labels, np.arange(n) // size)


def test_pure_bags_are_worth_all_their_rows(rng):
    labels = rng.integers(3, size=300)
    found = inspect_bags(Bags.from_labels(np.zeros((300, 1)), labels))
    np.testing.assert_allclose(found.worth, np.bincount(labels))
    assert found.purity == 1
    assert found.spread == pytest.approx(300 / 299)


def test_random_bags_are_worth_about_as_much_as_there_are_bags_whatever_their_size():
    small, large = inspect_bags(random_bags(16)), inspect_bags(random_bags(32))
    assert small.spread == pytest.approx(1, abs=0.25)
    assert small.total_worth / small.n_bags == pytest.approx(large.total_worth / large.n_bags, rel=0.35)
    assert small.total_worth == pytest.approx(large.worth_if_halved, rel=0.35)
    assert small.worth_if_purer > 4 * small.total_worth


def test_worth_is_the_variance_of_class_means_that_are_solved_for(rng):
    bags = random_bags(10, n=400)
    solved = []
    for _ in range(2000):
        means = rng.normal(size=40) / np.sqrt(bags.sizes)
        weights = np.sqrt(bags.sizes)
        solved.append(np.linalg.lstsq(weights[:, None] * bags.proportions, weights * means, rcond=None)[0])
    np.testing.assert_allclose(np.var(solved, axis=0), 1 / inspect_bags(bags).worth, rtol=0.15)


def test_sizes_and_condition(rng):
    bags = Bags.from_arrays(rng.normal(size=(10, 1)), [0] * 2 + [1] * 8, [[0.5, 0.5], [0.25, 0.75]])
    found = inspect_bags(bags)
    assert (found.smallest, found.median, found.largest) == (2, 5, 8)
    assert found.effective_bags == pytest.approx(100 / 68)
    assert found.condition == pytest.approx(mixing_condition(bags))


def test_classes_that_no_bag_distinguishes_are_named():
    shares = np.array([[0.2, 0.2, 0.6], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]])
    found = inspect_bags(Bags.from_arrays(np.zeros((9, 1)), np.arange(9) // 3, shares, classes=["a", "b", "c"]))
    assert found.unclear == ("b and a",)
    assert found.condition == np.inf
    assert found.worth[:2].tolist() == [0, 0]
    assert found.worth[2] > 1


@pytest.mark.parametrize(
    ("n_bags", "size", "enough"), [(1, 100, False), (3, 5, False), (19, 50, False), (20, 5, True)]
)
def test_few_bags_judge_no_predictions(n_bags, size, enough):
    assert inspect_bags(random_bags(size, n=n_bags * size)).can_judge == enough


def test_bags_with_the_same_shares_judge_no_predictions():
    assert not inspect_bags(Bags.from_labels(np.zeros((80, 1)), np.arange(80) % 2, np.arange(80) // 2)).can_judge


def test_bags_of_which_less_is_known_are_refused():
    bags = Bags.from_arrays(np.zeros((2, 1)), ["a", "b"], upper={"a": [1, 0.5], "b": [0.5, 1]})
    with pytest.raises(ValueError, match="what bags can tell is computed from all their shares"):
        inspect_bags(bags)
