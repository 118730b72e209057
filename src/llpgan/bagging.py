"""Labelled data into bags: for experiments, where the truth is known."""

import numpy as np
from numpy.typing import NDArray


def random_bags(n_instances: int, bag_size: int, seed: int) -> NDArray[np.int64]:
    """The bag of each row: rows drawn at random into bags of one size; what is left over makes a smaller one.

    >>> random_bags(5, bag_size=2, seed=0)
    array([1, 2, 0, 1, 0])
    """
    bag_of_row = np.empty(n_instances, dtype=np.int64)
    bag_of_row[np.random.default_rng(seed).permutation(n_instances)] = np.arange(n_instances) // bag_size
    return bag_of_row
