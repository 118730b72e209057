"""The epoch that held-out bags choose, beside the best by test labels: what not having labels costs.

Digits, bags of 16 and 64, five seeds; a fifth of the bags is held out, and every epoch is tested. The test labels
judge the choice, and choose nothing. Rows go to ``results/best_epoch.jsonl``, their table to
``results/best_epoch.md``; rows that are there already are not run again.
"""

import statistics
from itertools import product

import numpy as np
import torch

from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan import DLLP, LLPGAN
from llpgan.bags import Bags
from llpgan.bags.fit_warnings import kept_epoch
from llpgan.data.bagging import random_bags
from reproduction.datasets import load_digits

METHODS = {"DLLP": DLLP, "LLPGAN": LLPGAN}
BAG_SIZES, SEEDS = (16, 64), range(5)
HELD_OUT = 0.2


def run() -> list[Row]:
    torch.set_num_threads(1)  # small networks: a second thread only waits
    cells = ((method, size, seed) for seed, size, method in product(SEEDS, BAG_SIZES, METHODS))
    rows = measure_rows(RESULTS / "best_epoch.jsonl", ("method", "bag_size", "seed"), cells, measure)
    summary = [summarize(rows, method, size) for method, size in product(METHODS, BAG_SIZES)]
    summary.append(summarize(rows, None, None))
    about = (
        "Test accuracy (%) on digits, mean over five seeds, of the epoch that the held-out fifth of the bags "
        "chooses (the last within one standard error of the least loss), of the epoch of the least loss on them, "
        "of the last epoch, and of the best epoch by the test labels themselves, which no one has; made "
        "from `best_epoch.jsonl`."
    )
    write_whole(RESULTS / "best_epoch.md", as_markdown("The best epoch without labels", about, summary))
    return summary


def measure(method: str, bag_size: int, seed: int) -> Row:
    digits = load_digits(seed)
    bags = Bags.from_labels(digits.instances, digits.labels, random_bags(len(digits.labels), bag_size, seed))
    order = np.random.default_rng(seed).permutation(bags.n_bags)
    n_held_out = round(HELD_OUT * bags.n_bags)
    model = METHODS[method](random_state=seed).fit_bags(
        bags.take_bags(order[n_held_out:]),
        held_out=bags.take_bags(order[:n_held_out]),
        monitor=lambda model: {"test_accuracy": model.score(digits.test_instances, digits.test_labels)},
    )
    return {
        "chosen_epoch": kept_epoch(model.history_),
        "held_out_loss": [round(row["held_out_loss"], 6) for row in model.history_],
        "held_out_error": [round(row["held_out_error"], 6) for row in model.history_],
        "test_accuracy": [round(row["test_accuracy"], 6) for row in model.history_],
        "settings": {name: repr(value) for name, value in model.get_params().items()},
    }


def summarize(rows: list[Row], method: str | None, bag_size: int | None) -> Row:
    """Of one cell of the table, or of all rows."""
    found = [r for r in rows if method is None or (r["method"], r["bag_size"]) == (method, bag_size)]
    chosen = [100 * row["test_accuracy"][row["chosen_epoch"] - 1] for row in found]
    least = [100 * row["test_accuracy"][int(np.argmin(row["held_out_loss"]))] for row in found]
    best = [100 * max(row["test_accuracy"]) for row in found]
    losses = [b - c for b, c in zip(best, chosen, strict=True)]
    return {
        "method": method or "all",
        "bag size": bag_size or "",
        "chosen": f"{statistics.mean(chosen):.2f}",
        "least held-out loss": f"{statistics.mean(least):.2f}",
        "last": f"{statistics.mean(100 * row['test_accuracy'][-1] for row in found):.2f}",
        "best": f"{statistics.mean(best):.2f}",
        "lost by choosing": f"{statistics.mean(losses):.2f} (at most {max(losses):.2f})",
        "runs": len(found),
    }
