"""DLLP's momentum and weight decay on images, by held-out bags: see :mod:`benchmarks.settings_by_bags`."""

from benchmarks.mnist_part import EPOCHS, MNIST_PART
from benchmarks.rows import Row
from benchmarks.settings_by_bags import compared
from llpgan import DLLP

CANDIDATES = {
    "betas (0.5, 0.999)": DLLP(epochs=EPOCHS, betas=(0.5, 0.999)),
    "betas (0.5, 0.99)": DLLP(epochs=EPOCHS, betas=(0.5, 0.99)),
    "betas (0.9, 0.99)": DLLP(epochs=EPOCHS, betas=(0.9, 0.99)),
    "betas (0.5, 0.99), weight decay 0.2": DLLP(epochs=EPOCHS, betas=(0.5, 0.99), weight_decay=0.2),
    "betas (0.5, 0.99), weight decay 0.5": DLLP(epochs=EPOCHS, betas=(0.5, 0.99), weight_decay=0.5),
}


def run() -> list[Row]:
    return compared("dllp_settings", MNIST_PART, CANDIDATES, bag_sizes=(16, 64, 128), draws=(100,))
