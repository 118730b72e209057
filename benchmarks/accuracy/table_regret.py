"""What a choice without labels costs on tables: the AUC of ``compare``'s and AutoLLP's, below the best method's.

Digits, Adult in random bags of 64 and by occupation and education, the election, and five of the 28 published ways
of making bags of Adult: two whose bags depend on class and features, one each on the class, on features, and on
nothing. Beside these nine stand five others; ``docs/methods/auto_llp.md`` tells which labels were seen when the
rules of AutoLLP were chosen. Each method is trained on all bags, and judged by labels. ``compare`` picks by the
cross-entropy of held-out bags (5 folds); it is not run on the five. Rows go to ``results/table_regret.jsonl``,
their table to ``results/table_regret.md``; rows that are there already are not run again.
``TABLE_REGRET_PROBLEMS`` runs a part, separated by semicolons.
"""

import os
import statistics
import time
import warnings
from collections.abc import Callable, Collection

import numpy as np
import torch
from sklearn.model_selection import ShuffleSplit

from benchmarks.accuracy import adult_llp
from benchmarks.accuracy.compare_regret import (
    EPOCHS,
    Problem,
    adult_at_random,
    adult_by_work,
    digits_in_bags,
    election,
    one_hot,
)
from benchmarks.rows import (
    RESULTS,
    Row,
    as_markdown,
    describe_earlier_rows,
    find_data_folder,
    measure_rows,
    write_whole,
)
from llpgan import DLLP, AlternatingMeanMap, AutoLLP, BagBoosting, BagLogistic, InvCal, LaplacianMeanMap, MeanMap
from llpgan.bags import Bags
from llpgan.data.bagging import feature_bags, into_bags, random_bags
from llpgan.evaluation import label_scores
from llpgan.evaluation.compare import candidates, compare
from llpgan.methods.base import LLPClassifier
from reproduction.datasets import load_adult, load_election

SEED, N_ROWS = 0, 6000
FIVE = (
    "hard-large-equal-close-kmeans-5",
    "hard-massive-kmeans-30",
    "simple-large-equal-far",
    "intermediate-massive-kmeans-30",
    "naive-large-not-equal",
)
UNSEEN = "hard-extra-extra-large-kmeans-25"
CHOICES = ("compare", "AutoLLP")
N_TEST, IN_BAGS_OF = 10_000, 128
_LONG_HOURS = 44


def run() -> list[Row]:
    torch.set_num_threads(1)  # small networks: a second thread only waits
    named = os.environ.get("TABLE_REGRET_PROBLEMS")
    problems = named.split(";") if named else [*PROBLEMS, *OTHER_PROBLEMS]
    cells = [(name, what) for name in problems for what in MEASURED if what != "compare" or name in PROBLEMS]
    rows = measure_rows(RESULTS / "table_regret.jsonl", ("problem", "what"), cells, measure)
    found = join_rows(rows)
    about = (
        "AUC (%) by labels: of the best of seven methods (MeanMap, LaplacianMeanMap, "
        "AlternatingMeanMap, InvCal, BagLogistic, BagBoosting, and DLLP with few epochs), which only labels can "
        "tell, of the one that `compare` chooses by the cross-entropy of held-out bags (5 folds; AutoLLP if it is "
        f"within two standard errors), and of AutoLLP.{describe_earlier_rows(rows)} "
        f"To learn from: all training digits, 3,000 rows of Adult, {N_ROWS:,} of the published ways of making "
        "bags of it and of the last problems, every third person of the election. Made from "
        "`table_regret.jsonl`.\n\n"
        "Mean regret in points of AUC (better than the best counts as none): "
        f"{mean_regrets(found, PROBLEMS)}. Labels of these problems were seen when the shares of AutoLLP under "
        "label shift were chosen; its weights under covariate shift were chosen on others, which share rows of "
        f"Adult with them. On the five at the end: {mean_regrets(found, OTHER_PROBLEMS)}."
    )
    shown = summary([found[name] | {"problem": name} for name in [*PROBLEMS, *OTHER_PROBLEMS] if name in found])
    write_whole(RESULTS / "table_regret.md", as_markdown("Choosing a method for a table", about, shown))
    return shown


def join_rows(rows: list[Row]) -> dict[str, Row]:
    """By problem, all that was measured of it, if that is the methods and a choice at least."""
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(row["problem"], {})[row["what"]] = row
    return {name: row for name, row in found.items() if "methods" in row and any(c in row for c in CHOICES)}


def mean_regrets(found: dict[str, Row], problems: Collection[str]) -> str:
    """Of each choice, over those of the problems on which it was measured."""
    told = []
    for choice in CHOICES:
        known = [regret(found[name], choice) for name in problems if choice in found.get(name, {})]
        if known:
            told.append(f"{choice} {statistics.mean(known):.2f} over {len(known)} problems")
    return "; ".join(told)


def methods(problem: str) -> list[LLPClassifier]:
    """The usual ones of ``compare``, DLLP with fewer epochs."""
    epochs = EPOCHS if problem.startswith("digits") else EPOCHS // 2
    linear: list[LLPClassifier] = [MeanMap(), LaplacianMeanMap(), AlternatingMeanMap(), InvCal(), BagLogistic()]
    return [*linear, BagBoosting(), DLLP(epochs=epochs)]


