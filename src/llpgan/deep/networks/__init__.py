"""Networks: classifiers, which return logits and features, and generators, which turn noise into instances.

Each network is made by a function of the shape of an instance, and :func:`default_pair` selects one by that shape.
Any module of your own with the same inputs and outputs can be used instead.

>>> import torch
>>> classifier = mnist_classifier((1, 28, 28), n_classes=10)
>>> logits, features = classifier(torch.zeros(5, 1, 28, 28))
>>> logits.shape, features.shape
(torch.Size([5, 10]), torch.Size([5, 1024]))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from llpgan.deep.networks.paper import (
    cifar_classifier,
    cifar_generator,
    ladder_cifar_classifier,
    ladder_mnist_classifier,
    mnist_classifier,
    mnist_generator,
    nin_classifier,
    normalized_cifar_classifier,
    published_cifar_classifier,
)
from llpgan.deep.networks.parts import (
    ACTIVATIONS,
    Activation,
    Classifier,
    Output,
    Shape,
    check_classifier,
    check_generator,
    he_weights,
    keeps_own_weights,
    mlp_classifier,
    mlp_generator,
    settle_weights,
    signal_spread,
)
from llpgan.deep.networks.photo import learn_patches, photo_classifier, photo_generator, pretrained_classifier
from llpgan.utils.old_names import getattr_of_old_names

__all__ = [
    "ACTIVATIONS",
    "Classifier",
    "MakeClassifier",
    "MakeGenerator",
    "Output",
    "Pair",
    "check_classifier",
    "check_generator",
    "cifar_classifier",
    "cifar_generator",
    "default_pair",
    "he_weights",
    "keeps_own_weights",
    "ladder_cifar_classifier",
    "ladder_mnist_classifier",
    "learn_patches",
    "mlp_classifier",
    "mlp_generator",
    "mnist_classifier",
    "mnist_generator",
    "nin_classifier",
    "normalized_cifar_classifier",
    "paper_pair",
    "photo_classifier",
    "photo_generator",
    "pretrained_classifier",
    "published_cifar_classifier",
    "settle_weights",
    "signal_spread",
]

__getattr__ = getattr_of_old_names(
    "llpgan.deep.networks",
    {
        "settle": "llpgan.deep.networks:settle_weights",
        "settles": "llpgan.deep.networks:keeps_own_weights",
        "signal": "llpgan.deep.networks:signal_spread",
    },
)


_PHOTO_FROM = 24  # pixels a side
_HALVED_FROM = 32  # pixels a side: half of it is what nine layers still see something in
#: Type of a function that makes a classifier: from the shape of an instance, the number of classes, an activation.
MakeClassifier = Callable[[Shape, int, Activation], nn.Module]
#: Type of a function that makes a generator: from the shape of an instance, the size of the noise, an activation.
MakeGenerator = Callable[[Shape, int, Activation], nn.Module]


class Pair(NamedTuple):
    """A classifier and its generator, as functions that make them, with the settings that suit them.

    Attributes
    ----------
    classifier : callable
        A function that makes the classifier from the shape of an instance, the number of classes and the
        activation.
    generator : callable
        A function that makes the generator from the shape of an instance, the size of the noise and the
        activation.
    learning_rate : float
        The learning rate of the optimizer.
    betas : tuple of float
        The two decay rates of Adam, which also trains the generator.
    coarse_until : float, default=0.0
        The fraction of the training that sees smaller images.
    coarsest : float, default=0.5
        The share of their height and width that images have at first.
    optimizer : {"adam", "sgd", "muon"}, default="adam"
        The optimizer of the classifier.
    warm_up : float, default=0.0
        The fraction of the training over which the learning rate rises.
    decay_from : float, default=0.5
        The fraction of the training after which it falls.
    average : float, default=0.999
        The decay of the moving average of the weights.
    augment : str, default=None
        The random changes of images.
    activation : {"leaky_relu", "relu", "gelu"}, default="leaky_relu"
        The activation of the classifier.
    n_steps : int, default=None
        About how many steps training takes. None means 100 epochs.
    fakes_per_instance : float, default=1.0
        The number of generated instances for each real one.
    """

    classifier: MakeClassifier
    generator: MakeGenerator
    learning_rate: float
    betas: tuple[float, float]
    coarse_until: float = 0.0
    coarsest: float = 0.5
    optimizer: str = "adam"
    warm_up: float = 0.0
    decay_from: float = 0.5
    average: float = 0.999
    augment: str | None = None
    activation: str = "leaky_relu"
    n_steps: int | None = None
    fakes_per_instance: float = 1.0


def default_pair(shape: Shape) -> Pair:
    """Return the default networks for the shape of the instances.

    These are dense networks for tables, :func:`photo_classifier` and :func:`photo_generator` for colour images of
    24 pixels a side or more, and the networks of the paper for other images (see :func:`paper_pair`).

    Photographs are learned by Muon in about 2,400 steps, with flips and small shifts, and smaller than they are
    for the first three quarters of the training.

    Parameters
    ----------
    shape : tuple of int
        The shape of an instance.

    Returns
    -------
    Pair
        The networks, and the settings that suit them.
    """
    if len(shape) == 3 and shape[0] > 1 and min(shape[1:]) >= _PHOTO_FROM:
        return Pair(
            photo_classifier,
            photo_generator,
            learning_rate=0.08,
            betas=(0.5, 0.99),
            coarse_until=0.75,
            coarsest=max(0.625, 20 / min(shape[1:])),
            optimizer="muon",
            warm_up=0.1,
            decay_from=0.1,
            average=0.995,
            augment="slight_shifts_and_flips",
            activation="gelu",
            n_steps=2_400,
            fakes_per_instance=0.5,
        )
    return paper_pair(shape)


def paper_pair(shape: Shape) -> Pair:
    """Return the networks of the paper for the shape of the instances, with settings that suit similar networks.

    For images of one channel and at most 28 x 28 pixels these are the networks for MNIST, for other images those
    for CIFAR. For tables they are dense networks.

    With the networks of the paper, gradients almost vanish once they are confident, until a bag comes that they do
    not fit. With betas (0.5, 0.999), Adam then changes weights by up to 16 times the learning rate, which can
    destroy within an epoch what was learned; with (0.5, 0.99) it is at most 5 times. The nine layers for CIFAR
    diverge at a learning rate of 0.001. Images of 32 x 32 pixels or more are learned coarse first: at full size,
    these layers can stay at the overall shares for many epochs.

    Parameters
    ----------
    shape : tuple of int
        The shape of an instance.

    Returns
    -------
    Pair
        The networks, and the settings that suit them.
    """
    if len(shape) == 1:
        return Pair(mlp_classifier, mlp_generator, 3e-3, (0.5, 0.999))
    if len(shape) == 3 and shape[0] == 1 and max(shape[1:]) <= 28:
        return Pair(mnist_classifier, mnist_generator, 1e-3, (0.5, 0.99))
    coarse_until = 0.8 if len(shape) == 3 and min(shape[1:]) >= _HALVED_FROM else 0.0
    return Pair(cifar_classifier, cifar_generator, 3e-4, (0.5, 0.99), coarse_until)
