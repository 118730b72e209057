"""A pair of dense networks for tables."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import torch
from torch import Tensor, nn

from llpgan.training.networks.network_parts import Activation, Classifier, Dropout, Shape, leaky_relu


def mlp_classifier(
    shape: Shape,
    n_classes: int,
    activation: Activation = leaky_relu,
    hidden: Sequence[int] = (256, 256),
    input_dropout: float = 0.1,
    dropout: float = 0.3,
) -> Classifier:
    """Dense layers for a table's row, or for an image taken as one.

    Few bags of many instances leave a network much freedom: dropout takes most of it back.
    """
    widths = [prod(shape), *hidden]
    layers = [nn.Sequential(nn.Linear(a, b), activation(), Dropout(dropout)) for a, b in pairwise(widths)]
    body = nn.Sequential(nn.Flatten(), SoftClip(3.0), Dropout(input_dropout), *layers)
    return Classifier(body, nn.Linear(widths[-1], n_classes))


def mlp_generator(
    shape: Shape, noise_size: int, activation: Activation = leaky_relu, hidden: Sequence[int] = (256, 256)
) -> nn.Module:
    """Dense layers with batch norm from noise to a row; the last is linear, since a table has no range."""
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
