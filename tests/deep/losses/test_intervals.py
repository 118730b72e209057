"""MixBag's loss against a plain loop, and its margins against all samples."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch

from llpgan.deep.losses import proportion_loss
from llpgan.deep.mixed_bags import interval_loss, mixed_proportions
from tests.deep.losses.oracle_bags import in_both_precisions, labelled, members


def plain_interval_loss(logits, bag_index, proportions, margins):
    total = 0.0
    for bag, shares in enumerate(proportions.tolist()):
        rows = members(logits, bag_index, bag)
        for k, share in enumerate(shares):
            mean = sum(row[k] for row in rows) / len(rows)
            if abs(mean - share) >= margins[bag, k].item():
                total -= share * math.log(mean)
    return total / len(proportions)


@in_both_precisions
def test_the_loss_agrees_with_a_plain_loop(dtype, tolerance):
    arguments = (*labelled(dtype), torch.tensor([[0.0, 0.3, 0.1], [0.2, 0.2, 0.2], [0.5, 0.0, 0.5]], dtype=dtype))
    found = interval_loss(*arguments)
    assert found.dtype == dtype
    assert found.item() == pytest.approx(plain_interval_loss(*arguments), rel=tolerance)
    assert found != proportion_loss(*arguments[:3])


def test_gradient():
    logits, bag_index, proportions = labelled(torch.float64)
    margins = torch.full_like(proportions, 0.2)
    assert torch.autograd.gradcheck(
        lambda x: interval_loss(x, bag_index, proportions, margins), logits.requires_grad_()
    )


def test_without_margins_it_is_the_proportion_loss_to_the_bit():
    logits, bag_index, proportions = labelled(torch.float32)
    found = interval_loss(logits, bag_index, proportions, torch.zeros_like(proportions))
    assert torch.equal(found, proportion_loss(logits, bag_index, proportions))


def test_margins_are_the_deviation_over_all_samples():
    """Three of five and two of six, every pair of samples enumerated."""
    one, other = np.array([1, 1, 0, 0, 0]), np.array([1, 1, 1, 1, 0, 0])
    samples = [(sum(a) + sum(b)) / 5 for a in combinations(one, 3) for b in combinations(other, 2)]
    shares = [np.array([bag.mean(), 1 - bag.mean()]) for bag in (one, other)]
    expected, margins = mixed_proportions(tuple(shares), (3, 2), (5, 6), confidence=0.99)
    assert expected[0] == pytest.approx(np.mean(samples))
    np.testing.assert_allclose(margins, 2.5758 * np.std(samples), rtol=1e-4)
