"""Images during training: scaling, augmentation, and smaller sizes at first."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import pi
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from llpgan.bags.checks import check_finite
from llpgan.bags.fit_warnings import TrainingWarning
from llpgan.bags.on_disk import TO_ZERO, column_moments, is_constant
from llpgan.deep.networks import check_classifier
from llpgan.deep.networks.parts import Shape
from llpgan.utils.arrays import Array

Augment = Callable[[Tensor], Tensor]
_TURN, _STRETCH, _MOVE = pi / 12, 1 / 8, 1 / 7  # the last in half sides
_BLANKED, _SHORTEST_BLANK, _LONGEST_BLANK = 0.7, 1 / 8, 3 / 8


def random_shifts(images: Tensor, part: int = 8) -> Tensor:
    """Each image ``(N, C, H, W)`` moved by up to an eighth (or another part) of its sides, and filled by its edge.

    >>> random_shifts(torch.ones(2, 1, 8, 8)).shape
    torch.Size([2, 1, 8, 8])
    """
    n, _, height, width = images.shape
    rows, columns = _shift_images(n, height, part, images.device), _shift_images(n, width, part, images.device)
    image = torch.arange(n, device=images.device)[:, None, None]
    return images.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def random_flips(images: Tensor) -> Tensor:
    """Each image ``(N, C, H, W)``, half of them at random with left and right exchanged."""
    chosen = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
    return torch.where(chosen, images.flip(3), images)


def random_shifts_and_flips(images: Tensor) -> Tensor:
    """Both: for things that look alike in a mirror, as animals do and digits do not."""
    return random_flips(random_shifts(images))


def slight_shifts_and_flips(images: Tensor) -> Tensor:
    """Flips, and shifts by up to a sixteenth of the sides, which is two pixels of 32: for photographs."""
    return random_flips(random_shifts(images, 16))


def random_distortions(images: Tensor, strength: float = 1.0) -> Tensor:
    """Each image ``(N, C, H, W)`` turned, stretched and shifted a little, and a rectangle of many of them blank.

    They are turned by up to 15 degrees, stretched or shrunk by up to an eighth along each side, and shifted by up
    to a fourteenth of it. In seven of ten, a rectangle with sides of an eighth to three eighths has their mean.
    A ``strength`` below one makes angles and lengths smaller by this factor, and rectangles as much rarer.

    >>> random_distortions(torch.ones(2, 1, 8, 8)).shape
    torch.Size([2, 1, 8, 8])
    """
    pixels = images if images.is_floating_point() else images.float()
    moved = F.affine_grid(_small_maps(pixels, strength), list(pixels.shape), align_corners=False)
    bent = F.grid_sample(pixels, moved, padding_mode="border", align_corners=False)
    n, _, height, width = bent.shape
    blank = _stretch(n, height, bent.device)[:, :, None] & _stretch(n, width, bent.device)[:, None, :]
    chosen = torch.rand(n, 1, 1, device=bent.device) < strength * _BLANKED
    return torch.where((blank & chosen)[:, None], bent.mean((2, 3), keepdim=True), bent).to(images.dtype)


def random_distortions_and_flips(images: Tensor, strength: float = 1.0) -> Tensor:
    """Both: for things that look alike in a mirror."""
    return random_flips(random_distortions(images, strength))


AUGMENTATIONS: dict[str, Augment] = {
    "shifts": random_shifts,
    "shifts_and_flips": random_shifts_and_flips,
    "slight_shifts_and_flips": slight_shifts_and_flips,
    "distortions": random_distortions,
    "distortions_and_flips": random_distortions_and_flips,
}


MIRRORING = {"shifts_and_flips", "slight_shifts_and_flips", "distortions_and_flips"}


def named_augmentation(parameter: str, given: str | Augment | None, instances: Tensor) -> Augment | None:
    """The random change of instances that a parameter names or is, tried on some of them."""
    if given is None:
        return None
    if isinstance(given, str) and instances.ndim != 4:
        shape = tuple(instances.shape[1:])
        raise ValueError(f"{parameter}={given!r} is for images, not instances of shape {shape}")
    augment = AUGMENTATIONS[given] if isinstance(given, str) else given
    with torch.random.fork_rng(devices=[]):
        changed = augment(instances.clone())  # since it may write into what it is given: here the user's own array
    if not isinstance(changed, Tensor) or changed.shape != instances.shape:
        made = tuple(changed.shape) if isinstance(changed, Tensor) else f"a {type(changed).__name__}"
        raise ValueError(
            f"{parameter} made {made} of instances of shape {tuple(instances.shape)}; it must keep the shape"
        )
    return augment


def _shift_images(n: int, length: int, part: int, device: torch.device) -> Tensor:
    """For each of n images, from which places the pixels of a side come."""
    most = length // part
    offsets = torch.randint(-most, most + 1, (n, 1), device=device)
    return (torch.arange(length, device=device) + offsets).clamp(0, length - 1)


def _small_maps(images: Tensor, strength: float) -> Tensor:
    """Affine maps ``(N, 2, 3)`` that turn, stretch and shift by random small amounts."""

    def drawn(most: float, *shape: int) -> Tensor:
        share = 2 * torch.rand(len(images), *shape, device=images.device, dtype=images.dtype) - 1
        return strength * most * share

    angle = drawn(_TURN)
    turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], 1).view(-1, 2, 2)
    return torch.cat([turn * (1 + drawn(_STRETCH, 1, 2)), drawn(_MOVE, 2, 1)], 2)


def _stretch(n: int, length: int, device: torch.device) -> Tensor:
    """For each of n images, which places of a side lie in a random stretch of it."""
    shortest, longest = (max(1, round(length * share)) for share in (_SHORTEST_BLANK, _LONGEST_BLANK))
    first = torch.randint(0, length, (n, 1), device=device)
    size = torch.randint(shortest, longest + 1, (n, 1), device=device)
    place = torch.arange(length, device=device)
    return (place >= first) & (place < first + size)


_AT_ONCE = 1024  # images that are read together
_FURTHEST = 1e15  # from the middle, in units of the scale: its square is still a number in single precision


class Scaling(nn.Module):
    """x ↦ (x − shift) / scale, learned from the training instances and kept with the network.

    A constant column has the scale ``TO_ZERO``. While ``side_share`` is below one, images come out with this share
    of their height and width (:mod:`llpgan.deep.images`).

    >>> Scaling.from_instances(np.array([[0.0], [4.0]]))(torch.tensor([[2.0], [4.0]]))
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
    def from_instances(cls, instances: Array, weights: Array | None = None) -> Scaling:
        """What these instances need, by their shape: rows of a table, weighted or not, or images."""
        return cls(*(_column_statistics(instances, weights) if instances.ndim == 2 else _range(instances)))

    @property
    def spread(self) -> Tensor:
        """How far one unit of the networks goes in the user's units: the scale, and zero in a constant column."""
        return torch.where(self.scale < TO_ZERO, self.scale, 0.0)

    def forward(self, instances: Tensor) -> Tensor:
        """Instances as the networks see them."""
        scaled = (instances.to(self.shift.dtype) - self.shift) / self.scale
        scaled = scaled.clamp(-_FURTHEST, _FURTHEST)
        if self.side_share == 1:
            return scaled
        sides = [round(self.side_share * side) for side in scaled.shape[2:]]
        return F.interpolate(scaled, sides, mode="bilinear", antialias=True)


