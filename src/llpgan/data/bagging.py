"""Functions that divide labelled data into bags, for experiments in which the labels are known.

Each function returns the bag of each row: an array of integers from 0, with ``NO_BAG`` (−1) for rows in no bag. If
there are such rows, a warning says how many and why. :func:`into_bags` leaves them out::

    bag_of_row = dirichlet_bags(labels, bag_size=64, concentration=0.5, seed=0)
    bags = into_bags(instances, labels, bag_of_row)

The functions of :mod:`llpgan.data.bagging` take Bags and return Bags with noisy proportions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import Bags, grouping
from llpgan.bags.checks import check_same_length
from llpgan.utils.arrays import refuse_masked
from llpgan.utils.old_names import getattr_of_old_names

__all__ = [
    "NO_BAG",
    "clustered_bags",
    "dirichlet_bags",
    "feature_bags",
    "gaussian_noise",
    "into_bags",
    "laplace_noise",
    "poisson_sizes",
    "random_bags",
    "round_proportions",
    "swap_labels",
    "uniform_sizes",
    "varying_bags",
]


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
    instances, labels = np.asanyarray(instances), refuse_masked(labels, "labels")
    check_same_length("instances", instances, "entries of bag_of_row", bag_of_row)
    check_same_length("labels", labels, "entries of bag_of_row", bag_of_row)
    if (bag_of_row == NO_BAG).any():
        kept = np.flatnonzero(bag_of_row != NO_BAG)
        instances, labels, bag_of_row = instances[kept], labels[kept], bag_of_row[kept]
    return Bags.from_labels(instances, labels, bag_of_row)


def warn_of_rows_left_out(bag_of_row: BagOfRow, why: str) -> None:
    """Warn of the rows that are in no bag, if there are any."""
    n_rows = int((bag_of_row == NO_BAG).sum())
    if n_rows:
        warnings.warn(f"{n_rows} of {len(bag_of_row)} rows are in no bag: {why}", stacklevel=3)


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
        The sizes of the bags; rows beyond their sum are in no bag. A callable, such as :func:`uniform_sizes` or
        :func:`poisson_sizes` returns, draws one size from a random generator; it is called until all rows are in
        bags, and the last bag gets the rows that are left.
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
    >>> np.bincount(varying_bags(20, sizes=uniform_sizes(4, 8), seed=0))
    array([8, 7, 5])
    """
    rng = np.random.default_rng(seed)
    sizes = np.asarray(_draw_sizes(sizes, n_instances, rng) if callable(sizes) else sizes, dtype=np.int64)
    if len(sizes) and sizes.min() < 1:
        raise ValueError(f"bag {sizes.argmin()}: a bag needs at least one row, got a size of {sizes.min()}")
    if sizes.sum() > n_instances:
        raise ValueError(f"bags of {sizes.sum()} rows in all, but there are only {n_instances} instances")
    bag_of_row = np.full(n_instances, NO_BAG, dtype=np.int64)
    bag_of_row[rng.permutation(n_instances)[: sizes.sum()]] = np.repeat(np.arange(len(sizes)), sizes)
    warn_of_rows_left_out(bag_of_row, f"the sizes sum to {sizes.sum()}")
    return bag_of_row


def uniform_sizes(smallest: int, largest: int) -> SizeLaw:
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


def poisson_sizes(mean: float) -> SizeLaw:
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


def _draw_sizes(law: SizeLaw, n_instances: int, rng: np.random.Generator) -> list[int]:
    sizes: list[int] = []
    left = n_instances
    while left > 0:
        size = min(law(rng), left)
        if size < 1:
            raise ValueError(f"the law drew a size of {size} for bag {len(sizes)}: a bag needs at least one row")
        sizes.append(size)
        left -= size
    return sizes


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
    names, classes = np.unique(refuse_masked(labels, "labels"), return_inverse=True)
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
    warn_of_rows_left_out(bag_of_row, f"they do not fill a bag of {bag_size}")
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
    groups = _number_combinations(features)
    sizes = np.bincount(groups)
    small = sizes < minimum
    number = np.where(small, NO_BAG, np.cumsum(~small) - 1)
    n_small = int(sizes[small].sum())
    if merge and n_small >= max(minimum, 1):
        number[small] = (~small).sum()
        warnings.warn(f"{n_small} rows of {small.sum()} groups smaller than {minimum} make one bag", stacklevel=2)
    bag_of_row = number[groups]
    warn_of_rows_left_out(bag_of_row, f"{small.sum()} groups are smaller than {minimum}")
    return bag_of_row


