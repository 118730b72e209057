"""Losses and settings on Fashion-MNIST in bags of 128, by held-out bags.

The network is LeNet-5, as in most reports since the paper.
See :mod:`benchmarks.settings.by_bags`. All 60,000 training images, a fifth of their bags held out.
"""

from functools import partial
from typing import Any

from torch import Tensor, nn

from benchmarks.rows import Row, find_data_folder
from benchmarks.settings.by_bags import Array, Data, compare_settings
from llpgan import LLPDC, CountLLP
from llpgan.deep.images import random_distortions_and_flips, random_shifts
from llpgan.deep.networks.parts import Activation, Classifier, Shape, image_shape
from reproduction.datasets import load_fashion_mnist

EPOCHS = 30


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


def _rows(draw: int) -> tuple[Array, Array]:
    split = load_fashion_mnist(find_data_folder("fashion-mnist"))
    return split.instances, split.labels


_counts, _labels = (
    partial(method, epochs=EPOCHS, weight_decay=0.1, classifier=lenet, activation="relu")
    for method in (CountLLP, LLPDC)
)
_on_views = partial(_labels, proportion_loss="counts", soft=True, view="distortions_and_flips", ramp_until=0.4)
_RISING: dict[str, Any] = {"learning_rate": 0.003, "warm_up": 0.3, "augment": one_pixel_shifts}
CANDIDATES = {
    "counts": _counts(),
    "counts, soft labels on distorted views": _on_views(),
    "the same, rate rising to 0.003, shifts of a pixel": _on_views(**_RISING),
    "the same, debiased squares instead of counts": _on_views(**_RISING).set_params(proportion_loss="dsq"),
    "counts, rising rate, shifts of a pixel, slighter distortions": _on_views(
        view=slight_distortions_and_flips, **_RISING
    ),
}


def run() -> list[Row]:
    data = Data("Fashion-MNIST", _rows)
    return compare_settings("fashion_settings", data, CANDIDATES, bag_sizes=(128,), draws=(100,))
