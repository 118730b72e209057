"""Losses and settings for LeNet-5 on Fashion-MNIST in bags of 128, by held-out bags.

See :mod:`benchmarks.settings_by_bags`. All 60,000 training images, a fifth of their bags held out.
"""

from functools import partial

from benchmarks.data_folders import folder_of
from benchmarks.lenet import lenet
from benchmarks.rows import Row
from benchmarks.settings_by_bags import Array, Data, compared
from llpgan import DLLP, LLPVAT, ROT, CountLLP, MixBag
from llpgan.data.datasets import load_fashion_mnist

EPOCHS = 40


def _rows(draw: int) -> tuple[Array, Array]:
    split = load_fashion_mnist(folder_of("fashion-mnist"))
    return split.instances, split.labels


_counts, _plain, _smooth = (
    partial(method, epochs=EPOCHS, classifier=lenet, activation="relu") for method in (CountLLP, DLLP, LLPVAT)
)
CANDIDATES = {
    "counts, 4 bags a step": _counts(bags_per_step=4),
    "counts": _counts(),
    "counts, smooth": _smooth(proportion_loss="counts"),
    "exact": _plain(),
    "counts, rate 0.003": _counts(learning_rate=0.003),
    "counts, weight decay 0.2": _counts(weight_decay=0.2),
    "counts, shifts and flips": _counts(augment="shifts_and_flips"),
    "ROT": ROT(epochs=EPOCHS, classifier=lenet, activation="relu"),
    "MixBag": MixBag(epochs=EPOCHS, classifier=lenet, activation="relu"),
    "counts, smooth 0.5": _smooth(proportion_loss="counts", smoothness_weight=0.5),
}


def run() -> list[Row]:
    data = Data("Fashion-MNIST", _rows)
    return compared("fashion_settings", data, CANDIDATES, bag_sizes=(128,), draws=(100,))
