"""Prediction sets from random bags, compared with sets from labels; and sets from bags that are not random.

A quick classifier learns from random bags of a part of the rows. All other rows are the population: bags are
drawn from them with replacement, so that the coverage over the population is known exactly. Predictions are made
once, and bags are drawn many times. Sets of 90 % from bags are compared with conformal sets from the labels of the
same rows. Sets by predicted class have a coverage for each class, of which the lowest counts.

Bags that are not random consist of rows that are sorted by their class or by their prediction, with noise. How
often ``conformalize`` refuses them is counted, and the coverage of sets for the worst case.

Rows go to ``results/sets_from_bags.jsonl`` and ``results/sets_from_sorted_bags.jsonl``, tables to
``results/sets_from_bags.md``. Adult, MNIST and Fashion-MNIST lie in the folders of ``LLPGAN_DATA``. Rows that are
there already are not measured again.
"""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reproduction.datasets.adult import load_adult
from reproduction.datasets.mnist import load_fashion_mnist, load_mnist

from benchmarks.rows import RESULTS, Row, as_markdown, find_data_folder, measure_rows, write_whole
from llpgan import BagLogistic, Bags
from llpgan.data import load_election
from llpgan.evaluation import conformalize
from llpgan.evaluation.calibrate import NotRandomError
from llpgan.evaluation.sets import PredictionSets, fit_thresholds, order_scores

Array = NDArray[Any]
PROBLEMS = ("Adult", "MNIST, odd or even", "MNIST", "Fashion-MNIST", "election, votes", "Adult, marital status")
# score, whether each predicted class has its own threshold, draws, problems
KINDS = {
    "probability": ("probability", False, 200, PROBLEMS),
    "cumulative": ("cumulative", False, 60, PROBLEMS),
    "by predicted class": ("probability", True, 20, PROBLEMS[:3]),
}
SIZES, N_ROWS, LEVEL = (16, 64, 256), 20_000, 0.9
TRAINED_ON, BAG_SIZE = 12_000, 16
NOISES, SORTED_DRAWS = (0.1, 2.0), 3  # standard deviations of noise, in those of what rows are sorted by


def run() -> list[Row]:
    names = ("kind", "problem", "bag_size")
    each = ((kind, *cell) for kind, (*_, problems) in KINDS.items() for cell in product(problems, SIZES))
    rows = measure_rows(RESULTS / "sets_from_bags.jsonl", names, each, measure_sets)
    names = ("problem", "sorted_by", "noise")
    cells = product(("Adult",), ("class", "prediction"), NOISES)
    from_sorted = measure_rows(RESULTS / "sets_from_sorted_bags.jsonl", names, cells, measure_sorted)
    about = (
        f"BagLogistic, trained on {TRAINED_ON:,} rows in bags of {BAG_SIZE}; sets of {LEVEL:.0%} from {N_ROWS:,} "
        "other rows in bags, drawn with replacement; made from `sets_from_bags.jsonl` by `python -m benchmarks "
        "sets_from_bags`. *Reached*: in how many draws the coverage over all other rows is 90 % or more; for sets "
        "by predicted class, draws and classes are counted. *By labels*: conformal sets from labels of the same "
        "rows, whose coverage is 90 % on average."
    )
    page = as_markdown("Prediction sets from random bags", about, [show_sets(row) for row in rows])
    about = (
        f"Bags of 16 from {N_ROWS:,} rows, sorted by their class or their prediction plus noise, {SORTED_DRAWS} "
        "draws. *Refused*: in how many draws `conformalize` refuses the bags. The coverage of the other draws and "
        "of sets for the worst case is the lowest of all draws."
    )
    write_whole(RESULTS / "sets_from_bags.md", page + "\n" + as_markdown("Sorted bags", about, from_sorted))
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
        adult = load_adult(find_data_folder("adult.csv.gz", "adult.data"))
        labels = np.concatenate([adult.labels, adult.test_labels])
        columns = {name: np.concatenate([adult.columns[name], adult.test_columns[name]]) for name in adult.columns}
        if problem == "Adult":
            return _encode(columns), labels
        status = columns.pop("marital-status")
        common = ~np.isin(status, ["Married-AF-spouse", "Married-spouse-absent"])
        return _encode(columns | {"income": labels}, "relationship")[common], status[common]
    load = load_fashion_mnist if problem == "Fashion-MNIST" else load_mnist
    split = load(find_data_folder("fashion-mnist" if problem == "Fashion-MNIST" else "mnist"))
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


