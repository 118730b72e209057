"""BagLogistic and BagBoosting on a store of 20,000,000 rows of 20 columns in 20,000 bags: time and peak memory.

Each method trains and predicts in a separate process. What is measured is the memory, which does not depend on
how long training goes on: ten resamples instead of a hundred, and a few rounds of trees, keep the time within
reach. ``python -m benchmarks.speed.tables_larger_than_memory --rows 2000000`` is a smaller one, whose rows are
only shown.

``python -m benchmarks tables_in_processes`` trains on 1 and 10 million rows in one process and in two, each on one
core. On a busy machine seconds of the clock say little, so that the CPU seconds of the busiest process are
compared.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.metrics import roc_auc_score

from benchmarks.rows import RESULTS, Row, as_table, describe_versions, measure_rows, write_whole
from benchmarks.speed.measure import peak_bytes, run_in_new_process
from llpgan import BagBoosting, BagLogistic, Bags
from llpgan.methods.base import LLPClassifier
from llpgan.tables import store as stores

Array = NDArray[Any]
N_ROWS, N_FEATURES, ROWS_A_BAG = 20_000_000, 20, 1_000
N_RESAMPLES, N_ROUNDS = 10, 5
AT_MOST = 3_000  # megabytes
N_JUDGED = 1_000_000
SIZES, COUNTS, N_JUDGED_TOGETHER = (1_000_000, 10_000_000), (1, 2), 100_000


def run(n_rows: int = N_ROWS) -> list[Row]:
    """Make the store, then measure each method."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run_in_new_process(write_store, folder, n_rows)
        rows = [run_in_new_process(measured, name, folder) for name in ("BagLogistic", "BagBoosting")]
    if n_rows == N_ROWS:
        lines = [json.dumps(row | describe_versions()) + "\n" for row in rows]
        write_whole(RESULTS / "tables_larger_than_memory.jsonl", "".join(lines))
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


def run_in_processes() -> list[Row]:
    """One row for each method and number of processes; those that the file has are not measured again."""
    cells = [(name, size, count) for size in SIZES for name in ("BagLogistic", "BagBoosting") for count in COUNTS]
    with TemporaryDirectory() as temporary:
        path, names = RESULTS / "tables_in_processes.jsonl", ("method", "rows", "processes")
        return measure_rows(path, names, cells, partial(measured_together, Path(temporary)))


def measured_together(stores_of_sizes: Path, name: str, n_rows: int, count: int) -> Row:
    """A training in so many processes, by torchrun."""
    folder = stores_of_sizes / str(n_rows)
    if not folder.exists():
        folder.mkdir()
        run_in_new_process(write_store, folder, n_rows)
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}", "-m", __name__]
    command = [sys.executable, *launcher, "--folder", str(folder), "--method", name]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, env=environment, check=True)
    each = [json.loads((folder / f"process {rank}.json").read_text()) for rank in range(count)]
    largest = {key: max(row[key] for row in each) for key in ("seconds", "CPU seconds", "peak MB")}
    return {"bags": each[0]["bags"], **largest, "AUC": each[0]["AUC"], **describe_versions()}


def train_on_one_core(name: str, folder: Path) -> Row:
    """In one of the processes: what its training took."""
    warnings.simplefilter("ignore")
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(os.environ["RANK"]) % len(cores)]})
    bags, model = stores.open_store(folder / "store"), model_of(name)
    started, started_cpu = time.perf_counter(), time.process_time()
    model.fit_bags(bags)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - started_cpu
    peak, labels = peak_bytes(), np.load(folder / "labels.npy")[:N_JUDGED_TOGETHER]
    found = model.predict_encoded(bags.instances[: len(labels)])
    return {
        "bags": bags.n_bags,
        "seconds": round(seconds, 1),
        "CPU seconds": round(cpu_seconds, 1),
        "peak MB": round(peak / 1e6),
        "AUC": round(float(roc_auc_score(labels, found[:, 1])), 6),
    }


def model_of(name: str) -> LLPClassifier:
    if name == "BagLogistic":
        return BagLogistic(n_resamples=N_RESAMPLES, random_state=0)
    return BagBoosting(max_rounds=N_ROUNDS, random_state=0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--folder", type=Path, help="of a store to train on in one of several processes")
    parser.add_argument("--method")
    given = parser.parse_args()
    if given.folder is None:
        Console().print(as_table("tables_larger_than_memory", run(given.rows)))
    else:
        row = train_on_one_core(given.method, given.folder)
        (given.folder / f"process {os.environ['RANK']}.json").write_text(json.dumps(row))
