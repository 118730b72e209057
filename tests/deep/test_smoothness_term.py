"""LLP-VAT's term: its gradient, its ramp, chunks, and what batch norm sees of it."""

import copy

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from llpgan.deep.batches import BagDataset, Player
from llpgan.deep.images import Scaling
from llpgan.deep.losses import proportion_loss
from llpgan.deep.objectives import (
    ProportionObjective,
    Smoothness,
    adversarial_changes,
    divergence,
    keep_statistics,
)
from tests.plain import plain_mlp


def objective_with(term, network, bags, at_once=None, precision="64-true"):
    """DLLP's objective with a term, for a network whose step is its gradient."""
    fabric = Fabric(accelerator="cpu", devices=1, precision=precision)
    scaled = torch.nn.Sequential(Scaling.from_instances(bags.instances), copy.deepcopy(network))
    player = Player(scaled, lambda p: torch.optim.SGD(p, 1.0), fabric, at_once)
    return ProportionObjective(classifier=player, terms=[term])


def objective_of(network, bags, at_once=None, weight=0.5, precision="64-true"):
    return objective_with(Smoothness(weight=weight, length=0.5), network, bags, at_once, precision)


def assert_went_down(objective, network, gradients):
    """The classifier took a step of length one from the network's weights."""
    after = objective.classifier.bare.parameters()
    for before, gradient, now in zip(network.parameters(), gradients, after, strict=True):
        torch.testing.assert_close(now, before - gradient)


@pytest.mark.parametrize("at_once", [None, 16])
def test_the_step_is_that_of_its_loss_whole_and_in_chunks(at_once, bags):
    """In chunks the adversary's random starts are drawn for a chunk at a time, and alike in both passes."""
    torch.manual_seed(0)
    objective = objective_of(plain_mlp((3,), 2), bags, at_once)
    objective.set_progress(0.5)
    batch = BagDataset(bags).batch(range(10))
    network = copy.deepcopy(objective.classifier.bare)
    torch.manual_seed(1)
    logits = network(batch.instances)[0]
    changed = torch.cat(
        [
            part + adversarial_changes(lambda x: network(x)[0], part, 0.5, 0.01, network[0].spread)
            for part in batch.instances.split(at_once or 80)
        ]
    )
    loss = proportion_loss(logits, batch.bag_index, batch.proportions)
    loss = loss + 0.5 * divergence(logits.detach(), network(changed)[0])
    gradients = torch.autograd.grad(loss, list(network.parameters()))
    torch.manual_seed(1)
    objective.step(BagDataset(bags, at_once=at_once).batch(range(10)))
    assert_went_down(objective, network, gradients)


def test_the_weight_rises(bags):
    torch.manual_seed(0)
    network, batch = plain_mlp((3,), 2), BagDataset(bags).batch(range(10))

    def moved(progress, weight):
        objective = objective_of(network, bags, weight=weight)
        objective.set_progress(progress)
        torch.manual_seed(1)
        objective.step(batch)
        return torch.cat([p.flatten() for p in objective.classifier.bare.parameters()]).detach()

    without, early, full = moved(0.0, 0.0), moved(0.0, 10.0), moved(0.4, 10.0)
    assert 0 < (early - without).norm() < 0.05 * (full - without).norm()


def test_bytes_are_changed_as_numbers_in_units_of_the_networks(bags_of_images):
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), plain_mlp((768,), 2))
    objective = objective_of(network, bags_of_images)
    batch = BagDataset(bags_of_images).batch([0, 1])
    assert batch.instances.dtype == torch.uint8
    changes = objective.terms[0].adversarial(objective.classifier.bare, batch.instances) - batch.instances
    lengths = (2 * changes / np.ptp(bags_of_images.instances)).flatten(1).norm(dim=1)
    torch.testing.assert_close(lengths, torch.full((16,), 0.5, dtype=lengths.dtype), rtol=1e-4, atol=0)


def test_changes_are_found_where_training_is_in_bfloat16(bags):
    torch.manual_seed(0)
    objective = objective_of(plain_mlp((3,), 2), bags, precision="bf16-mixed")
    objective.set_progress(0.5)
    losses = objective.step(BagDataset(bags).batch(range(10)))
    assert losses["smoothness"] > 0


def test_batch_norm_takes_no_notice():
    norm = torch.nn.BatchNorm1d(2)
    before = copy.deepcopy(norm.state_dict())
    with keep_statistics(norm):
        shifted = norm(torch.randn(8, 2) + 5)
    assert abs(shifted.mean().item()) < 1e-5
    assert all(torch.equal(value, before[name]) for name, value in norm.state_dict().items())
    norm(torch.randn(8, 2))
    assert norm.num_batches_tracked == 1
