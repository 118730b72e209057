"""DLLP's momentum and weight decay on images, by held-out bags: see :mod:`benchmarks.settings_by_bags`."""

from benchmarks.rows import Row
from benchmarks.settings_by_bags import Settings, compared
from llpgan import DLLP

CANDIDATES: dict[str, Settings] = {
    "betas (0.5, 0.999)": {"betas": (0.5, 0.999)},
    "betas (0.5, 0.99)": {"betas": (0.5, 0.99)},
    "betas (0.9, 0.99)": {"betas": (0.9, 0.99)},
    "betas (0.5, 0.99), weight decay 0.2": {"betas": (0.5, 0.99), "weight_decay": 0.2},
    "betas (0.5, 0.99), weight decay 0.5": {"betas": (0.5, 0.99), "weight_decay": 0.5},
}


def run() -> list[Row]:
    return compared("dllp_settings", DLLP, CANDIDATES, bag_sizes=(16, 64, 128), draws=(100,))
