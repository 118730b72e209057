"""Instances of the shape of known data sets; what is in them does not matter to time."""

import numpy as np

from llpgan import Bags

MNIST, CIFAR = (1, 28, 28), (3, 32, 32)


def image_bags(shape: tuple[int, ...], n_bags: int, bag_size: int) -> Bags:
    """Bags of random pixels, ten classes in turn."""
    n = n_bags * bag_size
    pixels = np.random.default_rng(0).integers(256, size=(n, *shape)).astype(np.uint8)
    return Bags.from_labels(pixels, np.arange(n) % 10, np.arange(n) // bag_size)
