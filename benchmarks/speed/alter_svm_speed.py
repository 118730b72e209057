"""alter-∝SVM beside a plain implementation: scikit-learn's SVC for every step, and a Python loop over bags."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from benchmarks.accuracy.classical_digits import odd_against_even
from benchmarks.rows import Row
from llpgan import Bags
from llpgan.methods.linear import Features
from llpgan.methods.svm import Problem, annealed_costs

Array = NDArray[Any]
BAG_SIZE, C, PROPORTION_WEIGHT, FIRST, SMALL = 16, 1.0, 10.0, 1e-4, 1e-4


def run(n_starts: int = 3) -> list[Row]:
    """One row a start: both from the same random labels, through the same stages, in the same process."""
    bags, _, _ = odd_against_even(BAG_SIZE, seed=0)
    pixels = bags.instances.astype(np.float64)
    features = (pixels - pixels.mean(axis=0)) / pixels.std()
    problem = Problem(
        Features.from_rows(features), bags, bags.proportions[:, 1], C, PROPORTION_WEIGHT, epsilon=0.0
    )
    random = np.random.RandomState(0)
    return [compare(problem, features, problem.random_signs(random), start) for start in range(n_starts)]


def compare(problem: Problem, features: Array, signs: Array, start: int) -> Row:
    objective, seconds = time_fit(lambda: problem.anneal(signs, FIRST).objective)
    plain_objective, plain_seconds = time_fit(lambda: plain_anneal(features, problem.bags, problem.shares, signs))
    return {
        "start": start,
        "seconds": round(seconds, 3),
        "plain_seconds": round(plain_seconds, 3),
        "times_as_fast": round(plain_seconds / seconds, 1),
        "objective": round(objective, 2),
        "plain_objective": round(plain_objective, 2),
    }


def plain_anneal(features: Array, bags: Bags, shares: Array, signs: Array) -> float:
    """The method as it is written down, with the hinge as it is; returns its objective."""
    for stage_c in annealed_costs(C, FIRST):
        before = np.inf
        while True:
            machine = SVC(kernel="linear", C=stage_c).fit(features, signs)
            scores = machine.decision_function(features)
            labels = plain_labels(bags, shares, scores, stage_c)
            objective = plain_objective(machine.coef_[0], bags, shares, scores, labels, stage_c)
            settled = np.array_equal(labels, signs) or before - objective <= SMALL * objective
            signs, before = labels, objective
            if settled:
                break
    return float(objective)


def plain_labels(bags: Bags, shares: Array, scores: Array, stage_c: float) -> Array:
    """Bag by bag, every number of positives."""
    labels = -np.ones(len(scores))
    gains = np.maximum(0, 1 + scores) - np.maximum(0, 1 - scores)
    for bag in range(bags.n_bags):
        rows = bags.rows_of(bag)
        ranked = rows[np.argsort(-gains[rows])]
        costs = [
            -stage_c * gains[ranked[:count]].sum() + PROPORTION_WEIGHT * abs(count - shares[bag] * len(rows))
            for count in range(len(rows) + 1)
        ]
        labels[ranked[: int(np.argmin(costs))]] = 1.0
    return labels


def plain_objective(
    weights: Array, bags: Bags, shares: Array, scores: Array, labels: Array, stage_c: float
) -> float:
    missed = sum(
        abs(np.sum(labels[bags.rows_of(bag)] > 0) - shares[bag] * bags.sizes[bag]) for bag in range(bags.n_bags)
    )
    hinge = np.maximum(0, 1 - labels * scores).sum()
    return float(weights @ weights / 2 + stage_c * hinge + PROPORTION_WEIGHT * missed)


def time_fit(fit: Callable[[], float]) -> tuple[float, float]:
    start = time.perf_counter()
    objective = fit()
    return objective, time.perf_counter() - start
