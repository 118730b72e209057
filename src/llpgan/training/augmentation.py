"""Images changed at random while a network learns, as they may come in use: shifted, bent, or seen in a mirror.

A function takes a batch of instances on its device and gives another of the same shape; all images of a bag stay
in it.
"""

from collections.abc import Callable
from math import pi

import torch
import torch.nn.functional as F
from torch import Tensor

Augment = Callable[[Tensor], Tensor]
_TURN, _STRETCH, _MOVE = pi / 12, 1 / 8, 1 / 7  # the last in half sides
_BLANKED, _SHORTEST_BLANK, _LONGEST_BLANK = 0.7, 1 / 8, 3 / 8


def shifts(images: Tensor, part: int = 8) -> Tensor:
    """Each image ``(N, C, H, W)`` moved by up to an eighth (or another part) of its sides, and filled by its edge.

    >>> shifts(torch.ones(2, 1, 8, 8)).shape
    torch.Size([2, 1, 8, 8])
    """
    n, _, height, width = images.shape
    rows, columns = _moved(n, height, part, images.device), _moved(n, width, part, images.device)
    image = torch.arange(n, device=images.device)[:, None, None]
    return images.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def flips(images: Tensor) -> Tensor:
    """Each image ``(N, C, H, W)``, half of them at random with left and right exchanged."""
    chosen = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
    return torch.where(chosen, images.flip(3), images)


def shifts_and_flips(images: Tensor) -> Tensor:
    """Both: for things that look alike in a mirror, as animals do and digits do not."""
    return flips(shifts(images))


def slight_shifts_and_flips(images: Tensor) -> Tensor:
    """Flips, and shifts by up to a sixteenth of the sides, which is two pixels of 32: for photographs."""
    return flips(shifts(images, 16))


def distortions(images: Tensor, strength: float = 1.0) -> Tensor:
    """Each image ``(N, C, H, W)`` turned, stretched and shifted a little, and a rectangle of many of them blank.

    They are turned by up to 15 degrees, stretched or shrunk by up to an eighth along each side, and shifted by up
    to a fourteenth of it. In seven of ten, a rectangle with sides of an eighth to three eighths has their mean.
    A ``strength`` below one makes angles and lengths smaller by this factor, and rectangles as much rarer.

    >>> distortions(torch.ones(2, 1, 8, 8)).shape
    torch.Size([2, 1, 8, 8])
    """
    pixels = images if images.is_floating_point() else images.float()
    moved = F.affine_grid(_small_maps(pixels, strength), list(pixels.shape), align_corners=False)
    bent = F.grid_sample(pixels, moved, padding_mode="border", align_corners=False)
    return _with_blanks(bent, strength * _BLANKED).to(images.dtype)


def distortions_and_flips(images: Tensor, strength: float = 1.0) -> Tensor:
    """Both: for things that look alike in a mirror."""
    return flips(distortions(images, strength))


AUGMENTATIONS: dict[str, Augment] = {
    "shifts": shifts,
    "shifts_and_flips": shifts_and_flips,
    "slight_shifts_and_flips": slight_shifts_and_flips,
    "distortions": distortions,
    "distortions_and_flips": distortions_and_flips,
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
    _check(parameter, augment, instances)
    return augment


def _check(parameter: str, augment: Augment, instances: Tensor) -> None:
    """Refuse a function, given as this parameter, that does not keep the shape of these instances."""
    with torch.random.fork_rng(devices=[]):
        changed = augment(instances.clone())  # since it may write into what it is given: here the user's own array
    if not isinstance(changed, Tensor) or changed.shape != instances.shape:
        made = tuple(changed.shape) if isinstance(changed, Tensor) else f"a {type(changed).__name__}"
        raise ValueError(
            f"{parameter} made {made} of instances of shape {tuple(instances.shape)}; it must keep the shape"
        )


def _moved(n: int, length: int, part: int, device: torch.device) -> Tensor:
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


def _with_blanks(images: Tensor, share: float) -> Tensor:
    """Images of which this share has the image's mean in a random rectangle."""
    n, _, height, width = images.shape
    inside = _stretch(n, height, images.device)[:, :, None] & _stretch(n, width, images.device)[:, None, :]
    chosen = torch.rand(n, 1, 1, device=images.device) < share
    return torch.where((inside & chosen)[:, None], images.mean((2, 3), keepdim=True), images)


def _stretch(n: int, length: int, device: torch.device) -> Tensor:
    """For each of n images, which places of a side lie in a random stretch of it."""
    shortest, longest = (max(1, round(length * share)) for share in (_SHORTEST_BLANK, _LONGEST_BLANK))
    first = torch.randint(0, length, (n, 1), device=device)
    size = torch.randint(shortest, longest + 1, (n, 1), device=device)
    place = torch.arange(length, device=device)
    return (place >= first) & (place < first + size)
