"""Calibration from random bags, compared with temperature scaling by labels.

The classifiers and rows are those of ``sets_from_bags``; the image model is DLLP with its default network. Bags
are drawn with replacement from up to 20,000 rows that the classifier was not trained on. Log loss and calibration
error are those of all these rows. Calibrators are fitted to the bags, and one temperature to the labels of
the same rows.

Rows go to ``results/calibration_from_bags.jsonl``, a table to ``results/calibration_from_bags.md``. Rows that are
there already are not measured again.
"""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reproduction.datasets.mnist import load_mnist
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from benchmarks.accuracy import sets_from_bags
from benchmarks.rows import RESULTS, Row, as_markdown, find_data_folder, measure_rows, write_whole
from llpgan import DLLP, Bags
from llpgan.evaluation import Calibrator, estimate_calibration, fit_calibrator, label_scores
from llpgan.evaluation.calibrate import KINDS, log_odds, temperature_calibrator

Array = NDArray[Any]
NETWORK = "MNIST, network"
PROBLEMS = (*sets_from_bags.PROBLEMS, NETWORK)
SIZES, POPULATION, N_ROWS, DRAWS = (16, 64, 256), 20_000, 8_000, 5
TRAINED_ON, BAG_SIZE, EPOCHS = 4_000, 16, 20


def run() -> list[Row]:
    rows = measure_rows(
        RESULTS / "calibration_from_bags.jsonl", ("problem", "bag_size"), product(PROBLEMS, SIZES), measure
    )
    about = (
        f"Bags of {N_ROWS:,} rows, drawn from up to {POPULATION:,} that the classifier was not trained on, "
        f"mean of {DRAWS} draws; log loss and expected calibration error (ten bins) of all these rows. "
        "*Before*: as the classifier predicts. *By labels*: temperature scaling by the labels of the same "
        "rows. *Holds*: in how many draws the interval of the calibration error from bags contains that of "
        f"all rows, before calibration; *width* is that of the interval. {NETWORK}: DLLP, {EPOCHS} epochs on "
        f"{TRAINED_ON:,} images in bags of {BAG_SIZE}; the others: BagLogistic, as in `sets_from_bags.md`. "
        "Made from `calibration_from_bags.jsonl` by `python -m benchmarks calibration_from_bags`."
    )
    found = []
    for row in rows:
        shown = {"problem": row["problem"], "bags of": row["bag_size"]}
        for name in ("before", *KINDS, "by labels"):
            loss, error = row[name]
            shown[name] = f"{loss:.3f} / {error:.3f}"
        found.append(shown | {"holds": f"{row['holds']:.0%}", "width": f"{row['width']:.3f}"})
    write_whole(RESULTS / "calibration_from_bags.md", as_markdown("Calibration from random bags", about, found))
    return rows


@cache
def predictions(problem: str) -> tuple[Array, Array]:
    """The probabilities of the rows that the classifier was not trained on, and their classes as numbers."""
    if problem != NETWORK:
        probabilities, labels = sets_from_bags.predictions(problem)
        return probabilities[:POPULATION], labels[:POPULATION]
    images = load_mnist(find_data_folder("mnist"))
    X, y = images.instances[:TRAINED_ON], images.labels[:TRAINED_ON]
    bags = Bags.from_labels(X, y, np.arange(TRAINED_ON) // BAG_SIZE)
    model = DLLP(epochs=EPOCHS, random_state=0).fit_bags(bags)
    return model.predict_encoded(images.test_instances), images.test_labels


def measure(problem: str, bag_size: int) -> Row:
    probabilities, labels = predictions(problem)
    classes = np.arange(probabilities.shape[1])
    before = label_scores(labels, probabilities, classes)
    scores: dict[str, list[Array]] = {name: [] for name in (*KINDS, "by labels")}
    holds, widths = [], []
    for draw in range(DRAWS):
        rng = np.random.default_rng([draw, bag_size])
        rows = rng.choice(len(labels), N_ROWS // bag_size * bag_size)
        drawn = probabilities[rows]
        bags = Bags.from_labels(np.zeros((len(rows), 1)), labels[rows], np.arange(len(rows)) // bag_size)
        found = estimate_calibration(bags, drawn).error
        assert found.low is not None and found.high is not None
        holds.append(found.low <= before.calibration_error.value <= found.high)
        widths.append(found.high - found.low)
        calibrators: dict[str, Calibrator] = {kind: fit_calibrator(bags, drawn, kind=kind) for kind in KINDS}
        calibrators["by labels"] = temperature_calibrator(fit_temperature(labels[rows], drawn), len(classes))
        for name, calibrator in calibrators.items():
            after = label_scores(labels, calibrator.apply(probabilities), classes)
            scores[name].append(np.array([after.log_loss.value, after.calibration_error.value]))
    figures = {name: np.mean(each, axis=0).round(5).tolist() for name, each in scores.items()}
    return {
        "before": [round(before.log_loss.value, 5), round(before.calibration_error.value, 5)],
        **figures,
        "holds": float(np.mean(holds)),
        "width": round(float(np.mean(widths)), 5),
    }


def fit_temperature(labels: Array, probabilities: Array) -> float:
    """The temperature with the least log loss on labels."""
    logits = log_odds(probabilities)

    def loss(log_slope: float) -> float:
        q = softmax(np.exp(log_slope) * logits, axis=1)
        return float(-np.log(np.maximum(q[np.arange(len(labels)), labels], 1e-12)).mean())

    return float(np.exp(-minimize_scalar(loss, bounds=(-4, 3), method="bounded").x))
