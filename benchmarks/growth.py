"""How time and memory of an epoch grow with rows, bags, bag size and classes: rows, a table and a figure.

Each point is measured in a process of its own. Time is the process's own on one thread, which other work on the
machine stretches less than the clock's; memory is the peak above what imports take, the data included.
"""

import json
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from typing import Any

import numpy as np
import torch
from reproduction.outputs import save_figure

from benchmarks.growth_figure import fits, growth_figure, page
from benchmarks.memory import bytes_now, forget_peak, peak_bytes
from benchmarks.rows import RESULTS, Row, made_with, write_aside
from llpgan import DLLP, LLPGAN, Bags
from llpgan.bags.fit_warnings import TrainingWarning
from llpgan.methods.deep import DeepClassifier

METHODS = {"DLLP": DLLP, "LLPGAN": LLPGAN}
N_FEATURES = 20
USUAL = {"rows": 16_384, "bag_size": 64, "classes": 4}
SWEEPS = {
    "rows": [{"rows": rows} for rows in (1_024, 4_096, 16_384, 65_536, 131_072)],
    "bags, of the same rows": [{"bag_size": size} for size in (1_024, 256, 64, 16, 4)],
    "bag size, as many bags": [{"bag_size": size, "rows": 64 * size} for size in (4, 16, 64, 256, 1_024)],
    "classes": [{"classes": classes} for classes in (2, 8, 32, 128)],
}
QUICK = 20_000  # up to so many rows an epoch is short enough to be timed three times


def run() -> list[Row]:
    """The exponents; points go into ``results/growth.jsonl``, a table and a figure beside it."""
    cells = [(method, sweep, USUAL | job) for method in METHODS for sweep, jobs in SWEEPS.items() for job in jobs]
    with ProcessPoolExecutor(1, mp_context=_fresh(), max_tasks_per_child=1) as fresh:
        points = list(fresh.map(measured, *zip(*cells, strict=True)))
    write_aside(RESULTS / "growth.jsonl", "".join(json.dumps(point | made_with()) + "\n" for point in points))
    save_figure(growth_figure(points), RESULTS / "growth")
    write_aside(RESULTS / "growth.md", page(points))
    return fits(points)


def measured(method: str, sweep: str, job: Mapping[str, int]) -> Row:
    """A point: the time of one epoch, the quickest of a few, and the peak of memory."""
    torch.set_num_threads(1)
    trained(method, synthetic_bags(64, 16, 2), epochs=1)  # libraries and pools of memory, which belong to no job
    before = bytes_now()
    bags = synthetic_bags(**job)
    forget_peak()
    epochs = 4 if job["rows"] <= QUICK else 2
    model, seconds = trained(method, bags, epochs)
    return {
        "method": method,
        "sweep": sweep,
        **job,
        "bags": bags.n_bags,
        "features": N_FEATURES,
        "seconds": min(seconds),
        "wall_seconds": min(row["seconds"] for row in model.history_),
        "peak_bytes": peak_bytes() - before,
        "data_bytes": bags.instances.nbytes,
    }


def trained(method: str, bags: Bags, epochs: int, **settings: Any) -> tuple[DeepClassifier, list[float]]:
    """The model, and the process's own seconds of each epoch but the first, which also sets up."""
    ends: list[float] = []

    def note(_: DeepClassifier) -> Mapping[str, float]:
        ends.append(time.process_time())
        return {}

    with warnings.catch_warnings(action="ignore", category=TrainingWarning):  # an epoch or two learn little
        model = METHODS[method](epochs=epochs, random_state=0, **settings).fit_bags(bags, monitor=note)
    return model, [later - earlier for earlier, later in pairwise(ends)]


def synthetic_bags(rows: int, bag_size: int, classes: int) -> Bags:
    """A linear rule's classes, in bags drawn at random."""
    rng = np.random.default_rng(0)
    instances = rng.standard_normal((rows, N_FEATURES), np.float32)
    scores = instances @ rng.standard_normal((N_FEATURES, classes), np.float32)
    return Bags.from_labels(instances, scores.argmax(axis=1), rng.permutation(rows) // bag_size)


def _fresh() -> BaseContext:
    """Processes that begin with everything imported, and nothing else done."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.growth"])
    return context
