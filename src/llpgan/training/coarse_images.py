"""Images that are coarse in the first epochs, grow, and are seen as they are in the last.

As long as a network is unsure of every instance, a bag tells it about as much as one label would. A network that
averages its features over the pixels leaves this state sooner on coarse images: at half the height and width there
are a quarter as many pixels, and each sees more of the image; an epoch takes a quarter of the time, too. Images
then grow a little in each epoch: filters that have learned one scale have to learn anew if it doubles at once.
"""

from torch import nn

from llpgan.training.input_scaling import Scaling
from llpgan.training.networks import check_classifier
from llpgan.training.networks.network_parts import Shape

COARSEST = 0.5  # of the height and of the width


def side_share(progress: float, coarse_until: float) -> float:
    """The share of their height and width with which images are seen at this part of the training.

    They are coarsest for three quarters of the time, in which epochs are cheapest, and grow in the last quarter.

    >>> [side_share(progress, 0.5) for progress in (0.0, 0.375, 0.4375, 0.5, 1.0)]
    [0.5, 0.5, 0.75, 1.0, 1.0]
    """
    return 1.0 if progress >= coarse_until else max(COARSEST, 2 * progress / coarse_until - 1)


def work_share(coarse_until: float) -> float:
    """About the share of the time of a training on images of full size.

    >>> work_share(0.75)
    0.5
    """
    return 1 - coarse_until * 2 / 3  # while images are coarse, they have a third of their pixels on average


def show_at(network: nn.Module, share: float) -> None:
    """Let the network see images with this share of their height and width from now on."""
    for part in network.modules():
        if isinstance(part, Scaling):
            part.side_share = share


def half_size(shape: Shape) -> Shape:
    """The shape of the coarsest images.

    >>> half_size((3, 32, 32))
    (3, 16, 16)
    """
    return (shape[0], shape[1] // 2, shape[2] // 2)


def check_coarse(network: nn.Module, shape: Shape, n_classes: int, coarse_until: float, epochs: int) -> None:
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
        check_classifier(network, half_size(shape), n_classes)
    except ValueError as error:
        raise ValueError(
            f"coarse_until={coarse_until} needs a network that takes images of any size, such as one that ends in "
            f"a mean over pixels (cifar_classifier); of half the size: {error}"
        ) from error
