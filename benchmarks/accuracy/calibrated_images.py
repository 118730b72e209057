"""Log loss of DLLP on small sets of images, before and after held-out bags choose the temperature.

Of 64 random bags, 24 are held out of training: they choose the epoch and the temperature. The log losses are those
of 2,000 test images. ``best`` is the temperature that the labels of the test would choose, which no method sees.
"""

from itertools import product

import numpy as np
import torch
from sklearn.metrics import log_loss

from benchmarks.rows import RESULTS, Row, describe_versions, find_data_folder, measure_rows
from llpgan import DLLP, Bags
from llpgan.methods.calibration import apply_temperature
from llpgan.utils.arrays import Array
from reproduction.datasets import IMAGE_DATASETS

N_BAGS, HELD_OUT, N_TEST = 64, 0.375, 2_000
EPOCHS = {16: 25, 64: 15}
TEMPERATURES = np.geomspace(0.5, 10, 61)


def run() -> list[Row]:
    cells = product(("fashion-mnist",), EPOCHS, (0, 1))
    return measure_rows(RESULTS / "calibrated_images.jsonl", ("data", "bag_size", "seed"), cells, measure)


def measure(data: str, bag_size: int, seed: int) -> Row:
    torch.set_num_threads(1)
    split = IMAGE_DATASETS[data](find_data_folder(data) / data)
    rows = np.random.default_rng(seed).permutation(len(split.labels))[: N_BAGS * bag_size]
    bags = Bags.from_labels(split.instances[rows], split.labels[rows], groups=np.arange(len(rows)) // bag_size)
    model = DLLP(epochs=EPOCHS[bag_size], validation_fraction=HELD_OUT, random_state=seed).fit_bags(bags)
    predicted, labels = model.predict_proba(split.test_instances[:N_TEST]), split.test_labels[:N_TEST]
    plain = apply_temperature(predicted, 1 / model.temperature_)

    def loss(probabilities: Array) -> float:
        return round(float(log_loss(labels, probabilities, labels=model.classes_)), 3)

    by_temperature = {float(t): loss(apply_temperature(plain, t)) for t in TEMPERATURES}
    best = min(by_temperature, key=by_temperature.__getitem__)
    return {
        "epochs": EPOCHS[bag_size],
        "held_out_bags": round(HELD_OUT * N_BAGS),
        "error": round(100 * float((model.classes_[predicted.argmax(1)] != labels).mean()), 1),
        "log_loss_uncalibrated": loss(plain),
        "log_loss": loss(predicted),
        "temperature": round(model.temperature_, 2),
        "best": {"temperature": round(best, 2), "log_loss": by_temperature[best]},
        **describe_versions(),
    }
