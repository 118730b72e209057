"""Devices and precision: what "auto" takes, what is refused, and that nothing is announced twice."""

import logging

import numpy as np
import pytest
import torch
from torch import nn

from llpgan import DLLP, Bags
from llpgan.deep import devices, networks

CPU = torch.device("cpu")


@pytest.fixture
def with_bfloat16(monkeypatch):
    monkeypatch.setattr(devices, "has_bfloat16", lambda device: True)


@pytest.fixture
def without_bfloat16(monkeypatch):
    monkeypatch.setattr(devices, "has_bfloat16", lambda device: False)


def test_deep_convolutional_networks_train_in_bfloat16_where_the_device_does(with_bfloat16):
    assert (
        devices.choose_precision("auto", networks.cifar_classifier((3, 32, 32), 10), CPU, (3, 32, 32))
        == "bf16-mixed"
    )


@pytest.mark.parametrize(
    ("network", "shape"),
    [(nn.Linear(3, 2), (3,)), (networks.mnist_classifier((1, 28, 28), 10), (1, 28, 28))],
    ids=["dense", "shallow"],
)
def test_dense_and_shallow_networks_train_in_32_bit(with_bfloat16, network, shape):
    assert devices.choose_precision("auto", network, CPU, shape) == "32-true"


@pytest.mark.parametrize("shape", [(1, 60, 1), (1, 60, 2), (3, 1, 40), (3, 2, 2)])
def test_convolutions_over_lines_are_not_computed_in_bfloat16(with_bfloat16, shape):
    """torch 2.13 leaves the gradient of their weights uninitialised."""
    network = networks.cifar_classifier(shape, 2)
    assert devices.choose_precision("auto", network, CPU, shape) == "32-true"
    with pytest.raises(ValueError, match="set precision='32-true'"):
        devices.choose_precision("bf16-mixed", network, CPU, shape)


@pytest.mark.parametrize(("shape", "coarse_until"), [((1, 30, 1), None), ((3, 5, 3), 0.5)])
def test_images_that_are_lines_give_the_same_model_for_the_same_seed(with_bfloat16, shape, coarse_until, rng):
    labels = np.arange(48) % 2
    images = rng.normal(size=(48, *shape)) + labels[:, None, None, None]
    bags = Bags.from_labels(images, labels, np.arange(48) // 8)
    settings = {"classifier": networks.cifar_classifier, "epochs": 2, "random_state": 0}
    losses = set()
    for _ in range(3):
        _leave_nans_in_freed_memory()
        model = DLLP(coarse_until=coarse_until, **settings).fit_bags(bags)
        losses.add(model.history_[-1]["proportion_loss"])
    assert len(losses) == 1


def test_without_the_hardware_all_networks_train_in_32_bit(without_bfloat16):
    assert (
        devices.choose_precision("auto", networks.cifar_classifier((3, 32, 32), 10), CPU, (3, 32, 32)) == "32-true"
    )


def test_a_precision_that_is_asked_for_is_used(without_bfloat16):
    assert devices.choose_precision("bf16-mixed", nn.Linear(3, 2), CPU, (3,)) == "bf16-mixed"


@pytest.mark.parametrize("name", ["cuda:7", "abacus", "meta:x"])
def test_a_device_that_is_not_there_is_named(name, bags):
    with pytest.raises(ValueError, match=f"device '{name}' is not available"):
        DLLP(device=name).fit_bags(bags)


@pytest.mark.parametrize("precision", ["8-bit", "bf16", "16-true", ""])
def test_a_precision_that_is_not_documented_is_refused(precision, bags):
    """Fabric takes more names: weights of 16 bits overflow, and "bf16" would not be checked as "bf16-mixed" is."""
    with pytest.raises(ValueError, match=f"precision='{precision}': give one of 'auto', '32-true', 'bf16-mixed'"):
        DLLP(precision=precision).fit_bags(bags)


def test_mixed_precision_is_not_announced(bags_of_images, caplog, capfd):
    with caplog.at_level(logging.INFO):
        model = DLLP(precision="bf16-mixed", epochs=1, random_state=0).fit_bags(bags_of_images)
        model.predict(bags_of_images.instances)
    assert "Precision" not in caplog.text + "".join(capfd.readouterr())


def _leave_nans_in_freed_memory():
    for size in range(1, 20_000, 500):
        torch.full((size,), float("nan"))
