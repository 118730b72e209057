"""Rows that stay on disk over the same rows in memory: time and peak memory of DLLP's epoch and of predictions.

``python -m benchmarks.speed.larger_than_memory --rows 1000000`` is a smaller one, whose rows are only shown.
"""

import argparse
import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from rich.console import Console

from benchmarks.rows import RESULTS, Row, as_table, write_whole
from benchmarks.speed.measure import peak_bytes
from llpgan import DLLP, load, save
from llpgan.cli.predict import predict, predictions
from llpgan.tables import open_rows
from llpgan.tables import store as stores

N_ROWS, N_NUMBERS, ROWS_A_BAG = 20_000_000, 18, 1_000  # and a whole number and a text: 20 columns
BAGS_A_STEP = 16
ROWS_AT_ONCE = 2**18
ENOUGH = 2_000  # megabytes


def run(n_rows: int = N_ROWS) -> list[Row]:
    """Make the file, then measure each step in a separate process."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run_measured(write_tables, folder, n_rows)
        built = run_measured(build, folder)
        from_store = run_measured(train, folder, False)
        streamed = run_measured(predict_in_parts, folder)
        from_memory = run_measured(train, folder, True)
        at_once = run_measured(predict_at_once, folder)
        sizes = {name: (folder / name).stat().st_size for name in ("rows.parquet", "store/instances.npy")}
    same = from_store["digest"] == from_memory["digest"] and streamed["digest"] == at_once["digest"]
    note = f"{n_rows:,} rows; {' and '.join(f'{name} of {size / 1e9:.2f} GB' for name, size in sizes.items())}"
    agree = "agree to the bit" if same else "differ"
    rows = [
        row("llpgan store: Parquet to store", n_rows, built, note),
        row("DLLP, an epoch, from the store", n_rows, from_store, "the file not in the system's cache at first"),
        row("DLLP, an epoch, from memory", n_rows, from_memory, "rows sorted by bag too", at_most=None),
        row("llpgan predict: Parquet to Parquet, part after part", n_rows, streamed, "not in the cache either"),
        row("the same at once", n_rows, at_once, f"models and predictions {agree}", at_most=None),
    ]
    rows[1] |= {"speed over memory's": round(from_memory["seconds"] / from_store["seconds"], 2), "at least": 0.5}
    rows[3] |= {"speed over memory's": round(at_once["seconds"] / streamed["seconds"], 2), "at least": 0.5}
    if n_rows == N_ROWS:
        write_whole(RESULTS / "larger_than_memory.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return rows


def row(what: str, n_rows: int, measured: Row, note: str, at_most: int | None = ENOUGH) -> Row:
    return {
        "what": what,
        "seconds": round(measured["seconds"], 1),
        "rows a second": round(n_rows / measured["seconds"]),
        "peak MB": round(measured["peak"] / 1e6),
        "at most MB": at_most,
        "speed over memory's": None,
        "at least": None,
        "note": note,
    }


def run_measured(measure: Callable[..., Row], *arguments: object) -> Row:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(measure, *arguments).result()


def write_tables(folder: Path, n_rows: int) -> Row:
    """Rows in no order of bags, whose classes follow from their columns, and the share of each class by bag."""
    rng = np.random.default_rng(0)
    n_bags = n_rows // ROWS_A_BAG
    of_bag = rng.standard_normal((n_bags, N_NUMBERS), dtype=np.float32) / 2
    weights = rng.standard_normal(N_NUMBERS, dtype=np.float32)
    counts = np.zeros((n_bags, 2), dtype=np.int64)
    writer = None
    for start in range(0, n_rows, ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, n_rows - start)
        bag = rng.integers(n_bags, size=n)
        numbers = of_bag[bag] + rng.standard_normal((n, N_NUMBERS), dtype=np.float32)
        labels = numbers @ weights + rng.standard_normal(n, dtype=np.float32) > 0
        counts += np.bincount(2 * bag + labels, minlength=2 * n_bags).reshape(n_bags, 2)
        columns: Row = {"bag": bag.astype(np.int32)} | {f"number {i}": numbers[:, i] for i in range(N_NUMBERS)}
        columns |= {"whole": rng.integers(100, size=n), "text": np.array(["a", "b", "c"])[rng.integers(3, size=n)]}
        table = pa.table(columns)
        writer = writer or pa.parquet.ParquetWriter(folder / "rows.parquet", table.schema, use_dictionary=["text"])
        writer.write_table(table)
    if writer is not None:
        writer.close()
    results = {"bag": np.arange(n_bags, dtype=np.int32), "no": counts[:, 0], "yes": counts[:, 1]}
    pa.parquet.write_table(pa.table(results), folder / "results.parquet")
    return {}


def build(folder: Path) -> Row:
    started = time.perf_counter()
    stores.store_tables(folder / "rows.parquet", folder / "store", counts=folder / "results.parquet", bag="bag")
    return {"seconds": time.perf_counter() - started, "peak": peak_bytes()}


def train(folder: Path, in_memory: bool) -> Row:
    _forget(folder / "store" / "instances.npy")
    bags = stores.open_store(folder / "store")
    if in_memory:
        bags = replace(bags, instances=np.asarray(bags.instances))
    started = time.perf_counter()
    model = _model().fit_bags(bags)
    seconds = time.perf_counter() - started
    peak = peak_bytes()
    save(model, folder / "model", overwrite=True)
    digest = hashlib.file_digest((folder / "model" / "weights.safetensors").open("rb"), "sha256").hexdigest()
    return {"seconds": seconds, "peak": peak, "digest": digest}


def predict_in_parts(folder: Path) -> Row:
    _forget(folder / "rows.parquet")
    started = time.perf_counter()
    predict(str(folder / "model"), str(folder / "rows.parquet"), out=str(folder / "parts.parquet"))
    return {
        "seconds": time.perf_counter() - started,
        "peak": peak_bytes(),
        "digest": _digest(folder / "parts.parquet"),
    }


def predict_at_once(folder: Path) -> Row:
    started = time.perf_counter()
    table = predictions(load(folder / "model"), open_rows(folder / "rows.parquet"))
    pa.parquet.write_table(table, folder / "once.parquet")
    return {
        "seconds": time.perf_counter() - started,
        "peak": peak_bytes(),
        "digest": _digest(folder / "once.parquet"),
    }


def _model() -> DLLP:
    warnings.simplefilter("ignore")
    return DLLP(epochs=1, bags_per_step=BAGS_A_STEP, random_state=0, device="cpu")


def _digest(path: Path) -> str:
    """Of the probabilities in a file of predictions."""
    probabilities = pa.parquet.read_table(path, columns=["p_yes"])["p_yes"]
    return hashlib.sha256(probabilities.to_numpy().tobytes()).hexdigest()


def _forget(path: Path) -> None:
    """Let the system drop what it has of a file in its cache, so that it is read from the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    Console().print(as_table("larger_than_memory", run(parser.parse_args().rows)))
