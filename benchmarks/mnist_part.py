"""MNIST for choosing settings: 20,000 of the training images, others in each draw, and Table 1's epochs."""

import numpy as np

from benchmarks.data_folders import folder_of
from benchmarks.settings_by_bags import Array, Data
from reproduction.datasets import load_mnist

N_ROWS, EPOCHS = 20_000, 15


def _rows(draw: int) -> tuple[Array, Array]:
    mnist = load_mnist(folder_of("mnist"))
    rows = np.random.default_rng(draw).permutation(len(mnist.labels))[:N_ROWS]
    return mnist.instances[rows], mnist.labels[rows]


MNIST_PART = Data(f"{N_ROWS:,} images of MNIST", _rows)
