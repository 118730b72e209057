"""LLPFC's weights against a convex solver, its transitions against counting, its loss against a plain loop."""

import math

import cvxpy
import numpy as np
import pytest
import torch

from llpgan.deep.mixed_bags import forward_corrected_loss, group_weights, grouped_targets, transitions
from tests.deep.losses.oracle_bags import in_both_precisions, labelled, members


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_weights_are_those_of_a_convex_solver(n_classes, rng):
    for _ in range(5):
        proportions, prior = rng.dirichlet(np.ones(n_classes), n_classes), rng.dirichlet(np.ones(n_classes))
        found = group_weights(proportions, prior)
        weights = cvxpy.Variable(n_classes, nonneg=True)
        problem = cvxpy.Problem(
            cvxpy.Minimize(cvxpy.sum_squares(proportions.T @ weights - prior)), [cvxpy.sum(weights) == 1]
        )
        best = problem.solve(solver=cvxpy.CLARABEL)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)
        assert np.square(proportions.T @ found - prior).sum() == pytest.approx(best, abs=1e-6)


def test_bags_that_are_alike_have_equal_weights():
    np.testing.assert_allclose(group_weights(np.full((2, 2), 0.5), np.array([0.1, 0.9])), [0.5, 0.5], atol=1e-6)


def test_transitions_are_how_often_a_class_is_in_each_bag():
    """Two bags of 10 and of 30: of class 0, 8 instances are in the first and 6 in the second."""
    proportions = np.array([[0.8, 0.2], [0.2, 0.8]])
    found = transitions(proportions, np.array([0.25, 0.75]))
    np.testing.assert_allclose(found, [[8 / 14, 2 / 26], [6 / 14, 24 / 26]])


def test_a_class_that_a_group_does_not_have_is_in_none_of_its_bags():
    found = transitions(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5]))
    np.testing.assert_array_equal(found, [[0.5, 0.0], [0.5, 0.0]])


def plain_forward_corrected(logits, bag_index, proportions, rows, weights):
    total = 0.0
    for bag, (row, weight) in enumerate(zip(rows.tolist(), weights.tolist(), strict=True)):
        if weight:
            posteriors = members(logits, bag_index, bag)
            losses = [-math.log(sum(t * f for t, f in zip(row, p, strict=True))) for p in posteriors]
            total += weight * sum(losses) / len(losses)
    return total / len(rows)


def noisy(dtype):
    """Logits, bags, proportions, rows of transitions (one with a zero), and weights (one of them zero)."""
    logits, bag_index, proportions = labelled(dtype)
    rows = torch.tensor([[0.5, 0.0, 0.2], [0.3, 0.9, 0.1], [0.0, 0.0, 0.0]], dtype=dtype)
    return logits, bag_index, proportions, rows, torch.tensor([1.2, 1.8, 0.0], dtype=dtype)


@in_both_precisions
def test_the_loss_agrees_with_a_plain_loop(dtype, tolerance):
    arguments = noisy(dtype)
    assert forward_corrected_loss(*arguments).dtype == dtype
    found = forward_corrected_loss(*arguments).item()
    assert found == pytest.approx(plain_forward_corrected(*arguments), rel=tolerance)


def test_gradient():
    logits, *others = noisy(torch.float64)
    assert torch.autograd.gradcheck(lambda x: forward_corrected_loss(x, *others), logits.requires_grad_())


@pytest.mark.parametrize("n_bags", [3, 6, 8])
def test_every_bag_has_the_target_of_one_group_of_three(n_bags, rng):
    proportions, prior = rng.dirichlet(np.ones(3), n_bags), np.full(3, 1 / 3)
    rows, weights = grouped_targets(proportions, prior, np.random.default_rng(0))
    order = np.random.default_rng(0).permutation(n_bags)
    groups = [order[start : start + 3] for start in range(0, n_bags // 3 * 3, 3)]
    for group in groups:
        alpha = group_weights(proportions[group], prior)
        np.testing.assert_allclose(weights[group], 3 * alpha, rtol=1e-6)
        np.testing.assert_allclose(rows[group], transitions(proportions[group], alpha), rtol=1e-6)
    left = order[n_bags // 3 * 3 :]
    assert (rows[left].sum(1) > 0).all() or (weights[left] == 0).any()


def test_the_loss_is_least_where_the_posterior_is_right():
    """Two bags with known mixtures of two separated kinds of instances: gradient descent finds the kinds."""
    proportions = np.array([[0.75, 0.25], [0.25, 0.75]])
    rows = torch.as_tensor(transitions(proportions, np.array([0.5, 0.5])))
    kinds, bag_index = torch.tensor([0, 0, 0, 1, 0, 1, 1, 1]), torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    logits = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([logits], 0.3)
    for _ in range(60):
        optimiser.zero_grad()
        weights = torch.ones(2, dtype=torch.float64)
        forward_corrected_loss(logits[kinds], bag_index, rows, rows, weights).backward()
        optimiser.step()
    assert logits.softmax(1).diagonal().min() > 0.95
