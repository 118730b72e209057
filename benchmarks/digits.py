"""Test accuracy on digits over five seeds, default settings: rows in ``results/digits.jsonl``, and their table.

A seed draws the split (80/20, stratified), the bags and the network. The last epoch counts: nothing is chosen by
test labels. Rows that are there already are not run again.
"""

import json
import statistics
from itertools import product
from pathlib import Path

import torch

from benchmarks.rows import RESULTS, Row, write_aside
from llpgan import DLLP, LLPGAN
from llpgan.bagging import random_bags
from llpgan.datasets import load_digits

METHODS = {"LLPGAN": LLPGAN, "DLLP": DLLP}
BAG_SIZES = (1, 16, 64)  # bags of one are labels: the supervised floor
SEEDS = range(5)
ROWS, TABLE = RESULTS / "digits.jsonl", RESULTS / "digits.md"


def run() -> list[Row]:
    torch.set_num_threads(1)  # small networks: a second thread only waits
    rows = read(ROWS)
    done = {(row["method"], row["bag_size"], row["seed"]) for row in rows}
    for seed, bag_size, method in product(SEEDS, BAG_SIZES, METHODS):
        if (method, bag_size, seed) not in done:
            rows.append(measured(method, bag_size, seed))
            write_aside(ROWS, "".join(json.dumps(row) + "\n" for row in rows))
    summary = summarised(rows)
    write_aside(TABLE, as_markdown(summary))
    return summary


def measured(method: str, bag_size: int, seed: int) -> Row:
    digits = load_digits(seed)
    model = METHODS[method](random_state=seed)
    model.fit(digits.instances, digits.labels, groups=random_bags(len(digits.labels), bag_size, seed))
    return {
        "method": method,
        "bag_size": bag_size,
        "seed": seed,
        "accuracy": model.score(digits.test_instances, digits.test_labels),
        "settings": {name: repr(value) for name, value in model.get_params().items()},
    }


def summarised(rows: list[Row]) -> list[Row]:
    def accuracies(method: str, bag_size: int) -> list[float]:
        return [100 * r["accuracy"] for r in rows if (r["method"], r["bag_size"]) == (method, bag_size)]

    return [
        {
            "method": method,
            "bag size": bag_size,
            "accuracy (%)": f"{statistics.mean(accuracies(method, bag_size)):.2f}",
            "sd over seeds": f"{statistics.stdev(accuracies(method, bag_size)):.2f}",
            "seeds": len(accuracies(method, bag_size)),
        }
        for method, bag_size in product(METHODS, BAG_SIZES)
    ]


def as_markdown(summary: list[Row]) -> str:
    lines = ["| " + " | ".join(summary[0]) + " |", "|---" * len(summary[0]) + "|"]
    lines += ["| " + " | ".join(str(value) for value in row.values()) + " |" for row in summary]
    return "# Digits\n\nTest accuracy, default settings; made from `digits.jsonl`.\n\n" + "\n".join(lines) + "\n"


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
