"""Weight decay on small colour images, by held-out bags: see :mod:`benchmarks.settings.by_bags`.

Ships and trucks of CIFAR-10, a pair that Table 4 does not have, with the network of its ``cpu`` preset.
"""

import numpy as np

from benchmarks.rows import Row, find_data_folder
from benchmarks.settings.by_bags import Array, Data, compare_settings
from llpgan import DLLP
from llpgan.deep.networks import mnist_classifier
from reproduction.datasets import load_cifar10

_PAIR = (8, 9)
CANDIDATES = {
    "no weight decay": DLLP(epochs=20, classifier=mnist_classifier),
    "weight decay 0.2": DLLP(epochs=20, classifier=mnist_classifier, weight_decay=0.2),
}


def _rows(draw: int) -> tuple[Array, Array]:
    images = load_cifar10(find_data_folder("cifar-10-batches-py"))
    rows = np.flatnonzero(np.isin(images.labels, _PAIR))
    return images.instances[rows], images.labels[rows]


def run() -> list[Row]:
    data = Data("ships and trucks of CIFAR-10, with the paper's network for MNIST", _rows)
    return compare_settings("colour_settings", data, CANDIDATES, bag_sizes=(16, 64), draws=(100,))
