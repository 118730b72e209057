"""Assigned labels against every labelling with the bag's counts."""

import math
from itertools import permutations

import numpy as np
import pytest
import torch

from llpgan.deep.losses import proportion_loss
from llpgan.deep.losses.self_labels import LARGEST_BAG, AssignmentLoss, assign_labels, confident_targets
from tests.deep.losses.oracle_bags import (
    assert_order_does_not_matter,
    counts_of,
    in_both_precisions,
    labelled,
    members,
)


@in_both_precisions
@pytest.mark.parametrize("seed", range(4))
def test_assigned_labels_are_the_most_likely_with_the_bag_s_counts(seed, dtype, tolerance):
    logits, bag_index, proportions = labelled(dtype, sizes=(1, 6, 4), seed=seed)
    labels = assign_labels(logits, bag_index, proportions)
    for bag, counts in enumerate(counts_of(proportions, bag_index)):
        rows = members(logits, bag_index, bag)
        pool = [k for k, n in enumerate(counts) for _ in range(n)]
        best = max(
            sum(math.log(row[k]) for row, k in zip(rows, order, strict=True)) for order in set(permutations(pool))
        )
        found = labels[bag_index == bag].tolist()
        assert sorted(found) == pool
        chosen = sum(math.log(row[k]) for row, k in zip(rows, found, strict=True))
        assert chosen == pytest.approx(best, rel=tolerance)


def test_unsure_labels_are_left_out():
    logits = torch.tensor([[0.8, 0.2], [0.55, 0.45], [0.3, 0.7]]).log()
    targets = confident_targets(logits, torch.tensor([0, 0, 0]), 0.5)
    assert targets.tolist() == [[1, 0], [1, 0], [0, 0]]


@in_both_precisions
def test_the_loss_agrees_with_a_plain_loop(dtype, tolerance):
    logits, bag_index, proportions = labelled(dtype)
    labels = assign_labels(logits, bag_index, proportions).tolist()
    assigned = [row[k] for row, k in zip(logits.softmax(1).tolist(), labels, strict=True)]
    own = -sum(math.log(p) for p in assigned if p >= 0.6) / len(assigned)
    expected = proportion_loss(logits, bag_index, proportions).item() + 0.5 * own
    assert AssignmentLoss()(logits, bag_index, proportions).item() == pytest.approx(expected, rel=tolerance)


def test_gradient_is_that_of_fixed_labels():
    logits, bag_index, proportions = labelled(torch.float64, sizes=(1, 3))
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: AssignmentLoss()(x, bag_index, proportions), logits)


def test_without_weight_it_is_the_proportion_loss_to_the_bit():
    arguments = labelled(torch.float32)
    assert torch.equal(AssignmentLoss(weight=0.0)(*arguments), proportion_loss(*arguments))


def test_order_of_rows_and_bags_does_not_matter():
    assert_order_does_not_matter(AssignmentLoss(), *labelled(torch.float64))


def test_bags_beyond_the_memory_of_a_table_of_costs_are_refused():
    n = LARGEST_BAG + 1
    with pytest.raises(ValueError, match="bag 1 of the step has 4097 instances"):
        assign_labels(torch.zeros(n + 1, 2), torch.as_tensor(np.repeat([0, 1], [1, n])), torch.full((2, 2), 0.5))
