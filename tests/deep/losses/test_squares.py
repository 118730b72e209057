"""Squared losses against plain loops, and their expectation over all random bags against instances' own loss."""

from itertools import product

import pytest
import torch

from llpgan.deep.losses.bag_losses import DebiasedSquareLoss, EasyLoss, debiased_square_loss, easy_square_loss
from tests.deep.losses.oracle_bags import assert_order_does_not_matter, in_both_precisions, labelled, members


def plain_gaps(logits, bag_index, proportions):
    gaps = []
    for bag, shares in enumerate(proportions.tolist()):
        rows = members(logits, bag_index, bag)
        gaps.append([sum(row[k] for row in rows) / len(rows) - share for k, share in enumerate(shares)])
    return gaps


def plain_debiased(logits, bag_index, proportions):
    gaps, total = plain_gaps(logits, bag_index, proportions), 0.0
    for i, gap in enumerate(gaps):
        m = bag_index.tolist().count(i)
        others = [other for j, other in enumerate(gaps) if j != i]
        for k, value in enumerate(gap):
            total += m * value**2 - (m - 1) * value * sum(other[k] for other in others) / len(others)
    return total / len(gaps)


def plain_easy(logits, bag_index, proportions, prior):
    total = 0.0
    for bag, shares in enumerate(proportions.tolist()):
        rows = members(logits, bag_index, bag)
        m = len(rows)
        for row in rows:
            for k, share in enumerate(shares):
                weight = m * share - (m - 1) * prior[k].item()
                total += weight * sum((f - (j == k)) ** 2 for j, f in enumerate(row)) / m
    return total / len(proportions)


PRIOR = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)


@in_both_precisions
def test_the_debiased_square_agrees_with_a_plain_loop(dtype, tolerance):
    arguments = labelled(dtype)
    assert debiased_square_loss(*arguments).dtype == dtype
    assert debiased_square_loss(*arguments).item() == pytest.approx(plain_debiased(*arguments), rel=tolerance)


@in_both_precisions
def test_easyllp_agrees_with_a_plain_loop(dtype, tolerance):
    arguments = (*labelled(dtype), PRIOR.to(dtype))
    assert easy_square_loss(*arguments).dtype == dtype
    assert easy_square_loss(*arguments).item() == pytest.approx(plain_easy(*arguments), rel=10 * tolerance)


def test_gradients():
    logits, bag_index, proportions = labelled(torch.float64)
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: debiased_square_loss(x, bag_index, proportions), logits)
    assert torch.autograd.gradcheck(lambda x: easy_square_loss(x, bag_index, proportions, PRIOR), logits)


@pytest.fixture
def population():
    """Four equally common instances: logits that are wrong on the whole, and labels."""
    generator = torch.Generator().manual_seed(3)
    return torch.randn(4, 2, generator=generator, dtype=torch.float64) + 0.5, torch.tensor([0, 1, 1, 1])


def mean_over_random_bags(population, loss):
    """Over all ways to draw a bag of two and one of one, with replacement."""
    logits, labels = population
    hot = torch.nn.functional.one_hot(labels, 2).double()
    bag_index, values = torch.tensor([0, 0, 1]), []
    for drawn in product(range(4), repeat=3):
        rows = torch.tensor(drawn)
        proportions = torch.stack([hot[rows[:2]].mean(0), hot[rows[2]]])
        values.append(loss(logits[rows], bag_index, proportions))
    return torch.stack(values).mean(), (logits.softmax(1) - hot).square().sum(1).mean()


def test_over_random_bags_the_debiased_square_is_that_of_instances(population):
    torch.testing.assert_close(*mean_over_random_bags(population, debiased_square_loss))


def test_over_random_bags_easyllp_is_the_square_of_instances(population):
    prior = torch.tensor([0.25, 0.75], dtype=torch.float64)
    torch.testing.assert_close(
        *mean_over_random_bags(population, lambda *arguments: easy_square_loss(*arguments, prior))
    )


def test_a_step_of_one_bag_is_refused():
    with pytest.raises(ValueError, match="set bags_per_step to 3 or more"):
        DebiasedSquareLoss()(*labelled(torch.float32, sizes=(5,)))


def test_cross_entropy_is_refused_in_easyllp():
    with pytest.raises(ValueError, match=r"instance_loss='cross_entropy'.* unbounded below"):
        EasyLoss(instance_loss="cross_entropy")


def test_easyllp_takes_the_prior_that_it_is_given():
    assert EasyLoss().knowing((0.1, 0.9)).prior == (0.1, 0.9)
    assert EasyLoss(prior=(0.5, 0.5)).knowing((0.1, 0.9)).prior == (0.5, 0.5)
    with pytest.raises(ValueError, match="give prior"):
        EasyLoss()(*labelled(torch.float32))


def test_a_sample_keeps_its_bag_s_weights():
    logits, bag_index, proportions = labelled(torch.float64, sizes=(4, 4))
    found = easy_square_loss(logits, bag_index, proportions, PRIOR, torch.tensor([40, 40]))
    weights = 40 * proportions - 39 * PRIOR
    rows = weights[bag_index]
    posterior = logits.softmax(1)
    expected = (posterior.square() - 2 * rows * posterior).sum(1).mean() + 1
    torch.testing.assert_close(found, expected)


def test_order_of_rows_and_bags_does_not_matter():
    assert_order_does_not_matter(DebiasedSquareLoss(), *labelled(torch.float64))
    assert_order_does_not_matter(EasyLoss().knowing(tuple(PRIOR.tolist())), *labelled(torch.float64))
