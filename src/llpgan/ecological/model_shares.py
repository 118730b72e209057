"""Shares of classes by group, from a model's predictions of rows and the proportions of their bags."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import Bags
from llpgan.bags.bags import refuse_other_than_bags
from llpgan.bags.checks import check_probabilities, check_same_length
from llpgan.ecological.cells import (
    AGGREGATION_BIAS,
    PRIOR_SCALE,
    CellCovariance,
    cell_covariance,
    check_prior_scale,
    matching_shifts,
    rake_cells,
    softmax,
)
from llpgan.ecological.counts import bound_cells, regress
from llpgan.ecological.shares import GroupShares, assemble_shares
from llpgan.methods.base import LLPClassifier
from llpgan.tables import Rows, TableSpec, open_rows, shared_bags
from llpgan.tables.build import matched_rows, row_weights
from llpgan.tables.columns import missing_values, plain_values
from llpgan.tables.spec import check_names
from llpgan.utils.arrays import check_argument, check_one_per_row, is_missing
from llpgan.utils.messages import did_you_mean

Table = NDArray[np.float64]
Index = NDArray[np.int64]
_LEAST = 1e-12  # a probability of zero could not be raised
_PSEUDO_ROWS = 1.0  # with the classes of all bags together, so that no class of a bag has a share of 0
_NUMBERS_AT_ONCE = 2**22  # of the spreads of a block of bags
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
    long: Sequence[str] | None = None,
    unmatched: Literal["error", "drop"] = "error",
    exclude: Sequence[Hashable] = (),
    strata: Any = None,
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
        The column or columns that define the groups. With Bags, the group of each row. Rows with a missing value
        are a group, None.
    bag : str or sequence of str, default=None
        With a table: the column or columns that say which bag a row belongs to.
    proportions : table, default=None
        The class shares of each bag.
    counts : table, default=None
        With a table: one row per bag, with its proportions or its counts of classes. Without them, shares are
        those of the predictions as they are, and have no intervals.
    weight : str, default=None
        With a table: the column that says how much each row counts, such as survey weights.
    long : sequence of str, default=None
        The columns of the class and of its share, if ``proportions`` or ``counts`` has one row for each bag and
        class. None means one row per bag and one column per class.
    unmatched : {"error", "drop"}, default="error"
        With a table: what to do with rows of bags without proportions. "drop" leaves them out and notes how many
        there were.
    exclude : sequence of hashable, default=()
        Classes to leave out after the estimate, such as ``["abstained"]``.
    strata : str or sequence of str; with Bags, array-like of shape (n_rows,), default=None
        The column or columns that say which stratum a bag belongs to, such as a region: groups may depart from
        their predictions differently from stratum to stratum. All rows of a bag are in one stratum.

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
        index, groups = _group_values(by, len(data.bag_index), "by")
        in_strata = None if strata is None else _group_values(strata, len(data.bag_index), "strata")
        shares = estimate_row_shares(data, model.predict_proba(data), index, groups, strata=in_strata)
        return exclude_classes(shares, exclude)
    ids = () if bag is None else check_names(bag, "bag")
    rows = open_rows(data, () if model.encoder_ is None else model.encoder_.text_columns, ids)
    given: dict[str, Any] = {"proportions": proportions, "counts": counts, "long": long, "weight": weight}
    spec = TableSpec(bag=bag, unmatched=unmatched, **given)
    if unmatched != "error" and model.encoder_ is None:
        raise ValueError(f"unmatched={unmatched!r} needs a model that learned from a table")
    rows = matched_rows(rows, model.classes_, spec)
    probabilities = model.predict_proba(data if model.encoder_ is None else rows)
    return shares_by_columns(rows, probabilities, model.classes_, by, spec, exclude, strata)


def shares_by_columns(
    rows: Rows,
    probabilities: ArrayLike,
    classes: NDArray[Any],
    by: str | Sequence[str],
    spec: TableSpec,
    exclude: Sequence[Hashable] = (),
    strata: str | Sequence[str] | None = None,
) -> GroupShares:
    """Estimate shares as :func:`shares_by` does, from predictions of rows.

    Parameters
    ----------
    rows : Rows
        The rows that were predicted, with the columns of groups and bags.
    probabilities : array-like of shape (n_rows, n_classes)
        The predicted probability of each class.
    classes : ndarray of shape (n_classes,)
        The names of the classes.
    by : str or sequence of str
        The column or columns that define the groups.
    spec : TableSpec
        The columns of the bag and of weights, and the proportions or counts of bags, if there are any.
    exclude : sequence of hashable, default=()
        Classes to leave out after the estimate.
    strata : str or sequence of str, default=None
        The column or columns that say which stratum a bag belongs to.

    Returns
    -------
    GroupShares
        The shares.
    """
    index, groups = group_rows(rows, check_names(by, "by"))
    if not spec.tables_of_bags:
        for name, given in (("bag", spec.bag), ("strata", strata)):
            if given is not None:
                raise ValueError(
                    f"a column is named ({name}), but neither the proportions nor the counts of bags "
                    f"(proportions) (counts)"
                )
        weights = row_weights(rows, spec.weight)
        weights = np.ones(len(index)) if weights is None else weights
        return exclude_classes(_average_predictions(probabilities, weights, classes, index, groups), exclude)
    in_strata = None if strata is None else group_rows(rows, check_names(strata, "strata"), "strata")
    bags = shared_bags(rows, classes, spec)
    return exclude_classes(estimate_row_shares(bags, probabilities, index, groups, strata=in_strata), exclude)


def estimate_row_shares(
    bags: Bags,
    probabilities: ArrayLike,
    group_of_row: Index,
    groups: Sequence[Hashable],
    *,
    strata: tuple[Index, Sequence[Hashable]] | None = None,
    prior_scale: float = PRIOR_SCALE,
    aggregation_bias: float = AGGREGATION_BIAS,
) -> GroupShares:
    """Estimate the share of each class in each group of rows from predictions matched to the bags' proportions.

    Intervals are of 95 %. They include what the bags do not determine of how a group departs from its predictions,
    what they say against these, and by how much groups depart from bag to bag; see
    :func:`~llpgan.ecological.cells.cell_covariance`. The overdispersion is twice the divergence between matched
    and predicted probabilities, divided by the number of proportions.

    Parameters
    ----------
    bags : Bags
        Which row belongs to which bag, and the proportions of each bag.
    probabilities : array-like of shape (n_rows, n_classes)
        The predicted probability of each class.
    group_of_row : ndarray of shape (n_rows,)
        The position of each row's group in ``groups``.
    groups : sequence of hashable
        The names of the groups.
    strata : pair of ndarray of shape (n_rows,) and sequence of hashable, default=None
        The position of each row's stratum, and the names of the strata. None means one stratum.
    prior_scale : float, default=1.5
        How far the log odds of a group may be from those predicted, as a standard deviation.
    aggregation_bias : float, default=0.3
        The scale of errors of log odds that come from groups that behave differently where they are many.

    Returns
    -------
    GroupShares
        The shares.
    """
    refuse_other_than_bags(bags, "bags")
    check_prior_scale(prior_scale)
    check_same_length("groups of rows", group_of_row, "rows in bags", bags.bag_index)
    predicted = clip_probabilities(bags, probabilities)
    matched = match_probabilities(bags, predicted)
    sum_group_weights(group_of_row, bags.row_weights, groups)
    place = np.asarray(bags.bag_index) * len(groups) + group_of_row
    n_cells, shape = bags.n_bags * len(groups), (bags.n_bags, len(groups), -1)

    def sum_rows(table: Table) -> Table:
        columns = [np.bincount(place, bags.row_weights * column, n_cells) for column in table.T]
        return np.stack(columns, axis=1).reshape(shape).astype(np.float64)

    cells, before = sum_rows(matched), sum_rows(predicted)
    logs = np.log(np.maximum(matched, 1e-300)) - np.log(predicted)
    degrees = max(1, bags.n_bags - 1) * (bags.n_classes - 1)
    overdispersion = max(1.0, float(2 * (bags.row_weights[:, None] * matched * logs).sum() / degrees))
    members, results = cells.sum(axis=2), bags.totals[:, None] * bags.proportions
    low, high = bound_cells(members, results)

    def estimate(chosen: Index, covariances: Sequence[CellCovariance]) -> GroupShares:
        return assemble_shares(
            tuple(groups),
            tuple(bags.classes.tolist()),
            cells[chosen].sum(axis=0),
            covariances,
            aggregation_bias,
            (low[chosen].sum(axis=0), high[chosen].sum(axis=0)),
            regress(members[chosen], results[chosen]),
        )

    strata_of_bags = _bags_by_stratum(bags, strata)
    covariances = {
        name: cell_covariance(
            (
                (spread, np.ones((len(spread), 1)))
                for spread in _sum_spreads(bags, matched, place, len(groups), chosen)
            ),
            overdispersion,
            max(1, len(chosen) - 1) * (bags.n_classes - 1),
            np.full((1, 1, 1), prior_scale**-2.0),
            (cells[chosen] - before[chosen]).sum(axis=0),
        )
        for name, chosen in strata_of_bags.items()
    }
    by_stratum = {}
    if strata is not None:
        by_stratum = {name: estimate(chosen, [covariances[name]]) for name, chosen in strata_of_bags.items()}
    return replace(estimate(np.arange(bags.n_bags), list(covariances.values())), by_stratum=by_stratum)


def sum_group_weights(group_of_row: Index, weights: Table, groups: Sequence[Hashable]) -> Table:
    """Sum the weights of the rows of each group; a group without weight is refused.

    Parameters
    ----------
    group_of_row : ndarray of shape (n_rows,)
        The position of each row's group in ``groups``.
    weights : ndarray of shape (n_rows,)
        The weight of each row.
    groups : sequence of hashable
        The names of the groups.

    Returns
    -------
    ndarray of shape (n_groups,)
        The sum of the weights of each group.

    Examples
    --------
    >>> sum_group_weights(np.array([0, 1, 1]), np.array([1.0, 2.0, 0.5]), ["a", "b"]).tolist()
    [1.0, 2.5]
    """
    sizes = np.bincount(group_of_row, weights, len(groups)).astype(np.float64)
    for group in np.flatnonzero(sizes == 0).tolist():
        raise ValueError(f"group {groups[group]!r}: the weights of its rows sum to 0")
    return sizes


def _bags_by_stratum(bags: Bags, strata: tuple[Index, Sequence[Hashable]] | None) -> dict[Hashable, Index]:
    """The bags of each stratum; a bag with rows in two strata is refused."""
    if strata is None:
        return {None: np.arange(bags.n_bags)}
    index, names = strata
    lowest = np.full(bags.n_bags, len(names))
    highest = np.full(bags.n_bags, -1)
    np.minimum.at(lowest, bags.bag_index, index)
    np.maximum.at(highest, bags.bag_index, index)
    for bag in np.flatnonzero(lowest != highest).tolist():
        raise ValueError(
            f"bag {bags.bag_ids[bag]!r} has rows in stratum {names[lowest[bag]]!r} and in {names[highest[bag]]!r} "
            f"(strata): all rows of a bag must be in one stratum"
        )
    return {name: np.flatnonzero(lowest == place) for place, name in enumerate(names)}


def _sum_spreads(bags: Bags, matched: Table, place: Index, n_groups: int, chosen: Index) -> Iterator[Table]:
    """Σ_j w_j (diag q_j − q_j q_jᵀ) over the rows of each bag and group, some of the chosen bags at a time."""
    n_classes, weights = matched.shape[1], bags.row_weights
    at_once = max(1, _NUMBERS_AT_ONCE // (n_groups * n_classes**2))
    for first in range(0, len(chosen), at_once):
        block = chosen[first : first + at_once]
        rows = np.concatenate([bags.rows_of(bag) for bag in block.tolist()])
        position = np.zeros(bags.n_bags, dtype=np.int64)
        position[block] = np.arange(len(block))
        cell = position[np.asarray(bags.bag_index)[rows]] * n_groups + place[rows] % n_groups
        shares, spread = matched[rows], np.empty((len(block) * n_groups, n_classes, n_classes))
        for c in range(n_classes):
            for d in range(c, n_classes):
                products = weights[rows] * shares[:, c] * ((c == d) - shares[:, d])
                spread[:, c, d] = spread[:, d, c] = np.bincount(cell, products, len(spread))
        yield spread.reshape(len(block), n_groups, n_classes, n_classes)


# ---- Predictions that match the proportions


def match_probabilities(bags: Bags, probabilities: ArrayLike) -> Table:
    """Find the probabilities of rows that match the proportions of their bags and are nearest to those predicted.

    In each bag all logits are shifted alike, which minimises Σ_j w_j KL(matched_j ‖ predicted_j) among all tables
    of probabilities whose mean is the bag's proportions, with w_j the weight of a row.

    Parameters
    ----------
    bags : Bags
        Which row belongs to which bag, and the proportions of each bag.
    probabilities : array-like of shape (n_rows, n_classes)
        The predicted probability of each class.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        The probabilities, whose mean in each bag equals its proportions.

    Examples
    --------
    >>> bags = Bags.from_arrays(np.zeros((2, 1)), ["a", "a"], {"a": [0.5, 0.5]})
    >>> match_probabilities(bags, [[0.5, 0.5], [0.8, 0.2]]).round(3).tolist()
    [[0.333, 0.667], [0.667, 0.333]]
    """
    if bags.share_constraints is not None:
        raise ValueError(
            "predictions cannot be matched to bags of which less is known than all proportions (bounds, unknown "
            "shares or noise): give the proportions of every bag"
        )
    if bags.bag_weights is not None:
        raise ValueError(
            "predictions cannot be matched to bags that overlap, or that count differently (bag_weights): give "
            "bags of which each row belongs to one"
        )
    predicted, weights = clip_probabilities(bags, probabilities), bags.row_weights
    matched = np.empty_like(predicted)
    for bag in range(bags.n_bags):
        rows = bags.rows_of(bag)
        matched[rows] = _match_bag(predicted[rows], weights[rows], bags.proportions[bag], bags.prior)
    return matched


def clip_probabilities(bags: Bags, probabilities: ArrayLike) -> Table:
    """Check predictions of the rows of bags, and clip them so that none is zero.

    Parameters
    ----------
    bags : Bags
        The bags of the rows.
    probabilities : array-like of shape (n_rows, n_classes)
        The predicted probability of each class.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        The probabilities, clipped away from zero and normalized.
    """
    table = np.clip(check_probabilities(probabilities, len(bags.bag_index), bags.n_classes), _LEAST, None)
    return table / table.sum(axis=1, keepdims=True)


def _match_bag(predicted: Table, weights: Table, proportions: Table, prior: Table) -> Table:
    """The matched predictions of one bag; a class that nobody has first gets a little, for a finite shift."""
    total, none = weights.sum(), np.zeros((1, predicted.shape[1]))
    totals = total * proportions + _PSEUDO_ROWS * prior
    totals *= total / totals.sum()
    there = totals > 0
    logits = np.log(predicted[None, :, there])
    shifts = matching_shifts(logits, weights[None], totals[None, there], none[:, there])
    close = np.zeros_like(predicted)
    close[:, there] = softmax(logits + shifts[:, None, :])[0]
    counts = weights > 0
    cells = rake_cells((weights[:, None] * close)[None], weights[None], (total * proportions)[None])[0]
    close[counts] = cells[counts] / weights[counts, None]
    return close


# ---- The groups of rows


def group_rows(rows: Rows, columns: Sequence[str], option: str = "by") -> tuple[Index, list[Hashable]]:
    """Find the group of each row, and the names of the groups: values of one column, tuples of several.

    Parameters
    ----------
    rows : Rows
        A table.
    columns : sequence of str
        The columns that define the groups.
    option : str, default="by"
        The name of the parameter that names the columns, for messages.

    Returns
    -------
    index : ndarray of shape (n_rows,)
        The group of each row, as its position among the names.
    groups : list of hashable
        The names of the groups, in order.

    Examples
    --------
    >>> rows = open_rows({"race": ["b", "a", None], "college": [1, 0, 0]})
    >>> index, groups = group_rows(rows, ["race", "college"])
    >>> index.tolist(), groups
    ([1, 0, 2], [('a', 0), ('b', 1), (None, 0)])
    """
    found = []
    for name in columns:
        column = rows.column(name)
        there = ~missing_values(column)
        found.append(
            [value if kept else None for value, kept in zip(plain_values(column).to_pylist(), there, strict=True)]
        )
    tuples = list(zip(*found, strict=True))
    return _number_groups([row[0] for row in tuples] if len(columns) == 1 else tuples, option)


def _group_values(given: Any, n_rows: int, option: str) -> tuple[Index, list[Hashable]]:
    with check_argument(option):
        values = check_one_per_row(given, option)
        listed = [None if is_missing(value) else value for value in np.asarray(values, dtype=object).tolist()]
    if len(listed) != n_rows:
        raise ValueError(f"{option}: {len(listed)} values, but {n_rows} rows: there must be one for each")
    return _number_groups(listed, option)


def _number_groups(values: Sequence[Hashable], option: str) -> tuple[Index, list[Hashable]]:
    def order(group: Hashable) -> tuple[tuple[bool, str, Any], ...]:
        """Values of one type together, in their order; missing ones last."""
        parts = group if isinstance(group, tuple) else (group,)
        kinds = ["" if isinstance(part, int | float) else type(part).__name__ for part in parts]
        return tuple(
            (part is None, kind, 0 if part is None else part) for part, kind in zip(parts, kinds, strict=True)
        )

    groups = sorted(set(values), key=order)
    if len(groups) > _MOST_GROUPS:
        raise ValueError(
            f"{option}: {len(groups):,} different groups, more than {_MOST_GROUPS:,}: choose columns with fewer "
            f"values, or cut numbers into classes first"
        )
    place = {group: position for position, group in enumerate(groups)}
    return np.array([place[value] for value in values], dtype=np.int64), groups


def _average_predictions(
    probabilities: ArrayLike,
    weights: NDArray[np.float64],
    classes: NDArray[Any],
    index: Index,
    groups: Sequence[Hashable],
) -> GroupShares:
    """Means of predictions; without bags there are no intervals."""
    table, sizes = np.asarray(probabilities, dtype=np.float64), sum_group_weights(index, weights, groups)
    shares = np.stack([np.bincount(index, weights * column) for column in table.T], axis=1) / sizes[:, None]
    unknown = np.full_like(shares, np.nan)
    outcomes = tuple(classes.tolist())
    return GroupShares(
        tuple(groups), outcomes, sizes, shares, None, np.zeros_like(shares), np.ones_like(shares), unknown
    )


def check_excluded(excluded: Sequence[Hashable], outcomes: Sequence[Hashable]) -> None:
    """Refuse to leave out what is no outcome, or all outcomes; they may be named as text."""
    texts = [str(name) for name in outcomes]
    for name in excluded:
        if str(name) not in texts:
            raise ValueError(f"there is no outcome {str(name)!r} (exclude){did_you_mean(str(name), texts)}")
    if {*map(str, excluded)} == {*texts}:
        raise ValueError("all outcomes are left out (exclude): at least one must remain")


def exclude_classes(shares: GroupShares, outcomes: Sequence[Hashable]) -> GroupShares:
    """Leave out some outcomes, which may be named as text.

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
