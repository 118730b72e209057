"""Adult in random bags of 64, the official split, three draws: accuracy, AUC and calibration, default settings.

Rows go to ``results/adult.jsonl``, their table to ``results/adult.md``; rows that are there already are not run
again. ``ADULT_METHODS`` (such as ``BagBoosting,BagLogistic``) runs a part. Beside the methods stand logistic
regression and boosted trees that know every label.
"""

import os
import statistics
import time
import warnings
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import llpgan
from benchmarks.accuracy.compare_regret import one_hot
from benchmarks.rows import (
    RESULTS,
    Row,
    as_markdown,
    describe_earlier_rows,
    find_data_folder,
    measure_rows,
    write_whole,
)
from llpgan.bags import Bags
from llpgan.data.bagging import random_bags
from llpgan.evaluation import label_scores
from reproduction.datasets import load_adult

Array = NDArray[Any]
BAG_SIZE, DRAWS = 64, range(3)
METHODS = ("BagBoosting", "AutoLLP", "BagLogistic", "DLLP")
FROM_LABELS: dict[str, Callable[[], Any]] = {
    "labels, logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "labels, boosted trees": lambda: HistGradientBoostingClassifier(random_state=0),
}


def run() -> list[Row]:
    methods = [*FROM_LABELS, *os.environ.get("ADULT_METHODS", ",".join(METHODS)).split(",")]
    cells = ((name, draw) for draw, name in product(DRAWS, methods) if draw == 0 or name not in FROM_LABELS)
    rows = measure_rows(RESULTS / "adult.jsonl", ("method", "draw"), cells, measure)
    write_whole(RESULTS / "adult.md", page(rows))
    return summary(rows)


def page(rows: list[Row]) -> str:
    """The table with its explanation."""
    about = (
        f"Learned from random bags of {BAG_SIZE} of Adult's 32,561 training rows with default settings, judged by "
        "its 16,281 test rows, whose labels choose nothing; made from `adult.jsonl`. Mean and standard deviation "
        "over draws of the bags. Categories are one column for each value; the column `fnlwgt` and rare values "
        "are left out. Calibration error: by how much the probability of the predicted class differs from the "
        f"share that is right, in ten bins.{describe_earlier_rows(rows)}"
    )
    return as_markdown(f"Adult in random bags of {BAG_SIZE}", about, summary(rows))


def summary(rows: list[Row]) -> list[Row]:
    """One row per method."""
    methods = [*METHODS, *FROM_LABELS]
    there = {row["method"] for row in rows}
    return [summarize([row for row in rows if row["method"] == name]) for name in methods if name in there]


def summarize(rows: list[Row]) -> Row:
    return {
        "method": rows[0]["method"],
        "accuracy (%)": spread([100 * row["accuracy"] for row in rows], 2),
        "AUC": spread([row["auc"] for row in rows], 4),
        "log loss": spread([row["log_loss"] for row in rows], 3),
        "calibration error": spread([row["calibration_error"] for row in rows], 3),
        "draws": len(rows),
    }


def spread(values: list[float], digits: int) -> str:
    """Mean and standard deviation."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


def measure(method: str, draw: int) -> Row:
    train, labels, test, test_labels = load_encoded()
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        probabilities = predict_probabilities(method, draw, train, labels, test)
    scores = label_scores(test_labels, probabilities, np.unique(labels))
    assert scores.auc is not None
    return {
        "accuracy": round(scores.accuracy.value, 5),
        "auc": round(scores.auc.value, 5),
        "log_loss": round(scores.log_loss.value, 4),
        "calibration_error": round(scores.calibration_error.value, 4),
        "seconds": round(time.perf_counter() - started, 1),
    }


def predict_probabilities(method: str, draw: int, train: Array, labels: Array, test: Array) -> Array:
    if method in FROM_LABELS:
        return np.asarray(FROM_LABELS[method]().fit(train, labels).predict_proba(test))
    bags = Bags.from_labels(train, labels, random_bags(len(labels), BAG_SIZE, draw))
    model = getattr(llpgan, method)(random_state=draw)
    if method == "AutoLLP":
        model.set_params(time_limit=None)  # so that figures do not depend on the machine
    return np.asarray(model.fit_bags(bags).predict_proba(test))


@cache
def load_encoded() -> tuple[Array, Array, Array, Array]:
    """Rows and labels to learn from, and to test on."""
    split = load_adult(find_data_folder("adult.csv.gz", "adult.csv", "adult.data", "adult"))
    used = [name for name in split.columns if name != "fnlwgt"]
    train, test = one_hot(split.columns, split.test_columns, used, np.arange(len(split.labels)))
    return train, split.labels, test, split.test_labels
