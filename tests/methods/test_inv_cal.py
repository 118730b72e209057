import cvxpy as cp
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from llpgan import Bags, InvCal
from llpgan.methods.inv_cal import bag_mean_kernel, fit_kernel_tubes, fit_tubes, log_odds_tubes
from llpgan.methods.linear import Features

each_epsilon = pytest.mark.parametrize("epsilon", [0.0, 0.02], ids=["no tube", "tubes"])
each_weight = pytest.mark.parametrize("C", [0.1, 1.0, 10.0])


@pytest.fixture
def noisy_bags(rng):
    """Two classes that overlap, in bags of 3 to 12, some of them pure."""
    sizes = rng.integers(3, 13, size=41)
    groups = np.repeat(np.arange(41), sizes)
    labels = (rng.random(len(groups)) < rng.uniform(size=41)[groups]).astype(int)
    return Bags.from_labels(rng.normal(size=(len(groups), 3)) + labels[:, None], labels, groups)


def solved_by_cvxpy(root, low, high, C):
    """Scores of the bags whose features are the rows of a matrix, and the objective."""
    weights, intercept = cp.Variable(root.shape[1]), cp.Variable()
    scores = root @ weights + intercept
    missed = cp.pos(scores - high) + cp.pos(low - scores)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(weights) / 2 + C * cp.sum(missed)))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return scores.value, problem.value


@each_epsilon
@each_weight
def test_linear_equals_cvxpy(noisy_bags, epsilon, C):
    tubes = log_odds_tubes(noisy_bags.proportions[:, 1], len(noisy_bags.instances), epsilon)
    means = noisy_bags.means(noisy_bags.instances)
    model = fit_tubes(means, *tubes, C)
    scores, objective = solved_by_cvxpy(means, *tubes, C)
    found = Features.from_rows(means).scores(model)[0]
    assert_the_same(found, scores, C)
    np.testing.assert_allclose(objective_of(np.sum(model.weights**2), found, *tubes, C), objective, rtol=1e-5)


@each_epsilon
@each_weight
def test_kernel_equals_cvxpy(noisy_bags, epsilon, C):
    tubes = log_odds_tubes(noisy_bags.proportions[:, 1], len(noisy_bags.instances), epsilon)
    kernel = bag_mean_kernel(rbf_kernel, noisy_bags.instances, noisy_bags)
    weights, intercept = fit_kernel_tubes(kernel, *tubes, C)
    values, vectors = np.linalg.eigh(kernel)
    scores, objective = solved_by_cvxpy(vectors * np.sqrt(np.maximum(values, 0)), *tubes, C)
    found = kernel @ weights + intercept
    assert_the_same(found, scores, C)
    np.testing.assert_allclose(objective_of(weights @ kernel @ weights, found, *tubes, C), objective, rtol=1e-5)


def assert_the_same(found, scores, C):
    """To 1e-4, and where C is small up to the intercept: no bag is met then, and the objective is flat in it."""
    shift = np.mean(found - scores) if C < 1 else 0.0
    np.testing.assert_allclose(found - shift, scores, atol=1e-4)


def objective_of(squared_norm, scores, low, high, C):
    return squared_norm / 2 + C * np.sum(np.maximum(scores - high, 0) + np.maximum(low - scores, 0))


@each_epsilon
def test_linear_is_the_linear_kernel(noisy_bags, epsilon):
    one, other = (
        InvCal(kernel=kernel, C=1, epsilon=epsilon).fit_bags(noisy_bags).predict_proba(noisy_bags.instances)
        for kernel in ("linear", linear_kernel)
    )
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_the_bag_mean_kernel_is_the_mean_over_pairs(noisy_bags, monkeypatch):
    monkeypatch.setattr("llpgan.methods.inv_cal._ROWS_AT_ONCE", 7)  # blocks that cut bags in two
    found = bag_mean_kernel(cdist, noisy_bags.instances, noisy_bags)
    rows = [noisy_bags.instances[noisy_bags.rows_of(bag)] for bag in range(noisy_bags.n_bags)]
    np.testing.assert_allclose(found, [[cdist(a, b).mean() for b in rows] for a in rows])


@pytest.mark.slow
def test_blocks_do_not_change_predictions(noisy_bags, monkeypatch):
    whole = InvCal(kernel="rbf").fit_bags(noisy_bags).predict_proba(noisy_bags.instances)
    monkeypatch.setattr("llpgan.methods.inv_cal._ROWS_AT_ONCE", 16)
    in_blocks = InvCal(kernel="rbf").fit_bags(noisy_bags).predict_proba(noisy_bags.instances)
    np.testing.assert_allclose(whole, in_blocks, atol=1e-5)


@pytest.mark.parametrize("kernel", ["poly", "laplacian", "sigmoid", "cosine"])
def test_the_kernels_of_scikit_learn_are_supported(kernel, noisy_bags):
    probabilities = InvCal(kernel=kernel).fit_bags(noisy_bags).predict_proba(noisy_bags.instances)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_shares_of_zero_and_one_stay_finite():
    low, high = log_odds_tubes(np.array([0.0, 1.0]), n_instances=100, epsilon=0.0)
    np.testing.assert_allclose(low, [-np.log(99), np.log(99)])
    np.testing.assert_array_equal(low, high)
