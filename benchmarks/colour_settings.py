"""Weight decay on small colour images, by held-out bags: see :mod:`benchmarks.settings_by_bags`.

Ships and trucks of CIFAR-10, a pair that Table 4 does not have, with the networks of its ``cpu`` preset.
"""

from functools import partial

import numpy as np

from benchmarks.label_free_real import folder_of
from benchmarks.rows import Row
from benchmarks.settings_by_bags import Array, Data, compared
from llpgan import DLLP, LLPGAN
from llpgan.datasets import load_cifar10
from llpgan.networks import mnist_classifier, mnist_generator

_PAIR = (8, 9)
_dllp = partial(DLLP, epochs=20, classifier=mnist_classifier)
_llp_gan = partial(
    LLPGAN, epochs=20, classifier=mnist_classifier, generator=mnist_generator, proportion_weight=256.0
)
CANDIDATES = {
    "DLLP": _dllp(),
    "DLLP, weight decay 0.2": _dllp(weight_decay=0.2),
    "LLPGAN, λ = 256": _llp_gan(),
    "LLPGAN, λ = 256, weight decay 0.2": _llp_gan(weight_decay=0.2),
}


def _rows(draw: int) -> tuple[Array, Array]:
    images = load_cifar10(folder_of("cifar-10-batches-py"))
    rows = np.flatnonzero(np.isin(images.labels, _PAIR))
    return images.instances[rows], images.labels[rows]


def run() -> list[Row]:
    data = Data("ships and trucks of CIFAR-10, with the paper's networks for MNIST", _rows)
    return compared("colour_settings", data, CANDIDATES, bag_sizes=(16, 64), draws=(100,))
