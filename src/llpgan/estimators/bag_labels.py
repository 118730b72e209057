"""Labels of instances that agree with their bags' proportions and fit scores best; exact, and without a loop."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from llpgan.bags import Bags
from llpgan.utils.arrays import Array

_ROUNDING = 1e-9


class RankedBags:
    """The rows of each bag, highest score first.

    >>> bags = Bags.from_labels(np.zeros((4, 1)), [0, 1, 0, 1], groups=["a", "a", "b", "b"])
    >>> RankedBags(bags, np.array([0.1, 0.2, 0.9, 0.3])).highest(np.array([1, 2]))
    array([False,  True,  True,  True])
    """

    def __init__(self, bags: Bags, scores: Array) -> None:
        self.starts, self.sizes = bags.starts, bags.sizes
        place = np.empty(len(scores), dtype=np.int64)
        place[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
        # Bag first, then place, in one number: two plain sorts take half the time of one by two keys.
        self.order = np.argsort(bags.bag_index * len(scores) + place)
        self.rank = np.arange(len(scores)) - np.repeat(bags.starts, bags.sizes)

    def highest(self, counts: Array) -> NDArray[np.bool_]:
        """For each row, whether it is among the so many highest of its bag."""
        chosen = np.empty(len(self.order), dtype=bool)
        chosen[self.order] = self.rank < np.repeat(counts, self.sizes)
        return chosen

    def cheapest_counts(self, row_costs: Array, count_costs: Array, none_costs: Array) -> NDArray[np.int64]:
        """How many of each bag's highest to choose, so that the rows chosen and their number cost least.

        Parameters
        ----------
        row_costs : ndarray
            Of choosing each row; highest scores first must be cheapest first.
        count_costs : ndarray
            In the order of ranked rows, of choosing this row and all above it, as a number.
        none_costs : ndarray
            For each bag, of choosing none.
        """
        ranked = np.cumsum(row_costs[self.order])
        before = np.append(0.0, ranked)[self.starts]
        costs = ranked - np.repeat(before, self.sizes) + count_costs
        least = np.minimum.reduceat(costs, self.starts)
        is_least = costs == np.repeat(least, self.sizes)
        counts = np.minimum.reduceat(np.where(is_least, self.rank + 1, len(costs)), self.starts)
        return np.where(none_costs <= least, 0, counts)


def class_counts(bags: Bags) -> NDArray[np.int64]:
    """(n, K): whole numbers that sum to each bag's size and are nearest to m·p: by the largest remainders.

    >>> bags = Bags.from_arrays(np.zeros((5, 1)), ["a"] * 5, {"a": [0.5, 0.3, 0.2]})
    >>> class_counts(bags)
    array([[3, 1, 1]])
    """
    exact = bags.proportions * bags.sizes[:, None]
    counts = np.floor(exact + _ROUNDING).astype(np.int64)
    by_remainder = np.argsort(counts - exact, axis=1, kind="stable")
    lacking = bags.sizes - counts.sum(axis=1)
    extra = np.arange(bags.n_classes) < lacking[:, None]
    np.put_along_axis(counts, by_remainder, np.take_along_axis(counts, by_remainder, axis=1) + extra, axis=1)
    return counts


def best_labels(bags: Bags, scores: Array) -> NDArray[np.int64]:
    """The labels with the highest sum of scores (N, K) among those that have each bag's class counts.

    Two classes: the highest log-odds of each bag. More: an assignment problem a bag, solved exactly.

    >>> bags = Bags.from_arrays(np.zeros((3, 1)), ["a"] * 3, {"a": [1 / 3, 1 / 3, 1 / 3]})
    >>> best_labels(bags, np.array([[9.0, 8.0, 0.0], [9.0, 1.0, 0.0], [5.0, 0.0, 0.0]]))
    array([1, 0, 2])
    """
    counts = class_counts(bags)
    if bags.n_classes == 2:
        ranked = RankedBags(bags, scores[:, 1] - scores[:, 0])
        return ranked.highest(counts[:, 1]).astype(np.int64)
    labels = np.empty(len(scores), dtype=np.int64)
    for bag in range(bags.n_bags):
        rows = bags.rows_of(bag)
        seats = np.repeat(np.arange(bags.n_classes), counts[bag])
        _, seat = linear_sum_assignment(scores[np.ix_(rows, seats)], maximize=True)
        labels[rows] = seats[seat]
    return labels


def signs_of_shares(bags: Bags, scores: Array, shares: Array) -> Array:
    """Labels ±1: the highest scores of each bag are positive, as many as its share says.

    >>> bags = Bags.from_labels(np.zeros((3, 1)), [0, 1, 0], groups=["a", "a", "a"])
    >>> signs_of_shares(bags, np.array([0.1, 0.9, 0.5]), shares=np.array([2 / 3]))
    array([-1.,  1.,  1.])
    """
    counts = np.rint(shares * bags.sizes)
    return signs_within(bags, scores, counts, counts)


def signs_within(bags: Bags, scores: Array, fewest: Array, most: Array) -> Array:
    """Labels ±1 with the highest Σ y·score, where each bag has so many positives at the fewest and at the most.

    >>> bags = Bags.from_labels(np.zeros((4, 1)), [0, 1, 0, 1], groups=["a", "a", "b", "b"])
    >>> signs_within(bags, np.array([3.0, 2.0, -1.0, -2.0]), np.array([0, 1]), np.array([2, 2]))
    array([ 1.,  1.,  1., -1.])
    """
    wanted = np.bincount(bags.bag_index, scores > 0, minlength=bags.n_bags)
    chosen = RankedBags(bags, scores).highest(np.clip(wanted, fewest, most))
    return np.where(chosen, 1.0, -1.0)
