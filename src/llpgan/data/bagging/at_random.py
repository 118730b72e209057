"""Rows into bags at random: of one size, of given sizes, or of sizes drawn by a law."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from llpgan.data.bagging.labelled_rows import NO_BAG, BagOfRow, say_left_out

SizeLaw = Callable[[np.random.Generator], int]


def random_bags(n_instances: int, bag_size: int, seed: int) -> BagOfRow:
    """Divide rows at random into bags of one size.

    Parameters
    ----------
    n_instances : int
        The number of rows.
    bag_size : int
        The number of rows of a bag. The rows that are left over form a smaller bag.
    seed : int
        The seed of the random draws.

    Returns
    -------
    ndarray of shape (n_instances,)
        The bag of each row.

    Examples
    --------
    >>> random_bags(5, bag_size=2, seed=0)
    array([1, 2, 0, 1, 0])
    """
    if bag_size < 1:
        raise ValueError(f"a bag needs at least one row, got bag_size={bag_size}")
    bag_of_row = np.empty(n_instances, dtype=np.int64)
    bag_of_row[np.random.default_rng(seed).permutation(n_instances)] = np.arange(n_instances) // bag_size
    return bag_of_row


def varying_bags(n_instances: int, sizes: Sequence[int] | NDArray[np.int64] | SizeLaw, seed: int) -> BagOfRow:
    """Divide rows at random into bags of different sizes.

    Parameters
    ----------
    n_instances : int
        The number of rows.
    sizes : sequence of int or callable
        The sizes of the bags; rows beyond their sum are in no bag. A callable, such as :func:`between` or
        :func:`poisson` returns, draws one size from a random generator; it is called until all rows are in bags,
        and the last bag gets the rows that are left.
    seed : int
        The seed of the random draws.

    Returns
    -------
    ndarray of shape (n_instances,)
        The bag of each row.

    Examples
    --------
    >>> np.bincount(varying_bags(9, sizes=[4, 2, 3], seed=0))
    array([4, 2, 3])
    >>> np.bincount(varying_bags(20, sizes=between(4, 8), seed=0))
    array([8, 7, 5])
    """
    rng = np.random.default_rng(seed)
    sizes = np.asarray(_drawn(sizes, n_instances, rng) if callable(sizes) else sizes, dtype=np.int64)
    if len(sizes) and sizes.min() < 1:
        raise ValueError(f"bag {sizes.argmin()}: a bag needs at least one row, got a size of {sizes.min()}")
    if sizes.sum() > n_instances:
        raise ValueError(f"bags of {sizes.sum()} rows in all, but there are only {n_instances} instances")
    bag_of_row = np.full(n_instances, NO_BAG, dtype=np.int64)
    bag_of_row[rng.permutation(n_instances)[: sizes.sum()]] = np.repeat(np.arange(len(sizes)), sizes)
    say_left_out(bag_of_row, f"the sizes sum to {sizes.sum()}")
    return bag_of_row


def between(smallest: int, largest: int) -> SizeLaw:
    """Return a uniform distribution of bag sizes.

    Parameters
    ----------
    smallest : int
        The smallest size.
    largest : int
        The largest size.

    Returns
    -------
    callable
        A function that draws a size from a random generator.
    """
    if not 1 <= smallest <= largest:
        raise ValueError(f"sizes between {smallest} and {largest}: must be from at least 1 upwards")
    return lambda rng: int(rng.integers(smallest, largest, endpoint=True))


def poisson(mean: float) -> SizeLaw:
    """Return a distribution of bag sizes: one plus a Poisson variable.

    Parameters
    ----------
    mean : float
        The mean size.

    Returns
    -------
    callable
        A function that draws a size from a random generator.
    """
    if mean < 1:
        raise ValueError(f"a bag has at least one row, so the mean cannot be {mean}")
    return lambda rng: 1 + int(rng.poisson(mean - 1))


def _drawn(law: SizeLaw, n_instances: int, rng: np.random.Generator) -> list[int]:
    sizes: list[int] = []
    left = n_instances
    while left > 0:
        size = min(law(rng), left)
        if size < 1:
            raise ValueError(f"the law drew a size of {size} for bag {len(sizes)}: a bag needs at least one row")
        sizes.append(size)
        left -= size
    return sizes
