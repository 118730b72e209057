"""What a choice without labels costs: the method that `compare` picks, beside the best and the median one.

Each method is trained on all bags, and its true accuracy taken from labels that chose nothing: of test rows or, of
the election, the votes of its people. Rows go to ``results/compare_regret.jsonl``, their table to
``results/compare_regret.md``; rows that are there already are not run again. Every score and both rules, the best
and the simplest within one standard error, are judged from the same trials.
"""

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.rows import RESULTS, Row, as_markdown, find_data_folder, measure_rows, write_whole
from llpgan import DLLP, AlternatingMeanMap, InvCal, LaplacianMeanMap, MeanMap
from llpgan.bags import Bags
from llpgan.data.bagging import feature_bags, into_bags, random_bags
from llpgan.evaluation.compare import SCORES, Comparison, compare
from llpgan.methods.base import LLPClassifier
from reproduction.datasets import load_adult, load_digits, load_election

Array = NDArray[Any]
SEEDS = range(3)
ADULT_ROWS, EPOCHS = 3000, 30


class Problem(NamedTuple):
    """Bags to learn from, and labelled instances to judge by."""

    bags: Bags
    test_instances: Array
    test_labels: Array


def run() -> list[Row]:
    torch.set_num_threads(1)  # small networks: a second thread only waits
    cells = [(name, seed) for seed in SEEDS for name in PROBLEMS if seed == 0 or name != "election"]
    rows = measure_rows(RESULTS / "compare_regret.jsonl", ("problem", "seed"), cells, measure)
    summary = [summarize(rows, name) for name in [*PROBLEMS, None]]
    about = (
        "True accuracy (%) of the method that `compare` chooses by the cross-entropy of held-out bags (5 folds), "
        "of the simplest within one standard error (prefer_simple), and of the best and the median method, which "
        "only labels can tell. Methods: MeanMap, LaplacianMeanMap, AlternatingMeanMap, InvCal, InvCal with an RBF "
        f"kernel (not on the election), DLLP ({EPOCHS} epochs, on Adult {EPOCHS // 2}). To learn from: all "
        f"training digits, {ADULT_ROWS} rows of Adult, every third person of the election; to judge by: all test "
        f"rows, all people. Made from `compare_regret.jsonl`.\n\n"
        f"Mean regret of runs, in points: {describe_rules(rows)}."
    )
    write_whole(RESULTS / "compare_regret.md", as_markdown("Choosing a method without labels", about, summary))
    return summary


