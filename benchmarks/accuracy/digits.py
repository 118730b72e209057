"""Test accuracy on digits over five seeds, default settings: rows in ``results/digits.jsonl``, and their table.

A seed draws the split (80/20, stratified), the bags and the network. The last epoch counts: nothing is chosen by
test labels. Rows that are there already are not run again.
"""

import statistics
from itertools import product

import torch

from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan import DLLP, LLPGAN
from llpgan.data.bagging import random_bags
from reproduction.datasets import load_digits

METHODS = {"LLPGAN": LLPGAN, "DLLP": DLLP}
BAG_SIZES = (1, 16, 64)  # bags of one are labels: the supervised floor
SEEDS = range(5)


def run() -> list[Row]:
    torch.set_num_threads(1)  # small networks: a second thread only waits
    cells = ((method, size, seed) for seed, size, method in product(SEEDS, BAG_SIZES, METHODS))
    rows = measure_rows(RESULTS / "digits.jsonl", ("method", "bag_size", "seed"), cells, measure)
    summary = [summarize(rows, method, size) for method, size in product(METHODS, BAG_SIZES)]
    about = "Test accuracy, default settings; made from `digits.jsonl`. Bags of one are supervised learning."
    write_whole(RESULTS / "digits.md", as_markdown("Digits", about, summary))
    return summary


def measure(method: str, bag_size: int, seed: int) -> Row:
    digits = load_digits(seed)
    model = METHODS[method](random_state=seed)
    model.fit(digits.instances, digits.labels, groups=random_bags(len(digits.labels), bag_size, seed))
    return {
        "accuracy": model.score(digits.test_instances, digits.test_labels),
        "settings": {name: repr(value) for name, value in model.get_params().items()},
    }


def summarize(rows: list[Row], method: str, bag_size: int) -> Row:
    found = [100 * r["accuracy"] for r in rows if (r["method"], r["bag_size"]) == (method, bag_size)]
    return {
        "method": method,
        "bag size": bag_size,
        "accuracy (%)": f"{statistics.mean(found):.2f}",
        "sd over seeds": f"{statistics.stdev(found):.2f}",
        "seeds": len(found),
    }
