"""Time and memory as they are measured, and instances of the shape of known data sets.

Two things are timed side by side: what matters is their ratio, since the machine may be busy.
"""

import re
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.rows import Row
from llpgan import Bags

Work = Callable[[], object]
Result = TypeVar("Result")
MNIST, CIFAR = (1, 28, 28), (3, 32, 32)


def make_objective(model: Any, bags: Bags, precision: str = "32-true") -> Any:
    """What a step of a deep method's training on these bags minimizes, with fresh networks, on the CPU."""
    import torch

    from llpgan.deep.devices import make_fabric
    from llpgan.methods.deep import find_recipe

    model._start(bags)
    recipe = find_recipe(model)
    networks = model._fresh_networks(recipe, bags)
    return model._objective(recipe, networks, bags, make_fabric(torch.device("cpu"), precision))


def time_in_turns(works: dict[str, Work], rounds: int, times_a_round: int = 1) -> dict[str, list[float]]:
    """Seconds of each work in each round; they take turns, so that a busy machine slows all alike."""
    for work in works.values():
        work()  # the first time is for caches and for memory
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            seconds[name].append(time_work(work, times_a_round))
    return seconds


def time_work(work: Work, times: int = 1) -> float:
    started = time.perf_counter()
    for _ in range(times):
        work()
    return time.perf_counter() - started


def ratio_row(
    what: str,
    seconds: Sequence[float],
    others: Sequence[float],
    *,
    at_most: float | None = None,
    at_least: float | None = None,
) -> Row:
    """The median and the quartiles, over rounds, of one's time over the other's of the same round."""
    ratios = [a / b for a, b in zip(seconds, others, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {
        "what": what,
        "ratio": round(middle, 3),
        "quartiles": f"{low:.2f} to {high:.2f}",
        "bar": bar(at_most, at_least),
        "rounds": len(ratios),
    }


def bar(at_most: float | None = None, at_least: float | None = None) -> str:
    """What the figure is held against, in words."""
    if at_most is not None:
        return f"at most {at_most:g}"
    return "" if at_least is None else f"at least {at_least:g}"


def peak_bytes() -> int:
    """Linux's high-water mark; getrusage's peak would include the parent's, from before a new process began."""
    return _status("VmHWM")


def bytes_now() -> int:
    """What the process has in memory."""
    return _status("VmRSS")


def forget_peak() -> None:
    """From now on the peak is that of what comes: a job's, without that of making its data."""
    Path("/proc/self/clear_refs").write_text("5")


def run_in_new_process(measure: Callable[..., Result], *given: Any) -> Result:
    """What a function gives in a process that has done nothing before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(measure, *given).result()


def _status(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise OSError("this benchmark measures memory as Linux tells it")
    return int(found[1]) * 1024


def image_bags(shape: tuple[int, ...], n_bags: int, bag_size: int) -> Bags:
    """Bags of random pixels, ten classes in turn: what is in them does not matter to time."""
    n = n_bags * bag_size
    pixels = np.random.default_rng(0).integers(256, size=(n, *shape)).astype(np.uint8)
    return Bags.from_labels(pixels, np.arange(n) % 10, np.arange(n) // bag_size)
