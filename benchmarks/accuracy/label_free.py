"""Accuracy without labels against the truth, in simulated bags: its bias, and how often its interval holds.

Nothing is trained: labels, and the classifier's answers to them, are drawn by an uneven prior and a random
confusion matrix of the wanted accuracy. Rows go to ``results/label_free_simulation.jsonl``, a table to
``results/label_free_simulation.md``. Rows that are there already are not run again.
"""

import zlib
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan.evaluation.scores import jackknife
from llpgan.evaluation.without_labels import Pairs, label_mean

CLASSES, SIZES, N_BAGS, ACCURACIES = (2, 3, 10), (16, 64, 256), (10, 20, 50, 200), (0.5, 0.7, 0.9, 0.98)
REPETITIONS = 1000
NAMES = ("classes", "bag_size", "bags", "accuracy")
Array = NDArray[Any]


def run() -> list[Row]:
    cells = product(CLASSES, SIZES, N_BAGS, ACCURACIES)
    rows = measure_rows(RESULTS / "label_free_simulation.jsonl", NAMES, cells, measure)
    summary = [summarize(rows, n_bags, accuracy) for n_bags, accuracy in product(N_BAGS, ACCURACIES)]
    about = (
        f"Simulated bags, {REPETITIONS} repetitions a cell, over 2, 3 and 10 classes and bags of 16, 64 and 256; "
        "made from `label_free_simulation.jsonl`. *Bias* in standard errors of the mean over repetitions: beyond "
        "±2 in one cell of twenty by chance. *Covers*: how often the 95 % interval holds the truth. *EasyLLP* is "
        "the standard deviation of the same estimate without what sharpens it."
    )
    write_whole(RESULTS / "label_free_simulation.md", as_markdown("Accuracy without labels", about, summary))
    return summary


def measure(n_classes: int, bag_size: int, n_bags: int, accuracy: float) -> Row:
    rng = np.random.default_rng(zlib.crc32(repr((n_classes, bag_size, n_bags, accuracy)).encode()))
    values, plain, held, widths = [], [], 0, []
    joint = joint_law(n_classes, accuracy, rng)
    for _ in range(REPETITIONS):
        drawn = rng.multinomial(bag_size, joint.ravel(), size=n_bags).reshape(n_bags, n_classes, n_classes)
        counts, sums = drawn.sum(axis=2).astype(float), drawn.sum(axis=1).astype(float)
        sizes = np.full(n_bags, bag_size)
        found = jackknife(
            *label_mean(Pairs(sizes, counts, sums, sizes)), n_bags * bag_size, top=1.0, share=True
        ).at()
        assert found.low is not None and found.high is not None
        values.append(found.value)
        plain.append(easy_llp(counts, sums, bag_size))
        held += found.low <= accuracy <= found.high
        widths.append(found.high - found.low)
    error = float(np.std(values, ddof=1))
    return {
        "bias": float(np.mean(values)) - accuracy,
        "standard_error_of_bias": error / REPETITIONS**0.5,
        "sd": error,
        "sd_easy_llp": float(np.std(plain, ddof=1)),
        "coverage": held / REPETITIONS,
        "width": float(np.mean(widths)),
    }


def joint_law(n_classes: int, accuracy: float, rng: np.random.Generator) -> Array:
    """How often each true class (row) gets each prediction (column): uneven, and right as often as wanted."""
    wrong = rng.dirichlet(np.ones(n_classes), size=n_classes) * (1 - np.eye(n_classes))
    wrong /= wrong.sum(axis=1, keepdims=True)
    confusion = accuracy * np.eye(n_classes) + (1 - accuracy) * wrong
    return rng.dirichlet(np.full(n_classes, 5.0))[:, None] * confusion


def easy_llp(counts: Array, sums: Array, bag_size: int) -> float:
    """1 − mean_j Σ_k (m p_k − (m−1) π_k) 1[ŷ_j ≠ k], with the prior π of the other bags."""
    prior = (counts.sum(axis=0) - counts) / (bag_size * (len(counts) - 1))
    return float((sums * (counts - (bag_size - 1) * prior)).sum() / (bag_size * len(counts)))


def summarize(rows: list[Row], n_bags: int, accuracy: float) -> Row:
    found = [row for row in rows if (row["bags"], row["accuracy"]) == (n_bags, accuracy)]
    biases = [row["bias"] / row["standard_error_of_bias"] for row in found]
    return {
        "bags": n_bags,
        "true accuracy": accuracy,
        "bias": f"{min(biases):+.1f} to {max(biases):+.1f}",
        "covers (%)": span([100 * row["coverage"] for row in found], 1),
        "sd": span([row["sd"] for row in found], 4),
        "EasyLLP": span([row["sd_easy_llp"] for row in found], 3),
        "mean width": span([row["width"] for row in found], 3),
    }


def span(values: list[float], digits: int) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"
