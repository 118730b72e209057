"""The transport plan against POT and a linear programme; ROT's loss against a plain loop."""

import math

import numpy as np
import ot
import pytest
import torch
from scipy.optimize import linprog

from llpgan.deep.losses import proportion_loss
from llpgan.deep.losses.self_labels import TransportLoss, harden_plan, self_training_loss, transport_plan
from tests.deep.losses.oracle_bags import (
    assert_finite_at_large_logits,
    assert_order_does_not_matter,
    in_both_precisions,
    labelled,
)


def each_bag(logits, bag_index, proportions):
    """Rows, costs and proportions of each bag in double precision."""
    costs = -logits.double().log_softmax(1).numpy()
    for bag, shares in enumerate(proportions.double().numpy()):
        rows = np.flatnonzero(bag_index.numpy() == bag)
        yield rows, costs[rows], shares / shares.sum()


@in_both_precisions
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_balanced_plan_is_that_of_pot(epsilon, dtype, tolerance):
    arguments = labelled(dtype, sizes=(1, 6, 9))
    plan = transport_plan(*arguments, epsilon, torch.inf, n_iterations=2000)
    for rows, costs, shares in each_bag(*arguments):
        there = shares > 0
        masses = np.full(len(rows), 1 / len(rows))
        expected = np.zeros_like(costs)
        expected[:, there] = ot.sinkhorn(
            masses,
            shares[there],
            costs[:, there],
            epsilon,
            method="sinkhorn_log",
            stopThr=1e-10,
            numItermax=2000,
        )
        np.testing.assert_allclose(plan[rows].numpy() / len(rows), expected, atol=1e-4 if epsilon < 1 else 1e-5)


@pytest.mark.filterwarnings("ignore:If reg_type")
@pytest.mark.parametrize("relaxation", [0.1, 1.0, 10.0])
def test_the_relaxed_plan_is_that_of_pot(relaxation):
    arguments = labelled(torch.float64, sizes=(6, 9))
    plan = transport_plan(*arguments, 0.5, relaxation, n_iterations=2000)
    for rows, costs, shares in each_bag(*arguments):
        there = shares > 0
        masses = np.full(len(rows), 1 / len(rows))
        expected = np.zeros_like(costs)
        expected[:, there] = ot.unbalanced.sinkhorn_unbalanced(
            masses,
            shares[there],
            costs[:, there],
            0.5,
            (np.inf, relaxation),
            reg_type="entropy",
            stopThr=1e-13,
            numItermax=2000,
        )
        np.testing.assert_allclose(plan[rows].numpy() / len(rows), expected, atol=1e-5)


def test_with_little_entropy_the_plan_is_the_cheapest_by_a_linear_programme():
    logits, bag_index, proportions = labelled(torch.float64, sizes=(7,))
    plan = transport_plan(logits, bag_index, proportions, 0.03, torch.inf, n_iterations=1000)
    (_, costs, shares) = next(each_bag(logits, bag_index, proportions))
    of_rows, of_columns = np.kron(np.eye(7), np.ones(3)), np.kron(np.ones(7), np.eye(3))
    best = linprog(costs.ravel(), A_eq=np.vstack([of_rows, of_columns]), b_eq=[*np.full(7, 1 / 7), *shares])
    assert (plan.numpy() / 7 * costs).sum() == pytest.approx(best.fun, abs=5e-3)


@in_both_precisions
def test_rows_sum_to_one_and_absent_classes_get_nothing(dtype, tolerance):
    logits, bag_index, proportions = labelled(dtype, sizes=(2, 6))
    plan = transport_plan(logits, bag_index, proportions)
    torch.testing.assert_close(plan.sum(1), torch.ones(8, dtype=dtype))
    assert (proportions == 0).any()
    assert plan[(proportions == 0)[bag_index]].eq(0).all()


@in_both_precisions
@pytest.mark.parametrize("hard", [False, True])
def test_the_loss_agrees_with_a_plain_loop(hard, dtype, tolerance):
    logits, bag_index, proportions = labelled(dtype)
    plan = transport_plan(logits, bag_index, proportions).tolist()
    if hard:
        plan = [[float(k == row.index(max(row))) for k in range(len(row))] for row in plan]
    log_posteriors = logits.log_softmax(1).tolist()
    pairs = zip(plan, log_posteriors, strict=True)
    own = -sum(math.fsum(q * f for q, f in zip(*pair, strict=True)) for pair in pairs) / len(plan)
    expected = 0.6 * proportion_loss(logits, bag_index, proportions).item() + 0.4 * own
    found = TransportLoss(weight=0.4, hard=hard)(logits, bag_index, proportions)
    assert found.dtype == dtype
    assert found.item() == pytest.approx(expected, rel=tolerance)


def test_gradients_flow_through_the_predictions_and_not_through_the_plan():
    logits, bag_index, proportions = labelled(torch.float64)
    targets = transport_plan(logits, bag_index, proportions)
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: self_training_loss(x, targets), logits)
    (found,) = torch.autograd.grad(TransportLoss(weight=1.0)(logits, bag_index, proportions), logits)
    torch.testing.assert_close(found, (logits.softmax(1) - targets) / len(logits))


def test_hard_targets_are_the_largest_shares():
    assert harden_plan(torch.tensor([[0.2, 0.5, 0.3], [0.9, 0.1, 0.0]])).tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nothing_overflows(dtype):
    _, bag_index, proportions = labelled(dtype, sizes=(1, 9, 4))
    for relaxation in (1.0, torch.inf):
        assert_finite_at_large_logits(TransportLoss(relaxation=relaxation), bag_index, proportions, dtype)


def test_order_of_rows_and_bags_does_not_matter():
    assert_order_does_not_matter(TransportLoss(), *labelled(torch.float64))


def test_without_weight_it_is_the_proportion_loss_to_the_bit():
    arguments = labelled(torch.float32)
    assert torch.equal(TransportLoss(weight=0.0)(*arguments), proportion_loss(*arguments))
