"""Time and memory of the linear methods on large tables, beside one supervised logistic regression of the rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.rows import Row
from benchmarks.speed.measure import peak_bytes, run_in_new_process, time_work
from llpgan import AlterSVM, Bags, InvCal, MeanMap
from llpgan.methods.base import LLPClassifier

CASES: list[tuple[LLPClassifier, int, int]] = [
    (MeanMap(), 1_000_000, 10_000),
    (InvCal(), 1_000_000, 10_000),
    (AlterSVM(random_state=0), 200_000, 10_000),
]
N_FEATURES = 50


def run() -> list[Row]:
    """One row a method, each measured in a separate process."""
    return [run_in_new_process(measure, *case) for case in CASES]


def measure(estimator: LLPClassifier, n_rows: int, n_bags: int) -> Row:
    """Peak memory as a multiple of the table, itself included; time as a multiple of logistic regression's."""
    before = peak_bytes()
    instances, labels, bag_of_row = make_table(n_rows, n_bags)
    bags = Bags.from_labels(instances, labels, bag_of_row)
    seconds = time_work(lambda: estimator.fit_bags(bags))
    memory = (peak_bytes() - before) / instances.nbytes
    supervised = LogisticRegression(solver="lbfgs")
    supervised_seconds = time_work(lambda: supervised.fit(instances, labels))
    return {
        "method": type(estimator).__name__,
        "rows": n_rows,
        "features": N_FEATURES,
        "bags": n_bags,
        "seconds": round(seconds, 2),
        "time_ratio": round(seconds / supervised_seconds, 2),
        "memory_ratio": round(memory, 2),
        "accuracy": round(float(np.mean(estimator.predict(instances) == labels)), 4),
        "supervised_accuracy": round(float(supervised.score(instances, labels)), 4),
    }


def make_table(n_rows: int, n_bags: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Two classes of a noisy linear rule, in bags drawn at random."""
    rng = np.random.default_rng(0)
    instances = np.empty((n_rows, N_FEATURES))
    rng.standard_normal(out=instances)
    log_odds = instances @ rng.normal(size=N_FEATURES) * (3 / np.sqrt(N_FEATURES))
    labels = (rng.random(n_rows) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)
    return instances, labels, rng.integers(n_bags, size=n_rows)
