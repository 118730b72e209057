"""Problems beside the nine of ``table_regret``: other classes, bags and data."""

from collections.abc import Callable

import numpy as np

from benchmarks.compare_regret import Problem, digits_in_bags, one_hot
from benchmarks.data_folders import folder_of
from llpgan.bags import Bags
from llpgan.data.bagging import feature_bags, into_bags, random_bags
from reproduction.datasets import load_adult, load_election

N_ROWS, N_TEST = 6000, 10_000
IN_BAGS_OF = 128
_LONG_HOURS = 44


def long_hours(seed: int) -> Problem:
    """Who works long hours, from bags by education and race."""
    return adult_column("hours-per-week", ("education", "race"), ("education-num",), seed)


def women(seed: int) -> Problem:
    """Who is a woman, from bags by occupation and kind of employer."""
    return adult_column("sex", ("occupation", "workclass"), ("relationship",), seed)


def adult_column(target: str, by: tuple[str, str], also_without: tuple[str, ...], seed: int) -> Problem:
    """A column of Adult's training rows as the class, without those that make bags or that all but tell it."""
    columns = load_adult(folder_of("adult.csv.gz", "adult.csv", "adult.data", "adult")).columns
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


OTHERS: dict[str, Callable[[int], Problem]] = {
    "Adult, long hours by education and race": long_hours,
    "Adult, women by occupation and employer": women,
    f"voters, random bags of {IN_BAGS_OF}": voters_at_random,
    "digits, bags of 32": digits_in_bags(32),
}
