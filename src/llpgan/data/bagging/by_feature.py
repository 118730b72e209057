"""Rows into bags by what they have in common, as in a census or an election."""

import warnings
from typing import Any

import numpy as np

from llpgan.bags import grouping, validation
from llpgan.data.bagging.labelled_rows import NO_BAG, BagOfRow, say_left_out


def feature_bags(*features: Any, minimum: int = 1, merge: bool = True) -> BagOfRow:
    """Divide rows into bags by the values of features, as in a census or an election.

    Bags are numbered in the sorted order of the values.

    Parameters
    ----------
    *features : array-like of shape (n_samples,)
        The features, such as education and occupation. Rows that agree in all of them are in the same bag.
    minimum : int, default=1
        The minimum number of rows of a bag.
    merge : bool, default=True
        Whether the rows of groups smaller than ``minimum`` form one last bag, if it is large enough. Otherwise
        they are in no bag. A warning says which.

    Returns
    -------
    ndarray of shape (n_samples,)
        The bag of each row.

    Examples
    --------
    >>> feature_bags(["school", "school", "college", "college"], ["clerk", "clerk", "clerk", "sales"])
    array([2, 2, 0, 1])
    """
    if not features:
        raise ValueError("give at least one feature to make bags by")
    groups = _groups(features)
    sizes = np.bincount(groups)
    small = sizes < minimum
    number = np.where(small, NO_BAG, np.cumsum(~small) - 1)
    n_small = int(sizes[small].sum())
    if merge and n_small >= max(minimum, 1):
        number[small] = (~small).sum()
        warnings.warn(f"{n_small} rows of {small.sum()} groups smaller than {minimum} make one bag", stacklevel=2)
    bag_of_row = number[groups]
    say_left_out(bag_of_row, f"{small.sum()} groups are smaller than {minimum}")
    return bag_of_row


def _groups(features: tuple[Any, ...]) -> BagOfRow:
    """The group of each row, numbered in the order of the first feature, then of the second, and so on."""
    groups, _ = grouping.index_of(features[0])
    for feature in features[1:]:
        values, names = grouping.index_of(feature)
        validation.same_length("values of the first feature", groups, "values of another", values)
        _, groups = np.unique(groups * len(names) + values, return_inverse=True)
    return groups.astype(np.int64)
