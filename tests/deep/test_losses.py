"""Every loss against a plain loop, in two precisions; its gradient; and logits that would overflow."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llpgan.deep import losses

PRECISIONS = [(torch.float32, 1e-5), (torch.float64, 1e-12)]
in_both_precisions = pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS, ids=["float32", "float64"])


def ragged(dtype, sizes=(1, 5, 3), n_classes=4, seed=0):
    """Logits, a shuffled bag index, and proportions, one of them zero."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(sum(sizes), n_classes, generator=generator, dtype=dtype) * 3
    bag_index = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    bag_index = bag_index[torch.randperm(len(bag_index), generator=generator)]
    proportions = torch.rand(len(sizes), n_classes, generator=generator, dtype=dtype)
    proportions[0, 0] = 0
    return logits, bag_index, proportions / proportions.sum(1, keepdim=True)


def softmax(row):
    exponentials = [math.exp(value) for value in row]
    return [value / sum(exponentials) for value in exponentials]


def rows_of(logits, bag_index, bag):
    return [softmax(row) for row, index in zip(logits.tolist(), bag_index.tolist(), strict=True) if index == bag]


def plain_proportion_loss(logits, bag_index, proportions):
    total = 0.0
    for bag, shares in enumerate(proportions.tolist()):
        members = rows_of(logits, bag_index, bag)
        for k, share in enumerate(shares):
            total -= share * math.log(sum(member[k] for member in members) / len(members))
    return total / len(proportions)


def plain_proportion_bound(logits, bag_index, proportions):
    total = 0.0
    for bag, shares in enumerate(proportions.tolist()):
        members = rows_of(logits, bag_index, bag)
        for k, share in enumerate(shares):
            total -= share * sum(math.log(member[k]) for member in members) / len(members)
    return total / len(proportions)


def plain_entropy(logits):
    entropies = [-sum(p * math.log(p) for p in softmax(row)) for row in logits.tolist()]
    return sum(entropies) / len(entropies)


def fake_probabilities(logits):
    return [softmax([*row, 0.0])[-1] for row in logits.tolist()]  # the (K+1)-way softmax, written out


def plain_real(logits):
    return -sum(math.log(1 - fake) for fake in fake_probabilities(logits)) / len(logits)


def plain_fake(logits):
    return -sum(math.log(fake) for fake in fake_probabilities(logits)) / len(logits)


def plain_saturating(logits):
    return sum(math.log(fake) for fake in fake_probabilities(logits)) / len(logits)


def plain_feature_matching(real, fake):
    columns = zip(real.T.tolist(), fake.T.tolist(), strict=True)
    gaps = [(sum(a) / len(a) - sum(b) / len(b)) ** 2 for a, b in columns]
    return sum(gaps) / len(gaps)


def plain_pull_away(features):
    rows, total = features.tolist(), 0.0
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            if i != j:
                dot = sum(x * y for x, y in zip(a, b, strict=True))
                total += (dot / math.hypot(*a) / math.hypot(*b)) ** 2
    return total / (len(rows) * (len(rows) - 1))


BAG_LOSSES = {
    losses.proportion_loss: plain_proportion_loss,
    losses.proportion_bound: plain_proportion_bound,
}
INSTANCE_LOSSES = {
    losses.instance_entropy: plain_entropy,
    losses.real_loss: plain_real,
    losses.fake_loss: plain_fake,
    losses.saturating_loss: plain_saturating,
    losses.nonsaturating_loss: plain_real,
    losses.pull_away: plain_pull_away,
}


@in_both_precisions
@pytest.mark.parametrize(("loss", "plain"), BAG_LOSSES.items())
def test_bag_losses_agree_with_a_plain_loop(loss, plain, dtype, tolerance):
    arguments = ragged(dtype)
    assert loss(*arguments).dtype == dtype
    assert loss(*arguments).item() == pytest.approx(plain(*arguments), rel=tolerance)


@in_both_precisions
@pytest.mark.parametrize(("loss", "plain"), INSTANCE_LOSSES.items())
def test_instance_losses_agree_with_a_plain_loop(loss, plain, dtype, tolerance):
    logits, _, _ = ragged(dtype)
    assert loss(logits).dtype == dtype
    assert loss(logits).item() == pytest.approx(plain(logits), rel=tolerance)


