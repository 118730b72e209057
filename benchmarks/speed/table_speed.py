"""BagLogistic beside one logistic regression, and BagBoosting beside LightGBM on labels, on the same rows.

Adult as in ``adult_llp``: 20,000 rows of 179 columns, in 20 and in 312 random bags, default settings (100
resamples; 10 models). All take turns in one run, so that a busy machine slows them alike. LightGBM on labels grows
as many trees of as many leaves, those of rounds that are not kept included, on one thread as BagBoosting does.
"""

import warnings
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.accuracy.adult_llp import read_rows
from benchmarks.rows import Row
from benchmarks.speed.measure import ratio_row, time_in_turns
from llpgan import BagBoosting, BagLogistic, Bags

Array = NDArray[Any]
N_ROWS, N_BAGS = 20_000, (20, 312)
ROUNDS = 5
LINEAR_AT_MOST, TREES_AT_MOST = 6.0, 3.0


def run() -> list[Row]:
    """One row for each method and number of bags."""
    warnings.simplefilter("ignore")
    rows = read_rows()
    instances, labels = rows.instances[:N_ROWS].astype(np.float64), rows.labels[:N_ROWS]
    return [row for n_bags in N_BAGS for row in measure(instances, labels, n_bags)]


def measure(instances: Array, labels: Array, n_bags: int) -> list[Row]:
    bag_of_row = np.random.default_rng(0).permutation(N_ROWS) % n_bags
    bags = Bags.from_labels(instances, labels, bag_of_row)
    model = BagBoosting(random_state=0, bag_shift="covariate").fit_bags(bags)
    n_trees = model.n_models * (len(model.held_out_losses_) - 1)
    seconds = time_in_turns(
        {
            "linear": lambda: BagLogistic(random_state=0).fit_bags(bags),
            "labels, linear": lambda: LogisticRegression(max_iter=1000).fit(instances, labels),
            "trees": lambda: BagBoosting(random_state=0, bag_shift="covariate").fit_bags(bags),
            "labels, trees": lambda: from_labels(instances, labels, n_trees),
        },
        ROUNDS,
    )
    return [
        ratio_row(
            f"BagLogistic over LogisticRegression, {n_bags} bags",
            seconds["linear"],
            seconds["labels, linear"],
            at_most=LINEAR_AT_MOST,
        ),
        ratio_row(
            f"BagBoosting over LightGBM on labels, {n_trees:,} trees, {n_bags} bags",
            seconds["trees"],
            seconds["labels, trees"],
            at_most=TREES_AT_MOST,
        ),
    ]


def from_labels(instances: Array, labels: Array, n_trees: int) -> lightgbm.Booster:
    settings = {
        "objective": "binary",
        "num_leaves": BagBoosting().max_leaves,
        "min_data_in_leaf": 100,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "verbose": -1,
    }
    return lightgbm.train(settings, lightgbm.Dataset(instances, labels), num_boost_round=n_trees)
