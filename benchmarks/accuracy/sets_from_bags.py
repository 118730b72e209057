"""Prediction sets from random bags, beside the same from labels.

A quick classifier learns from random bags of a part of the rows. All other rows are the population: bags are
drawn from them with replacement, so that the coverage over the population is known exactly. Sets of 90 % from bags
are compared with conformal sets from the labels of the same rows; calibrators from bags with temperature scaling
by labels. Rows go to ``results/sets_from_bags.jsonl`` and ``results/calibration_from_bags.jsonl``, tables to
``results/sets_from_bags.md``. Adult, MNIST and Fashion-MNIST lie in the folders of ``LLPGAN_DATA``. Rows that are
there already are not run again.
"""

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reproduction.datasets.adult import load_adult
from reproduction.datasets.mnist import load_fashion_mnist, load_mnist

from benchmarks.rows import RESULTS, Row, folder_of, table_of, write_aside
from llpgan import BagLogistic, Bags
from llpgan.data.election import load_election
from llpgan.evaluation.sets import fit_thresholds, order_scores

Array = NDArray[Any]
PROBLEMS = ("Adult", "MNIST, odd or even", "MNIST", "Fashion-MNIST", "election, votes", "Adult, marital status")
SIZES, DRAWS, N_ROWS, LEVEL = (16, 64, 256), range(17), 20_000, 0.9
TRAINED_ON, BAG_SIZE = 12_000, 16


def run() -> list[Row]:
    sets = measure_all_sets(RESULTS / "sets_from_bags.jsonl")
    summary = [summarize_sets(sets, *cell) for cell in product(PROBLEMS, SIZES)]
    about = (
        "# Prediction sets from random bags\n\n"
        f"BagLogistic, trained on {TRAINED_ON:,} rows in bags of "
        f"{BAG_SIZE}; sets from {N_ROWS:,} other rows in bags, drawn with replacement; made from "
        "`sets_from_bags.jsonl` by `python -m benchmarks sets_from_bags`.\n\n"
        f"Sets of {LEVEL:.0%}, {len(DRAWS)} draws. *Reached*: in how many draws the coverage over all other rows "
        "is at least 90 %. *By labels*: conformal sets from labels of the same rows, whose coverage is 90 % "
        "on average.\n\n"
    )
    write_aside(RESULTS / "sets_from_bags.md", about + table_of(summary))
    return summary


def measure_all_sets(path: Path) -> list[Row]:
    """Measure what the file does not have yet, draw by draw, and add a line for each cell."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row["problem"], row["bag_size"], row["draw"]) for row in rows}
    with path.open("a", encoding="utf-8") as file:
        for draw, problem, bag_size in product(DRAWS, PROBLEMS, SIZES):
            if (problem, bag_size, draw) not in done:
                cell: Row = {"problem": problem, "score": "probability", "bag_size": bag_size, "draw": draw}
                rows.append(cell | measure_sets(**cell))
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    return rows


@cache
def predictions(problem: str) -> tuple[Array, Array]:
    """The probabilities of the rows that the classifier was not trained on, and their classes as numbers."""
    X, y = _rows(problem)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], np.unique(y, return_inverse=True)[1][order]
    bags = Bags.from_labels(X[:TRAINED_ON], y[:TRAINED_ON], np.arange(TRAINED_ON) // BAG_SIZE)
    model = BagLogistic(n_resamples=0, random_state=0).fit_bags(bags)
    return model.predict_encoded(X[TRAINED_ON:]), y[TRAINED_ON:]


def _rows(problem: str) -> tuple[Array, Array]:
    if problem == "election, votes":
        election = load_election()
        return np.asarray(election.bags.instances), election.votes
    if problem.startswith("Adult"):
        adult = load_adult(folder_of("adult.csv.gz", "adult.data"))
        labels = np.concatenate([adult.labels, adult.test_labels])
        columns = {name: np.concatenate([adult.columns[name], adult.test_columns[name]]) for name in adult.columns}
        if problem == "Adult":
            return _encode(columns), labels
        status = columns.pop("marital-status")
        common = ~np.isin(status, ["Married-AF-spouse", "Married-spouse-absent"])
        return _encode(columns | {"income": labels}, "relationship")[common], status[common]
    load = load_fashion_mnist if problem == "Fashion-MNIST" else load_mnist
    split = load(folder_of("fashion-mnist" if problem == "Fashion-MNIST" else "mnist"))
    images = np.concatenate([split.instances, split.test_instances]).reshape(-1, 784) / 255
    digits = np.concatenate([split.labels, split.test_labels])
    return images, digits % 2 if "odd" in problem else digits


def _encode(columns: dict[str, Array], *but: str) -> Array:
    """Numbers as they are, and a column for each category."""
    kept = [values for name, values in columns.items() if name not in ("fnlwgt", *but)]
    return np.hstack(
        [
            values[:, None].astype(np.float64)
            if values.dtype.kind in "if"
            else (values[:, None] == np.unique(values))
            for values in kept
        ]
    ).astype(np.float64)


def measure_sets(problem: str, score: str, bag_size: int, draw: int) -> Row:
    """Coverage and size over the population of sets from bags, and of sets from the labels of the same rows."""
    probabilities, labels = predictions(problem)
    scores, of_true = _scores(problem, score)
    rows, bags = _draw(labels, bag_size, draw)
    sets = fit_thresholds(bags, probabilities[rows], score)
    try:
        threshold = float(np.append(sets.thresholds[:-1], np.inf)[sets.select_thresholds(LEVEL)[0]])
    except ValueError:  # the bags are too few for anything but sets of all classes
        threshold = np.inf
    by_labels = np.sort(of_true[rows])[int(np.ceil((len(rows) + 1) * LEVEL)) - 1]
    found: Row = {}
    for name, each in {"": threshold, "_by_labels": by_labels}.items():
        found[f"coverage{name}"] = round(float((of_true <= each).mean()), 5)
        found[f"size{name}"] = round(float((scores <= each).sum(axis=1).mean()), 5)
    return found


@cache
def _scores(problem: str, score: str) -> tuple[Array, Array]:
    probabilities, labels = predictions(problem)
    scores = order_scores(probabilities, score)
    return scores, scores[np.arange(len(labels)), labels]


def _draw(labels: Array, bag_size: int, draw: int) -> tuple[Array, Bags]:
    n = N_ROWS // bag_size * bag_size
    rows = np.random.default_rng([draw, bag_size]).choice(len(labels), n)
    return rows, Bags.from_labels(np.zeros((n, 1)), labels[rows], np.arange(n) // bag_size)


def summarize_sets(rows: list[Row], problem: str, bag_size: int) -> Row:
    found = [row for row in rows if (row["problem"], row["bag_size"]) == (problem, bag_size)]
    size, size_by_labels = (float(np.mean([row[name] for row in found])) for name in ("size", "size_by_labels"))
    return {
        "problem": problem,
        "bags of": bag_size,
        "draws": len(found),
        "coverage": f"{np.mean([row['coverage'] for row in found]):.3f}",
        "reached": f"{np.mean([row['coverage'] >= LEVEL for row in found]):.1%}",
        "classes per set": f"{size:.3f}",
        "by labels": f"{size_by_labels:.3f}",
        "ratio": f"{size / size_by_labels:.2f}",
        "coverage by labels": f"{np.mean([row['coverage_by_labels'] for row in found]):.3f}",
        "reached by labels": f"{np.mean([row['coverage_by_labels'] >= LEVEL for row in found]):.1%}",
    }
