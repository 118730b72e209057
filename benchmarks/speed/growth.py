"""How time and memory of an epoch grow with rows, bags, bag size and classes: rows, a table and a figure.

Each point is measured in a separate process. Time is the process's own on one thread, which other work on the
machine stretches less than the clock's; memory is the peak above what imports take, the data included.
"""

import json
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from reproduction.experiments.times import growth
from reproduction.outputs import COLOURS, SOFT, Draw, panels, save_figure

from benchmarks.rows import RESULTS, Row, as_markdown, describe_versions, write_whole
from benchmarks.speed.measure import bytes_now, forget_peak, peak_bytes
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
BILLION = 1_000_000_000
QUICK = 20_000  # up to so many rows an epoch is short enough to be timed three times

AXES = {
    "rows": "rows",
    "bags, of the same rows": "bags",
    "bag size, as many bags": "bag_size",
    "classes": "classes",
}
MEASURES = {"seconds": ("seconds an epoch", 1.0), "peak_bytes": ("peak memory (MB)", 1e6)}
ABOUT = (
    "The exponent b of c·x^b, by least squares on logarithms: 1 is linear, below 1 is better. Made from "
    "`growth.jsonl`, which has every point: 16,384 rows of 20 columns, bags of 64, 4 classes, but for what grows. "
    "Dotted in the figure: linear growth."
)
Points = list[tuple[float, float]]


def run() -> list[Row]:
    """The exponents; points go into ``results/growth.jsonl``, a table and a figure beside it."""
    cells = [(method, sweep, USUAL | job) for method in METHODS for sweep, jobs in SWEEPS.items() for job in jobs]
    with ProcessPoolExecutor(1, mp_context=_fresh(), max_tasks_per_child=1) as fresh:
        points = list(fresh.map(measure, *zip(*cells, strict=True)))
    write_whole(
        RESULTS / "growth.jsonl", "".join(json.dumps(point | describe_versions()) + "\n" for point in points)
    )
    save_figure(growth_figure(points), RESULTS / "growth")
    write_whole(RESULTS / "growth.md", page(points))
    return fits(points)


def measure(method: str, sweep: str, job: Mapping[str, int]) -> Row:
    """A point: the time of one epoch, the quickest of a few, and the peak of memory."""
    torch.set_num_threads(1)
    train(method, synthetic_bags(64, 16, 2), epochs=1)  # libraries and pools of memory, which belong to no job
    before = bytes_now()
    bags = synthetic_bags(**job)
    forget_peak()
    epochs = 4 if job["rows"] <= QUICK else 2
    model, seconds = train(method, bags, epochs)
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


def train(method: str, bags: Bags, epochs: int, **settings: Any) -> tuple[DeepClassifier, list[float]]:
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
    context.set_forkserver_preload(["benchmarks.speed.growth"])
    return context


def fits(points: list[Row]) -> list[Row]:
    """A row for each method and for what grows."""
    return [
        {
            "method": method,
            "what grows": sweep,
            "from": min(x for x, _ in along(points, method, sweep, "seconds")),
            "to": max(x for x, _ in along(points, method, sweep, "seconds")),
            "exponent of time": round(exponent(along(points, method, sweep, "seconds")), 2),
            "exponent of memory": round(exponent(along(points, method, sweep, "peak_bytes")), 2),
        }
        for method, sweep in dict.fromkeys((point["method"], point["sweep"]) for point in points)
    ]


def page(points: list[Row]) -> str:
    return as_markdown("Growth", ABOUT, fits(points))


def along(points: list[Row], method: str, sweep: str, measure: str) -> Points:
    """What grows, and what was measured there."""
    found = [point for point in points if (point["method"], point["sweep"]) == (method, sweep)]
    return sorted((point[AXES[sweep]], point[measure] / MEASURES[measure][1]) for point in found)


def exponent(points: Points) -> float:
    xs, ys = zip(*points, strict=True)
    return growth(list(xs), list(ys))


def growth_figure(points: list[Row]) -> Figure:
    """Time above, memory below; a column for each thing that grows."""
    draws: list[Draw] = [partial(_draw, points, sweep, measure) for measure in MEASURES for sweep in AXES]
    return panels(draws, n_columns=len(AXES), size=(2.9, 2.6))


def _draw(points: list[Row], sweep: str, measure: str, axes: Axes) -> None:
    methods = dict.fromkeys(point["method"] for point in points)
    curves = {method: along(points, method, sweep, measure) for method in methods}
    for method, curve in curves.items():
        label = f"{method}, exponent {exponent(curve):.2f}"
        axes.plot(*zip(*curve, strict=True), color=COLOURS[method], marker="o", markersize=4, label=label)
    axes.set(xscale="log", yscale="log", xlabel=AXES[sweep].replace("_", " "))
    axes.set_ylim(*_limits([y for curve in curves.values() for _, y in curve]))
    for curve in curves.values():
        _linear(axes, curve)
    if sweep == "rows":
        axes.set_ylabel(MEASURES[measure][0])
    if measure == "seconds":
        axes.set_title(sweep[0].upper() + sweep[1:])
    axes.legend(fontsize=8, handlelength=1.2, loc="lower right")


def _limits(values: list[float]) -> tuple[float, float]:
    """Room for two decades at least, so that what hardly grows looks so."""
    low, high = min(values) / 2, max(values) * 1.6
    return min(low, high / 100), high


def _linear(axes: Axes, points: Points) -> None:
    """The slope of linear growth, from the first point on."""
    (first, height), (last, _) = points[0], points[-1]
    axes.plot([first, last], [height, height * last / first], color=SOFT, linewidth=0.8, linestyle=":", zorder=1)


def run_billion() -> list[Row]:
    """What a billion rows would take, from the rates that were measured: their rows, and arithmetic."""
    points = [json.loads(line) for line in (RESULTS / "growth.jsonl").read_text().splitlines()]
    epochs = [row for method in ("DLLP", "LLPGAN") for row in estimates(points, method)]
    steps = [json.loads(line) for line in (RESULTS / "tables_growing.jsonl").read_text().splitlines()]
    largest_steps = {row["step"]: row for row in sorted(steps, key=lambda row: row["rows"])}
    return [*epochs, *map(estimate_step, largest_steps.values())]


def estimate_step(job: Row) -> Row:
    """A step of tables by linear growth from the largest that was measured, by CPU seconds."""
    return {
        "method": job["step"],
        "bag size": job["rows"] // job["bags"],
        "rows a second and core": job["rows per CPU second"],
        "core hours an epoch": round(BILLION / job["rows per CPU second"] / 3600, 2),
        "by the fitted power": None,
    }


def estimates(points: list[Row], method: str) -> list[Row]:
    """From the largest jobs measured: of many small bags, and of large ones."""
    jobs = {sweep: largest(points, method, sweep) for sweep in ("rows", "bag size, as many bags")}
    return [estimate(method, job, exponent(along(points, method, "rows", "seconds"))) for job in jobs.values()]


def largest(points: list[Row], method: str, sweep: str) -> Row:
    found = [point for point in points if (point["method"], point["sweep"]) == (method, sweep)]
    return max(found, key=lambda point: int(point["rows"]))


def estimate(method: str, job: Row, power: float) -> Row:
    """An epoch by linear growth from this job; and if growth went on by the power that was fitted to rows."""
    rate = job["rows"] / job["seconds"]
    hours = BILLION / rate / 3600
    return {
        "method": method,
        "bag size": job["bag_size"],
        "rows a second and core": round(rate),
        "core hours an epoch": round(hours, 1),
        "by the fitted power": round(hours * (BILLION / job["rows"]) ** (power - 1), 1),
    }
