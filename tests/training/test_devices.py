"""Devices and precision: what "auto" takes, what is refused, and that nothing is announced twice."""

import logging

import pytest
import torch
from torch import nn

from llpgan import DLLP
from llpgan.training import devices, networks

CPU = torch.device("cpu")


@pytest.fixture
def with_bfloat16(monkeypatch):
    monkeypatch.setattr(devices, "has_bfloat16", lambda device: True)


@pytest.fixture
def without_bfloat16(monkeypatch):
    monkeypatch.setattr(devices, "has_bfloat16", lambda device: False)


def test_deep_convolutional_networks_train_in_bfloat16_where_the_device_does(with_bfloat16):
    assert devices.precision_for("auto", networks.cifar_classifier((3, 32, 32), 10), CPU) == "bf16-mixed"


@pytest.mark.parametrize("network", [nn.Linear(3, 2), networks.mnist_classifier((1, 28, 28), 10)])
def test_dense_and_shallow_networks_train_in_32_bit(with_bfloat16, network):
    assert devices.precision_for("auto", network, CPU) == "32-true"


def test_without_the_hardware_all_networks_train_in_32_bit(without_bfloat16):
    assert devices.precision_for("auto", networks.cifar_classifier((3, 32, 32), 10), CPU) == "32-true"


def test_a_precision_that_is_asked_for_is_taken(without_bfloat16):
    assert devices.precision_for("bf16-mixed", nn.Linear(3, 2), CPU) == "bf16-mixed"


@pytest.mark.parametrize("name", ["cuda:7", "abacus", "meta:x"])
def test_a_device_that_is_not_there_is_named(name, bags):
    with pytest.raises(ValueError, match=f"device '{name}' is not available"):
        DLLP(device=name).fit_bags(bags)


def test_an_unknown_precision_is_named(bags):
    with pytest.raises(ValueError, match="precision '8-bit'"):
        DLLP(precision="8-bit").fit_bags(bags)


def test_mixed_precision_is_not_announced(bags_of_images, caplog, capfd):
    with caplog.at_level(logging.INFO):
        model = DLLP(precision="bf16-mixed", epochs=1, random_state=0).fit_bags(bags_of_images)
        model.predict(bags_of_images.instances)
    assert "Precision" not in caplog.text + "".join(capfd.readouterr())
