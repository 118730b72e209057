"""Rows in bags and rows in none."""

import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import Bags, validation

#: What stands for the bag of a row that is in no bag; :func:`into_bags` leaves such rows out.
NO_BAG: Final = -1
BagOfRow = NDArray[np.int64]


def into_bags(instances: Any, labels: ArrayLike, bag_of_row: BagOfRow) -> Bags:
    """Make bags with the proportions of their labels, without the rows that are in no bag.

    Parameters
    ----------
    instances : array-like of shape (n_samples, ...)
        The instances.
    labels : array-like of shape (n_samples,)
        The class of each row.
    bag_of_row : ndarray of shape (n_samples,)
        The bag of each row, or ``NO_BAG``.

    Returns
    -------
    Bags
        The bags.

    Examples
    --------
    >>> into_bags([[1.0], [2.0], [3.0]], ["no", "yes", "no"], np.array([0, 0, NO_BAG]))
    Bags(2 instances of shape (1,), 1 bags of 2 to 2, 2 classes)
    """
    instances, labels = np.asanyarray(instances), np.asarray(labels)
    validation.same_length("instances", instances, "entries of bag_of_row", bag_of_row)
    validation.same_length("labels", labels, "entries of bag_of_row", bag_of_row)
    if (bag_of_row == NO_BAG).any():
        kept = np.flatnonzero(bag_of_row != NO_BAG)
        instances, labels, bag_of_row = instances[kept], labels[kept], bag_of_row[kept]
    return Bags.from_labels(instances, labels, bag_of_row)


def say_left_out(bag_of_row: BagOfRow, why: str) -> None:
    """Warn of the rows that are in no bag, if there are any."""
    n_rows = int((bag_of_row == NO_BAG).sum())
    if n_rows:
        warnings.warn(f"{n_rows} of {len(bag_of_row)} rows are in no bag: {why}", stacklevel=3)
