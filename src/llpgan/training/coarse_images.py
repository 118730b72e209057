"""Images at half their height and width for the first epochs, and as they are after that.

As long as a network is unsure of every instance, a bag tells it about as much as one label would. A network that
averages its features over the pixels leaves this state sooner on coarse images: there are a quarter as many
pixels, and each sees more of the image. The time of a coarse epoch is about a quarter, too.
"""

from torch import nn

from llpgan.training.input_scaling import Scaling
from llpgan.training.networks import check_classifier
from llpgan.training.networks.network_parts import Shape


def show_coarse(network: nn.Module, coarse: bool) -> None:
    """Let the network see images at half their height and width from now on, or as they are."""
    for part in network.modules():
        if isinstance(part, Scaling):
            part.coarse = coarse


def check_coarse(network: nn.Module, shape: Shape, n_classes: int, coarse_until: float) -> None:
    """Refuse instances that have no half size, and networks that take images of one size only."""
    if len(shape) != 3 or min(shape[1:]) < 2:
        raise ValueError(f"coarse_until={coarse_until} is for images, not instances of shape {shape}")
    half = (shape[0], shape[1] // 2, shape[2] // 2)
    try:
        check_classifier(network, half, n_classes)
    except ValueError as error:
        raise ValueError(
            f"coarse_until={coarse_until} needs a network that takes images of any size, such as one that ends in "
            f"a mean over pixels (cifar_classifier); of half the size: {error}"
        ) from error
