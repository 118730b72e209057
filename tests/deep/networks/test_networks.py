"""Shapes of what goes in and out, sizes as the paper gives them, and one step of each player."""

import pytest
import torch
from torch import nn

from llpgan.deep import networks
from llpgan.deep.networks.parts import halve

IMAGES = [(1, 28, 28), (1, 8, 8), (3, 32, 32), (2, 19, 30)]
IMAGE_CLASSIFIERS = [
    networks.mnist_classifier,
    networks.cifar_classifier,
    networks.ladder_mnist_classifier,
    networks.ladder_cifar_classifier,
    networks.nin_classifier,
]
IMAGE_GENERATORS = [networks.mnist_generator, networks.cifar_generator]


@pytest.mark.parametrize("shape", IMAGES)
@pytest.mark.parametrize("make", [*IMAGE_CLASSIFIERS, networks.mlp_classifier])
def test_classifiers_give_logits_and_features(make, shape):
    logits, features = make(shape, 7)(torch.zeros(3, *shape))
    assert logits.shape == (3, 7)
    assert features.shape[0] == 3
    assert features.ndim == 2


@pytest.mark.parametrize("shape", IMAGES)
@pytest.mark.parametrize("make", [*IMAGE_GENERATORS, networks.mlp_generator])
def test_generators_give_instances(make, shape):
    assert make(shape, 100)(torch.zeros(3, 100)).shape == (3, *shape)


@pytest.mark.parametrize("make", IMAGE_GENERATORS)
def test_generated_pixels_stand_between_minus_one_and_one(make):
    pixels = make((1, 28, 28), 100)(10 * torch.randn(50, 100))
    assert pixels.abs().max() <= 1


@pytest.mark.parametrize("make", [*IMAGE_CLASSIFIERS, *IMAGE_GENERATORS])
def test_rows_of_a_table_are_no_images(make):
    with pytest.raises(ValueError, match=r"for images .* got instances of shape \(64,\)"):
        make((64,), 10)


def kernels(network):
    return [
        (m.out_channels, m.kernel_size[0], m.stride[0])
        for m in network.modules()
        if isinstance(m, nn.Conv2d | nn.ConvTranspose2d)
    ]


def widths(network):
    return [m.out_features for m in network.modules() if isinstance(m, nn.Linear)]


def test_the_paper_s_mnist_networks():
    classifier = networks.mnist_classifier((1, 28, 28), 10)
    assert kernels(classifier) == [(32, 5, 2), (64, 3, 2), (32, 1, 1)]
    assert widths(classifier) == [1024, 10]
    assert widths(networks.mnist_generator((1, 28, 28), 100)) == [500, 500, 784]


def test_the_paper_s_cifar_networks():
    classifier = networks.cifar_classifier((3, 32, 32), 100)
    assert kernels(classifier) == [
        *[(64, 3, 1), (64, 3, 1), (64, 3, 2)],
        *[(128, 3, 1), (128, 3, 1), (128, 3, 2)],
        *[(256, 3, 1), (128, 1, 1), (64, 1, 1)],
    ]
    assert widths(classifier) == [100]
    published = networks.published_cifar_classifier((3, 32, 32), 100)
    assert kernels(published) == kernels(classifier)
    rates = [[m.p for m in network.modules() if isinstance(m, nn.Dropout)] for network in (published, classifier)]
    assert rates == [[0.2, 0.5, 0.5], [0.0, 0.0, 0.0]]
    assert not any(isinstance(m, nn.BatchNorm2d) for m in classifier.modules())
    generator = networks.cifar_generator((3, 32, 32), 100)
    assert widths(generator) == [4 * 4 * 512]
    assert kernels(generator) == [(256, 5, 2), (128, 5, 2), (3, 5, 2)]


@pytest.mark.parametrize(
    ("shape", "classifier"),
    [
        ((64,), networks.mlp_classifier),
        ((1, 28, 28), networks.mnist_classifier),
        ((1, 8, 8), networks.mnist_classifier),
        ((1, 32, 32), networks.cifar_classifier),
        ((3, 23, 32), networks.cifar_classifier),
        ((3, 24, 32), networks.photo_classifier),
        ((3, 128, 96), networks.photo_classifier),
    ],
)
def test_the_default_goes_by_shape(shape, classifier):
    pair = networks.default_pair(shape)
    assert pair.classifier is classifier
    assert pair.generator(shape, 5, nn.ReLU)(torch.zeros(2, 5)).shape == (2, *shape)


@pytest.mark.parametrize("make", IMAGE_CLASSIFIERS)
def test_every_parameter_of_a_classifier_learns(make):
    network = make((1, 28, 28), 3)
    nn.functional.cross_entropy(network(torch.randn(8, 1, 28, 28)).logits, torch.arange(8) % 3).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())


def test_halving_rounds_up():
    assert [halve(28, 2), halve(7), halve(32, 3), halve(30, 3)] == [7, 4, 4, 4]


def test_outliers_of_a_table_are_clipped_softly():
    values = networks.parts.SoftClip(3.0)(torch.tensor([-1e9, -0.01, 0.0, 0.01, 1e9]))
    torch.testing.assert_close(values, torch.tensor([-3.0, -0.01, 0.0, 0.01, 3.0]), atol=1e-5, rtol=1e-4)
