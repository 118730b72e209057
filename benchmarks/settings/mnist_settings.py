"""Settings of DLLP and LLP-GAN on MNIST, by held-out bags: see :mod:`benchmarks.settings.by_bags`.

20,000 of the training images, others in each draw, and Table 1's epochs.
"""

from functools import partial

import numpy as np

from benchmarks.rows import Row, find_data_folder
from benchmarks.settings.by_bags import Array, Data, compare_settings
from llpgan import DLLP, LLPGAN, LLPVAT, CountLLP
from reproduction.datasets import load_mnist

N_ROWS, EPOCHS, DRAWS = 20_000, 15, (100,)


def _rows(draw: int) -> tuple[Array, Array]:
    mnist = load_mnist(find_data_folder("mnist"))
    rows = np.random.default_rng(draw).permutation(len(mnist.labels))[:N_ROWS]
    return mnist.instances[rows], mnist.labels[rows]


MNIST_PART = Data(f"{N_ROWS:,} images of MNIST", _rows)


def run_dllp() -> list[Row]:
    """DLLP's momentum and weight decay."""
    dllp = partial(DLLP, epochs=EPOCHS)
    candidates = {
        "betas (0.5, 0.999)": dllp(betas=(0.5, 0.999)),
        "betas (0.5, 0.99)": dllp(betas=(0.5, 0.99)),
        "betas (0.9, 0.99)": dllp(betas=(0.9, 0.99)),
        "betas (0.5, 0.99), weight decay 0.2": dllp(betas=(0.5, 0.99), weight_decay=0.2),
        "betas (0.5, 0.99), weight decay 0.5": dllp(betas=(0.5, 0.99), weight_decay=0.5),
    }
    return compare_settings("dllp_settings", MNIST_PART, candidates, bag_sizes=(16, 64, 128), draws=DRAWS)


def run_llp_gan() -> list[Row]:
    """LLP-GAN's momentum, λ, decay and fakes."""
    gan = partial(LLPGAN, epochs=EPOCHS, betas=(0.5, 0.99))
    decayed = partial(gan, proportion_weight=256.0, weight_decay=0.2)
    candidates = {
        "betas (0.5, 0.999)": gan(betas=(0.5, 0.999)),
        "betas (0.5, 0.99)": gan(),
        "betas (0.5, 0.99), λ = 4": gan(proportion_weight=4.0),
        "betas (0.5, 0.99), λ = 256": gan(proportion_weight=256.0),
        "betas (0.5, 0.99), λ = 256, weight decay 0.2": decayed(),
        "the same, half as many fakes": decayed(fakes_per_instance=0.5),
        "the same, a quarter as many fakes": decayed(fakes_per_instance=0.25),
    }
    return compare_settings("llp_gan_settings", MNIST_PART, candidates, bag_sizes=(16, 64), draws=DRAWS)


def run_combined() -> list[Row]:
    """Count likelihood and smoothness together."""
    exact, counts, smooth = (
        partial(method, epochs=EPOCHS, weight_decay=0.2) for method in (DLLP, CountLLP, LLPVAT)
    )
    candidates = {
        "exact": exact(),
        "counts": counts(),
        "counts, smooth": smooth(proportion_loss="counts"),
        "counts, smooth 0.3": smooth(proportion_loss="counts", smoothness_weight=0.3),
        "counts, smooth 1": smooth(proportion_loss="counts", smoothness_weight=1.0),
    }
    return compare_settings("combined_settings", MNIST_PART, candidates, bag_sizes=(64,), draws=DRAWS)
