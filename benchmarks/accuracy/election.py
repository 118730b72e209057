"""Every method on the election of 2016, default settings, five seeds: 51 official results in, 44,932 people out.

Rows go to ``results/election.jsonl``, their table to ``results/election.md``. The people's votes judge, and choose
nothing. Beside the methods stands logistic regression that knows every vote but those it is judged by. Rows that
are there already are not run again. ``ELECTION_METHODS`` (such as ``AutoLLP,BagBoosting``) runs a part.
"""

import inspect
import os
import statistics
import time
from itertools import product

import torch

import llpgan
from benchmarks.accuracy.methods_since import LATER
from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan.cli.commands import predict_from_votes
from llpgan.data.datasets import Election, load_election
from llpgan.evaluation import bag_scores, label_scores
from llpgan.methods import METHODS
from llpgan.utils.arrays import Array

SEEDS = range(5)
EVERY_VOTE = "every vote"
COMPARED = [method for method in METHODS if method not in LATER]  # the later ones are in methods_since


def run() -> list[Row]:
    torch.set_num_threads(1)  # small networks: a second thread only waits
    named = os.environ.get("ELECTION_METHODS")
    quick_first = named.split(",") if named else [EVERY_VOTE, *reversed(COMPARED)]
    cells = ((method, seed) for seed, method in product(SEEDS, quick_first) if seed == 0 or is_random(method))
    return write_page(measure_rows(RESULTS / "election.jsonl", ("method", "seed"), cells, measure))


def write_page(rows: list[Row]) -> list[Row]:
    """The table of what is measured so far, on its page."""
    write_whole(RESULTS / "election.md", page(rows))
    return summary(rows)


def page(rows: list[Row]) -> str:
    """The table with its explanation."""
    about = (
        "Learned from 51 official results with default settings, judged by the votes of 44,932 people; made from "
        "`election.jsonl`. Mean and standard deviation over seeds; a method without random numbers has one. "
        "Always naming the commonest class is right for 58.3 %. Log loss: natural logarithms, a coin has 0.693. "
        "Calibration error: by how much the probability of the predicted class differs from the share that is "
        "right, in ten bins. Every vote: what logistic regression reaches on each fifth of the people when it "
        "knows the votes of the others."
    )
    return as_markdown("The election of 2016", about, summary(rows))


def summary(rows: list[Row]) -> list[Row]:
    """A row a method, of those that are measured."""
    there = {row["method"] for row in rows}
    return [summarize(rows, method) for method in (*COMPARED, EVERY_VOTE) if method in there]


def is_random(method: str) -> bool:
    """Whether a seed makes a difference."""
    return method in METHODS and "random_state" in inspect.signature(getattr(llpgan, method)).parameters


def measure(method: str, seed: int) -> Row:
    election = load_election()
    started = time.perf_counter()
    try:
        probabilities, settings = predict_probabilities(method, seed, election)
    except MemoryError as error:
        return {"refused": str(error)}
    scores = label_scores(election.votes, probabilities, election.bags.classes)
    assert scores.auc is not None
    return {
        "accuracy": scores.accuracy.value,
        "auc": scores.auc.value,
        "log_loss": scores.log_loss.value,
        "calibration_error": scores.calibration_error.value,
        "bag_error": bag_scores(election.bags, probabilities).mean_total_variation.value,
        "seconds": round(time.perf_counter() - started, 1),
        "settings": settings,
    }


def predict_probabilities(method: str, seed: int, election: Election) -> tuple[Array, dict[str, str]]:
    """Probabilities from the 51 results, or from every vote, and the method's settings."""
    if method == EVERY_VOTE:
        return predict_from_votes(election), {}
    model = getattr(llpgan, method)(**({"random_state": seed} if is_random(method) else {}))
    probabilities = model.fit_bags(election.bags).predict_proba(election.bags)
    return probabilities, {name: repr(value) for name, value in model.get_params().items()}


def summarize(rows: list[Row], method: str) -> Row:
    found = [row for row in rows if row["method"] == method]
    if "refused" in found[0]:
        return {
            "method": method,
            "accuracy (%)": "refused: memory",
            "AUC": "",
            "log loss": "",
            "calibration error": "",
            "bag error": "",
            "seeds": len(found),
        }
    return {
        "method": method,
        "accuracy (%)": spread([100 * row["accuracy"] for row in found], 2),
        "AUC": spread([row["auc"] for row in found], 4),
        "log loss": spread([row["log_loss"] for row in found], 3),
        "calibration error": spread([row["calibration_error"] for row in found if "calibration_error" in row], 3),
        "bag error": spread([row["bag_error"] for row in found], 4),
        "seeds": len(found),
    }


def spread(values: list[float], digits: int) -> str:
    """Mean and standard deviation; empty where nothing was measured."""
    if not values:
        return ""
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.{digits}f}"
