"""Count likelihood and smoothness together on MNIST, by held-out bags: see :mod:`benchmarks.settings_by_bags`."""

from functools import partial

from benchmarks.mnist_part import EPOCHS, MNIST_PART
from benchmarks.rows import Row
from benchmarks.settings_by_bags import compared
from llpgan import DLLP, LLPVAT, CountLLP

_exact, _counts, _smooth = (
    partial(method, epochs=EPOCHS, weight_decay=0.2) for method in (DLLP, CountLLP, LLPVAT)
)
CANDIDATES = {
    "exact": _exact(),
    "counts": _counts(),
    "counts, smooth": _smooth(proportion_loss="counts"),
    "counts, smooth 0.3": _smooth(proportion_loss="counts", smoothness_weight=0.3),
    "counts, smooth 1": _smooth(proportion_loss="counts", smoothness_weight=1.0),
}


def run() -> list[Row]:
    return compared("combined_settings", MNIST_PART, CANDIDATES, bag_sizes=(64,), draws=(100,))
