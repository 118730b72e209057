"""Accuracy without labels against the truth on real data, and how well bags that are not random are recognised.

Digits, MNIST and Adult: a quick classifier learns from random bags; from other random bags, without their labels,
its accuracy is estimated; their labels then tell the truth. Rows go to ``results/label_free_real.jsonl``, a table
to ``results/label_free_real.md`` and a plot to ``results/label_free_real.svg``.

The test of randomness, at 50 bags of 100: Adult with bags of one occupation each (a common occupation has several
bags; the column itself is left out, which makes it harder) and 50 states of the election (a state with fewer than
100 people gives all of them) for its power; the same rows dealt at random for its false alarms. Rows go to
``results/randomness_test.jsonl``. Adult and MNIST lie in the folders of ``LLPGAN_DATA``. Rows that are there
already are not run again.
"""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits

from benchmarks.rows import RESULTS, Row, as_markdown, find_data_folder, measure_rows, write_whole
from llpgan import MeanMap
from llpgan.bags import Bags
from llpgan.evaluation import estimate_accuracy, randomness_test
from reproduction.datasets import load_adult, load_election, load_mnist

Array = NDArray[Any]
DRAWS, TESTS, PERMUTATIONS = range(200), range(400), 199
N_BAGS, BAG_SIZE = 50, 100
# data, method, size of bags, bags to learn from, bags held out
SETTINGS = {
    "digits, MeanMap, bags of 8": ("digits", MeanMap(), 8, 110, 110),
    "digits, MeanMap, bags of 16": ("digits", MeanMap(), 16, 56, 56),
    "MNIST, MeanMap, bags of 16": ("mnist", MeanMap(), 16, 200, 100),
    "MNIST, MeanMap, bags of 64": ("mnist", MeanMap(), 64, 100, 100),
    "Adult, MeanMap(C=1), bags of 16": ("adult", MeanMap(C=1.0), 16, 200, 100),
    "Adult, MeanMap(C=1), bags of 64": ("adult", MeanMap(C=1.0), 64, 100, 100),
}


def run() -> list[Row]:
    rows = measure_rows(RESULTS / "label_free_real.jsonl", ("setting", "draw"), product(SETTINGS, DRAWS), measure)
    tests = measure_rows(
        RESULTS / "randomness_test.jsonl", ("bags", "draw"), product(BAGS, TESTS), test_randomness
    )
    summary = [summarize(rows, setting) for setting in SETTINGS]
    about = (
        "Estimated from held-out random bags without their labels, against the accuracy that their labels show; "
        f"{len(DRAWS)} draws of rows and bags each; made from `label_free_real.jsonl`. *Error* is that of the "
        "estimate, as the root of its mean square. Intervals are of the accuracy on all such rows; on those that "
        "are held out the truth varies with the estimate, so that it is held more often the smaller the bags."
        "\n\n![Estimates against truths](label_free_real.svg)"
    )
    recognised = [alarms(tests, bags) for bags in BAGS]
    page = as_markdown("Accuracy without labels, real data", about, summary)
    about = f"How often the bags are called not random, in {len(TESTS)} draws; made from `randomness_test.jsonl`."
    write_whole(RESULTS / "label_free_real.md", page + "\n" + as_markdown("Are bags random?", about, recognised))
    plot(rows)
    return summary


def measure(setting: str, draw: int) -> Row:
    data, method, size, n_train, n_held_out = SETTINGS[setting]
    instances, labels = TABLES[data]()
    order = np.random.default_rng(draw).permutation(len(labels))
    train, held_out = order[: size * n_train], order[size * n_train :][: size * n_held_out]
    model = clone(method).fit_bags(dealt(instances, labels, train, size))
    probabilities = model.predict_proba(instances[held_out])
    found = estimate_accuracy(dealt(instances, labels, held_out, size), probabilities).accuracy
    truth = float((model.classes_[probabilities.argmax(axis=1)] == labels[held_out]).mean())
    return {"truth": truth, "estimate": found.value, "low": found.low, "high": found.high}


