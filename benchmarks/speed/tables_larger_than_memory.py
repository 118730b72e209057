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
import resource
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from joblib.externals.loky import get_reusable_executor
from numpy.typing import NDArray
from rich.console import Console
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from benchmarks.rows import RESULTS, Row, as_table, describe_versions, measure_rows, write_whole
from benchmarks.speed.measure import peak_bytes, run_in_new_process
from llpgan import BagBoosting, BagLogistic, Bags, save
from llpgan.bags.on_disk import StoredInstances
from llpgan.cli.predict import predict
from llpgan.methods.base import LLPClassifier
from llpgan.tables import store as stores
from llpgan.utils.workers import is_first_process

Array = NDArray[Any]
N_ROWS, N_FEATURES, ROWS_A_BAG = 20_000_000, 20, 1_000
MODELS: dict[str, LLPClassifier] = {
    "BagLogistic": BagLogistic(n_resamples=10, random_state=0),
    "BagBoosting": BagBoosting(max_rounds=5, random_state=0),
    "BagLogistic of 3": BagLogistic(n_resamples=3, random_state=0),
    "BagBoosting of 3": BagBoosting(max_rounds=3, n_models=3, random_state=0),
}
AT_MOST = 3_000  # megabytes
N_JUDGED = 1_000_000
SIZES, COUNTS, N_JUDGED_TOGETHER = (1_000_000, 10_000_000), (1, 2), 100_000
GROWING, ROWS_A_FILE, ROWS_AT_ONCE = (1_000_000, 10_000_000, 100_000_000), 2_500_000, 250_000


def run(n_rows: int = N_ROWS) -> list[Row]:
    """Make the store, then measure each method."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run_in_new_process(write_store, folder, n_rows)
        rows = [run_in_new_process(measure, name, folder) for name in ("BagLogistic", "BagBoosting")]
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


def measure(name: str, folder: Path) -> Row:
    warnings.simplefilter("ignore")
    bags = stores.open_store(folder / "store")
    model = clone(MODELS[name])
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


def run_growing() -> list[Row]:
    """One row for each step and number of rows; those that the file has are not measured again.

    The files, a store and predictions take 0.23 kB per row, in ``LLPGAN_SCRATCH`` if it is set, where they stay.
    """
    cells = [(size, step) for size in GROWING for step in STEPS]
    with TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("LLPGAN_SCRATCH", temporary))
        measure = partial(measured_step, folder)
        return measure_rows(RESULTS / "tables_growing.jsonl", ("rows", "step"), cells, measure)


def measured_step(scratch: Path, n_rows: int, step: str) -> Row:
    """One step from Parquet files to predictions, in a new process."""
    folder = scratch / str(n_rows)
    if not (folder / "labels.npy").exists():
        run_in_new_process(write_files, folder, n_rows)
    return run_in_new_process(take_step, folder, step) | describe_versions()


def write_files(folder: Path, n_rows: int, rows_a_file: int = ROWS_A_FILE) -> None:
    """Parquet files of 20 columns, with rows in no order of bags, and the counts of each bag's classes.

    The class depends on a sum and a product of columns.
    """
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    n_bags, n_numbers = (
        n_rows // ROWS_A_BAG,
        N_FEATURES - 2,
    )  # a column of whole numbers and one of texts come on top
    of_bag = rng.standard_normal((n_bags, n_numbers), dtype=np.float32) / 2
    weights = rng.standard_normal(n_numbers, dtype=np.float32) / 3
    counts, texts = np.zeros((n_bags, 2), np.int64), np.array(["a", "b", "c"])
    labels: list[Array] = []
    for first in range(0, n_rows, rows_a_file):
        path, last = folder / "rows" / f"part-{first // rows_a_file:05d}.parquet", min(first + rows_a_file, n_rows)
        with ExitStack() as stack:
            writer = None
            for start in range(first, last, ROWS_AT_ONCE):
                n = min(ROWS_AT_ONCE, last - start)
                bag = rng.integers(n_bags, size=n, dtype=np.int32)
                numbers = of_bag[bag] + rng.standard_normal((n, n_numbers), dtype=np.float32)
                text = rng.integers(3, size=n)
                score = numbers @ weights + numbers[:, 0] * numbers[:, 1] + text
                is_yes = rng.random(n, dtype=np.float32) < 1 / (1 + np.exp(-score))
                counts += np.bincount(2 * bag + is_yes, minlength=2 * n_bags).reshape(n_bags, 2)
                labels += [is_yes] if start < N_JUDGED else []
                columns: Row = {f"number {place}": numbers[:, place] for place in range(n_numbers)}
                columns |= {"whole": rng.integers(100, size=n), "text": texts[text]}
                table = pa.table({"bag": bag} | columns)
                if writer is None:
                    writer = stack.enter_context(
                        pa.parquet.ParquetWriter(path, table.schema, use_dictionary=["text"])
                    )
                writer.write_table(table)
    results = {"bag": np.arange(n_bags, dtype=np.int32), "no": counts[:, 0], "yes": counts[:, 1]}
    pa.parquet.write_table(pa.table(results), folder / "results.parquet")
    np.save(folder / "labels.npy", np.concatenate(labels)[:N_JUDGED])


def take_step(folder: Path, step: str) -> Row:
    """What one step took; "passes" is how often it read each row of the store."""
    warnings.simplefilter("ignore")
    counts = count_reads()
    started, started_cpu = time.perf_counter(), cpu_seconds()
    found = STEPS[step](folder)
    seconds, cpu = time.perf_counter() - started, cpu_seconds() - started_cpu
    n_rows = int(folder.name)
    row = {
        "bags": n_rows // ROWS_A_BAG,
        "CPU seconds": round(cpu, 1),
        "seconds": round(seconds, 1),
        "passes": round(counts[0] / n_rows, 1),
        "peak MB": round(peak_bytes() / 1e6),
        "at most MB": AT_MOST,
        "processes": 1,
        "load": round(os.getloadavg()[1], 1),
        **found,
    }
    return row | {"rows per CPU second": round(n_rows / row["CPU seconds"])}


def cpu_seconds() -> float:
    """Of this process and of those that it has started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def count_reads() -> list[int]:
    """A count, from now on, of the rows that are read from stores."""
    counts, read = [0], StoredInstances._read

    def read_and_count(self: StoredInstances, into: Array, first_row: int) -> None:
        counts[0] += len(into)
        read(self, into, first_row)

    StoredInstances._read = read_and_count  # type: ignore[method-assign]
    return counts