def measure(problem: str, what: str) -> Row:
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = MEASURED[what](problem, {**PROBLEMS, **OTHER_PROBLEMS}[problem](SEED))
    return row | {"seconds": round(time.perf_counter() - started, 1)}


def score_methods(problem: str, given: Problem) -> Row:
    made = candidates(methods(problem), SEED)
    return {"aucs": {name: score_auc(method, given) for name, method in made.items()}}


def choose_by_compare(problem: str, given: Problem) -> Row:
    tried = methods(problem) if problem.startswith("digits") else [*methods(problem), AutoLLP(time_limit=None)]
    return {"pick": compare(given.bags, tried, random_state=SEED).chosen}


def score_auto(problem: str, given: Problem) -> Row:
    model = AutoLLP(random_state=SEED, time_limit=None)  # figures do not depend on the machine
    return {"auc": score_auc(model, given), "chosen": model.chosen_}


MEASURED: dict[str, Callable[[str, Problem], Row]] = {
    "methods": score_methods,
    "compare": choose_by_compare,
    "AutoLLP": score_auto,
}


def score_auc(method: LLPClassifier, problem: Problem) -> float | None:
    """None where a method refuses the bags."""
    try:
        method.fit_bags(problem.bags)
    except (MemoryError, ValueError):
        return None
    probabilities = method.predict_encoded(problem.test_instances)
    scores = label_scores(problem.test_labels, probabilities, problem.bags.classes)
    return None if scores.auc is None else round(scores.auc.value, 5)


def make_published_problem(dataset: str) -> Callable[[int], Problem]:
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
    **{f"Adult, {name}": make_published_problem(name) for name in FIVE},
}


def long_hours(seed: int) -> Problem:
    """Who works long hours, from bags by education and race."""
    return adult_column("hours-per-week", ("education", "race"), ("education-num",), seed)


def women(seed: int) -> Problem:
    """Who is a woman, from bags by occupation and kind of employer."""
    return adult_column("sex", ("occupation", "workclass"), ("relationship",), seed)


def adult_column(target: str, by: tuple[str, str], also_without: tuple[str, ...], seed: int) -> Problem:
    """A column of Adult's training rows as the class, without those that make bags or that all but tell it."""
    columns = load_adult(find_data_folder("adult.csv.gz", "adult.csv", "adult.data", "adult")).columns
    values = columns[target]
    labels = (values > _LONG_HOURS if values.dtype.kind in "iu" else values == "Female").astype(int)
    order = np.random.default_rng(seed).permutation(len(labels))
    rows, test = np.sort(order[:N_ROWS]), np.sort(order[-N_TEST:])
    used = [name for name in columns if name not in (target, *by, *also_without, "fnlwgt")]
    train_rows, test_rows = one_hot(columns, {name: column[test] for name, column in columns.items()}, used, rows)
    groups = feature_bags(*(columns[name][rows] for name in by), minimum=20)
    return Problem(into_bags(train_rows, labels[rows], groups), test_rows, labels[test])


def voters_at_random(seed: int) -> Problem:
    """Voters of the survey in random bags, with the shares of their own votes."""
    election = load_election()
    order = np.random.default_rng(seed).permutation(len(election.votes))
    rows, test = order[:N_ROWS], order[-N_TEST:]
    instances = np.asarray(election.bags.instances)
    groups = random_bags(N_ROWS, IN_BAGS_OF, seed)
    return Problem(
        Bags.from_labels(instances[rows], election.votes[rows], groups), instances[test], election.votes[test]
    )


OTHER_PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "Adult, long hours by education and race": long_hours,
    "Adult, women by occupation and employer": women,
    f"voters, random bags of {IN_BAGS_OF}": voters_at_random,
    "digits, bags of 32": digits_in_bags(32),
    f"Adult, {UNSEEN}": make_published_problem(UNSEEN),
}


def auc_by_choice(row: Row, choice: str) -> float:
    if choice == "AutoLLP":
        return 100 * float(row["AutoLLP"]["auc"])
    pick = row["compare"]["pick"]
    if pick.startswith("AutoLLP"):
        return auc_by_choice(row, "AutoLLP")
    return 100 * float(row["methods"]["aucs"][pick])


def best(row: Row) -> float:
    """Of the methods that are compared."""
    return 100 * max(auc for auc in row["methods"]["aucs"].values() if auc is not None)


def regret(row: Row, choice: str) -> float:
    return max(0.0, best(row) - auc_by_choice(row, choice))


def summary(rows: list[Row]) -> list[Row]:
    """One row per problem."""
    return [
        {
            "problem": row["problem"],
            "best of seven": f"{best(row):.2f}",
            "compare's": describe_choice(row, "compare"),
            "AutoLLP": describe_choice(row, "AutoLLP"),
            **{f"regret of {name}": f"{regret(row, name):.2f}" if name in row else "" for name in CHOICES},
        }
        for row in rows
    ]


def describe_choice(row: Row, choice: str) -> str:
    """The AUC of a choice, and which method it took; nothing if it was not measured."""
    if choice not in row:
        return ""
    name = f" ({row['compare']['pick']})" if choice == "compare" else ""
    return f"{auc_by_choice(row, choice):.2f}{name}"
