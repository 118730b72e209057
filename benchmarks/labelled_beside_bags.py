"""The election with 100 labelled voters beside 51 official results, against each alone; five draws of the voters.

Judged by the votes of all other people. Rows go to ``results/labelled_beside_bags.jsonl``.
"""

import statistics
from itertools import product

import numpy as np

from benchmarks.rows import RESULTS, Row, as_markdown, measured_rows, write_aside
from llpgan import BagLogistic, Bags
from llpgan.data.datasets.election import load_election
from llpgan.evaluation import label_scores

FORMS, N_LABELLED, DRAWS = ("51 results", "100 voters", "both"), 100, range(5)


def run() -> list[Row]:
    cells = product(FORMS, DRAWS)
    rows = measured_rows(RESULTS / "labelled_beside_bags.jsonl", ("known", "draw"), cells, measured)
    found = [summarised(rows, form) for form in FORMS]
    about = (
        "BagLogistic with default settings on the election of 2016; judged by the votes of all people but the 100 "
        "whose votes are drawn to be known. Mean and standard deviation over five draws."
    )
    write_aside(RESULTS / "labelled_beside_bags.md", as_markdown("Labels beside bags", about, found))
    return found


def measured(known: str, draw: int) -> Row:
    election = load_election()
    bags, votes = election.bags, election.votes
    chosen = np.sort(np.random.default_rng(draw).choice(len(votes), N_LABELLED, replace=False))
    if known == "100 voters":
        learned = Bags.from_labels(bags.instances[chosen], votes[chosen], np.arange(N_LABELLED))
    else:
        learned = bags if known == "51 results" else bags.with_labels(chosen, votes[chosen])
    model = BagLogistic(random_state=draw).fit_bags(learned)
    others = np.setdiff1d(np.arange(len(votes)), chosen)
    probabilities = model.predict_encoded(bags.instances[others])
    scores = label_scores(votes[others], probabilities, model.classes_)
    assert scores.auc is not None
    return {"accuracy": scores.accuracy.value, "auc": scores.auc.value, "log_loss": scores.log_loss.value}


def summarised(rows: list[Row], form: str) -> Row:
    found = [row for row in rows if row["known"] == form]
    return {
        "known": form,
        **{name: _spread([row[name] for row in found]) for name in ("accuracy", "auc", "log_loss")},
    }


def _spread(values: list[float]) -> str:
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"
