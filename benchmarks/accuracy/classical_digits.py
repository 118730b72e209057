"""Accuracy of the classical methods on digits, odd against even, over three seeds: default settings.

Rows go to ``results/classical_digits.jsonl``, their table to ``results/classical_digits.md``. Test labels choose
nothing. Rows that are there already are not run again.
"""

import statistics
from itertools import product
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan import AlternatingMeanMap, AlterSVM, Bags, ConvSVM, InvCal, LaplacianMeanMap, MeanMap
from llpgan.data.bagging import random_bags
from llpgan.methods.base import LLPClassifier
from reproduction.datasets import load_digits

Array = NDArray[Any]
BAG_SIZES, SEEDS = (16, 64), (0, 1, 2)
METHODS: dict[str, LLPClassifier] = {
    "MeanMap": MeanMap(),
    "LaplacianMeanMap": LaplacianMeanMap(),
    "LaplacianMeanMap nearest": LaplacianMeanMap(similarity="nearest"),
    "AlternatingMeanMap": AlternatingMeanMap(),
    "InvCal linear": InvCal(),
    "InvCal rbf": InvCal(kernel="rbf"),
    "AlterSVM linear": AlterSVM(random_state=0),
    "AlterSVM rbf": AlterSVM(kernel="rbf", random_state=0),
    "ConvSVM linear": ConvSVM(random_state=0),
    "ConvSVM rbf": ConvSVM(kernel="rbf", random_state=0),
}


def run() -> list[Row]:
    cells = product(METHODS, BAG_SIZES, SEEDS)
    rows = measure_rows(RESULTS / "classical_digits.jsonl", ("method", "bag_size", "seed"), cells, measure)
    summary = [
        {"method": method} | {f"bags of {size}": accuracies(rows, method, size) for size in BAG_SIZES}
        for method in METHODS
    ]
    about = "Test accuracy of odd against even, default settings; made from `classical_digits.jsonl`."
    write_whole(RESULTS / "classical_digits.md", as_markdown("Digits, odd against even", about, summary))
    return summary


def measure(method: str, bag_size: int, seed: int) -> Row:
    bags, pixels, odd = odd_against_even(bag_size, seed)
    model = clone(METHODS[method]).fit_bags(bags)
    return {"accuracy": model.score(pixels, odd), "settings": repr(model)}


def accuracies(rows: list[Row], method: str, bag_size: int) -> str:
    """The mean, and each seed's."""
    found = [row["accuracy"] for row in rows if (row["method"], row["bag_size"]) == (method, bag_size)]
    return f"{statistics.mean(found):.3f} ({', '.join(f'{accuracy:.3f}' for accuracy in found)})"


def odd_against_even(bag_size: int, seed: int) -> tuple[Bags, Array, Array]:
    """Bags of 80 % of the digits, and the pixels and labels of the others, which choose nothing."""
    digits = load_digits(seed)
    bag_of_row = random_bags(len(digits.labels), bag_size, seed)
    bags = Bags.from_labels(digits.instances, digits.labels % 2, bag_of_row)
    return bags, digits.test_instances, digits.test_labels % 2
