"""Rows into bags whose proportions are drawn, so that bags tell more or less of the classes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.data.bagging.labelled_rows import NO_BAG, BagOfRow, say_left_out

_NOTHING = 1e-12


def dirichlet_bags(labels: ArrayLike, bag_size: int, concentration: float, seed: int) -> BagOfRow:
    """Divide rows into bags of one size, each with proportions from a Dirichlet distribution.

    The parameters of the distribution are α K π, for the concentration α, K classes and their proportions π among
    all rows. If classes are equally large, all parameters are α. Each row is used once. A class that has run out
    is replaced by the others, so that the last bags are further from their draw. Rows that do not fill a bag are
    in none.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The class of each row.
    bag_size : int
        The number of rows of a bag.
    concentration : float
        The concentration α. If it is small, bags are almost pure; if it is large, every bag has the proportions π
        up to chance.
    seed : int
        The seed of the random draws.

    Returns
    -------
    ndarray of shape (n_samples,)
        The bag of each row.

    Examples
    --------
    >>> labels = np.repeat([0, 1], 4)
    >>> dirichlet_bags(labels, bag_size=4, concentration=0.01, seed=0)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    names, classes = np.unique(np.asarray(labels), return_inverse=True)
    if not 1 <= bag_size <= len(classes):
        raise ValueError(
            f"bags of {bag_size} from {len(classes)} instances: there must be 1 to {len(classes)} in one"
        )
    if not concentration > 0:
        raise ValueError(f"the concentration must be above 0, got {concentration}")
    rng = np.random.default_rng(seed)
    counts = _counts_of_bags(np.bincount(classes), len(classes) // bag_size, bag_size, concentration, rng)
    bag_of_row = np.full(len(classes), NO_BAG, dtype=np.int64)
    for label in range(len(names)):
        rows = rng.permutation(np.flatnonzero(classes == label))[: counts[:, label].sum()]
        bag_of_row[rows] = np.repeat(np.arange(len(counts)), counts[:, label])
    say_left_out(bag_of_row, f"they do not fill a bag of {bag_size}")
    return bag_of_row


def _counts_of_bags(
    rows: NDArray[np.int64], n_bags: int, bag_size: int, concentration: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """How many rows of each class each bag gets."""
    counts = np.zeros((n_bags, len(rows)), dtype=np.int64)
    parameters = concentration * len(rows) * rows / rows.sum()
    left = rows.copy()
    for bag in range(n_bags):
        counts[bag] = _counts_of_bag(rng.dirichlet(parameters), left, bag_size, rng)
        left -= counts[bag]
    return counts


def _counts_of_bag(
    wanted: NDArray[np.float64], left: NDArray[np.int64], bag_size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw by the wanted proportions among the classes that are left, until the bag is full."""
    counts = np.zeros_like(left)
    while (missing := bag_size - counts.sum()) > 0:
        room = left - counts
        shares = np.where(room > 0, wanted, 0)
        shares = shares if shares.sum() > _NOTHING else room
        counts += np.minimum(rng.multinomial(missing, shares / shares.sum()), room)
    return counts
