import numpy as np
import pytest
from scipy.optimize import approx_fprime

from llpgan import Bags
from llpgan.methods.boosting import (
    CovariateShiftLoss,
    LabelShiftLoss,
    bag_losses,
    class_probabilities_from,
    fisher_information,
    prior_scores,
)


@pytest.fixture(params=[2, 3], ids=["two classes", "three classes"])
def some_bags(request, rng):
    labels = rng.integers(request.param, size=40)
    return Bags.from_labels(rng.normal(size=(40, 2)), labels, np.sort(rng.integers(6, size=40)))


def some_scores(bags, rng):
    return rng.normal(size=(len(bags.bag_index), 1 if bags.n_classes == 2 else bags.n_classes))


def step_at(loss, found, row_weights):
    return loss.step(found, loss.evaluate_fit(found), row_weights)


def numerical_slope(loss, scores):
    flat = approx_fprime(scores.ravel(), lambda at: loss(at.reshape(scores.shape)), 1e-6)
    return flat.reshape(scores.shape)


def test_the_slope_of_label_shift_is_the_losss(some_bags, rng):
    scores, loss = some_scores(some_bags, rng), LabelShiftLoss(some_bags)
    expected = numerical_slope(
        lambda at: loss.losses(loss.evaluate_fit(class_probabilities_from(at))).sum(), scores
    )
    found = step_at(loss, class_probabilities_from(scores), np.ones(40)).slope(slice(None))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_slope_of_covariate_shift_is_the_cross_entropys_for_two_classes(rng):
    bags = Bags.from_labels(rng.normal(size=(40, 2)), rng.integers(2, size=40), np.sort(rng.integers(6, size=40)))
    scores, loss = some_scores(bags, rng), CovariateShiftLoss(bags, correlation=0.0)
    expected = numerical_slope(
        lambda at: bags.sizes @ bag_losses(bags, loss.evaluate_fit(class_probabilities_from(at))), scores
    )
    found = step_at(loss, class_probabilities_from(scores), np.ones(40)).slope(slice(None))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_likelihood_of_label_shift_is_that_of_a_rows_bag(some_bags, rng):
    """Row by row: P(bag | x) = (m / N) Σ_k f_k(x) p_k / π_k sums to one over bags."""
    found = class_probabilities_from(some_scores(some_bags, rng))
    shares = some_bags.sizes / 40
    for row in found:
        total = sum(
            share * sum(f * p / prior for f, p, prior in zip(row, bag, some_bags.prior, strict=True))
            for share, bag in zip(shares, some_bags.proportions, strict=True)
        )
        assert total == pytest.approx(1)


def test_information_is_the_mean_square_of_the_slope(rng):
    """Over bags drawn by their probability at x, which is what Fisher's information is."""
    ratios = np.array([[0.2, 1.8], [1.8, 0.2], [1.0, 1.0]])
    found = rng.dirichlet([1, 1], size=5)
    likelihood = found @ ratios.T / 3
    posterior = found[:, None] * ratios / (found @ ratios.T)[..., None]
    expected = (likelihood[..., None] * (posterior - found[:, None]) ** 2).sum(axis=1)
    np.testing.assert_allclose(fisher_information(found, ratios), expected)


def test_newtons_system_of_a_single_leaf_meets_the_overall_share(rng):
    """With one leaf, a few of its steps find the scores' shift at which all is met on average."""
    labels = rng.integers(2, size=60)
    bags = Bags.from_labels(np.zeros((60, 1)), labels, np.zeros(60))
    loss, scores = CovariateShiftLoss(bags, correlation=0.0), rng.normal(size=(60, 1))
    for _ in range(20):
        step = step_at(loss, class_probabilities_from(scores), np.ones(60))
        second, downwards = step.system(0, np.zeros(60, dtype=int), 1)
        scores = scores + np.linalg.solve(second, downwards)
    assert class_probabilities_from(scores)[:, 1].mean() == pytest.approx(labels.mean())


def test_held_out_units_have_no_slope(some_bags, rng):
    found = class_probabilities_from(some_scores(some_bags, rng))
    by_bag, by_row = CovariateShiftLoss(some_bags, 0.0), LabelShiftLoss(some_bags)
    slope = step_at(by_bag, found, by_bag.row_weights(np.array([2]))).slope(slice(None))
    np.testing.assert_array_equal(np.any(slope != 0, axis=1), some_bags.bag_index != 2)
    slope = step_at(by_row, found, by_row.row_weights(np.array([7, 8]))).slope(slice(None))
    np.testing.assert_array_equal(np.any(slope != 0, axis=1), ~np.isin(np.arange(40), [7, 8]))


def test_the_scores_of_the_prior_give_the_prior():
    for prior in ([0.3, 0.7], [0.2, 0.3, 0.5]):
        np.testing.assert_allclose(class_probabilities_from(prior_scores(np.array(prior))[None])[0], prior)


def test_far_scores_stay_finite():
    np.testing.assert_array_equal(class_probabilities_from(np.array([[-1e4], [1e4]])), [[1, 0], [0, 1]])
