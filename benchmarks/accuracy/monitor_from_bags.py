"""Monitoring from bags: false alarms on quiet data, and how many bags a fall of accuracy by five points takes.

The classifier and the rows are those of ``sets_from_bags`` (Adult). Predictions are made once; bags are drawn with
replacement from the rows that it was not trained on. For the fall, labels of rightly predicted rows are flipped at
random until the accuracy is five points lower. A test by the labels of the same rows, at the same error level,
shows what labels would add. Rows go to ``results/monitor_from_bags.jsonl``, a table to
``results/monitor_from_bags.md``. Rows that are there already are not measured again.
"""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from benchmarks.accuracy.sets_from_bags import predictions
from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan import Bags
from llpgan.evaluation.monitor import LEVEL, Snapshot, compare_looks, take_snapshot

Array = NDArray[Any]
QUIET_RUNS, N_LOOKS, N_BAGS = range(29), 100, 100
FALLS, RUNS, N_REFERENCE, FALL = (25, 50, 100, 200, 400, 800), 20, 800, 0.05
SIZES = (16, 64)


class Predictor:
    """A model whose predictions are the instances."""

    classes_ = np.arange(2)

    def predict_proba(self, bags: Bags) -> Array:
        """The instances."""
        return np.asarray(bags.instances)


def run() -> list[Row]:
    path, names = RESULTS / "monitor_from_bags.jsonl", ("what", "bag_size", "bags", "looks", "run")
    falls = [("fall", size, n, 1, 0) for size, n in product(SIZES, FALLS)]
    quiet = [("quiet", 16, N_BAGS, N_LOOKS, run) for run in QUIET_RUNS]
    rows = measure_rows(path, names, [*falls, *quiet], measure)
    alarms = [row for row in rows if row["what"] == "quiet" and row["first"] is not None]
    found = [
        {
            "bags of": row["bag_size"],
            "bags": row["bags"],
            "rows": row["bag_size"] * row["bags"],
            "noticed from bags": f"{row['noticed']:.0%}",
            "noticed by labels of all rows": f"{row['by_labels']:.0%}",
        }
        for row in rows
        if row["what"] == "fall"
    ]
    about = (
        f"Adult, made from `monitor_from_bags.jsonl`. Quiet data: {N_LOOKS} looks at {N_BAGS} bags of 16 each; "
        f"{len(alarms)} of {len(QUIET_RUNS)} runs reported an alarm or drift at any look (allowed: 5 %). "
        f"A fall of accuracy by {100 * FALL:.0f} points, first look, reference of {N_REFERENCE} bags, {RUNS} runs:"
    )
    write_whole(RESULTS / "monitor_from_bags.md", as_markdown("Monitoring from bags", about, found))
    return found


def measure(what: str, bag_size: int, bags: int, looks: int, run: int) -> Row:
    if what == "quiet":
        return _stay_quiet(np.random.default_rng([run, bag_size, bags]), bag_size, bags, looks)
    noticed = by_labels = 0
    for run in range(RUNS):
        then, right_then = _reference(bag_size, run)
        now, right_now = _look(np.random.default_rng([run, bag_size, bags]), bag_size, bags, FALL)
        changes = compare_looks([then, now]).changes
        noticed += any(change.name == "accuracy" and change.is_significant for change in changes)
        variance = right_then.var() / len(right_then) + right_now.var() / len(right_now)
        by_labels += norm.sf((right_then.mean() - right_now.mean()) / np.sqrt(variance)) < LEVEL / 4
    return {"noticed": noticed / RUNS, "by_labels": int(by_labels) / RUNS}


@cache
def _reference(bag_size: int, run: int) -> tuple[Snapshot, Array]:
    return _look(np.random.default_rng([run, bag_size]), bag_size, N_REFERENCE)


def _look(rng: np.random.Generator, bag_size: int, n_bags: int, fall: float = 0.0) -> tuple[Snapshot, Array]:
    """One look, and whether each of its rows is predicted rightly."""
    probabilities, labels = predictions("Adult")
    rows = rng.choice(len(labels), bag_size * n_bags)
    truth, predicted = labels[rows].copy(), probabilities[rows].argmax(axis=1)
    accuracy = (probabilities.argmax(axis=1) == labels).mean()
    flipped = (truth == predicted) & (rng.random(len(rows)) < fall / accuracy)
    truth[flipped] = 1 - truth[flipped]
    bags = Bags.from_labels(probabilities[rows], truth, np.arange(len(rows)) // bag_size)
    return take_snapshot(Predictor(), bags), truth == predicted  # type: ignore[arg-type]


def _stay_quiet(rng: np.random.Generator, bag_size: int, n_bags: int, n_looks: int) -> Row:
    """The first of many looks at quiet data that is not quiet, and what it named."""
    looks = [_look(rng, bag_size, n_bags)[0]]
    for place in range(1, n_looks + 1):
        looks.append(_look(rng, bag_size, n_bags)[0])
        found = compare_looks(looks)
        if found.status != "quiet":
            return {"first": place, "changed": [change.name for change in found.changes if change.is_significant]}
    return {"first": None, "changed": []}
