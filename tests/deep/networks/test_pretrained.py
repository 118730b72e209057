"""Networks that were trained on something else."""

import numpy as np
import pytest
import torch
from torch import nn

from llpgan import DLLP
from llpgan.deep.loop import named_optimizer
from llpgan.deep.networks import pretrained_classifier


def body():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 8, 3), nn.AdaptiveAvgPool2d(1)
    )


@pytest.mark.parametrize(("n_trained", "moved"), [(0, []), (1, ["3.bias", "3.weight"]), (None, "all")])
def test_only_the_last_layers_are_trained_and_statistics_never(n_trained, moved):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (32, 3, 8, 8)).astype(np.uint8)
    y = (X.mean(axis=(1, 2, 3)) > 127).astype(int)
    before = body().state_dict()
    network = pretrained_classifier(body(), 2, n_trained=n_trained, size=(12, 12))
    model = DLLP(classifier=network, optimizer="adam", epochs=2, random_state=0, calibrate=False)
    after = model.fit(X, y, groups=np.arange(32) // 4).classifier_.state_dict()
    names = {name: next(found for found in after if found.endswith(f"network.{name}")) for name in before}
    changed = sorted(name for name, value in before.items() if not torch.equal(value, after[names[name]]))
    weights = sorted(name for name, _ in body().named_parameters())
    assert changed == (weights if moved == "all" else moved)


def test_pretrained_layers_learn_more_slowly():
    network = pretrained_classifier(body(), 2, n_trained=None, lr_factor=0.01, size=(12, 12))
    optimizer = named_optimizer("adam", list(network.parameters()), 0.1, None, 0.0, has_norm=True)
    rates = {weights: group["lr"] for group in optimizer.param_groups for weights in group["params"]}
    assert {rates[weights] for weights in network.head.parameters()} == {0.1}
    assert {rates[weights] for weights in network.body.parameters()} == {0.001}


def test_texts_cannot_be_trained():
    with pytest.raises(ValueError, match="no torch module for images"):
        pretrained_classifier(lambda texts: np.zeros((len(texts), 2)), 2)
