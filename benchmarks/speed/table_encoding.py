"""Time and memory of a large CSV that becomes bags, over only reading it and over the size of the file."""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.rows import Row
from benchmarks.speed.measure import peak_bytes, run_in_new_process
from llpgan import Bags

N_ROWS, N_BAGS, N_NUMBERS = 1_000_000, 5_000, 20
CATEGORIES = [3, 5, 8, 12, 18, 26, 38, 56, 80]  # different values in each of the other text columns
ROUNDS = 7


def run() -> list[Row]:
    """One row for time and one for memory."""
    with TemporaryDirectory() as folder:
        people, results = Path(folder, "people.csv"), Path(folder, "results.csv")
        write_tables(people, results)
        rounds = [
            (run_in_new_process(read_only, people), run_in_new_process(make_bags, people, results))
            for _ in range(ROUNDS)  # in turns, so that a busy machine slows both alike
        ]
        size = people.stat().st_size
    reads, bags = zip(*rounds, strict=True)
    return [
        row(
            "Bags.from_tables / pyarrow.csv.read_csv, time",
            [made["seconds"] / read["seconds"] for read, made in rounds],
            f"{middle(bags, 'seconds'):.1f} s and {middle(reads, 'seconds'):.1f} s for {N_ROWS:,} rows",
            at_most=5,
        ),
        row(
            "peak memory of Bags.from_tables / size of the file",
            [made["peak"] / size for made in bags],
            f"a file of {size / 1e6:.0f} MB, instances of {bags[0]['instances'] / 1e6:.0f} MB",
            at_most=4,
        ),
        row(
            "peak memory of read_csv / size of the file",
            [read["peak"] / size for read in reads],
            "only to read it",
        ),
    ]


def row(what: str, ratios: list[float], note: str, at_most: float | None = None) -> Row:
    return {
        "what": what,
        "ratio": round(statistics.median(ratios), 2),
        "range": f"{min(ratios):.2f} to {max(ratios):.2f}",
        "at most": at_most,
        "note": note,
    }


def middle(measured: Sequence[Row], name: str) -> float:
    return statistics.median(row[name] for row in measured)


def write_tables(people: Path, results: Path) -> None:
    rng = np.random.default_rng(0)
    bags = np.array([f"precinct {bag}" for bag in range(N_BAGS)])
    columns = {"precinct": bags[rng.permutation(np.arange(N_ROWS) % N_BAGS)]}
    for column, n_values in enumerate(CATEGORIES):
        values = np.array([f"answer {value}" for value in range(n_values)])
        columns[f"text {column}"] = values[rng.integers(n_values, size=N_ROWS)]
    columns |= {f"number {column}": rng.normal(50, 20, size=N_ROWS).round(2) for column in range(N_NUMBERS)}
    pa.csv.write_csv(pa.table(columns), people)
    shares = rng.random(N_BAGS).round(3)
    pa.csv.write_csv(pa.table({"precinct": bags, "no": 1 - shares, "yes": shares}), results)


def read_only(people: Path) -> Row:
    before, started = peak_bytes(), time.perf_counter()
    pa.csv.read_csv(people)
    return {"seconds": time.perf_counter() - started, "peak": peak_bytes() - before}


def make_bags(people: Path, results: Path) -> Row:
    before, started = peak_bytes(), time.perf_counter()
    bags = Bags.from_tables(people, results, bag="precinct")
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "peak": peak_bytes() - before, "instances": bags.instances.nbytes}
