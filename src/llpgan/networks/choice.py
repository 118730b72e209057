"""The pair of networks for instances of a given shape, where the user names none."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from torch import nn

from llpgan.networks.mlp import mlp_classifier, mlp_generator
from llpgan.networks.paper import cifar_classifier, cifar_generator, mnist_classifier, mnist_generator
from llpgan.networks.parts import Activation, Shape

MakeClassifier = Callable[[Shape, int, Activation], nn.Module]  # shape, classes, activation
MakeGenerator = Callable[[Shape, int, Activation], nn.Module]  # shape, size of the noise, activation


class Pair(NamedTuple):
    """A classifier and the generator that goes with it, as functions that make them; and their learning rate."""

    classifier: MakeClassifier
    generator: MakeGenerator
    learning_rate: float


def default_pair(shape: Shape, known_shares: int) -> Pair:
    """Dense for tables; for images the paper's MNIST pair up to 28 x 28 in one channel, else CIFAR's.

    ``known_shares`` is how many numbers the bags tell: their number, times the classes but one.
    """
    if len(shape) == 1:
        classifier = partial(mlp_classifier, input_dropout=usual_input_dropout(shape[0], known_shares))
        return Pair(classifier, mlp_generator, 3e-3)
    if len(shape) == 3 and shape[0] == 1 and max(shape[1:]) <= 28:
        return Pair(mnist_classifier, mnist_generator, 1e-3)
    return Pair(cifar_classifier, cifar_generator, 1e-3)


def usual_input_dropout(n_columns: int, known_shares: int) -> float:
    """The columns for each known share, between a tenth and a half.

    Where bags tell few numbers, many classifiers meet them all. One that rests on many columns a little meets new
    bags better than one that rests on few columns much: held-out states of the election choose a half over a tenth.

    >>> usual_input_dropout(20, known_shares=50), usual_input_dropout(64, known_shares=810)
    (0.4, 0.1)
    """
    return min(0.5, max(0.1, n_columns / known_shares))