class Unscaling(nn.Module):
    """The way back: from what a generator makes to instances as the user has them."""

    def __init__(self, scaling: Scaling) -> None:
        super().__init__()
        self.scaling = scaling

    def forward(self, scaled: Tensor) -> Tensor:
        """Instances as the user sees them."""
        return scaled * self.scaling.spread + self.scaling.shift


def put_after_scaling(network: nn.Module, scaling: Scaling) -> nn.Sequential:
    """The network with instances scaled for it. That of a fitted model has its scaling already, and keeps it."""
    trained = isinstance(network, nn.Sequential) and len(network) > 0 and isinstance(network[0], Scaling)
    return cast(nn.Sequential, network) if trained else nn.Sequential(scaling, network)


def put_before_unscaling(network: nn.Module, scaling: Scaling) -> nn.Sequential:
    """The same for a generator, which makes instances in the user's units."""
    trained = isinstance(network, nn.Sequential) and len(network) > 0 and isinstance(network[-1], Unscaling)
    return cast(nn.Sequential, network) if trained else nn.Sequential(network, Unscaling(scaling))


def _column_statistics(table: Array, weights: Array | None) -> tuple[Array, Array]:
    """Mean and standard deviation of each column, with a warning where single precision cannot tell its values."""
    mean, deviation = column_moments(table, weights)
    told_apart = ~is_constant(mean, deviation, np.float32)
    lost = np.flatnonzero(~told_apart & ~is_constant(mean, deviation))
    if len(lost):
        warnings.warn(
            f"column {lost[0]} varies too little for single precision, and is left out (about "
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
        check_finite(images)
    return np.array((high + low) / 2), np.array((high - low) / 2 or 1.0)


COARSEST = 0.5  # of the height and of the width
_FIRST_PART = 2 / 3  # of the coarse part of the training has the coarsest images


def side_share(progress: float, coarse_until: float, coarsest: float = COARSEST) -> float:
    """The share of their height and width with which images are seen at this part of the training.

    They are coarsest for two thirds of the coarse part, and half-way to full size in the last third.

    >>> [side_share(progress, 0.75) for progress in (0.0, 0.49, 0.5, 0.74, 0.75, 1.0)]
    [0.5, 0.5, 0.75, 0.75, 1.0, 1.0]
    """
    if progress >= coarse_until:
        return 1.0
    return coarsest if progress < _FIRST_PART * coarse_until else (1 + coarsest) / 2


def work_share(coarse_until: float, coarsest: float = COARSEST) -> float:
    """About the share of the time of a training on images of full size.

    >>> work_share(0.75)
    0.515625
    """
    coarse = _FIRST_PART * coarsest**2 + (1 - _FIRST_PART) * ((1 + coarsest) / 2) ** 2
    return 1 - coarse_until * (1 - coarse)


def set_image_scale(network: nn.Module, share: float) -> None:
    """Let the network see images with this share of their height and width from now on."""
    for part in network.modules():
        if isinstance(part, Scaling):
            part.side_share = share


def small_shape(shape: Shape, share: float = COARSEST) -> Shape:
    """The shape of images with this share of their height and width.

    >>> small_shape((3, 32, 32))
    (3, 16, 16)
    """
    return (shape[0], round(share * shape[1]), round(share * shape[2]))


def check_coarse(
    network: nn.Module,
    shape: Shape,
    n_classes: int,
    coarse_until: float,
    epochs: int,
    coarsest: float = COARSEST,
) -> None:
    """Refuse instances that have no half size, networks for images of one size, and no epoch of full size."""
    if len(shape) != 3 or min(shape[1:]) < 2:
        raise ValueError(f"coarse_until={coarse_until} is for images, not instances of shape {shape}")
    if (epochs - 1) / epochs < coarse_until:
        at_most = 100 * (epochs - 1) // epochs / 100
        raise ValueError(
            f"coarse_until={coarse_until} leaves none of {epochs} epochs with images of full size: give more "
            f"epochs, or coarse_until={at_most} or less"
        )
    try:
        check_classifier(network, small_shape(shape, coarsest), n_classes)
    except ValueError as error:
        raise ValueError(
            f"coarse_until={coarse_until} needs a network that takes images of any size, such as one that ends in "
            f"a mean over pixels (cifar_classifier); of the smallest size: {error}"
        ) from error
