"""Bags dealt out so that every share has its part of bags, of rows, and of each class."""

import numpy as np
from numpy.typing import NDArray

from llpgan.utils.arrays import Array

_DRAWS = 20


def weights_of_bags(sizes: Array, proportions: Array | None = None) -> NDArray[np.float64]:
    """What a bag brings of all that is to be shared evenly: one bag, its rows, and its rows of each class.

    >>> weights_of_bags(np.array([3, 1]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([[0.5 , 0.75, 1.  , 0.  ],
           [0.5 , 0.25, 0.  , 1.  ]])
    """
    columns = [np.ones((len(sizes), 1)), sizes[:, None]]
    if proportions is not None:
        columns.append(sizes[:, None] * proportions)
    counts = np.hstack(columns).astype(np.float64)
    return counts / np.maximum(counts.sum(axis=0), np.finfo(np.float64).tiny)


def dealt(weights: NDArray[np.float64], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The fold of each bag: the heaviest bags first, each to the fold where it makes the least unevenness.

    That is the rise in the sum of squares of what folds hold, which is least where they hold the same. No fold
    stays empty: the first bags go to different folds.

    >>> dealt(weights_of_bags(np.array([4, 2, 2, 4])), n_folds=2, rng=np.random.default_rng(0))
    array([0, 1, 0, 1])
    """
    fold_of_bag = np.empty(len(weights), dtype=np.int64)
    held = np.zeros((n_folds, weights.shape[1]))
    order = rng.permutation(len(weights))
    heaviest_first = order[np.argsort(-np.square(weights[order]).sum(axis=1), kind="stable")]
    for bag in heaviest_first:
        fold = int((held @ weights[bag]).argmin())
        fold_of_bag[bag] = fold
        held[fold] += weights[bag]
    return fold_of_bag


def drawn(weights: NDArray[np.float64], n_drawn: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """So many bags at random: of a few draws, the one that holds most evenly its part of everything."""
    draws = [rng.permutation(len(weights))[:n_drawn] for _ in range(_DRAWS)]
    wanted = n_drawn / len(weights)
    unevenness = [np.square(weights[draw].sum(axis=0) - wanted).sum() for draw in draws]
    return np.sort(draws[int(np.argmin(unevenness))])
