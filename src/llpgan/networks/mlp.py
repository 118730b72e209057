"""A pair of dense networks for tables."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from torch import nn

from llpgan.networks.parts import Activation, Classifier, Shape, leaky_relu


def mlp_classifier(
    shape: Shape, n_classes: int, activation: Activation = leaky_relu, hidden: Sequence[int] = (256, 256)
) -> Classifier:
    """Dense layers for a table's row, or for an image taken as one."""
    widths = [prod(shape), *hidden]
    layers = [nn.Sequential(nn.Linear(a, b), activation()) for a, b in pairwise(widths)]
    return Classifier(nn.Sequential(nn.Flatten(), *layers), nn.Linear(widths[-1], n_classes))


def mlp_generator(
    shape: Shape, noise_size: int, activation: Activation = leaky_relu, hidden: Sequence[int] = (256, 256)
) -> nn.Module:
    """Dense layers with batch norm from noise to a row; the last is linear, since a table has no range."""
    widths = [noise_size, *hidden]
    layers = [nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), activation()) for a, b in pairwise(widths)]
    return nn.Sequential(*layers, nn.Linear(widths[-1], prod(shape)), nn.Unflatten(1, shape))
