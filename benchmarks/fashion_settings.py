"""Losses and settings for LeNet-5 on Fashion-MNIST in bags of 128, by held-out bags.

See :mod:`benchmarks.settings_by_bags`. All 60,000 training images, a fifth of their bags held out.
"""

from functools import partial

from benchmarks.data_folders import folder_of
from benchmarks.lenet import lenet
from benchmarks.rows import Row
from benchmarks.settings_by_bags import Array, Data, compared
from llpgan import DLLP, LLPDC, LLPVAT, CountLLP
from llpgan.data.datasets import load_fashion_mnist

EPOCHS = 30


def _rows(draw: int) -> tuple[Array, Array]:
    split = load_fashion_mnist(folder_of("fashion-mnist"))
    return split.instances, split.labels


_counts, _plain, _labels, _smooth = (
    partial(method, epochs=EPOCHS, weight_decay=0.1, classifier=lenet, activation="relu")
    for method in (CountLLP, DLLP, LLPDC, LLPVAT)
)
_views = partial(_labels, proportion_loss="counts", view="distortions_and_flips", ramp_until=0.4)
CANDIDATES = {
    "counts": _counts(),
    "counts, soft labels on distorted views": _views(soft=True),
    "counts, hard labels on distorted views": _views(),
    "counts, smooth 0.3 of length 1": _smooth(proportion_loss="counts", smoothness_weight=0.3, length=1.0),
    "exact": _plain(),
}


def run() -> list[Row]:
    data = Data("Fashion-MNIST", _rows)
    return compared("fashion_settings", data, CANDIDATES, bag_sizes=(128,), draws=(100,))
