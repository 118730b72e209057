"""Losses and settings for LeNet-5 on Fashion-MNIST in bags of 128, by held-out bags.

See :mod:`benchmarks.settings_by_bags`. All 60,000 training images, a fifth of their bags held out.
"""

from functools import partial
from typing import Any

from benchmarks.data_folders import folder_of
from benchmarks.lenet import lenet, one_pixel_shifts, slight_distortions_and_flips
from benchmarks.rows import Row
from benchmarks.settings_by_bags import Array, Data, compared
from llpgan import LLPDC, CountLLP
from reproduction.datasets import load_fashion_mnist

EPOCHS = 30


def _rows(draw: int) -> tuple[Array, Array]:
    split = load_fashion_mnist(folder_of("fashion-mnist"))
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
    return compared("fashion_settings", data, CANDIDATES, bag_sizes=(128,), draws=(100,))
