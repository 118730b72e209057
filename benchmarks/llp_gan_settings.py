"""LLP-GAN's momentum, λ, decay and fakes on images, by held-out bags: see :mod:`benchmarks.settings_by_bags`."""

from benchmarks.mnist_part import EPOCHS, MNIST_PART
from benchmarks.rows import Row
from benchmarks.settings_by_bags import compared
from llpgan import LLPGAN

_STEADY = (0.5, 0.99)
CANDIDATES = {
    "betas (0.5, 0.999)": LLPGAN(epochs=EPOCHS, betas=(0.5, 0.999)),
    "betas (0.5, 0.99)": LLPGAN(epochs=EPOCHS, betas=_STEADY),
    "betas (0.5, 0.99), λ = 4": LLPGAN(epochs=EPOCHS, betas=_STEADY, proportion_weight=4.0),
    "betas (0.5, 0.99), λ = 256": LLPGAN(epochs=EPOCHS, betas=_STEADY, proportion_weight=256.0),
    "betas (0.5, 0.99), λ = 256, weight decay 0.2": LLPGAN(
        epochs=EPOCHS, betas=_STEADY, proportion_weight=256.0, weight_decay=0.2
    ),
    "the same, half as many fakes": LLPGAN(
        epochs=EPOCHS, betas=_STEADY, proportion_weight=256.0, weight_decay=0.2, fakes_per_instance=0.5
    ),
    "the same, a quarter as many fakes": LLPGAN(
        epochs=EPOCHS, betas=_STEADY, proportion_weight=256.0, weight_decay=0.2, fakes_per_instance=0.25
    ),
}


def run() -> list[Row]:
    return compared("llp_gan_settings", MNIST_PART, CANDIDATES, bag_sizes=(16, 64), draws=(100,))
