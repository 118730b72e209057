"""What a choice without labels costs on tables: the AUC of ``compare``'s and AutoLLP's, below the best method's.

Digits, Adult in random bags of 64 and by occupation and education, the election, and five of the 28 published ways
of making bags of Adult: two whose bags depend on class and features, one each on the class, on features, and on
nothing. Each method is trained on all bags, and judged by labels that chose nothing. ``compare`` picks by the
cross-entropy of held-out bags (5 folds). Rows go to ``results/table_regret.jsonl``, their table to
``results/table_regret.md``; rows that are there already are not run again. ``TABLE_REGRET_PROBLEMS`` runs a part,
separated by semicolons.
"""

import os
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from sklearn.model_selection import ShuffleSplit

from benchmarks import adult_llp
from benchmarks.compare_regret import (
    EPOCHS,
    Problem,
    adult_at_random,
    adult_by_work,
    digits_in_bags,
    election,
)
from benchmarks.rows import RESULTS, Row, as_markdown, measured_rows, write_aside
from llpgan import (
    DLLP,
    AlternatingMeanMap,
    AutoLLP,
    BagBoosting,
    BagLogistic,
    InvCal,
    LaplacianMeanMap,
    MeanMap,
)
from llpgan.bags import Bags
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation import label_scores
from llpgan.evaluation.selection import compare

SEED, N_ROWS = 0, 6000
FIVE = (
    "hard-large-equal-close-kmeans-5",
    "hard-massive-kmeans-30",
    "simple-large-equal-far",
    "intermediate-massive-kmeans-30",
    "naive-large-not-equal",
)
CHOICES = ("compare", "AutoLLP")


def run() -> list[Row]:
    torch.set_num_threads(1)  # small networks: a second thread only waits
    named = os.environ.get("TABLE_REGRET_PROBLEMS")
    cells = [(name,) for name in (named.split(";") if named else PROBLEMS)]
    rows = measured_rows(RESULTS / "table_regret.jsonl", ("problem",), cells, measured)
    found = summary(rows)
    means = "; ".join(f"{name} {statistics.mean(regret(row, name) for row in rows):.2f}" for name in CHOICES)
    about = (
        "AUC (%) by labels that choose nothing: of the best of seven methods (MeanMap, LaplacianMeanMap, "
        "AlternatingMeanMap, InvCal, BagLogistic, BagBoosting, and DLLP with few epochs), which only labels can "
        "tell, of the one that `compare` chooses by the cross-entropy of held-out bags (5 folds), and of AutoLLP. "
        f"To learn from: all training digits, 3,000 rows of Adult, {N_ROWS:,} of the published ways of making "
        f"bags of it, every third person of the election. Made from `table_regret.jsonl`.\n\n"
        f"Mean regret over {len(rows)} problems, in points of AUC (better than the best counts as none): {means}."
    )
    write_aside(RESULTS / "table_regret.md", as_markdown("Choosing a method for a table", about, found))
    return found


def methods(problem: str) -> list[LLPClassifier]:
    """The usual ones of ``compare``, DLLP with fewer epochs."""
    epochs = EPOCHS if problem.startswith("digits") else EPOCHS // 2
    linear: list[LLPClassifier] = [MeanMap(), LaplacianMeanMap(), AlternatingMeanMap(), InvCal(), BagLogistic()]
    return [*linear, BagBoosting(), DLLP(epochs=epochs)]


def measured(problem: str) -> Row:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = PROBLEMS[problem](SEED)
        started = time.perf_counter()
        found = compare(given.bags, methods(problem), random_state=SEED)
        seconds = round(time.perf_counter() - started, 1)
        aucs = {name: auc_of(method, given) for name, method in found.methods.items()}
        automatic = AutoLLP(random_state=SEED)
        aucs["AutoLLP"] = auc_of(automatic, given)
    return {"pick": found.best, "aucs": aucs, "chosen": automatic.chosen_, "seconds": seconds}


def auc_of(method: LLPClassifier, problem: Problem) -> float | None:
    """None where a method refuses the bags."""
    try:
        method.fit_bags(problem.bags)
    except (MemoryError, ValueError):
        return None
    probabilities = method.predict_encoded(problem.test_instances)
    scores = label_scores(problem.test_labels, probabilities, problem.bags.classes)
    return None if scores.auc is None else round(scores.auc.value, 5)


def published(dataset: str) -> Callable[[int], Problem]:
    """A part of the training rows of their first execution, and its test rows."""

    def made(seed: int) -> Problem:
        rows = adult_llp.read_rows()
        split = ShuffleSplit(1, test_size=0.25, random_state=adult_llp.SEEDS[0])
        train, test = next(split.split(rows.instances))
        some = np.random.default_rng(seed).permutation(train)[:N_ROWS]
        bags = Bags.from_labels(rows.instances[some], rows.labels[some], rows.bags[dataset][some])
        return Problem(bags, rows.instances[test], rows.labels[test])

    return made


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "digits, bags of 16": digits_in_bags(16),
    "Adult, random bags of 64": adult_at_random,
    "Adult, bags by occupation and education": adult_by_work,
    "election": election,
    **{f"Adult, {name}": published(name) for name in FIVE},
}


def auc_by_choice(row: Row, choice: str) -> float:
    return 100 * float(row["aucs"]["AutoLLP" if choice == "AutoLLP" else row["pick"]])


def best(row: Row) -> float:
    """Of the methods that are compared."""
    return 100 * max(auc for name, auc in row["aucs"].items() if auc is not None and name != "AutoLLP")


def regret(row: Row, choice: str) -> float:
    return max(0.0, best(row) - auc_by_choice(row, choice))


def summary(rows: list[Row]) -> list[Row]:
    """One row per problem."""
    return [
        {
            "problem": row["problem"],
            "best of seven": f"{best(row):.2f}",
            "compare's": f"{auc_by_choice(row, 'compare'):.2f} ({row['pick']})",
            "AutoLLP": f"{auc_by_choice(row, 'AutoLLP'):.2f}",
            **{f"regret of {choice}": f"{regret(row, choice):.2f}" for choice in CHOICES},
        }
        for row in rows
    ]
