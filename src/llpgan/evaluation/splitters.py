"""Splits by bags, for cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from llpgan.bags import Bags, grouping
from llpgan.bags.checks import check_same_length
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


def draw_bags(weights: NDArray[np.float64], n_drawn: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """So many bags at random: of a few draws, the one that holds most evenly its part of everything."""
    draws = [rng.permutation(len(weights))[:n_drawn] for _ in range(_DRAWS)]
    wanted = n_drawn / len(weights)
    unevenness = [np.square(weights[draw].sum(axis=0) - wanted).sum() for draw in draws]
    return np.sort(draws[int(np.argmin(unevenness))])


Rows = NDArray[np.int64]


class BagSplitter(BaseCrossValidator):  # type: ignore[misc]
    """Base class of splitters of bags.

    ``split(X, y, groups)`` takes the bag of each row as ``groups``. ``y`` is optional; if it holds labels, or in
    each row the proportions of its bag, splits are balanced by them. With metadata routing of scikit-learn,
    ``groups`` is requested by default.
    """

    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(self, n_splits: int, random_state: int | np.random.RandomState | None) -> None:
        if n_splits < 1:
            raise ValueError(f"there must be at least one split, got n_splits={n_splits}")
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : object, default=None
            Ignored.
        groups : object, default=None
            Ignored.

        Returns
        -------
        int
            The number of splits.
        """
        return self.n_splits

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))

    def _index_groups(self, groups: Any) -> tuple[Rows, int]:
        if groups is None:
            raise ValueError(f"{type(self).__name__} splits by bags: give groups, the bag of each row")
        bag_index, bag_ids = grouping.index_ids(groups)
        return bag_index, len(bag_ids)


class _Folds(BagSplitter):
    """What splitters into folds share: there are at least two."""

    def __init__(self, n_splits: int = 5, random_state: int | np.random.RandomState | None = 0) -> None:
        super().__init__(n_splits, random_state)
        if n_splits < 2:
            raise ValueError(f"there must be at least two folds, got n_splits={n_splits}")


class BagKFold(_Folds):
    """K-fold cross-validation over whole bags.

    The folds are balanced by the number of bags and rows and, if ``y`` is given, by proportions.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds.
    random_state : int, RandomState instance or None, default=0
        Controls the assignment of bags to folds. Pass an integer for the same folds in every call.

    Examples
    --------
    >>> bag_of_row = ["a", "a", "b", "c", "c", "d"]
    >>> [test.tolist() for _, test in BagKFold(2, random_state=0).split(bag_of_row, groups=bag_of_row)]
    [[0, 1, 2], [3, 4, 5]]
    """

    def _iter_test_indices(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Rows]:
        bag_index, n_bags = self._index_groups(groups)
        if n_bags < self.n_splits:
            raise ValueError(f"{self.n_splits} folds of {n_bags} bags: there must be a bag in each")
        folds = dealt(_balance_weights(bag_index, n_bags, y), self.n_splits, self._generator())
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds[bag_index] == fold)


class BagShuffleSplit(BagSplitter):
    """Random splits of whole bags.

    The test bags are drawn so that they have their share of rows and, if ``y`` is given, of each class.

    Parameters
    ----------
    n_splits : int, default=5
        The number of splits.
    test_size : float, default=0.2
        The proportion of bags in the test part. Each part has at least one bag.
    random_state : int, RandomState instance or None, default=0
        Controls the draws. Pass an integer for the same splits in every call.

    Examples
    --------
    >>> bag_of_row = np.repeat(np.arange(10), 3)
    >>> train, test = next(BagShuffleSplit(1, random_state=0).split(bag_of_row, groups=bag_of_row))
    >>> np.unique(bag_of_row[test]), len(train)
    (array([0, 1]), 24)
    """

    def __init__(
        self,
        n_splits: int = 5,
        test_size: float = 0.2,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(n_splits, random_state)
        if not 0 < test_size < 1:
            raise ValueError(f"test_size is a share of the bags, between 0 and 1, got {test_size}")
        self.test_size = test_size

    def _iter_test_indices(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Rows]:
        bag_index, n_bags = self._index_groups(groups)
        if n_bags < 2:
            raise ValueError("a single bag cannot be on both sides: split inside bags (WithinBagKFold)")
        n_test = min(max(1, round(self.test_size * n_bags)), n_bags - 1)
        weights, rng = _balance_weights(bag_index, n_bags, y), self._generator()
        for _ in range(self.n_splits):
            yield np.flatnonzero(np.isin(bag_index, draw_bags(weights, n_test, rng)))


class WithinBagKFold(_Folds):
    """K-fold cross-validation inside bags: the rows of every bag are divided over the folds.

    This suits few large bags, whose parts have the same proportions. A part of m rows has the proportions of its
    bag up to about 1 / √m, so small bags should stay whole.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds.
    random_state : int, RandomState instance or None, default=0
        Controls the assignment of rows to folds. Pass an integer for the same folds in every call.

    Examples
    --------
    >>> bag_of_row = np.repeat(["a", "b"], [4, 6])
    >>> _, test = next(WithinBagKFold(2, random_state=0).split(bag_of_row, groups=bag_of_row))
    >>> bag_of_row[test].tolist()
    ['a', 'a', 'b', 'b', 'b']
    """

    def _iter_test_indices(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Rows]:
        bag_index, n_bags = self._index_groups(groups)
        sizes = np.bincount(bag_index)
        if sizes.max() < self.n_splits:
            raise ValueError(f"{self.n_splits} folds inside bags of at most {sizes.max()} rows: split whole bags")
        folds = _dealt_inside(bag_index, n_bags, self.n_splits, self._generator())
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds == fold)