def _number_combinations(features: tuple[Any, ...]) -> BagOfRow:
    """The group of each row, numbered in the order of the first feature, then of the second, and so on."""
    groups, _ = grouping.index_ids(features[0])
    for feature in features[1:]:
        values, names = grouping.index_ids(feature)
        check_same_length("values of the first feature", groups, "values of another", values)
        _, groups = np.unique(groups * len(names) + values, return_inverse=True)
    return groups.astype(np.int64)


def clustered_bags(instances: ArrayLike, n_bags: int, seed: int) -> BagOfRow:
    """Divide rows into bags by k-means clustering, so that bags differ in their instances.

    Every row is in a bag. Bags differ in size, and there are fewer than ``n_bags`` if clusters stay empty.

    Parameters
    ----------
    instances : array-like of shape (n_samples, ...)
        The instances. Standardize their columns first, because distances depend on their scales.
    n_bags : int
        The number of clusters.
    seed : int
        The seed of the clustering.

    Returns
    -------
    ndarray of shape (n_samples,)
        The bag of each row.

    Examples
    --------
    >>> clustered_bags([[0.0], [9.0], [0.1], [9.1]], n_bags=2, seed=0)
    array([0, 1, 0, 1])
    """
    from sklearn.cluster import MiniBatchKMeans

    rows = np.asarray(instances, dtype=np.float32)
    if not 1 <= n_bags <= len(rows):
        raise ValueError(f"{n_bags} bags of {len(rows)} instances: there must be 1 to {len(rows)} bags")
    clusters = MiniBatchKMeans(n_bags, random_state=seed, n_init=3).fit_predict(rows.reshape(len(rows), -1))
    _, first, index = np.unique(clusters, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[index]  # numbered by first appearance


_L1_SENSITIVITY = 2.0
_L2_SENSITIVITY = 2**0.5
_LOG_DEVIATIONS = (-40.0, 40.0)  # more than any ε and δ ask for


def laplace_noise(bags: Bags, epsilon: float, seed: int) -> Bags:
    """Add Laplace noise of scale 2 / ε to the counts: ε-differentially private proportions.

    Parameters
    ----------
    bags : Bags
        The bags.
    epsilon : float
        The privacy parameter ε.
    seed : int
        The seed of the noise.

    Returns
    -------
    Bags
        The same bags with noisy proportions.

    Examples
    --------
    >>> bags = Bags.from_labels(np.eye(4), [0, 1, 1, 1], groups=[0, 0, 0, 0])
    >>> laplace_noise(bags, epsilon=1.0, seed=0).proportions.round(2)
    array([[0.48, 0.52]])
    """
    _positive("epsilon", epsilon)
    rng = np.random.default_rng(seed)
    return _add_count_noise(bags, rng.laplace(scale=_L1_SENSITIVITY / epsilon, size=bags.proportions.shape))


def gaussian_noise(bags: Bags, epsilon: float, delta: float, seed: int) -> Bags:
    """Add normal noise to the counts: (ε, δ)-differentially private proportions.

    Parameters
    ----------
    bags : Bags
        The bags.
    epsilon : float
        The privacy parameter ε.
    delta : float
        The privacy parameter δ, between 0 and 1.
    seed : int
        The seed of the noise.

    Returns
    -------
    Bags
        The same bags with noisy proportions.

    References
    ----------
    .. [1] B. Balle and Y.-X. Wang, "Improving the Gaussian mechanism for differential privacy", International
       Conference on Machine Learning, 2018.

    Examples
    --------
    >>> bags = Bags.from_labels(np.eye(4), [0, 1, 1, 1], groups=[0, 0, 0, 0])
    >>> gaussian_noise(bags, epsilon=1.0, delta=1e-3, seed=0).proportions.round(2)
    array([[0.37, 0.63]])
    """
    deviation = gaussian_deviation(epsilon, delta, _L2_SENSITIVITY)
    rng = np.random.default_rng(seed)
    return _add_count_noise(bags, rng.normal(scale=deviation, size=bags.proportions.shape))


def gaussian_deviation(epsilon: float, delta: float, sensitivity: float) -> float:
    """The least standard deviation of normal noise that is (ε, δ)-differentially private.

    The analytic mechanism (Balle and Wang, 2018, theorem 8), right for every ε; the textbook's formula
    Δ √(2 ln(1.25 / δ)) / ε is larger, and holds only below ε = 1.

    >>> round(gaussian_deviation(1.0, 1e-5, sensitivity=1.0), 2)
    3.73
    """
    from scipy.optimize import brentq
    from scipy.special import log_ndtr, ndtr

    _positive("epsilon", epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}")

    def excess(log_deviation: float) -> float:
        ratio = sensitivity / np.exp(log_deviation)
        beyond = np.exp(epsilon + log_ndtr(-ratio / 2 - epsilon / ratio))
        return float(ndtr(ratio / 2 - epsilon / ratio) - beyond - delta)

    return float(np.exp(brentq(excess, *_LOG_DEVIATIONS)))


def round_proportions(bags: Bags, step: float) -> Bags:
    """Round each proportion to a multiple of a step, and normalize those of each bag.

    Parameters
    ----------
    bags : Bags
        The bags.
    step : float
        The step, such as 0.05.

    Returns
    -------
    Bags
        The same bags with rounded proportions.

    Examples
    --------
    >>> bags = Bags.from_labels(np.eye(3), [0, 1, 1], groups=[0, 0, 0])
    >>> round_proportions(bags, step=0.05).proportions
    array([[0.35, 0.65]])
    """
    if not 0 < step <= 1:
        raise ValueError(f"the step must lie between 0 and 1, got {step}")
    return _replace_proportions(bags, np.round(bags.proportions / step) * step)


def swap_labels(bags: Bags, share: float, seed: int) -> Bags:
    """Exchange the proportions of some bags at random, so that each of them gets those of another.

    Parameters
    ----------
    bags : Bags
        The bags.
    share : float
        The share of bags that exchange their proportions.
    seed : int
        The seed of the random draws.

    Returns
    -------
    Bags
        The same bags with exchanged proportions.

    Examples
    --------
    >>> bags = Bags.from_labels(np.eye(4), [0, 1, 1, 1], groups=[0, 1, 1, 1])
    >>> swap_labels(bags, share=1.0, seed=0).proportions
    array([[0., 1.],
           [1., 0.]])
    """
    if not 0 <= share <= 1:
        raise ValueError(f"the share of bags must lie between 0 and 1, got {share}")
    chosen = np.random.default_rng(seed).permutation(bags.n_bags)[: round(share * bags.n_bags)]
    proportions = bags.proportions.copy()
    proportions[chosen] = proportions[np.roll(chosen, 1)]
    return replace(bags, proportions=proportions)


def _add_count_noise(bags: Bags, noise: NDArray[np.float64]) -> Bags:
    return _replace_proportions(bags, bags.proportions * bags.sizes[:, None] + noise)


def _replace_proportions(bags: Bags, weights: NDArray[np.float64]) -> Bags:
    """Negative weights count as none; a bag where nothing is left gets equal proportions, for want of any."""
    weights = np.maximum(weights, 0)
    weights[weights.sum(axis=1) <= 0] = 1
    return replace(bags, proportions=weights / weights.sum(axis=1, keepdims=True))


def _positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{name} must be a number above 0, got {value}")


__getattr__ = getattr_of_old_names(
    "llpgan.data.bagging",
    {
        "between": "llpgan.data.bagging:uniform_sizes",
        "poisson": "llpgan.data.bagging:poisson_sizes",
        "rounded": "llpgan.data.bagging:round_proportions",
        "swapped": "llpgan.data.bagging:swap_labels",
    },
)
