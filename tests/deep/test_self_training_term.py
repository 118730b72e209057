"""LLP-DC's term: its gradient, its view, its ramp, chunks, and labels that meet the bags."""

import copy

import numpy as np
import pytest
import torch

from llpgan import DLLP, LLPDC
from llpgan.deep.batches import BagDataset
from llpgan.deep.losses import proportion_loss
from llpgan.deep.losses.self_labels import self_training_loss
from llpgan.deep.objectives import SelfTraining
from tests.deep.test_smoothness_term import assert_went_down, objective_with
from tests.plain import plain_mlp


def objective_of(network, bags, at_once=None, **settings):
    return objective_with(SelfTraining(**{"soft": True} | settings), network, bags, at_once)


def negated(instances):
    return -instances


@pytest.mark.parametrize("at_once", [None, 16])
@pytest.mark.parametrize("view", [None, negated])
def test_the_step_is_that_of_its_loss_whole_and_in_chunks(view, at_once, bags):
    torch.manual_seed(0)
    objective = objective_of(plain_mlp((3,), 2), bags, at_once, view=view)
    network = copy.deepcopy(objective.classifier.bare)
    batch = BagDataset(bags).batch(range(10))
    logits = network(batch.instances)[0]
    there = logits if view is None else network(view(batch.instances))[0]
    targets = SelfTraining(soft=True).targets(logits.detach(), batch.bag_index, batch.proportions)
    loss = proportion_loss(logits, batch.bag_index, batch.proportions) + 0.5 * self_training_loss(there, targets)
    gradients = torch.autograd.grad(loss, list(network.parameters()))
    objective.step(BagDataset(bags, at_once=at_once).batch(range(10)))
    assert_went_down(objective, network, gradients)


def test_the_weight_rises(bags):
    torch.manual_seed(0)
    network, batch = plain_mlp((3,), 2), BagDataset(bags).batch(range(10))

    def moved(progress, weight):
        objective = objective_of(network, bags, weight=weight, ramp_until=0.4)
        objective.set_progress(progress)
        objective.step(batch)
        return next(objective.classifier.bare.parameters()).detach()

    assert torch.equal(moved(0.5, 0.3), moved(0.4, 0.3))
    torch.testing.assert_close(moved(0.0, 0.3), moved(0.4, 0.3 * np.exp(-5)))


def test_soft_labels_meet_the_proportions_and_hard_ones_the_counts_where_the_network_is_sure(bags):
    batch = BagDataset(bags).batch(range(10))
    logits = torch.randn(len(batch.bag_index), 2, generator=torch.Generator().manual_seed(0), dtype=torch.double)

    def means(targets):
        return torch.stack([targets[batch.bag_index == bag].mean(0) for bag in range(10)])

    soft = SelfTraining(soft=True).targets(logits, batch.bag_index, batch.proportions)
    torch.testing.assert_close(means(soft), batch.proportions.double(), atol=1e-3, rtol=0)
    hard = SelfTraining(confidence=0.0).targets(logits, batch.bag_index, batch.proportions)
    torch.testing.assert_close(means(hard), batch.proportions.double())
    sure = SelfTraining(confidence=0.9).targets(logits, batch.bag_index, batch.proportions)
    posteriors = (logits.softmax(1) * hard).sum(1)
    assert torch.equal(sure.sum(1) > 0, posteriors >= 0.9)


def test_without_a_view_it_is_dllp_with_the_loss_of_assignments_to_the_bit(bags):
    settings = {"epochs": 4, "random_state": 0}
    one, other = LLPDC(**settings), DLLP(proportion_loss="assignment", **settings)
    weights = [model.fit_bags(bags).classifier_.state_dict() for model in (one, other)]
    for name, value in weights[0].items():
        assert torch.equal(value, weights[1][name]), name


def test_labels_are_made_without_the_view_and_learned_with_it(bags):
    seen = []

    def noted(instances):
        seen.append(instances.clone())
        return instances + 1

    model = LLPDC(epochs=1, view=noted, random_state=0).fit_bags(bags)
    assert sum(map(len, seen)) == 2 + len(bags.instances)  # two to try the function on
    assert "self_training_loss" in model.history_[0]


def test_what_it_cannot_do_is_refused_with_a_message(bags):
    with pytest.raises(ValueError, match="view='distortions' is for images"):
        LLPDC(view="distortions").fit_bags(bags)
    with pytest.raises(ValueError, match="view made"):
        LLPDC(view=lambda x: x[:1]).fit_bags(bags)
    with pytest.raises(ValueError, match="set augment or max_instances_per_step to None"):
        LLPDC(view=negated, augment=negated, max_instances_per_step=8).fit_bags(bags)
