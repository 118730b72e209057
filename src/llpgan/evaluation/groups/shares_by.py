"""Shares of classes by the columns of a table: from a fitted model, and the proportions of the bags."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import Bags
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation.groups.group_shares import GroupShares
from llpgan.evaluation.groups.shares_of_rows import group_sizes, shares_of_rows
from llpgan.tables import Rows, TableSpec, open_rows, shared_bags
from llpgan.tables.column_values import missing, plain
from llpgan.tables.survey import row_weights
from llpgan.tables.table_spec import names
from llpgan.utils.array_input import argument, is_missing, one_per_row

Index = NDArray[np.int64]
_MOST_GROUPS = 1000


def shares_by(
    model: LLPClassifier,
    data: Any,
    by: Any,
    *,
    bag: str | Sequence[str] | None = None,
    proportions: Any = None,
    counts: Any = None,
    weight: str | None = None,
    exclude: Sequence[Hashable] = (),
) -> GroupShares:
    """Estimate the share of each class in each group of rows.

    The model's predictions are changed as little as possible so that each bag has its proportions, and then
    averaged over the rows of each group. Intervals are of 95 % and include that groups differ from bag to bag.

    Parameters
    ----------
    model : LLPClassifier
        A fitted model.
    data : Bags, or path, frame or dict of columns
        The rows: a table like that of the training, or bags that are encoded as those of the training.
    by : str or sequence of str; with Bags, array-like of shape (n_rows,)
        The column, or the columns, that tell the group of a row. With Bags, the group of each row. A missing value
        is a group of its own, None.
    bag : str or sequence of str, default=None
        With a table: the column or columns that tell the bag of a row.
    proportions : table, default=None
        The class shares of each bag.
    counts : table, default=None
        With a table: one row per bag, with its proportions or its counts of classes. Without them, shares are
        those of the predictions as they are, and have no intervals.
    weight : str, default=None
        With a table: the column that says how much each row counts, such as survey weights.
    exclude : sequence of hashable, default=()
        Classes to leave out after the estimate, such as ``["abstained"]``.

    Returns
    -------
    GroupShares
        The shares.

    Examples
    --------
    >>> from llpgan import BagLogistic
    >>> rng = np.random.default_rng(0)
    >>> town, old = np.repeat(np.arange(20), 30), rng.random(600) < np.repeat(np.linspace(0.1, 0.9, 20), 30)
    >>> bags = Bags.from_labels(old[:, None] * 1.0, np.where(old, "yes", "no"), town)
    >>> shares = shares_by(BagLogistic(random_state=0).fit_bags(bags), bags, np.where(old, "old", "young"))
    >>> print(shares.share("old", "yes"))  # 1 is the truth
    0.970 (0.855 to 1.000)
    """
    if isinstance(data, Bags):
        if any(given is not None for given in (bag, proportions, counts, weight)):
            raise ValueError("bag, proportions, counts and weight are for tables: Bags have them already")
        index, groups = _groups_of_values(by, len(data.bag_index))
        return excluding(shares_of_rows(data, model.predict_proba(data), index, groups), exclude)
    ids = () if bag is None else names(bag, "bag")
    rows = open_rows(data, () if model.encoder_ is None else model.encoder_.text_columns, ids)
    probabilities = model.predict_proba(data if model.encoder_ is None else rows)
    return shares_of_table(rows, probabilities, model.classes_, by, bag, proportions, counts, weight, exclude)


def shares_of_table(
    rows: Rows,
    probabilities: ArrayLike,
    classes: NDArray[Any],
    by: str | Sequence[str],
    bag: str | Sequence[str] | None = None,
    proportions: Any = None,
    counts: Any = None,
    weight: str | None = None,
    exclude: Sequence[Hashable] = (),
) -> GroupShares:
    """The same from predictions of rows.

    Parameters
    ----------
    rows : Rows
        The rows that were predicted, with the columns of groups and bags.
    probabilities : array-like of shape (n_rows, n_classes)
        The predicted probability of each class.
    classes : ndarray of shape (n_classes,)
        The names of the classes.
    by : str or sequence of str
        The column, or the columns, that tell the group of a row.
    bag : str or sequence of str, default=None
        The column or columns that tell the bag of a row.
    proportions : table, default=None
        The class shares of each bag.
    counts : table, default=None
        One row per bag, with its proportions or its counts of classes.
    weight : str, default=None
        The column that says how much each row counts.
    exclude : sequence of hashable, default=()
        Classes to leave out after the estimate.

    Returns
    -------
    GroupShares
        The shares.
    """
    index, groups = groups_of_rows(rows, names(by, "by"))
    if proportions is None and counts is None:
        if bag is not None:
            raise ValueError(
                "a bag is named (bag), but neither its proportions nor its counts (proportions, counts)"
            )
        weights = row_weights(rows, weight)
        weights = np.ones(len(index)) if weights is None else weights
        return excluding(_predicted_shares(probabilities, weights, classes, index, groups), exclude)
    bags = shared_bags(rows, classes, TableSpec(bag=bag, proportions=proportions, counts=counts, weight=weight))
    return excluding(shares_of_rows(bags, probabilities, index, groups), exclude)


def groups_of_rows(rows: Rows, columns: Sequence[str]) -> tuple[Index, list[Hashable]]:
    """The group of each row, and the names of the groups in order: values of one column, tuples of several.

    Parameters
    ----------
    rows : Rows
        A table.
    columns : sequence of str
        The columns that tell the group.

    Returns
    -------
    index : ndarray of shape (n_rows,)
        The result.
    groups : list of hashable

    Examples
    --------
    >>> rows = open_rows({"race": ["b", "a", None], "college": [1, 0, 0]})
    >>> index, groups = groups_of_rows(rows, ["race", "college"])
    >>> index.tolist(), groups
    ([1, 0, 2], [('a', 0), ('b', 1), (None, 0)])
    """
    found = []
    for name in columns:
        column = rows.column(name)
        there = ~missing(column)
        found.append(
            [value if kept else None for value, kept in zip(plain(column).to_pylist(), there, strict=True)]
        )
    tuples = list(zip(*found, strict=True))
    return _numbered([row[0] for row in tuples] if len(columns) == 1 else tuples)


def _groups_of_values(by: Any, n_rows: int) -> tuple[Index, list[Hashable]]:
    with argument("by"):
        values = one_per_row(by, "by")
        listed = [None if is_missing(value) else value for value in np.asarray(values, dtype=object).tolist()]
    if len(listed) != n_rows:
        raise ValueError(f"by: {len(listed)} groups of rows, but {n_rows} rows: there must be one for each")
    return _numbered(listed)


def _numbered(values: Sequence[Hashable]) -> tuple[Index, list[Hashable]]:
    groups = sorted(set(values), key=_order)
    if len(groups) > _MOST_GROUPS:
        raise ValueError(
            f"by: {len(groups):,} different groups, more than {_MOST_GROUPS:,}: choose columns with fewer values, "
            f"or cut numbers into classes first"
        )
    place = {group: position for position, group in enumerate(groups)}
    return np.array([place[value] for value in values], dtype=np.int64), groups


def _order(group: Hashable) -> tuple[tuple[bool, str, Any], ...]:
    """Values of one type together, in their order; missing ones last."""
    parts = group if isinstance(group, tuple) else (group,)
    return tuple((part is None, _kind(part), 0 if part is None else part) for part in parts)


def _kind(part: Any) -> str:
    return "" if isinstance(part, int | float) else type(part).__name__


def _predicted_shares(
    probabilities: ArrayLike,
    weights: NDArray[np.float64],
    classes: NDArray[Any],
    index: Index,
    groups: Sequence[Hashable],
) -> GroupShares:
    """Means of predictions, without what only bags can tell."""
    table, sizes = np.asarray(probabilities, dtype=np.float64), group_sizes(index, weights, groups)
    shares = np.stack([np.bincount(index, weights * column) for column in table.T], axis=1) / sizes[:, None]
    nothing = np.full_like(shares, np.nan)
    outcomes = tuple(classes.tolist())
    return GroupShares(
        tuple(groups), outcomes, sizes, shares, None, np.zeros_like(shares), np.ones_like(shares), nothing
    )


def excluding(shares: GroupShares, outcomes: Sequence[Hashable]) -> GroupShares:
    """Shares without some outcomes, which may be named as text.

    Parameters
    ----------
    shares : GroupShares
        Shares of all outcomes.
    outcomes : sequence of hashable
        The outcomes to leave out, perhaps none.

    Returns
    -------
    GroupShares
        The shares.
    """
    by_text = {str(name): name for name in shares.outcomes}
    left_out = [by_text.get(str(name), name) for name in outcomes]
    return shares.without(left_out) if left_out else shares
