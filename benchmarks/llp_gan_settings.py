"""LLP-GAN's momentum, λ and weight decay on images, by held-out bags: see :mod:`benchmarks.settings_by_bags`."""

from benchmarks.rows import Row
from benchmarks.settings_by_bags import Settings, compared
from llpgan import LLPGAN

CANDIDATES: dict[str, Settings] = {
    "betas (0.5, 0.999)": {"betas": (0.5, 0.999)},
    "betas (0.5, 0.99)": {"betas": (0.5, 0.99)},
    "betas (0.5, 0.99), λ = 4": {"betas": (0.5, 0.99), "proportion_weight": 4.0},
    "betas (0.5, 0.99), λ = 256": {"betas": (0.5, 0.99), "proportion_weight": 256.0},
    "betas (0.5, 0.99), λ = 256, weight decay 0.2": {
        "betas": (0.5, 0.99),
        "proportion_weight": 256.0,
        "weight_decay": 0.2,
    },
}


def run() -> list[Row]:
    return compared("llp_gan_settings", LLPGAN, CANDIDATES, bag_sizes=(16, 64), draws=(100,))
