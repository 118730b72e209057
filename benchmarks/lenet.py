"""LeNet-5, the network of most reports on Fashion-MNIST since the paper, and small changes of its images."""

from torch import Tensor, nn

from llpgan.deep.images import random_distortions_and_flips, random_shifts
from llpgan.deep.networks.parts import Activation, Classifier, Shape, image_shape


def lenet(shape: Shape, n_classes: int, activation: Activation = nn.ReLU) -> Classifier:
    """Two convolutions of 5 × 5 with pooling, and dense layers of 120 and 84 (LeCun et al., 1998).

    Activations come after pooling: for a rising activation that is the same function, in less time.
    """
    channels, height, width = image_shape(shape)
    side_pixels = (height // 2 - 4) // 2 * ((width // 2 - 4) // 2)
    body = nn.Sequential(
        nn.Conv2d(channels, 6, 5, padding=2),
        nn.MaxPool2d(2),
        activation(),
        nn.Conv2d(6, 16, 5),
        nn.MaxPool2d(2),
        activation(),
        nn.Flatten(),
        nn.Linear(16 * side_pixels, 120),
        activation(),
        nn.Linear(120, 84),
        activation(),
    )
    return Classifier(body, nn.Linear(84, n_classes), settles=True)


def one_pixel_shifts(images: Tensor) -> Tensor:
    """Images of 28 x 28 moved by up to one pixel: things that fill the image allow no more."""
    return random_shifts(images, part=28)


def slight_distortions_and_flips(images: Tensor) -> Tensor:
    """Distortions of half the usual strength: a network as small as this has no room for stronger ones."""
    return random_distortions_and_flips(images, strength=0.5)