def methods(problem: str) -> list[LLPClassifier]:
    """A kernel only where rows are few; neither the slow SVMs nor the GAN."""
    linear: list[LLPClassifier] = [MeanMap(), LaplacianMeanMap(), AlternatingMeanMap(), InvCal()]
    kernels = [] if problem == "election" else [InvCal(kernel="rbf")]
    return [*linear, *kernels, DLLP(epochs=EPOCHS // 2 if problem.startswith("Adult") else EPOCHS)]


def measure(problem: str, seed: int) -> Row:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = PROBLEMS[problem](seed)
        started = time.perf_counter()
        found = compare(given.bags, methods(problem), random_state=seed)
        seconds = round(time.perf_counter() - started, 1)
        accuracies = {name: true_accuracy(method, given) for name, method in found.methods.items()}
    picks = {score: list_picks(Comparison(found.methods, found.rows, score)) for score in SCORES}
    scores = {
        score: {r.name: r.score for r in Comparison(found.methods, found.rows, score).results} for score in SCORES
    }
    return {"picks": picks, "accuracies": accuracies, "scores": scores, "seconds": seconds}


def list_picks(comparison: Comparison) -> dict[str, str]:
    return {"best": comparison.best, "one_error": comparison.simplest}


def true_accuracy(method: LLPClassifier, problem: Problem) -> float | None:
    try:
        return method.fit_bags(problem.bags).score(problem.test_instances, problem.test_labels)
    except (MemoryError, ValueError):
        return None


def digits_in_bags(bag_size: int) -> Callable[[int], Problem]:
    def made(seed: int) -> Problem:
        digits = load_digits(seed)
        bags = Bags.from_labels(digits.instances, digits.labels, random_bags(len(digits.labels), bag_size, seed))
        return Problem(bags, digits.test_instances, digits.test_labels)

    return made


def adult_at_random(seed: int) -> Problem:
    return adult(seed, lambda columns, rows: random_bags(len(rows), 64, seed))


def adult_by_work(seed: int) -> Problem:
    """Bags by occupation and education, which then are no features: they would name the bag."""
    return adult(
        seed,
        lambda columns, rows: feature_bags(columns["occupation"][rows], columns["education"][rows], minimum=10),
        without=("occupation", "education", "education-num"),
    )


def adult(seed: int, bagged: Callable[[dict[str, Array], Array], Array], without: tuple[str, ...] = ()) -> Problem:
    split = load_adult(find_data_folder("adult.csv.gz", "adult.csv", "adult.data", "adult"))
    rows = np.sort(np.random.default_rng(seed).permutation(len(split.labels))[:ADULT_ROWS])
    used = [name for name in split.columns if name not in (*without, "fnlwgt")]
    train, test = one_hot(split.columns, split.test_columns, used, rows)
    bags = into_bags(train, split.labels[rows], bagged(split.columns, rows))
    return Problem(bags, test, split.test_labels)


def one_hot(
    columns: dict[str, Array], others: dict[str, Array], names: list[str], rows: Array
) -> tuple[Array, Array]:
    """Numbers as they are, and a column for each value that a text has in at least twenty rows."""
    train, test = [], []
    for name in names:
        values, new = columns[name][rows], others[name]
        if values.dtype.kind in "iu":
            train.append(values[:, None])
            test.append(new[:, None])
            continue
        found, counts = np.unique(values, return_counts=True)
        train.append(values[:, None] == found[counts >= 20])
        test.append(new[:, None] == found[counts >= 20])
    return np.hstack(train).astype(np.float32), np.hstack(test).astype(np.float32)


def election(seed: int) -> Problem:
    found = load_election()
    third = found.bags.take_rows(np.arange(0, len(found.votes), 3))
    return Problem(third, found.bags.instances, found.votes)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "digits, bags of 16": digits_in_bags(16),
    "digits, bags of 64": digits_in_bags(64),
    "Adult, random bags of 64": adult_at_random,
    "Adult, bags by occupation and education": adult_by_work,
    "election": election,
}


def regret(row: Row, score: str, rule: str) -> float:
    known = [accuracy for accuracy in row["accuracies"].values() if accuracy is not None]
    return 100 * (max(known) - row["accuracies"][row["picks"][score][rule]])


def describe_rules(rows: list[Row]) -> str:
    found = {
        f"{score.replace('_', ' ')}, {said}": statistics.mean(regret(row, score, rule) for row in rows)
        for score in SCORES
        for rule, said in (("best", "best"), ("one_error", "one standard error"))
    }
    return "; ".join(f"{name} {value:.2f}" for name, value in found.items())


def summarize(rows: list[Row], problem: str | None) -> Row:
    """Of one problem, or of all."""
    found = [row for row in rows if problem in (None, row["problem"])]
    known = [[100 * a for a in row["accuracies"].values() if a is not None] for row in found]
    regrets = [regret(row, "cross_entropy", "best") for row in found]
    simple = [regret(row, "cross_entropy", "one_error") for row in found]
    best = statistics.mean(max(accuracies) for accuracies in known)
    return {
        "problem": problem or "all",
        "chosen": ", ".join(dict.fromkeys(row["picks"]["cross_entropy"]["best"] for row in found)),
        "its accuracy": f"{best - statistics.mean(regrets):.2f}",
        "simplest": f"{best - statistics.mean(simple):.2f}",
        "best": f"{best:.2f}",
        "median": f"{statistics.mean(statistics.median(accuracies) for accuracies in known):.2f}",
        "regret": f"{statistics.mean(regrets):.2f} (at most {max(regrets):.2f})",
        "runs": len(found),
    }
