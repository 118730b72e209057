"""Images that are coarse in the first epochs, and images as they are, by held-out bags of SVHN.

See :mod:`benchmarks.settings.by_bags`: 9,600 images to learn from and 2,400 to judge by, in bags of 16, with
the same number of epochs.
"""

import numpy as np

from benchmarks.rows import Row, find_data_folder
from benchmarks.settings.by_bags import Array, Data, compare_settings
from llpgan import DLLP
from reproduction.datasets import load_svhn

N_ROWS, EPOCHS, BAG_SIZE, DRAW = 12_000, 20, 16, 100
CANDIDATES = {
    "coarse until 0.8": DLLP(epochs=EPOCHS, coarse_until=0.8),
    "coarse until 0.8, rate falls from 0.7": DLLP(epochs=EPOCHS, coarse_until=0.8, decay_from=0.7),
    "full size": DLLP(epochs=EPOCHS, coarse_until=0.0),
}


def _rows(draw: int) -> tuple[Array, Array]:
    images = load_svhn(str(find_data_folder("svhn")))
    rows = np.random.default_rng(draw).permutation(len(images.labels))[:N_ROWS]
    return images.instances[rows], images.labels[rows]


def run() -> list[Row]:
    data = Data(f"{N_ROWS:,} images of SVHN", _rows)
    return compare_settings("coarse_images", data, CANDIDATES, bag_sizes=(BAG_SIZE,), draws=(DRAW,))
