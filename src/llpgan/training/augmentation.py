"""Images changed at random while a network learns, as they may come in use: shifted, or seen in a mirror.

A function takes a batch of instances on its device and gives another of the same shape; all images of a bag stay
in it.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Augment = Callable[[Tensor], Tensor]
_SHIFT = 8  # images are shifted by up to an eighth of their sides


def shifts(images: Tensor) -> Tensor:
    """Each image ``(N, C, H, W)`` moved by up to an eighth of its sides; its edge fills what comes free.

    >>> shifts(torch.ones(2, 1, 8, 8)).shape
    torch.Size([2, 1, 8, 8])
    """
    n, _, height, width = images.shape
    rows, columns = _moved(n, height, images.device), _moved(n, width, images.device)
    image = torch.arange(n, device=images.device)[:, None, None]
    return images.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def flips(images: Tensor) -> Tensor:
    """Each image ``(N, C, H, W)``, half of them at random with left and right exchanged."""
    chosen = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
    return torch.where(chosen, images.flip(3), images)


def shifts_and_flips(images: Tensor) -> Tensor:
    """Both: for things that look alike in a mirror, as animals do and digits do not."""
    return flips(shifts(images))


AUGMENTATIONS: dict[str, Augment] = {"shifts": shifts, "shifts_and_flips": shifts_and_flips}


def check_augment(augment: Augment, instances: Tensor) -> None:
    """Refuse a function that does not turn these instances into others of the same shape."""
    with torch.random.fork_rng(devices=[]):
        changed = augment(instances)
    if not isinstance(changed, Tensor) or changed.shape != instances.shape:
        made = tuple(changed.shape) if isinstance(changed, Tensor) else f"a {type(changed).__name__}"
        raise ValueError(
            f"augment made {made} of instances of shape {tuple(instances.shape)}; it must keep the shape"
        )


def _moved(n: int, length: int, device: torch.device) -> Tensor:
    """For each of n images, from which places the pixels of a side come."""
    most = length // _SHIFT
    offsets = torch.randint(-most, most + 1, (n, 1), device=device)
    return (torch.arange(length, device=device) + offsets).clamp(0, length - 1)
