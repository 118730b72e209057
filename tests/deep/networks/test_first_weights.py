"""First weights: every network of the library tells instances apart before it learns."""

from functools import partial
from inspect import isfunction
from typing import get_type_hints

import pytest
import torch
from torch import nn

from llpgan import DLLP
from llpgan.bags.fit_warnings import TrainingWarning
from llpgan.deep import networks
from llpgan.deep.networks.parts import leaky_relu, relative_spread

pytestmark = pytest.mark.slow  # many seconds together

LEAST_SPREAD = 0.1
MADE = {
    make: get_type_hints(make).get("return", type(None))
    for make in map(partial(getattr, networks), networks.__all__)
    if isfunction(make) and make is not networks.pretrained_classifier  # it takes a network instead of a shape
}
CLASSIFIERS = [make for make, kind in MADE.items() if issubclass(kind, networks.Classifier)]
GENERATORS = [make for make, kind in MADE.items() if issubclass(kind, nn.Module) and make not in CLASSIFIERS]
DEEP_WITHOUT_NORMS = [networks.cifar_classifier, networks.published_cifar_classifier, networks.nin_classifier]


def test_every_network_of_the_library_is_looked_at():
    assert len(CLASSIFIERS) == 9
    assert len(GENERATORS) == 4


def images(n=128, shape=(3, 32, 32)):
    """Smooth random images in [−1, 1], that differ in few coarse patches."""
    torch.manual_seed(0)
    coarse = torch.randn(n, shape[0], 4, 4)
    return nn.functional.interpolate(coarse, size=shape[1:], mode="bilinear").tanh()


@pytest.mark.parametrize("activation", [leaky_relu, nn.ReLU])
@pytest.mark.parametrize("make", CLASSIFIERS)
def test_every_classifier_distinguishes_instances_before_training(make, activation):
    torch.manual_seed(0)
    network = make((3, 32, 32), 10, activation)
    if network.settles:
        networks.settle_weights(network, images())
    assert networks.signal_spread(network, images()) > LEAST_SPREAD


@pytest.mark.parametrize("make", [make for make in CLASSIFIERS if make((3, 32, 32), 10).settles])
def test_deep_classifiers_distinguish_instances_before_they_are_settled(make):
    torch.manual_seed(0)
    assert networks.signal_spread(make((3, 32, 32), 10), images()) > LEAST_SPREAD


@pytest.mark.parametrize("make", DEEP_WITHOUT_NORMS)
def test_the_check_finds_weights_that_lose_the_signal(make):
    torch.manual_seed(0)
    assert networks.signal_spread(with_default_weights(make((3, 32, 32), 10)), images()) < 0.01


@pytest.mark.parametrize("make", GENERATORS)
def test_every_generator_makes_instances_that_differ(make):
    torch.manual_seed(0)
    fakes = make((3, 32, 32), 100)(torch.rand(128, 100) * 2 - 1).flatten(1)
    assert fakes.std(0).mean() > 0.2


def with_default_weights(network):
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.reset_parameters()
    return network


def test_settled_layers_have_mean_zero_and_deviation_one_and_logits_are_small():
    network = networks.cifar_classifier((3, 16, 16), 4)
    shown = images(64, (3, 16, 16))
    networks.settle_weights(network, shown)
    said = []
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(lambda layer, inputs, outputs: said.append(outputs))
    network.eval()(shown)
    assert len(said) == 10
    for outputs, deviation in zip(said, [1.0] * 9 + [0.1], strict=True):
        channels = outputs.transpose(0, 1).flatten(1)
        torch.testing.assert_close(channels.mean(1), torch.zeros(len(channels)), atol=1e-3, rtol=0)
        torch.testing.assert_close(channels.std(1), torch.full((len(channels),), deviation), atol=1e-3, rtol=0)


def test_settling_keeps_the_mode_and_leaves_no_hook():
    network = networks.cifar_classifier((3, 16, 16), 4).train()
    networks.settle_weights(network, images(8, (3, 16, 16)))
    assert network.training
    assert all(module.training for module in network.modules())
    assert not any(module._forward_hooks for module in network.modules())


def test_a_channel_that_never_changes_is_only_shifted():
    network = nn.Sequential(nn.Linear(2, 3))
    networks.settle_weights(network, torch.ones(10, 2))
    outputs = network(torch.ones(4, 2))
    assert outputs.isfinite().all()
    torch.testing.assert_close(outputs, torch.zeros(4, 3), atol=1e-6, rtol=0)


def test_layers_without_a_bias_are_only_scaled():
    network = nn.Sequential(nn.Conv2d(1, 2, 3, bias=False))
    networks.settle_weights(network, torch.randn(20, 1, 6, 6) + 1, last=1.0)
    assert network(torch.randn(20, 1, 6, 6)).std().item() == pytest.approx(1, abs=0.2)


def test_relative_spread_ignores_scale():
    values = torch.randn(50, 7) + 3
    assert relative_spread(values) == pytest.approx(relative_spread(1e-6 * values))


def test_a_network_of_the_user_that_loses_the_signal_is_named_before_training(bags_of_images):
    network = with_default_weights(networks.cifar_classifier((3, 16, 16), 2))
    with pytest.warns(TrainingWarning, match=r"differ by only .*networks.settle"):
        DLLP(classifier=network, epochs=1, random_state=0).fit_bags(bags_of_images)


def test_a_module_of_the_user_starts_from_its_own_weights(bags_of_images):
    network = networks.cifar_classifier((3, 16, 16), 2)
    model = DLLP(classifier=network, epochs=1, learning_rate=1e-12, random_state=0).fit_bags(bags_of_images)
    trained = model.classifier_[1].state_dict()
    assert all(torch.allclose(value, trained[name], atol=1e-6) for name, value in network.state_dict().items())


def test_a_network_that_is_made_for_the_bags_is_settled_on_them(bags_of_images):
    model = DLLP(epochs=1, learning_rate=1e-12, average=0.0, random_state=0).fit_bags(bags_of_images)
    logits, _ = model.classifier_(torch.from_numpy(bags_of_images.instances))
    assert logits.std(0).mean().item() == pytest.approx(0.1, abs=0.01)
