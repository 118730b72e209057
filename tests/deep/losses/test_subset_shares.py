"""The loss of shares within a subset of the classes: its formula, and its gradient."""

import numpy as np
import pytest
import torch

from llpgan import Bags
from llpgan.deep.batches import BagDataset
from llpgan.deep.losses.bag_losses import subset_losses

NAN = float("nan")


def test_the_loss_is_its_formula():
    means, within = np.array([0.1, 0.2, 0.3, 0.4]), [0.25, NAN, 0.75, NAN]
    expected = -sum(r * np.log(means[k] / (means[0] + means[2])) for k, r in ((0, 0.25), (2, 0.75)))
    found = subset_losses(torch.tensor(means[None]).log(), torch.tensor([within], dtype=torch.float64))
    assert found.item() == pytest.approx(expected)


def test_its_gradient_is_that_of_differences_and_sees_no_other_class():
    within = torch.tensor([[0.25, NAN, 0.75, NAN], [NAN] * 4], dtype=torch.float64)
    log_means = torch.randn(2, 4, dtype=torch.float64, generator=torch.manual_seed(0)).log_softmax(1)
    log_means.requires_grad_()
    assert torch.autograd.gradcheck(lambda given: subset_losses(given, within), log_means)
    subset_losses(log_means, within).sum().backward()
    assert log_means.grad[0, [1, 3]].tolist() == [0, 0]
    assert log_means.grad[1].tolist() == [0] * 4


def test_a_batch_of_full_vectors_and_subsets_has_the_loss_of_each():
    shares = {"a": [0.4, 0.6, NAN], "b": [0.2, 0.3, 0.5]}
    bags = Bags.from_arrays(np.eye(3), ["a", "a", "b"], shares, within=True)
    logits = torch.randn(3, 3, generator=torch.manual_seed(0), requires_grad=True)
    batch = BagDataset(bags).batch([0, 1])
    loss = batch.loss(logits, batch.bag_index, batch.proportions)
    means = bags.means(logits.detach().softmax(1).double().numpy())
    inside = means[0, :2] / means[0, :2].sum()
    expected = -(np.array([0.4, 0.6]) @ np.log(inside) + np.array(shares["b"]) @ np.log(means[1])) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    loss.backward()
    assert torch.isfinite(logits.grad).all()
