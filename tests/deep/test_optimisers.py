"""Muon, optimisers by name, and what deep methods make of the parameter ``optimizer``."""

import numpy as np
import pytest
import torch
from torch import nn

from llpgan import DLLP, LLPGAN
from llpgan.deep.loop import Muon, orthogonalize, split_parameters


@pytest.mark.parametrize("shape", [(64, 24, 3, 3), (256, 64, 3, 3), (40, 8), (8, 40)])
def test_singular_values_of_an_update_are_near_one(shape):
    update = orthogonalize(torch.randn(shape, generator=torch.Generator().manual_seed(0)))
    assert update.shape == shape
    values = torch.linalg.svdvals(update.flatten(1))
    assert values.max() < 1.3
    assert values.median() > 0.65


def test_the_iteration_is_newton_and_schulzs():
    update = torch.randn(5, 9, dtype=torch.float64)
    expected = update / update.norm()
    for _ in range(3):
        gram = expected @ expected.T
        expected = 3.4445 * expected + (-4.775 * gram + 2.0315 * gram @ gram) @ expected
    torch.testing.assert_close(orthogonalize(update), expected, rtol=1e-8, atol=1e-10)


def test_an_update_of_zero_stays_zero():
    assert torch.equal(orthogonalize(torch.zeros(3, 4)), torch.zeros(3, 4))


def test_filters_have_one_norm_before_each_step():
    weight = nn.Parameter(torch.randn(4, 2, 3, 3))
    optimiser = Muon([weight], [], rate=0.0)
    weight.grad = torch.randn_like(weight)
    optimiser.step()
    assert weight.norm().item() == pytest.approx(2.0, rel=1e-5)


def test_all_but_filters_are_trained_as_by_adam():
    ours, theirs = (nn.Parameter(torch.linspace(-1, 1, 7)) for _ in range(2))
    optimiser = Muon([], [ours], rest_rate=0.01, rest_betas=(0.8, 0.98), weight_decay=0.1)
    adam = torch.optim.AdamW([theirs], 0.01, (0.8, 0.98), weight_decay=0.1)
    for step in range(5):
        for parameter in (ours, theirs):
            parameter.grad = (parameter.detach() - step).sin()
        optimiser.step()
        adam.step()
    torch.testing.assert_close(ours, theirs)


def test_the_last_weights_biases_and_norms_are_not_filters():
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 5), nn.Linear(5, 2))
    filters, others = split_parameters(list(network.parameters()))
    assert [tuple(parameter.shape) for parameter in filters] == [(4, 3, 3, 3), (5, 4)]
    assert len(filters) + len(others) == len(list(network.parameters()))


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "muon", torch.optim.Adagrad])
def test_an_optimizer_by_name_or_by_function_trains_the_classifier(bags, optimizer):
    model = LLPGAN(optimizer=optimizer, epochs=2, random_state=0)
    first, again = (model.fit_bags(bags).predict_proba(bags.instances) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert len(model.history_) == 2


def test_a_setting_is_refused_if_a_function_makes_the_optimizer(bags):
    with pytest.raises(ValueError, match=r"learning_rate=0\.1: set it in the function that is given as optimizer"):
        DLLP(optimizer=torch.optim.Adagrad, learning_rate=0.1).fit_bags(bags)


def test_what_is_no_optimizer_is_refused(bags):
    with pytest.raises(TypeError, match=r"optimizer made a list, not a torch\.optim\.Optimizer"):
        DLLP(optimizer=list).fit_bags(bags)
