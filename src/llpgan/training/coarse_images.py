"""Images that are coarse in the first part of a training, and are seen as they are in the last.

As long as a network is unsure of every instance, a bag tells it about as much as one label would. A network that
averages its features over the pixels leaves this state sooner on coarse images: at half the height and width there
are a quarter as many pixels, and each sees more of the image; an epoch takes a quarter of the time, too. Images
then grow in two strides: filters that have learned one scale have to learn anew if it doubles at once.
"""

from torch import nn

from llpgan.training.input_scaling import Scaling
from llpgan.training.networks import check_classifier
from llpgan.training.networks.network_parts import Shape

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


def show_at(network: nn.Module, share: float) -> None:
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
