from itertools import product

import cvxpy as cp
import numpy as np
import pytest

from llpgan import Bags, ConvSVM
from llpgan.methods.svm import Relaxation, choose_sign_by_bags, hinge


@pytest.fixture
def small(rng):
    """Three bags of four, of which all labelings can be tried."""
    labels = np.array([0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1])
    instances = rng.normal(size=(12, 2)) + 2 * labels[:, None]
    bags = Bags.from_labels(instances, labels, np.arange(12) // 4)
    return Relaxation(np.column_stack([instances, np.ones(12)]), bags, bags.proportions[:, 1], epsilon=0.0, C=0.1)


def all_labelings(bags, shares):
    for signs in product([-1.0, 1.0], repeat=len(bags.instances)):
        labels = np.array(signs)
        if np.allclose(bags.means((labels > 0)[:, None])[:, 0], shares):
            yield labels


@pytest.mark.slow
def test_the_most_violating_labels_are_near_the_best_of_all(small, rng):
    for _ in range(5):
        alpha = rng.uniform(0, 0.1, size=12)
        best = max(small.violation(labels, alpha) for labels in all_labelings(small.bags, small.shares))
        found = small.most_violating(alpha)
        np.testing.assert_allclose(small.bags.means((found > 0)[:, None])[:, 0], small.shares)
        assert small.violation(found, alpha) >= 0.9 * best


def test_the_mixture_equals_cvxpy(small, rng):
    """min ½ (Σ_t ‖w_t‖)² + C Σ_j hinge(Σ_t y_tj w_t·φ_j), the hinge rounded."""
    labels = np.array([small.furthest(np.ones(12), rng.normal(size=12)) for _ in range(3)])
    weights = cp.Variable((3, 3))
    margins = sum(cp.multiply(labels[t], small.features @ weights[t]) for t in range(3))
    curved, straight = cp.Variable(12), cp.Variable(12)
    norms = cp.square(cp.sum(cp.norm(weights, 2, axis=1))) / 2
    cost = cp.sum(cp.square(curved) / 0.4 + straight)
    limits = [curved + straight >= 1.1 - margins, curved >= 0, straight >= 0]
    cp.Problem(cp.Minimize(norms + small.C * cost), limits).solve(solver=cp.CLARABEL)
    found = small.mix(labels)
    expected = -small.C * hinge(margins.value)[1]
    np.testing.assert_allclose(found.alpha, expected, atol=2e-3)


def test_no_labeling_violates_when_it_ends(small):
    mixture = small.solve(max_cuts=50)
    known = max(small.violation(labels, mixture.alpha) for labels in mixture.labels)
    worst = max(small.violation(labels, mixture.alpha) for labels in all_labelings(small.bags, small.shares))
    assert len(mixture.labels) < 50
    assert worst <= 1.05 * known


def test_the_sign_is_that_of_the_bags(small):
    right = 2.0 * np.array([0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1]) - 1
    np.testing.assert_array_equal(choose_sign_by_bags(right, small.bags, small.shares), right)
    np.testing.assert_array_equal(choose_sign_by_bags(-right, small.bags, small.shares), right)


def test_a_kernel_and_nystroem_features(bags):
    for n_components in (None, 20):
        model = ConvSVM(kernel="rbf", C=0.1, n_components=n_components, random_state=0).fit_bags(bags)
        assert model.score(bags.instances, bags.proportions[bags.bag_index], groups=bags.bag_index) > 0.8


def test_shares_within_a_tolerance_allow_more_counts():
    bags = Bags.from_arrays(np.zeros((20, 1)), np.arange(20) // 10, np.array([[0.3, 0.7], [0.95, 0.05]]))
    fewest, most = Relaxation(bags.instances, bags, bags.proportions[:, 1], epsilon=0.1, C=1.0).allowed_counts
    np.testing.assert_array_equal(fewest, [6, 0])
    np.testing.assert_array_equal(most, [8, 1])