@in_both_precisions
def test_feature_matching_agrees_with_a_plain_loop(dtype, tolerance):
    real, fake = ragged(dtype)[0], ragged(dtype, sizes=(4, 2), seed=1)[0]
    expected = plain_feature_matching(real, fake)
    assert losses.feature_matching(real, fake).item() == pytest.approx(expected, rel=tolerance)


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(2, 5), st.integers(0, 1000))
def test_ragged_bags_of_any_size(sizes, n_classes, seed):
    arguments = ragged(torch.float64, sizes, n_classes, seed)
    for loss, plain in BAG_LOSSES.items():
        assert loss(*arguments).item() == pytest.approx(plain(*arguments), rel=1e-10)


@pytest.mark.parametrize("loss", BAG_LOSSES)
def test_gradients_of_bag_losses(loss):
    logits, bag_index, proportions = ragged(torch.float64)
    assert torch.autograd.gradcheck(lambda x: loss(x, bag_index, proportions), logits.requires_grad_())


@pytest.mark.parametrize("loss", INSTANCE_LOSSES)
def test_gradients_of_instance_losses(loss):
    assert torch.autograd.gradcheck(loss, ragged(torch.float64)[0].requires_grad_())


def test_gradient_of_feature_matching():
    real, fake = ragged(torch.float64)[0], ragged(torch.float64, seed=1)[0]
    assert torch.autograd.gradcheck(losses.feature_matching, (real.requires_grad_(), fake.requires_grad_()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_nothing_overflows_at_large_logits(dtype, sign):
    logits, bag_index, proportions = ragged(dtype)
    logits = (sign * 1e4 * logits.sign()).requires_grad_()
    values = [loss(logits, bag_index, proportions) for loss in BAG_LOSSES]
    values += [loss(logits) for loss in INSTANCE_LOSSES]
    values.append(losses.feature_matching(logits, logits.detach().roll(1, 0)[:4]))
    for value in values:
        (gradient,) = torch.autograd.grad(value, logits, retain_graph=True)
        assert value.isfinite()
        assert gradient.isfinite().all()


def test_order_of_rows_and_bags_does_not_matter():
    logits, bag_index, proportions = ragged(torch.float64)
    rows, bags = torch.randperm(len(logits)), torch.tensor([2, 0, 1])
    renamed = torch.argsort(bags)[bag_index]
    for loss in BAG_LOSSES:
        expected = loss(logits, bag_index, proportions)
        torch.testing.assert_close(loss(logits[rows], renamed[rows], proportions[bags]), expected)


def test_without_its_sampling_bias_a_sample_s_loss_is_that_of_the_bag(rng):
    """The mean over many samples of 40 of 200; sure predictions, so that samples differ much."""
    logits = torch.as_tensor(rng.normal(size=(200, 3))) * 4
    proportions = torch.tensor([[0.2, 0.3, 0.5]], dtype=torch.float64)
    whole = losses.proportion_loss(logits, torch.zeros(200, dtype=torch.int64), proportions).item()
    places, sizes = torch.zeros(40, dtype=torch.int64), torch.tensor([200])
    samples = [logits[rng.choice(200, 40, replace=False)] for _ in range(3000)]
    plain = np.array([losses.proportion_loss(sample, places, proportions).item() for sample in samples])
    corrections = np.array([losses.sampling_correction(s, places, proportions, sizes).item() for s in samples])
    bias, left = plain.mean() - whole, (plain - corrections).mean() - whole
    error = plain.std() / np.sqrt(len(plain))
    assert bias > 10 * error
    assert abs(left) < 0.1 * bias + 3 * error


def test_a_whole_bag_has_no_sampling_bias(rng):
    logits = torch.as_tensor(rng.normal(size=(30, 4)))
    bag_index = torch.as_tensor(np.repeat([0, 1], [10, 20]))
    proportions = torch.full((2, 4), 0.25, dtype=torch.float64)
    assert losses.sampling_correction(logits, bag_index, proportions, torch.tensor([10, 20])).item() == 0
