"""Two things timed side by side: what matters is their ratio, since the machine may be busy."""

import statistics
import time
from collections.abc import Callable, Sequence

from benchmarks.rows import Row

Work = Callable[[], object]


def timed_in_turns(works: dict[str, Work], rounds: int, times_a_round: int = 1) -> dict[str, list[float]]:
    """Seconds of each work in each round; they take turns, so that a busy machine slows all alike."""
    for work in works.values():
        work()  # the first time is for caches and for memory
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            seconds[name].append(seconds_of(work, times_a_round))
    return seconds


def seconds_of(work: Work, times: int = 1) -> float:
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
