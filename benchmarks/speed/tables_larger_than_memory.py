"""BagLogistic and BagBoosting on a store of 20,000,000 rows of 20 columns in 20,000 bags: time and peak memory.

Each method trains and predicts in a process of its own. What is measured is the memory, which does not depend on
how long training goes on: ten resamples instead of a hundred, and a few rounds of trees, keep the time within
reach. ``python -m benchmarks.speed.tables_larger_than_memory --rows 2000000`` is a smaller one, whose rows are
only shown.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.metrics import roc_auc_score

from benchmarks.rows import RESULTS, Row, as_table, made_with, write_aside
from benchmarks.speed.measure import in_a_new_process, peak_bytes
from llpgan import BagBoosting, BagLogistic, Bags
from llpgan.methods.base import LLPClassifier
from llpgan.tables import store as stores

Array = NDArray[Any]
N_ROWS, N_FEATURES, ROWS_A_BAG = 20_000_000, 20, 1_000
N_RESAMPLES, N_ROUNDS = 10, 5
AT_MOST = 3_000  # megabytes
N_JUDGED = 1_000_000


def run(n_rows: int = N_ROWS) -> list[Row]:
    """Make the store, then measure each method."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        in_a_new_process(write_store, folder, n_rows)
        rows = [in_a_new_process(measured, name, folder) for name in ("BagLogistic", "BagBoosting")]
    if n_rows == N_ROWS:
        lines = [json.dumps(row | made_with()) + "\n" for row in rows]
        write_aside(RESULTS / "tables_larger_than_memory.jsonl", "".join(lines))
    return rows


def write_store(folder: Path, n_rows: int) -> None:
    """Rows whose class depends on a sum and a product of columns, sorted by bag, and the labels of the first."""
    rng = np.random.default_rng(0)
    n_bags = n_rows // ROWS_A_BAG
    bag_of_row = np.repeat(np.arange(n_bags), ROWS_A_BAG)
    instances, labels = np.empty((n_rows, N_FEATURES), np.float32), np.empty(n_rows, np.int64)
    weights = rng.normal(size=N_FEATURES).astype(np.float32) / 3
    for bag in range(n_bags):
        rows = slice(bag * ROWS_A_BAG, (bag + 1) * ROWS_A_BAG)
        centre = rng.normal(size=N_FEATURES).astype(np.float32) / 2
        some = rng.standard_normal((ROWS_A_BAG, N_FEATURES), dtype=np.float32) + centre
        score = some @ weights + some[:, 0] * some[:, 1]
        instances[rows] = some
        labels[rows] = rng.random(ROWS_A_BAG) < 1 / (1 + np.exp(-score))
    np.save(folder / "labels.npy", labels[:N_JUDGED])
    stores.store_bags(Bags.from_labels(instances, labels, bag_of_row), folder / "store")


def measured(name: str, folder: Path) -> Row:
    warnings.simplefilter("ignore")
    bags = stores.open_store(folder / "store")
    model = model_of(name)
    started = time.perf_counter()
    model.fit_bags(bags)
    trained, peak = time.perf_counter() - started, peak_bytes()
    started = time.perf_counter()
    probabilities = model.predict_proba(bags)
    predicted = time.perf_counter() - started
    labels = np.load(folder / "labels.npy")
    return {
        "method": name,
        "settings": {key: repr(value) for key, value in model.get_params().items()},
        "rows": len(bags.instances),
        "bags": bags.n_bags,
        "seconds to train": round(trained, 1),
        "seconds to predict": round(predicted, 1),
        "peak MB of training": round(peak / 1e6),
        "peak MB": round(peak_bytes() / 1e6),
        "at most MB": AT_MOST,
        "AUC": round(float(roc_auc_score(labels, probabilities[: len(labels), 1])), 4),
    }


def model_of(name: str) -> LLPClassifier:
    if name == "BagLogistic":
        return BagLogistic(n_resamples=N_RESAMPLES, random_state=0)
    return BagBoosting(max_rounds=N_ROUNDS, random_state=0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    Console().print(as_table("tables_larger_than_memory", run(parser.parse_args().rows)))