def measure_sets(kind: str, problem: str, bag_size: int) -> Row:
    """Coverage and size over the population of sets from bags, and of sets from the labels of the same rows."""
    score, by_class, n_draws, _ = KINDS[kind]
    probabilities, labels = predictions(problem)
    scores = order_scores(probabilities, score)
    of_true = scores[np.arange(len(labels)), labels]
    groups = probabilities.argmax(axis=1) if by_class else np.zeros(len(labels), dtype=np.int64)
    found: dict[str, list[tuple[Array, float]]] = {"": [], "_by_labels": []}
    for draw in range(n_draws):
        rows, bags = _draw(labels, bag_size, draw)
        sets = fit_thresholds(bags, probabilities[rows], score, by_class)
        limits = {
            "": _limits(sets),
            "_by_labels": np.array(
                [_conformal_limit(of_true[rows][groups[rows] == k]) for k in np.unique(groups)]
            ),
        }
        for name, limit in limits.items():
            covered = np.bincount(groups, of_true <= limit[groups]) / np.bincount(groups)
            found[name].append((covered, (scores <= limit[groups][:, None]).sum(axis=1).mean()))
    row: Row = {"draws": n_draws}
    for name, each in found.items():
        coverages, sizes = (np.array(part) for part in zip(*each, strict=True))
        row[f"coverage{name}"] = round(float(coverages.mean()), 5)
        row[f"lowest{name}"] = round(float(coverages.min()), 5)
        row[f"reached{name}"] = round(float((coverages >= LEVEL).mean()), 5)
        row[f"size{name}"] = round(float(sizes.mean()), 5)
    return row


def _draw(labels: Array, bag_size: int, draw: int) -> tuple[Array, Bags]:
    n = N_ROWS // bag_size * bag_size
    rows = np.random.default_rng([draw, bag_size]).choice(len(labels), n)
    return rows, Bags.from_labels(np.zeros((n, 1)), labels[rows], np.arange(n) // bag_size)


def _limits(sets: PredictionSets) -> Array:
    """The largest score in a set, for all rows or for each predicted class; infinite if the bags are too few."""
    try:
        return np.append(sets.thresholds[:-1], np.inf)[sets.select_thresholds(LEVEL)]
    except ValueError:
        return np.full(sets.coverages.shape[1], np.inf)


def _conformal_limit(of_true: Array) -> float:
    """The quantile of the scores of true classes that conformal sets use."""
    place = int(np.ceil((len(of_true) + 1) * LEVEL))
    return float(np.sort(of_true)[place - 1]) if place <= len(of_true) else np.inf


def measure_sorted(problem: str, sorted_by: str, noise: float) -> Row:
    """How often bags of sorted rows are refused, and the lowest coverage of the sets that they give."""
    probabilities, labels = predictions(problem)
    key = labels if sorted_by == "class" else probabilities[:, 1]
    accepted: list[float] = []
    worst: list[float] = []
    sizes: list[float] = []
    for draw in range(SORTED_DRAWS):
        rng = np.random.default_rng([draw, 16])
        rows = rng.choice(len(labels), N_ROWS)
        rows = rows[np.argsort(key[rows] + noise * key.std() * rng.normal(size=N_ROWS), kind="stable")]
        bags = Bags.from_labels(np.zeros((N_ROWS, 1)), labels[rows], np.arange(N_ROWS) // 16)
        for worst_case, coverages in {False: accepted, True: worst}.items():
            try:
                sets = conformalize(bags, probabilities[rows], worst_case=worst_case)
            except NotRandomError:
                continue
            inside = order_scores(probabilities, "probability") <= _limits(sets)[0]
            coverages.append(float(inside[np.arange(len(labels)), labels].mean()))
            if worst_case:
                sizes.append(float(inside.sum(axis=1).mean()))
    return {
        "refused": 1 - len(accepted) / SORTED_DRAWS,
        "coverage": round(min(accepted), 5) if accepted else None,
        "worst_case_coverage": round(min(worst), 5),
        "worst_case_size": round(float(np.mean(sizes)), 5),
    }


def show_sets(row: Row) -> Row:
    return {
        "problem": row["problem"],
        "sets": row["kind"],
        "bags of": row["bag_size"],
        "draws": row["draws"],
        "coverage": f"{row['coverage']:.3f}",
        "lowest": f"{row['lowest']:.3f}",
        "reached": f"{row['reached']:.1%}",
        "classes per set": f"{row['size']:.3f}",
        "by labels": f"{row['size_by_labels']:.3f}",
        "ratio": f"{row['size'] / row['size_by_labels']:.2f}",
        "reached by labels": f"{row['reached_by_labels']:.1%}",
    }