def _dealt_inside(bag_index: Rows, n_bags: int, n_folds: int, rng: np.random.Generator) -> Rows:
    """The fold of each row: in each bag in turn, from a fold drawn at random on."""
    order = rng.permutation(len(bag_index))
    order = order[np.argsort(bag_index[order], kind="stable")]
    sizes = np.bincount(bag_index)
    places = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    folds = np.empty(len(order), dtype=np.int64)
    folds[order] = (places + rng.integers(n_folds, size=n_bags)[bag_index[order]]) % n_folds
    return folds


def _balance_weights(bag_index: Rows, n_bags: int, y: Any) -> NDArray[np.float64]:
    sizes = np.bincount(bag_index)
    if y is None:
        return weights_of_bags(sizes)
    check_same_length("entries of groups", bag_index, "entries of y", y)
    table = np.asarray(y)
    if table.ndim == 1:
        names, index = np.unique(table, return_inverse=True)
        counts = np.bincount(bag_index * len(names) + index, minlength=n_bags * len(names))
        return weights_of_bags(sizes, counts.reshape(n_bags, -1) / sizes[:, None])
    first_row = np.unique(bag_index, return_index=True)[1]
    return weights_of_bags(sizes, table[first_row].astype(np.float64))


class Splitter(Protocol):
    """What scikit-learn calls a splitter."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """The rows to learn from and those to judge by, split after split."""


class Fold(NamedTuple):
    """A split of bags.

    Attributes
    ----------
    train : Bags
        The bags to learn from.
    test : Bags
        The bags to evaluate on.
    """

    train: Bags
    test: Bags


def as_splitter(cv: int | Splitter, random_state: int = 0) -> Splitter:
    """So many folds of whole bags; or the splitter that is given."""
    return BagKFold(cv, random_state=random_state) if isinstance(cv, int) else cv


def row_splits(bags: Bags, cv: int | Splitter = 5, random_state: int = 0) -> list[tuple[Any, Any]]:
    """The rows of each split, balanced by the bags' proportions where the splitter looks at them."""
    rows_proportions = bags.proportions[bags.bag_index]
    splits = as_splitter(cv, random_state).split(bags.bag_index, rows_proportions, groups=bags.bag_index)
    return list(splits)


def bag_folds(bags: Bags, cv: int | Splitter = 5, random_state: int = 0) -> Iterator[Fold]:
    """Split bags into training and test bags, fold by fold.

    Parameters
    ----------
    bags : Bags
        The bags.
    cv : int or cross-validation splitter, default=5
        The number of folds of whole bags (:class:`BagKFold`), or any splitter of scikit-learn that takes groups.
    random_state : int, default=0
        The seed of the folds, if ``cv`` is a number.

    Yields
    ------
    Fold
        The training and test bags.

    Examples
    --------
    >>> bags = Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "b", "a"])
    >>> [(fold.train.bag_ids, fold.test.bag_ids) for fold in bag_folds(bags, cv=2)]
    [(('b',), ('a',)), (('a',), ('b',))]
    """
    for train, test in row_splits(bags, cv, random_state):
        yield Fold(bags.take_rows(train), bags.take_rows(test))
