"""Moment matching against every subset and every labelling of it, written out."""

import math
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
import torch

from llpgan.deep.losses import proportion_loss, sampling_correction
from llpgan.deep.losses.moments import FORMS, MomentLoss, moment_loss
from tests.deep.losses.oracle_bags import (
    assert_finite_at_large_logits,
    assert_order_does_not_matter,
    counts_of,
    in_both_precisions,
    labelled,
    members,
)


def law_of_counts(posteriors, r):
    """P_r: the mean over subsets of the chance of each vector of class counts."""
    n_classes, law = len(posteriors[0]), Counter()
    subsets = list(combinations(posteriors, r))
    for subset in subsets:
        for labels in product(range(n_classes), repeat=r):
            chance = math.prod(row[label] for row, label in zip(subset, labels, strict=True))
            law[tuple(labels.count(k) for k in range(n_classes))] += chance / len(subsets)
    return law


def known_law(counts, r):
    """H_r: the same of labels that are known."""
    rows = [[float(k == label) for k in range(len(counts))] for label, n in enumerate(counts) for _ in range(n)]
    return law_of_counts(rows, r)


def of_class(law, k):
    """The law of one class's count alone."""
    alone = Counter()
    for vector, chance in law.items():
        alone[vector[k]] += chance
    return alone


def cross_entropy(target, predicted):
    return -sum(chance * math.log(predicted[vector]) for vector, chance in target.items() if chance)


def plain_moment_loss(logits, bag_index, proportions, order, form):
    total, n_classes = 0.0, logits.shape[1]
    for bag, counts in enumerate(counts_of(proportions, bag_index)):
        posteriors, terms = members(logits, bag_index, bag), []
        for r in range(1, min(order, len(posteriors)) + 1):
            known, predicted = known_law(counts, r), law_of_counts(posteriors, r)
            if r == 1 or form == "joint":
                terms.append(cross_entropy(known, predicted))
            else:
                alone = [cross_entropy(of_class(known, k), of_class(predicted, k)) for k in range(n_classes)]
                terms.append(sum(alone) * (n_classes - 1) / n_classes)
        total += sum(terms) / len(terms)
    return total / len(proportions)


@in_both_precisions
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("order", "n_classes"), [(1, 3), (2, 3), (3, 4), (5, 2), (5, 3)])
def test_moments_agree_with_enumerated_subsets(form, order, n_classes, dtype, tolerance):
    arguments = labelled(dtype, sizes=(1, 6, 3, 5), n_classes=n_classes)
    expected = plain_moment_loss(*arguments, order, form)
    found = moment_loss(*arguments, order, form)
    assert found.dtype == dtype
    assert found.item() == pytest.approx(expected, rel=tolerance)


@in_both_precisions
def test_order_one_is_the_proportion_loss_to_the_bit(dtype, tolerance):
    logits, bag_index, proportions = labelled(dtype)
    expected, found = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    one, other = proportion_loss(expected, bag_index, proportions), moment_loss(found, bag_index, proportions, 1)
    assert torch.equal(one, other)
    gradients = torch.autograd.grad(one, expected), torch.autograd.grad(other, found)
    assert torch.equal(gradients[0][0], gradients[1][0])


@pytest.mark.parametrize("form", FORMS)
def test_gradient(form):
    logits, bag_index, proportions = labelled(torch.float64)
    loss = MomentLoss(order=3, form=form)
    assert torch.autograd.gradcheck(lambda x: loss(x, bag_index, proportions), logits.requires_grad_())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("form", FORMS)
def test_nothing_overflows(form, dtype):
    _, bag_index, proportions = labelled(dtype, sizes=(1, 9, 4))
    assert_finite_at_large_logits(MomentLoss(order=4, form=form), bag_index, proportions, dtype)


def test_single_precision_is_enough_for_large_bags():
    """Sure and unsure predictions of a bag of 500: no digits are lost in the tree."""
    single = labelled(torch.float32, sizes=(500, 37), n_classes=10, spread=6.0)
    double = (single[0].double(), single[1], single[2].double())
    assert moment_loss(*single, 8).item() == pytest.approx(moment_loss(*double, 8).item(), rel=1e-5)


def test_order_of_rows_and_bags_does_not_matter():
    assert_order_does_not_matter(MomentLoss(order=3), *labelled(torch.float64))


def test_the_right_labels_have_the_least_loss_and_the_bag_s_shares_for_each_have_not():
    """The order-1 loss cannot tell them apart; that is what higher orders are for."""
    labels = torch.tensor([0, 0, 1, 2])
    proportions, bag = torch.tensor([[0.5, 0.25, 0.25]]), torch.zeros(4, dtype=torch.int64)
    sure = 30.0 * torch.nn.functional.one_hot(labels, 3)
    blurred = proportions.log().expand(4, 3)
    for order in (2, 4):
        loss = MomentLoss(order=order)
        assert loss(blurred, bag, proportions) > loss(sure, bag, proportions) + 0.05


def test_samples_are_compared_with_the_counts_of_their_bags(rng):
    """Drawing two of a sample is drawing two of the bag: with all members alike, samples have the bag's loss."""
    logits = torch.tensor([[1.0, 0.0, -1.0]], dtype=torch.float64).expand(12, 3)
    proportions = torch.tensor([[1 / 4, 1 / 4, 1 / 2]], dtype=torch.float64)
    whole = moment_loss(logits, torch.zeros(12, dtype=torch.int64), proportions, 3)
    sample = torch.zeros(4, dtype=torch.int64)
    found = moment_loss(logits[:4], sample, proportions, 3, full_sizes=torch.tensor([12]))
    torch.testing.assert_close(found, whole)


def test_the_first_order_of_samples_is_freed_of_their_bias(rng):
    logits = torch.as_tensor(rng.normal(size=(20, 3)))
    bag_index = torch.as_tensor(np.repeat([0, 1], 10))
    proportions = torch.full((2, 3), 1 / 3, dtype=torch.float64)
    sizes = torch.tensor([30, 30])
    expected = proportion_loss(logits, bag_index, proportions)
    expected = expected - sampling_correction(logits, bag_index, proportions, sizes)
    torch.testing.assert_close(moment_loss(logits, bag_index, proportions, 1, full_sizes=sizes), expected)


def test_a_law_with_too_many_terms_is_refused():
    ten, two = (labelled(torch.float32, sizes=(60,), n_classes=n_classes) for n_classes in (10, 2))
    with pytest.raises(ValueError, match=r"law of 10 counts at order 8 .* lower the order to 5, or set form="):
        MomentLoss(order=8, form="joint")(*ten)
    for arguments in (ten, two):
        with pytest.raises(ValueError, match=r"law of 2 counts at order 50 .* lower the order to 44$"):
            MomentLoss(order=50)(*arguments)


@pytest.mark.parametrize("form", FORMS)
def test_no_order_is_too_high_for_small_bags(form):
    arguments = labelled(torch.float64, sizes=(3, 5), n_classes=4)
    assert torch.equal(moment_loss(*arguments, 1000, form), moment_loss(*arguments, 5, form))
    assert MomentLoss(order=1000, form=form).largest_bag(4) >= 5


@pytest.mark.parametrize("settings", [{"order": 0}, {"form": "both"}])
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        MomentLoss(**settings)
