"""Accuracy of the classical methods on digits, odd against even: ``python -m benchmarks.classical_digits``.

Test labels choose nothing. A method has its default settings, or its C is the one of a grid whose models met
held-out bags best (five folds of whole bags, no label of an instance). The rows go to
``results/classical_digits.jsonl``.
"""

import json
from itertools import product
from pathlib import Path

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from benchmarks.odd_even import odd_against_even
from benchmarks.show import Row, show
from llpgan import AlternatingMeanMap, AlterSVM, Bags, ConvSVM, InvCal, LaplacianMeanMap, MeanMap
from llpgan.estimators.base import LLPClassifier

RESULTS = Path(__file__).parents[1] / "results" / "classical_digits.jsonl"
BAG_SIZES, SEEDS = (16, 64), (0, 1, 2)
GRID = {"C": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]}
METHODS: list[tuple[str, LLPClassifier, bool]] = [  # with its name, and whether held-out bags choose C
    ("MeanMap", MeanMap(), False),
    ("MeanMap, C chosen", MeanMap(), True),
    ("LaplacianMeanMap", LaplacianMeanMap(), False),
    ("LaplacianMeanMap nearest", LaplacianMeanMap(similarity="nearest"), False),
    ("LaplacianMeanMap, C chosen", LaplacianMeanMap(), True),
    ("AlternatingMeanMap", AlternatingMeanMap(), False),
    ("AlternatingMeanMap, C chosen", AlternatingMeanMap(), True),
    ("InvCal linear", InvCal(), False),
    ("InvCal linear, C chosen", InvCal(), True),
    ("InvCal rbf", InvCal(kernel="rbf"), False),
    ("InvCal rbf, C chosen", InvCal(kernel="rbf"), True),
    ("AlterSVM linear", AlterSVM(random_state=0), False),
    ("AlterSVM rbf", AlterSVM(kernel="rbf", random_state=0), False),
    ("ConvSVM linear", ConvSVM(random_state=0), False),
    ("ConvSVM rbf", ConvSVM(kernel="rbf", random_state=0), False),
]


def run() -> list[Row]:
    """One row a method, bag size and seed; they are kept among the results."""
    rows = [measure(*method, size, seed) for method, size, seed in product(METHODS, BAG_SIZES, SEEDS)]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return rows


def measure(name: str, estimator: LLPClassifier, chosen: bool, bag_size: int, seed: int) -> Row:
    bags, images, labels = odd_against_even(bag_size, seed)
    model = chosen_by_held_out_bags(estimator, bags) if chosen else clone(estimator)
    accuracy = model.fit_bags(bags).score(images, labels)
    return {
        "method": name,
        "bag_size": bag_size,
        "seed": seed,
        "accuracy": round(accuracy, 4),
        "settings": repr(model),
    }


def chosen_by_held_out_bags(estimator: LLPClassifier, bags: Bags) -> LLPClassifier:
    rows = bags.proportions[bags.bag_index]
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(estimator, GRID, cv=GroupKFold(5), refit=False)
        search.fit(bags.instances, rows, groups=bags.bag_index)
    return clone(estimator).set_params(**search.best_params_)


def summarised(rows: list[Row]) -> list[Row]:
    """One row a method: its mean accuracy, and that of each seed, for each bag size."""
    return [
        {"method": name} | {f"bags of {size}": _accuracies(rows, name, size) for size in BAG_SIZES}
        for name, _, _ in METHODS
    ]


def _accuracies(rows: list[Row], name: str, bag_size: int) -> str:
    found = [row["accuracy"] for row in rows if (row["method"], row["bag_size"]) == (name, bag_size)]
    return f"{np.mean(found):.3f}  ({' '.join(f'{accuracy:.3f}' for accuracy in found)})"


def main() -> None:
    show("Digits, odd against even: accuracy, mean and each seed", summarised(run()))


if __name__ == "__main__":
    main()
