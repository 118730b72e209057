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

MakeClassifier = Callable[[Shape, int, Activation], nn.Module]  # shape, classes, activation
MakeGenerator = Callable[[Shape, int, Activation], nn.Module]  # shape, size of the noise, activation


class Pair(NamedTuple):
    """A classifier and the generator that goes with it, as functions that make them, and Adam's settings."""

    classifier: MakeClassifier
    generator: MakeGenerator
    learning_rate: float
    betas: tuple[float, float]


def default_pair(shape: Shape) -> Pair:
    """Dense for tables; for images the paper's MNIST pair up to 28 x 28 in one channel, else CIFAR's.

    The paper's networks become sure of themselves; gradients then all but vanish, until a bag comes that is not
    met. With Adam's betas (0.5, 0.999) it moves weights by 16 times the rate, and all that was learned may be lost
    within an epoch; with (0.5, 0.99) by 5 times at most. CIFAR's nine layers go astray at a rate of 1e-3.
    """
    if len(shape) == 1:
        return Pair(mlp_classifier, mlp_generator, 3e-3, (0.5, 0.999))
    if len(shape) == 3 and shape[0] == 1 and max(shape[1:]) <= 28:
        return Pair(mnist_classifier, mnist_generator, 1e-3, (0.5, 0.99))
    return Pair(cifar_classifier, cifar_generator, 3e-4, (0.5, 0.99))