def dealt(instances: Array, labels: Array, rows: Array, size: int) -> Bags:
    return Bags.from_labels(instances[rows], labels[rows], np.arange(len(rows)) // size)


@cache
def digits() -> tuple[Array, Array]:
    return load_digits(return_X_y=True)


@cache
def adult_table() -> tuple[dict[str, Array], Array]:
    found = load_adult(find_data_folder("adult.csv.gz", "adult.csv", "adult.data", "adult"))
    columns = {name: np.concatenate([found.columns[name], found.test_columns[name]]) for name in found.columns}
    return columns, np.concatenate([found.labels, found.test_labels])


@cache
def adult() -> tuple[Array, Array]:
    """As numbers, without the occupation."""
    columns, labels = adult_table()
    named = {name: values for name, values in columns.items() if name != "occupation"}
    bags = Bags.from_tables({**named, "bag": np.zeros(len(labels)), "income": labels}, bag="bag", label="income")
    return bags.instances, labels


@cache
def mnist() -> tuple[Array, Array]:
    """Every second pixel of each row and column, which a quick classifier can do with."""
    found = load_mnist(find_data_folder("mnist"))
    images = np.concatenate([found.instances, found.test_instances])[:, 0, ::2, ::2]
    return images.reshape(len(images), -1).astype(np.float32), np.concatenate([found.labels, found.test_labels])


TABLES: dict[str, Callable[[], tuple[Array, Array]]] = {"digits": digits, "adult": adult, "mnist": mnist}


def test_randomness(bags: str, draw: int) -> Row:
    found = randomness_test(BAGS[bags](np.random.default_rng(draw)), permutations=PERMUTATIONS, random_state=draw)
    return {"p": found.p_value, "p_features": found.p_features, "p_proportions": found.p_proportions}


def adult_by_occupation(rng: np.random.Generator) -> Bags:
    """50 bags of 100, drawn from all bags that occupations can be cut into."""
    instances, labels = adult()
    occupation = adult_table()[0]["occupation"]
    cut = [
        block
        for name in np.unique(occupation)
        for block in blocks(rng.permutation(np.flatnonzero(occupation == name)))
    ]
    chosen = np.concatenate([cut[i] for i in rng.choice(len(cut), N_BAGS, replace=False)])
    return dealt(instances, labels, chosen, BAG_SIZE)


def blocks(rows: Array) -> list[Array]:
    return [rows[start : start + BAG_SIZE] for start in range(0, len(rows) - BAG_SIZE + 1, BAG_SIZE)]


def adult_at_random(rng: np.random.Generator) -> Bags:
    instances, labels = adult()
    return dealt(instances, labels, rng.permutation(len(labels))[: N_BAGS * BAG_SIZE], BAG_SIZE)


@cache
def election() -> tuple[Array, Array, Array]:
    found = load_election()
    return found.bags.instances, found.votes, found.bags.bag_index


def election_by_state(rng: np.random.Generator) -> Bags:
    instances, votes, state = election()
    states = rng.permutation(state.max() + 1)[:N_BAGS]
    rows = np.concatenate([rng.permutation(np.flatnonzero(state == s))[:BAG_SIZE] for s in states])
    return Bags.from_labels(instances[rows], votes[rows], state[rows])


def election_at_random(rng: np.random.Generator) -> Bags:
    instances, votes, _ = election()
    return dealt(instances, votes, rng.permutation(len(votes))[: N_BAGS * BAG_SIZE], BAG_SIZE)


BAGS: dict[str, Callable[[np.random.Generator], Bags]] = {
    "Adult by occupation": adult_by_occupation,
    "election by state": election_by_state,
    "Adult at random": adult_at_random,
    "election at random": election_at_random,
}


def summarize(rows: list[Row], setting: str) -> Row:
    found = [row for row in rows if row["setting"] == setting]
    errors = np.array([row["estimate"] - row["truth"] for row in found])
    return {
        "": setting,
        "held-out bags": SETTINGS[setting][4],
        "true accuracy": f"{np.mean([row['truth'] for row in found]):.3f}",
        "bias": f"{errors.mean():+.4f} ± {errors.std(ddof=1) / len(errors) ** 0.5:.4f}",
        "error": f"{np.sqrt((errors**2).mean()):.3f}",
        "mean width": f"{np.mean([row['high'] - row['low'] for row in found]):.3f}",
        "holds the truth (%)": f"{100 * np.mean([r['low'] <= r['truth'] <= r['high'] for r in found]):.1f}",
    }


def alarms(tests: list[Row], bags: str) -> Row:
    found = [row for row in tests if row["bags"] == bags]
    share = {name: 100 * float(np.mean([row[name] < 0.05 for row in found])) for name in ("p", "p_features")}
    return {
        "bags": bags,
        "called not random (%)": f"{share['p']:.1f}",
        "by features alone": f"{share['p_features']:.1f}",
    }


def plot(rows: list[Row]) -> None:
    """Estimates with their intervals against the truth, the first 60 draws of each setting."""
    figure, axes = plt.subplots(1, len(SETTINGS), figsize=(3.2 * len(SETTINGS), 3.2), layout="constrained")
    for axis, setting in zip(axes, SETTINGS, strict=True):
        found = [row for row in rows if row["setting"] == setting][:60]
        truth, value, low, high = (
            np.array([row[name] for row in found]) for name in ("truth", "estimate", "low", "high")
        )
        axis.errorbar(
            truth, value, [np.maximum(value - low, 0), np.maximum(high - value, 0)], fmt=".", alpha=0.6, lw=0.8
        )
        axis.axline((truth.mean(), truth.mean()), slope=1, color="black", lw=0.8, ls="--")
        axis.set_title(setting, fontsize=9)
        axis.set_xlabel("true accuracy")
    axes[0].set_ylabel("estimated without labels")
    plt.rcParams["svg.hashsalt"] = "label_free_real"
    figure.savefig(RESULTS / "label_free_real.svg", metadata={"Date": None})
    plt.close(figure)
