"""Scikit-learn's splitters for bags: whole bags on one side, or a part of every bag on each."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from llpgan.bags import grouping, validation
from llpgan.evaluation.selection.fold_balance import dealt, drawn, weights_of_bags

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

    def _indexed(self, groups: Any) -> tuple[Rows, int]:
        if groups is None:
            raise ValueError(f"{type(self).__name__} splits by bags: give groups, the bag of each row")
        bag_index, bag_ids = grouping.index_of(groups)
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
        bag_index, n_bags = self._indexed(groups)
        if n_bags < self.n_splits:
            raise ValueError(f"{self.n_splits} folds of {n_bags} bags: there must be a bag in each")
        folds = dealt(_weights(bag_index, n_bags, y), self.n_splits, self._generator())
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
        bag_index, n_bags = self._indexed(groups)
        if n_bags < 2:
            raise ValueError("a single bag cannot be on both sides: split inside bags (WithinBagKFold)")
        n_test = min(max(1, round(self.test_size * n_bags)), n_bags - 1)
        weights, rng = _weights(bag_index, n_bags, y), self._generator()
        for _ in range(self.n_splits):
            yield np.flatnonzero(np.isin(bag_index, drawn(weights, n_test, rng)))


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
        bag_index, n_bags = self._indexed(groups)
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


def _weights(bag_index: Rows, n_bags: int, y: Any) -> NDArray[np.float64]:
    sizes = np.bincount(bag_index)
    if y is None:
        return weights_of_bags(sizes)
    validation.same_length("entries of groups", bag_index, "entries of y", y)
    table = np.asarray(y)
    if table.ndim == 1:
        names, index = np.unique(table, return_inverse=True)
        counts = np.bincount(bag_index * len(names) + index, minlength=n_bags * len(names))
        return weights_of_bags(sizes, counts.reshape(n_bags, -1) / sizes[:, None])
    first_row = np.unique(bag_index, return_index=True)[1]
    return weights_of_bags(sizes, table[first_row].astype(np.float64))
