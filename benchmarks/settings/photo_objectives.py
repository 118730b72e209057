"""Which objective suits photographs, by held-out bags: see :mod:`benchmarks.settings.by_bags`.

All training images of CIFAR-10 in large bags, with the network and the recipe for photographs.
"""

import numpy as np

from benchmarks.rows import Row, find_data_folder
from benchmarks.settings.by_bags import Array, Data, compare_settings
from llpgan import DLLP, LLPDC, CountLLP
from reproduction.datasets import load_cifar10

CANDIDATES = {
    "DLLP": DLLP(epochs=12),
    "CountLLP": CountLLP(epochs=12),
    "LLPDC": LLPDC(epochs=12),
}


def _rows(draw: int) -> tuple[Array, Array]:
    images = load_cifar10(find_data_folder("cifar-10-batches-py"))
    order = np.random.default_rng(draw).permutation(len(images.labels))
    return images.instances[order], images.labels[order]


def run() -> list[Row]:
    data = Data("the 50,000 training images of CIFAR-10", _rows)
    return compare_settings("photo_objectives", data, CANDIDATES, bag_sizes=(64,), draws=(100,))
