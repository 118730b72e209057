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
    """What splitters of bags share: ``split(X, y, groups)``, where ``groups`` is the bag of each row.

    ``y`` may be left out; where it holds labels, or in each row the proportions of its bag, splits are balanced by
    them. Where scikit-learn routes metadata, ``groups`` arrives without being asked for.
    """

    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(self, n_splits: int, random_state: int | np.random.RandomState | None) -> None:
        if n_splits < 1:
            raise ValueError(f"there must be at least one split, got n_splits={n_splits}")
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many splits there are."""
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
    """Whole bags in folds that are balanced by bags, rows and, where ``y`` is given, proportions.

    Args:
        n_splits: how many folds.
        random_state: an integer makes the folds repeatable.

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
    """Whole bags drawn at random for the test side, as often as asked, with their part of rows and proportions.

    Args:
        n_splits: how many draws.
        test_size: the share of the bags on the test side; at least one bag is on each.
        random_state: an integer makes the draws repeatable.

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
    """The rows of every bag dealt over the folds: right for large bags, whose parts have its proportions too.

    A part of m rows has a bag's proportions up to some 1 / √m, so a bag of few rows is better left whole.

    Args:
        n_splits: how many folds.
        random_state: an integer makes the folds repeatable.

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
