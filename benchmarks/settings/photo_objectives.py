"""Which objective suits photographs, by held-out bags: see :mod:`benchmarks.settings.by_bags`.

20,000 images of CIFAR-10 at 24 x 24 pixels in large bags, with the network and the recipe for photographs.
"""

import numpy as np
from PIL import Image

from benchmarks.rows import Row, find_data_folder
from benchmarks.settings.by_bags import Array, Data, compare_settings
from llpgan import DLLP, LLPDC, LLPGAN, LLPVAT, CountLLP, MomentMatching
from reproduction.datasets import load_cifar10

_N_IMAGES, _PIXELS = 20_000, 24
CANDIDATES = {
    "DLLP": DLLP(epochs=12),
    "CountLLP": CountLLP(epochs=12),
    "LLPDC": LLPDC(epochs=12),
    "LLPDC, soft labels": LLPDC(epochs=12, soft=True),
    "LLPDC, counts, soft labels": LLPDC(epochs=12, soft=True, proportion_loss="counts"),
    "LLPGAN": LLPGAN(epochs=12),
    "LLPGAN, λ = 1,024": LLPGAN(epochs=12, proportion_weight=1024.0),
    "MomentMatching": MomentMatching(epochs=12),
    "LLPVAT": LLPVAT(epochs=12),
}


def _rows(draw: int) -> tuple[Array, Array]:
    images = load_cifar10(find_data_folder("cifar-10-batches-py"))
    rows = np.random.default_rng(draw).choice(len(images.labels), _N_IMAGES, replace=False)
    small = [
        np.asarray(Image.fromarray(image.transpose(1, 2, 0)).resize((_PIXELS, _PIXELS), Image.Resampling.BOX))
        for image in images.instances[rows]
    ]
    return np.stack(small).transpose(0, 3, 1, 2).copy(), images.labels[rows]


def run() -> list[Row]:
    data = Data(f"{_N_IMAGES:,} images of CIFAR-10 at {_PIXELS} x {_PIXELS} pixels", _rows)
    return compare_settings("photo_objectives", data, CANDIDATES, bag_sizes=(64,), draws=(100,))
