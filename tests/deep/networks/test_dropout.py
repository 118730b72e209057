"""Dropout drops the share that it is asked to, keeps the mean, and lets gradients through where it keeps."""

import pytest
import torch

from llpgan.deep.networks.parts import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_the_share_that_is_dropped_and_the_mean_that_is_kept(p):
    torch.manual_seed(0)
    found = Dropout(p)(torch.ones(401, 1003))  # an odd number of entries
    assert (found == 0).float().mean().item() == pytest.approx(p, abs=0.003)
    assert found.mean().item() == pytest.approx(1, abs=0.01)
    for every_fourth in range(4):  # each part of a random number
        part = found.flatten()[every_fourth::4]
        assert (part == 0).float().mean().item() == pytest.approx(p, abs=0.006)


def test_neighbours_are_dropped_independently():
    torch.manual_seed(0)
    kept = (Dropout(0.5)(torch.ones(1_000_000)) > 0).float() - 0.5
    for apart in (1, 2, 3, 4):
        assert abs((kept[apart:] * kept[:-apart]).mean().item()) < 0.001


def test_gradients_flow_where_values_do():
    values = torch.randn(50, 7, requires_grad=True)
    found = Dropout(0.3)(values)
    found.sum().backward()
    torch.testing.assert_close(values.grad * values, found.detach())


def test_the_same_seed_drops_the_same():
    first, second = ((torch.manual_seed(3), Dropout(0.3)(torch.ones(100)))[1] for _ in range(2))
    assert torch.equal(first, second)


def test_at_the_ends_and_when_it_predicts():
    values = torch.randn(10)
    assert torch.equal(Dropout(0.0)(values), values)
    assert torch.equal(Dropout(1.0)(values), torch.zeros(10))
    assert torch.equal(Dropout(0.5).eval()(values), values)
