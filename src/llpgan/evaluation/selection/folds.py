"""Bags in two parts, to learn from and to judge by."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from llpgan.bags import Bags
from llpgan.evaluation.selection.splitters import BagKFold


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
        yield Fold(bags.part(train), bags.part(test))
