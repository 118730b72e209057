"""The range that networks like: images in [−1, 1], as the generators' tanh; table columns with mean 0, sd 1."""

import warnings
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from llpgan.bags import validation
from llpgan.bags.column_scales import TO_ZERO, constant, moments
from llpgan.bags.fit_warnings import TrainingWarning
from llpgan.utils.arrays import Array

_AT_ONCE = 1024  # images that are read together
_FURTHEST = 1e15  # from the middle, in units of the scale: its square is still a number in single precision


class Scaling(nn.Module):
    """x ↦ (x − shift) / scale, learned from the training instances and kept with the network.

    A constant column has the scale ``TO_ZERO``. While ``side_share`` is below one, images come out with this share
    of their height and width (:mod:`llpgan.training.coarse_images`).

    >>> Scaling.of(np.array([[0.0], [4.0]]))(torch.tensor([[2.0], [4.0]]))
    tensor([[0.],
            [1.]])
    """

    shift: Tensor
    scale: Tensor
    side_share: float = 1.0

    def __init__(self, shift: Array, scale: Array) -> None:
        super().__init__()
        self.register_buffer("shift", torch.as_tensor(shift, dtype=torch.float32))
        self.register_buffer("scale", torch.as_tensor(scale, dtype=torch.float32))

    @classmethod
    def of(cls, instances: Array, weights: Array | None = None) -> "Scaling":
        """What these instances need, by their shape: rows of a table, weighted or not, or images."""
        return cls(*(_columns(instances, weights) if instances.ndim == 2 else _range(instances)))

    @property
    def spread(self) -> Tensor:
        """How far one unit of the networks goes in the user's units: the scale, and zero in a constant column."""
        return torch.where(self.scale < TO_ZERO, self.scale, 0.0)

    def forward(self, instances: Tensor) -> Tensor:
        """Instances as the networks see them."""
        scaled = (instances.to(self.shift.dtype) - self.shift) / self.scale
        scaled = scaled.clamp(-_FURTHEST, _FURTHEST)
        return scaled if self.side_share == 1 else _resized(scaled, self.side_share)


class Unscaling(nn.Module):
    """The way back: from what a generator makes to instances as the user has them."""

    def __init__(self, scaling: Scaling) -> None:
        super().__init__()
        self.scaling = scaling

    def forward(self, scaled: Tensor) -> Tensor:
        """Instances as the user sees them."""
        return scaled * self.scaling.spread + self.scaling.shift


def behind_scaling(network: nn.Module, scaling: Scaling) -> nn.Sequential:
    """The network with instances scaled for it. That of a fitted model has its scaling already, and keeps it."""
    trained = isinstance(network, nn.Sequential) and len(network) > 0 and isinstance(network[0], Scaling)
    return cast(nn.Sequential, network) if trained else nn.Sequential(scaling, network)


def before_unscaling(network: nn.Module, scaling: Scaling) -> nn.Sequential:
    """The same for a generator, which makes instances in the user's units."""
    trained = isinstance(network, nn.Sequential) and len(network) > 0 and isinstance(network[-1], Unscaling)
    return cast(nn.Sequential, network) if trained else nn.Sequential(network, Unscaling(scaling))


def _resized(images: Tensor, share: float) -> Tensor:
    sides = [round(share * side) for side in images.shape[2:]]
    return F.interpolate(images, sides, mode="bilinear", antialias=True)


def _columns(table: Array, weights: Array | None) -> tuple[Array, Array]:
    """Mean and standard deviation of each column, with a warning where single precision cannot tell its values."""
    mean, deviation = moments(table, weights)
    told_apart = ~constant(mean, deviation, np.float32)
    lost = np.flatnonzero(~told_apart & ~constant(mean, deviation))
    if len(lost):
        warnings.warn(
            f"column {lost[0]} varies too little to be told in single precision, and is left out (about "
            f"{mean[lost[0]]:g} in all rows): subtract its mean, or give it in another unit",
            TrainingWarning,
            stacklevel=2,
        )
    return mean, np.where(told_apart, deviation, TO_ZERO)


def _range(images: Array) -> tuple[Array, Array]:
    """Middle and half width of the range of all pixels.

    As seen, also of bytes: masks of zeros and ones would be alike to a network that expects 0 to 255.
    """
    parts = (images[start : start + _AT_ONCE] for start in range(0, len(images), _AT_ONCE))
    lows, highs = zip(*((float(part.min()), float(part.max())) for part in parts), strict=True)
    low, high = min(lows), max(highs)
    if not np.isfinite(high - low):
        validation.finite(images)
    return np.array((high + low) / 2), np.array((high - low) / 2 or 1.0)