def store_step(folder: Path) -> Row:
    shutil.rmtree(folder / "store", ignore_errors=True)
    stores.store_tables(folder / "rows", folder / "store", counts=folder / "results.parquet", bag="bag")
    return {}


def train_step(name: str, folder: Path) -> Row:
    """In several processes, whose CPU seconds are summed."""
    count = 4 if int(folder.name) > SIZES[-1] else 2
    each = train_in_processes(name, folder, count)
    return {
        "CPU seconds": round(sum(row["CPU seconds"] for row in each), 1),
        "seconds": max(row["seconds"] for row in each),
        "passes": round(sum(row["rows read"] for row in each) / int(folder.name), 1),
        "peak MB": max(row["peak MB"] for row in each),
        "processes": count,
        "settings": {key: repr(value) for key, value in clone(MODELS[name]).get_params().items()},
    }


def predict_step(name: str, folder: Path) -> Row:
    """From the Parquet files to a folder of Parquet files; AUC is that of the first rows.

    Of several processes, the CPU seconds include their start.
    """
    out, count = folder / f"{name} predictions", 6 if int(folder.name) > SIZES[-1] else 1
    shutil.rmtree(out, ignore_errors=True)
    predict(str(folder / name), str(folder / "rows"), out=str(out), n_jobs=count)
    if count > 1:
        get_reusable_executor().shutdown(wait=True)  # so that what its processes took is known
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    first = min(out.glob("*.parquet"))
    labels = np.load(folder / "labels.npy")
    probabilities = pa.parquet.read_table(first, columns=["p_yes"])["p_yes"].to_numpy()[: len(labels)]
    peak = round(max(largest, peak_bytes()) / 1e6)
    return {"peak MB": peak, "processes": count, "AUC": round(float(roc_auc_score(labels, probabilities)), 4)}


STEPS: dict[str, Callable[[Path], Row]] = {
    "from Parquet to a store": store_step,
    "BagLogistic of 3": partial(train_step, "BagLogistic of 3"),
    "BagLogistic of 3, predictions": partial(predict_step, "BagLogistic of 3"),
    "BagBoosting of 3": partial(train_step, "BagBoosting of 3"),
    "BagBoosting of 3, predictions": partial(predict_step, "BagBoosting of 3"),
}


def measured_together(stores_of_sizes: Path, name: str, n_rows: int, count: int) -> Row:
    """A training in so many processes, by torchrun."""
    folder = stores_of_sizes / str(n_rows)
    if not folder.exists():
        folder.mkdir()
        run_in_new_process(write_store, folder, n_rows)
    each = train_in_processes(name, folder, count)
    largest = {key: max(row[key] for row in each) for key in ("seconds", "CPU seconds", "peak MB")}
    return {"bags": each[0]["bags"], **largest, "AUC": each[0]["AUC"], **describe_versions()}


def train_in_processes(name: str, folder: Path, count: int) -> list[Row]:
    """What each of so many processes took to train one model, which the first of them saves."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}", "-m", __name__]
    command = [sys.executable, *launcher, "--folder", str(folder), "--method", name]
    subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
    return [json.loads((folder / f"{name} {rank}.json").read_text()) for rank in range(count)]


def train_on_one_core(name: str, folder: Path) -> Row:
    """In one of the processes: what its training took."""
    warnings.simplefilter("ignore")
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(os.environ["RANK"]) % len(cores)]})
    bags, model, counts = stores.open_store(folder / "store"), clone(MODELS[name]), count_reads()
    started, started_cpu = time.perf_counter(), time.process_time()
    model.fit_bags(bags)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - started_cpu
    peak, rows_read = peak_bytes(), counts[0]
    if is_first_process():
        save(model, folder / name, overwrite=True)
    labels = np.load(folder / "labels.npy")[:N_JUDGED_TOGETHER]
    found = model.predict_encoded(bags.instances[: len(labels)])
    return {
        "bags": bags.n_bags,
        "seconds": round(seconds, 1),
        "CPU seconds": round(cpu_seconds, 1),
        "peak MB": round(peak / 1e6),
        "rows read": rows_read,
        "AUC": round(float(roc_auc_score(labels, found[:, 1])), 6),
    }


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
        (given.folder / f"{given.method} {os.environ['RANK']}.json").write_text(json.dumps(row))
