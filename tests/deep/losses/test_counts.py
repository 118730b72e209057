"""The count likelihood against every labelling of a bag."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from scipy.stats import binom

from llpgan.deep.losses.bag_losses import HEADS, CountLoss, count_loss
from tests.deep.losses.oracle_bags import (
    assert_finite_at_large_logits,
    assert_order_does_not_matter,
    counts_of,
    in_both_precisions,
    labelled,
    members,
)


def chance_of_count(chances, count):
    """P(S = count): the sum over all outcomes of independent members."""
    outcomes = (outcome for outcome in product((0, 1), repeat=len(chances)) if sum(outcome) == count)
    return sum(
        math.prod(p if is_one else 1 - p for p, is_one in zip(chances, outcome, strict=True))
        for outcome in outcomes
    )


def sigmoid_members(logits, bag_index, bag):
    shift = math.log(logits.shape[1] - 1)
    rows = zip(logits.tolist(), bag_index.tolist(), strict=True)
    return [[1 / (1 + math.exp(shift - value)) for value in row] for row, index in rows if index == bag]


def plain_count_loss(logits, bag_index, proportions, heads):
    total = 0.0
    posteriors = members if heads == "softmax" else sigmoid_members
    for bag, counts in enumerate(counts_of(proportions, bag_index)):
        rows = posteriors(logits, bag_index, bag)
        total -= sum(math.log(chance_of_count([row[k] for row in rows], n)) for k, n in enumerate(counts))
    return total / len(proportions)


@in_both_precisions
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize(("sizes", "n_classes"), [((1,), 2), ((2, 1), 3), ((1, 9, 4, 7), 3), ((8, 8), 2)])
def test_counts_agree_with_all_labellings(heads, sizes, n_classes, dtype, tolerance):
    arguments = labelled(dtype, sizes, n_classes)
    found = count_loss(*arguments, heads)
    assert found.dtype == dtype
    assert found.item() == pytest.approx(plain_count_loss(*arguments, heads), rel=tolerance)


def test_members_that_are_alike_have_a_binomial_count():
    logits = torch.tensor([[0.4, -0.3]], dtype=torch.float64).expand(200, 2)
    found = count_loss(logits, torch.zeros(200, dtype=torch.int64), torch.tensor([[0.35, 0.65]]))
    p = logits[0].softmax(0)[0].item()
    assert found.item() == pytest.approx(-2 * binom.logpmf(70, 200, p), rel=1e-10)


@pytest.mark.parametrize("heads", HEADS)
def test_gradient(heads):
    logits, bag_index, proportions = labelled(torch.float64, sizes=(1, 6, 3))
    assert torch.autograd.gradcheck(
        lambda x: count_loss(x, bag_index, proportions, heads), logits.requires_grad_()
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("heads", HEADS)
def test_nothing_overflows(heads, dtype):
    _, bag_index, proportions = labelled(dtype, sizes=(1, 9, 40))
    assert_finite_at_large_logits(CountLoss(heads), bag_index, proportions, dtype)


def test_single_precision_is_enough_for_large_bags():
    single = labelled(torch.float32, sizes=(500, 37), n_classes=10, spread=6.0)
    double = (single[0].double(), single[1], single[2].double())
    assert count_loss(*single).item() == pytest.approx(count_loss(*double).item(), rel=1e-5)


def test_order_of_rows_and_bags_does_not_matter():
    assert_order_does_not_matter(CountLoss(), *labelled(torch.float64))


def test_bags_of_one_are_labels():
    """For two classes each count is the label: twice the cross-entropy."""
    logits, bag_index, proportions = labelled(torch.float64, sizes=(1,) * 6, n_classes=2)
    labels = proportions[bag_index].argmax(1)
    expected = 2 * torch.nn.functional.cross_entropy(logits, labels)
    torch.testing.assert_close(count_loss(logits, bag_index, proportions), expected)


def test_bags_beyond_the_memory_of_a_law_are_refused():
    n = 10_001
    with pytest.raises(ValueError, match=r"bag 1 of the step has 10001 instances.* of 2 classes .* up to 10000"):
        count_loss(torch.zeros(n + 1, 2), torch.as_tensor(np.repeat([0, 1], [1, n])), torch.full((2, 2), 0.5))


def test_samples_are_refused_with_a_message():
    with pytest.raises(ValueError, match="needs whole bags: leave mini_bag_size at None"):
        CountLoss()(*labelled(torch.float32), torch.tensor([9, 9, 9]))


def test_other_heads_are_refused():
    with pytest.raises(ValueError, match="heads='both'"):
        CountLoss("both")
