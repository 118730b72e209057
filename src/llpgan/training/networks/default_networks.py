"""The pair of networks for instances of a given shape, where the user names none."""

from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from llpgan.training.networks.dense_networks import mlp_classifier, mlp_generator
from llpgan.training.networks.network_parts import Activation, Shape
from llpgan.training.networks.paper_networks import (
    cifar_classifier,
    cifar_generator,
    mnist_classifier,
    mnist_generator,
)

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
        The learning rate of Adam.
    betas : tuple of float
        The two decay rates of Adam.
    coarse_until : float, default=0.0
        The fraction of the epochs until which training sees smaller images.
    """

    classifier: MakeClassifier
    generator: MakeGenerator
    learning_rate: float
    betas: tuple[float, float]
    coarse_until: float = 0.0


def default_pair(shape: Shape) -> Pair:
    """Return the default networks for the shape of the instances.

    These are dense networks for tables, and for images the networks of the paper: those for MNIST if images have
    one channel and at most 28 x 28 pixels, otherwise those for CIFAR.

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
