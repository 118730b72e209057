"""The election with 100 labelled voters beside 51 official results, against each alone; five draws of the voters.

How much a voter counts beside a state is chosen by cross-validation on the 100 voters, with fewer resamples than
the model has; beside it stands the weight of one, in which a state of thousands counts no more than a voter.
Judged by the votes of all other people. Rows go to ``results/labelled_beside_bags.jsonl``.
"""

import statistics
from itertools import product

import numpy as np

from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan import BagLogistic, Bags
from llpgan.data import load_election
from llpgan.evaluation import label_scores
from llpgan.evaluation.choose import choose_label_weight
from llpgan.utils.arrays import Array

BOTH = "both, weight chosen"
WEIGHTS = (0.01, 0.1, 1.0)
FORMS, N_LABELLED, DRAWS = ("51 results", "100 voters", "both, weight 1", BOTH), 100, range(5)


def run() -> list[Row]:
    cells = product(FORMS, DRAWS)
    rows = measure_rows(RESULTS / "labelled_beside_bags.jsonl", ("known", "draw"), cells, measure)
    found = [summarize(rows, form) for form in FORMS]
    about = (
        "BagLogistic with default settings on the election of 2016; judged by the votes of all people but the 100 "
        "whose votes are drawn to be known. Mean and standard deviation over five draws. Weight: how much a voter "
        "counts, where a state counts one; chosen by cross-validation on the 100 voters (`choose_label_weight`). "
        "The rule that chooses was settled after draws 0 and 1 had been looked at; the others confirm it."
    )
    write_whole(RESULTS / "labelled_beside_bags.md", as_markdown("Labels beside bags", about, found))
    return found


def measure(known: str, draw: int) -> Row:
    election = load_election()
    bags, votes = election.bags, election.votes
    chosen = np.sort(np.random.default_rng(draw).choice(len(votes), N_LABELLED, replace=False))
    weight = None
    if known == "51 results":
        learned = bags
    elif known == "100 voters":
        learned = Bags.from_labels(bags.instances[chosen], votes[chosen], np.arange(N_LABELLED))
    else:
        weight = _weight(bags, chosen, votes[chosen], draw) if known == BOTH else 1.0
        learned = bags.add_labels(chosen, votes[chosen], weight=weight)
    model = BagLogistic(random_state=draw).fit_bags(learned)
    others = np.setdiff1d(np.arange(len(votes)), chosen)
    probabilities = model.predict_encoded(bags.instances[others])
    scores = label_scores(votes[others], probabilities, model.classes_)
    assert scores.auc is not None
    return {
        "weight": weight,
        "accuracy": scores.accuracy.value,
        "auc": scores.auc.value,
        "log_loss": scores.log_loss.value,
    }


def _weight(bags: Bags, rows: Array, votes: Array, draw: int) -> float:
    method = BagLogistic(n_resamples=5, random_state=draw)
    return choose_label_weight(method, bags, rows, votes, weights=WEIGHTS, random_state=draw).weight


def summarize(rows: list[Row], form: str) -> Row:
    found = [row for row in rows if row["known"] == form]
    return {
        "known": form,
        "weight": ", ".join(str(row["weight"]) for row in found if row["weight"] is not None),
        **{name: _spread([row[name] for row in found]) for name in ("accuracy", "auc", "log_loss")},
    }


def _spread(values: list[float]) -> str:
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"
