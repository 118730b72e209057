"""Virtual adversarial training against a plain loop and the Hessian's leading direction."""

import math

import pytest
import torch

from llpgan.deep.objectives import adversarial_changes, divergence
from tests.deep.losses.oracle_bags import in_both_precisions, softmax


def pair(dtype):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(6, 3, generator=generator, dtype=dtype) for _ in range(2)]


@in_both_precisions
def test_the_divergence_agrees_with_a_plain_loop(dtype, tolerance):
    here, there = pair(dtype)
    total = 0.0
    for one, other in zip(here.tolist(), there.tolist(), strict=True):
        total += sum(p * math.log(p / q) for p, q in zip(softmax(one), softmax(other), strict=True))
    assert divergence(here, there).dtype == dtype
    assert divergence(here, there).item() == pytest.approx(total / 6, rel=tolerance)


def test_gradient():
    here, there = pair(torch.float64)
    assert torch.autograd.gradcheck(divergence, (here.requires_grad_(), there.requires_grad_()))


@in_both_precisions
def test_changes_have_the_length_that_is_asked_for_and_move_predictions_most(dtype, tolerance):
    """Two classes, one direction: logits depend on it alone, so that it is the leading one."""
    direction = torch.tensor([3.0, 4.0], dtype=dtype) / 5

    def logits_of(instances):
        return torch.stack([instances @ direction, torch.zeros(len(instances), dtype=dtype)], 1)

    torch.manual_seed(0)
    instances = torch.randn(20, 2, dtype=dtype)
    changes = adversarial_changes(logits_of, instances, length=0.5, probe=0.01)
    torch.testing.assert_close(changes.norm(dim=1), torch.full((20,), 0.5, dtype=dtype))
    torch.testing.assert_close((changes @ direction).abs(), torch.full((20,), 0.5, dtype=dtype), rtol=1e-4, atol=0)


def test_one_power_iteration_turns_towards_the_leading_direction():
    """Against H d, with the divergence's Hessian Jᵀ (diag f − f fᵀ) J written out."""
    torch.manual_seed(1)
    weight = torch.randn(4, 3, dtype=torch.float64)
    instance = torch.randn(1, 4, dtype=torch.float64)
    state = torch.get_rng_state()
    found = adversarial_changes(lambda x: x @ weight, instance, length=1.0, probe=1e-4)
    torch.set_rng_state(state)
    start = torch.randn(1, 4, dtype=torch.float64)
    f = (instance @ weight).softmax(1)[0]
    hessian = weight @ (torch.diag(f) - torch.outer(f, f)) @ weight.T
    expected = hessian @ start[0]
    torch.testing.assert_close(found[0], expected / expected.norm(), rtol=1e-3, atol=1e-4)


def test_changes_are_in_units_of_the_instances():
    """A column in other units is changed in those units."""
    units = torch.tensor([1.0, 1000.0], dtype=torch.float64)
    weight = torch.randn(2, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    instances = torch.randn(5, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.manual_seed(0)
    plain = adversarial_changes(lambda x: x @ weight, instances, 1.0, 0.01)
    torch.manual_seed(0)
    scaled = adversarial_changes(lambda x: (x / units) @ weight, instances * units, 1.0, 0.01, units)
    torch.testing.assert_close(scaled / units, plain)


def test_a_network_that_does_not_care_changes_nothing():
    changes = adversarial_changes(lambda x: torch.zeros(len(x), 2) * x.sum(), torch.randn(3, 2), 1.0, 0.01)
    assert changes.eq(0).all()
