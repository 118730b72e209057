"""Dense networks for tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import torch
from torch import Tensor, nn

from llpgan.deep.networks.parts import Activation, Classifier, Dropout, Shape, leaky_relu


def mlp_classifier(
    shape: Shape,
    n_classes: int,
    activation: Activation = leaky_relu,
    hidden: Sequence[int] = (256, 256),
    input_dropout: float = 0.1,
    dropout: float = 0.3,
) -> Classifier:
    """Make a classifier of dense layers, for tables or for images taken as rows of pixels.

    Few bags of many instances leave a network much freedom, which dropout reduces.

    Parameters
    ----------
    shape : tuple of int
        The shape of an instance.
    n_classes : int
        The number of classes.
    activation : callable, default=leaky_relu
        A function that makes an activation.
    hidden : sequence of int, default=(256, 256)
        The widths of the hidden layers.
    input_dropout : float, default=0.1
        The dropout rate of the inputs.
    dropout : float, default=0.3
        The dropout rate of the hidden layers.

    Returns
    -------
    Classifier
        The network.
    """
    widths = [prod(shape), *hidden]
    layers = [nn.Sequential(nn.Linear(a, b), activation(), Dropout(dropout)) for a, b in pairwise(widths)]
    body = nn.Sequential(nn.Flatten(), SoftClip(3.0), Dropout(input_dropout), *layers)
    return Classifier(body, nn.Linear(widths[-1], n_classes))


def mlp_generator(
    shape: Shape, noise_size: int, activation: Activation = leaky_relu, hidden: Sequence[int] = (256, 256)
) -> nn.Module:
    """Make a generator of dense layers with batch normalization; the last layer is linear.

    Parameters
    ----------
    shape : tuple of int
        The shape of an instance.
    noise_size : int
        The number of dimensions of the noise.
    activation : callable, default=leaky_relu
        A function that makes an activation.
    hidden : sequence of int, default=(256, 256)
        The widths of the hidden layers.

    Returns
    -------
    torch.nn.Module
        The network.
    """
    widths = [noise_size, *hidden]
    layers = [nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), activation()) for a, b in pairwise(widths)]
    return nn.Sequential(*layers, nn.Linear(widths[-1], prod(shape)), nn.Unflatten(1, shape))


class SoftClip(nn.Module):
    """x / sqrt(1 + (x / limit)²): near zero it changes nothing, and no outlier gets beyond the limit."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, values: Tensor) -> Tensor:
        """Values between −limit and limit."""
        return values * torch.rsqrt(1 + (values / self.limit).square())
