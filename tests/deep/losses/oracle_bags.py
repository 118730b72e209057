"""What the tests of losses share: ragged bags whose proportions are those of labels, and posteriors as lists."""

import math

import pytest
import torch

in_both_precisions = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 2e-5), (torch.float64, 1e-11)], ids=["float32", "float64"]
)


def labelled(dtype, sizes=(1, 5, 3), n_classes=3, seed=0, spread=2.0):
    """Logits, a shuffled bag index, and the proportions of labels drawn at random."""
    generator = torch.Generator().manual_seed(seed)
    n = sum(sizes)
    logits = torch.randn(n, n_classes, generator=generator, dtype=dtype) * spread
    bag_index = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    bag_index = bag_index[torch.randperm(n, generator=generator)]
    labels = torch.randint(n_classes, (n,), generator=generator)
    hot = torch.nn.functional.one_hot(labels, n_classes).to(dtype)
    totals = torch.zeros(len(sizes), n_classes, dtype=dtype).index_add(0, bag_index, hot)
    return logits, bag_index, totals / torch.tensor(sizes, dtype=dtype)[:, None]


def softmax(row):
    peak = max(row)
    exponentials = [math.exp(value - peak) for value in row]
    return [value / sum(exponentials) for value in exponentials]


def members(logits, bag_index, bag):
    """The posteriors of a bag's members."""
    rows = zip(logits.tolist(), bag_index.tolist(), strict=True)
    return [softmax(row) for row, index in rows if index == bag]


def counts_of(proportions, bag_index):
    """The whole class counts of each bag, as lists."""
    sizes = [bag_index.tolist().count(bag) for bag in range(len(proportions))]
    return [[round(m * p) for p in shares] for m, shares in zip(sizes, proportions.tolist(), strict=True)]


def assert_order_does_not_matter(loss, logits, bag_index, proportions):
    """Rows and bags in another order have the same loss."""
    rows = torch.randperm(len(logits), generator=torch.Generator().manual_seed(1))
    bags = torch.roll(torch.arange(len(proportions)), 1)
    renamed = torch.argsort(bags)[bag_index]
    other = loss(logits[rows], renamed[rows], proportions[bags])
    torch.testing.assert_close(other, loss(logits, bag_index, proportions))


def assert_finite_at_large_logits(loss, bag_index, proportions, dtype):
    """Value and gradient where posteriors are zero and one to the last digit."""
    n, k = len(bag_index), proportions.shape[1]
    signs = torch.randn(n, k, generator=torch.Generator().manual_seed(2)).sign().to(dtype)
    logits = (1e4 * signs).requires_grad_()
    value = loss(logits, bag_index, proportions)
    (gradient,) = torch.autograd.grad(value, logits)
    assert value.isfinite()
    assert gradient.isfinite().all()
