"""Shares of outcomes by group, from counts or from a model's predictions."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import Bags
from llpgan.bags.bags import refuse_other_than_bags
from llpgan.bags.checks import check_same_length
from llpgan.ecological.cells import (
    AGGREGATION_BIAS,
    PRIOR_SCALE,
    cell_covariance,
    cell_spreads,
    clip_probabilities,
    fit_cells,
    match_probabilities,
    refuse_no_scale,
)
from llpgan.ecological.counts import GroupCounts, goodman_rates, share_bounds
from llpgan.evaluation.intervals import Estimate
from llpgan.methods.base import LLPClassifier
from llpgan.tables import Rows, TableSpec, open_rows, shared_bags
from llpgan.tables.build import row_weights
from llpgan.tables.columns import missing_values, plain_values
from llpgan.tables.spec import check_names
from llpgan.utils.arrays import check_argument, check_one_per_row, is_missing, to_frame
from llpgan.utils.messages import did_you_mean, html_table

Table = NDArray[np.float64]
_NORMAL = 1.959964  # the 97.5 % point of the normal distribution


@dataclass(frozen=True, eq=False)
class GroupShares:
    """Estimated shares of outcomes by group.

    Attributes
    ----------
    groups : tuple of hashable
        The names of the groups; tuples where several columns make a group.
    outcomes : tuple of hashable
        The names of the outcomes, or classes.
    sizes : ndarray of shape (n_groups,)
        How many people each group has.
    shares : ndarray of shape (n_groups, n_outcomes)
        The estimated share of each outcome in each group.
    covariance : ndarray of shape (n_groups, n_outcomes, n_groups, n_outcomes) or None
        Of the shares; None where nothing tells how uncertain they are.
    lowest : ndarray of shape (n_groups, n_outcomes)
        The smallest share that is possible: the lower bound of Duncan and Davis.
    highest : ndarray of shape (n_groups, n_outcomes)
        The largest share that is possible.
    goodman : ndarray of shape (n_groups, n_outcomes)
        Goodman's regression, for comparison; NaN where the units do not determine it.
    """

    groups: tuple[Hashable, ...]
    outcomes: tuple[Hashable, ...]
    sizes: Table
    shares: Table
    covariance: Table | None
    lowest: Table
    highest: Table
    goodman: Table

    @property
    def intervals(self) -> tuple[Table, Table] | None:
        """The ends of the 95 % intervals, each of shape (n_groups, n_outcomes): normal, cut at the bounds."""
        if self.covariance is None:
            return None
        n_groups, n_outcomes = self.shares.shape
        variance = np.einsum("rcrc->rc", self.covariance)
        half = _NORMAL * np.sqrt(np.maximum(variance, 0.0)).reshape(n_groups, n_outcomes)
        return np.maximum(self.lowest, self.shares - half), np.minimum(self.highest, self.shares + half)

    def share(self, group: Hashable, outcome: Hashable) -> Estimate:
        """The share of one outcome in one group, with its 95 % interval if there is one.

        Parameters
        ----------
        group, outcome : hashable
            Their names.

        Returns
        -------
        Estimate
            The estimate with its interval.
        """
        place = _place(group, self.groups, "group"), _place(outcome, self.outcomes, "outcome")
        if self.intervals is None:
            return Estimate(float(self.shares[place]))
        low, high = self.intervals
        return Estimate(float(self.shares[place]), float(low[place]), float(high[place]))

    def difference(self, group: Hashable, other: Hashable) -> dict[Hashable, Estimate]:
        """By how much the shares of one group exceed those of another: polarisation.

        Parameters
        ----------
        group, other : hashable
            The names of two groups.

        Returns
        -------
        dict of outcome to Estimate
            With 95 % intervals, cut at what the bounds of both groups allow.
        """
        r, s = _place(group, self.groups, "group"), _place(other, self.groups, "group")
        apart = self.shares[r] - self.shares[s]
        if self.covariance is None:
            return {name: Estimate(float(value)) for name, value in zip(self.outcomes, apart, strict=True)}
        both = self.covariance
        variance = np.diag(both[r, :, r] + both[s, :, s] - both[r, :, s] - both[s, :, r])
        half = _NORMAL * np.sqrt(np.maximum(variance, 0.0))
        low = np.maximum(apart - half, self.lowest[r] - self.highest[s])
        high = np.minimum(apart + half, self.highest[r] - self.lowest[s])
        ends = zip(self.outcomes, apart.tolist(), low.tolist(), high.tolist(), strict=True)
        return {name: Estimate(value, lower, upper) for name, value, lower, upper in ends}

    def without(self, outcomes: Sequence[Hashable]) -> "GroupShares":
        """The shares among the people with the other outcomes, such as among those who voted.

        Parameters
        ----------
        outcomes : sequence of hashable
            The outcomes to leave out.

        Returns
        -------
        GroupShares
            The shares.
        """
        left_out = [_place(name, self.outcomes, "outcome") for name in outcomes]
        kept = np.setdiff1d(np.arange(len(self.outcomes)), left_out)
        if len(kept) == 0:
            raise ValueError("all outcomes are left out: at least one must remain")
        shares, low, high = self.shares[:, kept], self.lowest[:, kept], self.highest[:, kept]
        total = shares.sum(axis=1, keepdims=True)
        for group in np.flatnonzero(total[:, 0] <= 0):
            raise ValueError(f"nobody is left in group {self.groups[group]!r} without {list(outcomes)}")
        covariance = None
        if self.covariance is not None:
            within = (np.eye(len(kept)) - (shares / total)[:, :, None]) / total[:, :, None]
            part = self.covariance[:, kept][:, :, :, kept]
            covariance = np.einsum("rab,rbsc,sdc->rasd", within, part, within, optimize=True)
        return GroupShares(
            self.groups,
            tuple(self.outcomes[place] for place in kept),
            self.sizes * total[:, 0],
            shares / total,
            covariance,
            _ratio(low, low + high.sum(axis=1, keepdims=True) - high, otherwise=0.0),
            _ratio(high, high + low.sum(axis=1, keepdims=True) - low, otherwise=1.0),
            self.goodman[:, kept] / self.goodman[:, kept].sum(axis=1, keepdims=True),
        )

    def columns(self, by: Sequence[str] = ("group",), outcome: str = "outcome") -> dict[str, list[Any]]:
        """The table of shares as a dict of columns, with one row for each group and outcome.

        Parameters
        ----------
        by : sequence of str, default=("group",)
            The names of the columns that tell the group; several where groups are tuples.
        outcome : str, default="outcome"
            The name of the column that tells the outcome.

        Returns
        -------
        dict of str to list
            The group, its size, the outcome, ``share``, the ``low`` and ``high`` end of the 95 % interval (None
            without one), ``lowest`` and ``highest`` possible share, and ``goodman``.
        """
        n_groups, n_outcomes = self.shares.shape
        low, high = self.intervals or (np.full_like(self.shares, np.nan),) * 2
        figures = {"share": self.shares, "low": low, "high": high}
        figures |= {"lowest": self.lowest, "highest": self.highest, "goodman": self.goodman}
        named = [_as_tuple(group) for group in self.groups for _ in range(n_outcomes)]
        return (
            {name: [group[place] for group in named] for place, name in enumerate(by)}
            | {"size": np.repeat(self.sizes, n_outcomes).tolist(), outcome: list(self.outcomes) * n_groups}
            | {
                name: [None if np.isnan(x) else x for x in table.ravel().tolist()]
                for name, table in figures.items()
            }
        )

    def to_frame(self, by: Sequence[str] | None = None, outcome: str = "outcome") -> Any:
        """The table of shares as a pandas frame, with one row for each group and outcome.

        Parameters
        ----------
        by : sequence of str, default=None
            The names of the columns that tell the group, several if groups are tuples. None means one column,
            ``group``, with the parts of a tuple in one text.
        outcome : str, default="outcome"
            The name of the column that tells the outcome.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`columns`.
        """
        if by is not None:
            return to_frame(self.columns(by, outcome))
        texts = [group_text(group) for group in self.groups for _ in self.outcomes]
        return to_frame({**self.columns(("group",), outcome), "group": texts})

    def _repr_html_(self) -> str:
        shown = {str(outcome): [self.share(group, outcome) for group in self.groups] for outcome in self.outcomes}
        texts = {name: [_format_interval(share) for share in shares] for name, shares in shown.items()}
        columns = {"group": [group_text(group) for group in self.groups], **texts}
        return html_table(columns, f"Shares of {len(self.groups):,} groups, with 95 % intervals", most=40)

    def differences(self) -> list[tuple[Hashable, Hashable, Hashable, Estimate]]:
        """All pairs of groups: the two names, the outcome, and the difference of the shares.

        Returns
        -------
        list of tuple
            The differences, with their intervals.
        """
        return [
            (group, other, outcome, apart)
            for group, other in combinations(self.groups, 2)
            for outcome, apart in self.difference(group, other).items()
        ]

    def __str__(self) -> str:
        width = max(len(group_text(group)) for group in self.groups)
        return "\n".join(
            f"{group_text(group):<{width}}  {outcome}  {self.share(group, outcome)}"
            for group in self.groups
            for outcome in self.outcomes
        )


def group_text(group: Hashable) -> str:
    """A group's name for readers.

    Examples
    --------
    >>> group_text("white"), group_text(("white", 1)), group_text(None)
    ('white', 'white, 1', 'missing')
    """
    return ", ".join("missing" if part is None else str(part) for part in _as_tuple(group))


def _format_interval(share: Estimate) -> str:
    if share.low is None or share.high is None:
        return f"{share.value:.1%}"
    return f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%})"


def _as_tuple(group: Hashable) -> tuple[Hashable, ...]:
    return group if isinstance(group, tuple) else (group,)


def _place(name: Hashable, names: Sequence[Hashable], what: str) -> int:
    if name not in names:
        raise ValueError(f"there is no {what} {name!r}{did_you_mean(name, names)}")
    return list(names).index(name)


def _ratio(part: Table, whole: Table, otherwise: float) -> Table:
    return np.divide(part, whole, out=np.full_like(part, otherwise), where=whole > 0)


def shares_from_counts(
    counts: GroupCounts,
    *,
    exclude: Sequence[Hashable] = (),
    prior_scale: float = PRIOR_SCALE,
    aggregation_bias: float = AGGREGATION_BIAS,
) -> GroupShares:
    """Estimate the share of each outcome in each group over all units, with 95 % intervals.

    The estimate is :func:`~llpgan.ecological.cells.fit_cells`. The intervals include that
    groups differ from unit to unit; see :func:`~llpgan.ecological.cells.cell_covariance`.

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units; more units than groups.
    exclude : sequence of hashable, default=()
        Outcomes to leave out *after* the estimate, such as ``["abstained"]``: shares are then among the others.
    prior_scale : float, default=1.5
        The scale of the prior of log odds ratios; infinite for no prior.
    aggregation_bias : float, default=0.2
        The scale of errors of log odds ratios that come from groups that behave differently where they are many.
        The margins cannot show them. It widens the intervals and does not change the shares.

    Returns
    -------
    GroupShares
        The shares.

    Examples
    --------
    >>> counts = GroupCounts(
    ...     [[80, 20], [20, 80], [50, 50], [65, 35]],
    ...     [[70, 30], [40, 60], [55, 45], [60, 40]],
    ...     ["black", "white"],
    ...     ["yes", "no"],
    ... )
    >>> print(shares_from_counts(counts).share("black", "yes"))
    0.781 (0.682 to 0.879)
    """
    _refuse_other_than_counts(counts)
    found = fit_cells(counts, prior_scale=prior_scale)
    sizes, low_high = counts.groups.sum(axis=0), share_bounds(counts)
    spreads = cell_spreads(found.unit_cells[counts.totals > 0])
    covariance = cell_covariance([spreads], found.overdispersion, prior_scale, aggregation_bias)
    shares = GroupShares(
        tuple(counts.group_names or ()),
        tuple(counts.outcome_names or ()),
        sizes,
        found.unit_cells.sum(axis=0) / sizes[:, None],
        covariance / np.multiply.outer(sizes, sizes)[:, None, :, None],
        *low_high,
        goodman_rates(counts),
    )
    return shares.without(exclude) if len(exclude) else shares


def _refuse_other_than_counts(counts: GroupCounts) -> None:
    if not isinstance(counts, GroupCounts):
        raise TypeError(f"counts must be GroupCounts, got a {type(counts).__name__}")


Index = NDArray[np.int64]
_NUMBERS_AT_ONCE = 2**22  # of the spreads of a block of bags


def shares_of_rows(
    bags: Bags,
    probabilities: ArrayLike,
    group_of_row: Index,
    groups: Sequence[Hashable],
    *,
    prior_scale: float = PRIOR_SCALE,
    aggregation_bias: float = AGGREGATION_BIAS,
) -> GroupShares:
    """The share of each class in each group of rows, after the predictions were matched to each bag's proportions.

    Intervals are of 95 %. They hold what the bags leave open of how a group departs from its predictions, what
    they say against these, and by how much groups depart from bag to bag; see
    :func:`~llpgan.ecological.cells.cell_covariance`.
    The overdispersion is twice the divergence between matched and predicted probabilities, divided by the number
    of proportions.

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
    prior_scale : float, default=1.5
        How far the log odds of a group may be from those predicted, as a standard deviation.
    aggregation_bias : float, default=0.2
        The scale of errors of log odds that come from groups that behave differently where they are many.

    Returns
    -------
    GroupShares
        The shares.
    """
    refuse_other_than_bags(bags, "bags")
    refuse_no_scale(prior_scale)
    check_same_length("groups of rows", group_of_row, "rows in bags", bags.bag_index)
    predicted = clip_probabilities(bags, probabilities)
    matched = match_probabilities(bags, predicted)
    weights = bags.row_weights
    sizes = group_sizes(group_of_row, weights, groups)
    cells, before = (_sums(weights[:, None] * table, group_of_row, len(groups)) for table in (matched, predicted))
    blocks = _spreads(bags, matched, group_of_row, len(groups))
    overdispersion = _overdispersion(bags, matched, predicted)
    covariance = cell_covariance(blocks, overdispersion, prior_scale, aggregation_bias, cells - before)
    return GroupShares(
        tuple(groups),
        tuple(bags.classes.tolist()),
        sizes,
        cells / sizes[:, None],
        covariance / np.multiply.outer(sizes, sizes)[:, None, :, None],
        *_bounds_and_goodman(bags, group_of_row, len(groups)),
    )


def group_sizes(group_of_row: Index, weights: Table, groups: Sequence[Hashable]) -> Table:
    """How much the rows of each group weigh; a group without weight is refused.

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
    >>> group_sizes(np.array([0, 1, 1]), np.array([1.0, 2.0, 0.5]), ["a", "b"]).tolist()
    [1.0, 2.5]
    """
    sizes = np.bincount(group_of_row, weights, len(groups)).astype(np.float64)
    for group in np.flatnonzero(sizes == 0).tolist():
        raise ValueError(f"group {groups[group]!r}: the weights of its rows sum to 0")
    return sizes


def _sums(table: Table, group_of_row: Index, n_groups: int) -> Table:
    return np.stack([np.bincount(group_of_row, column, n_groups) for column in table.T], axis=1)


def _overdispersion(bags: Bags, matched: Table, predicted: Table) -> float:
    logs = np.log(np.maximum(matched, 1e-300)) - np.log(predicted)
    degrees = max(1, bags.n_bags - 1) * (bags.n_classes - 1)
    return max(1.0, float(2 * (bags.row_weights[:, None] * matched * logs).sum() / degrees))


def _spreads(bags: Bags, matched: Table, group_of_row: Index, n_groups: int) -> Iterator[Table]:
    """Σ_j w_j (diag q_j − q_j q_jᵀ) over the rows of each bag and group, some bags at a time."""
    n_classes, weights = matched.shape[1], bags.row_weights
    at_once = max(1, _NUMBERS_AT_ONCE // (n_groups * n_classes**2))
    for first in range(0, bags.n_bags, at_once):
        n_bags = min(at_once, bags.n_bags - first)
        rows = np.concatenate([bags.rows_of(bag) for bag in range(first, first + n_bags)])
        place = (bags.bag_index[rows] - first) * n_groups + group_of_row[rows]
        shares, spread = matched[rows], np.empty((n_bags * n_groups, n_classes, n_classes))
        for c in range(n_classes):
            for d in range(c, n_classes):
                products = weights[rows] * shares[:, c] * ((c == d) - shares[:, d])
                spread[:, c, d] = spread[:, d, c] = np.bincount(place, products, len(spread))
        yield spread.reshape(n_bags, n_groups, n_classes, n_classes)


def _bounds_and_goodman(bags: Bags, group_of_row: Index, n_groups: int) -> tuple[Table, Table, Table]:
    """What the numbers of each group in each bag and the proportions say without any prediction."""
    place = np.asarray(bags.bag_index) * n_groups + group_of_row
    members = np.bincount(place, bags.row_weights, bags.n_bags * n_groups).astype(np.float64)
    results = bags.totals[:, None] * bags.proportions
    there = results.sum(axis=0) > 0
    if n_groups == 1 or there.sum() == 1:  # then nothing is unknown
        certain = np.tile(results.sum(axis=0) / results.sum(), (n_groups, 1))
        return certain, certain, certain
    low, high, goodman = (np.zeros((n_groups, bags.n_classes)) for _ in range(3))
    counts = GroupCounts(members.reshape(bags.n_bags, n_groups), results[:, there])
    low[:, there], high[:, there] = share_bounds(counts)
    goodman[:, there] = goodman_rates(counts)
    return low, high, goodman


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
        index, groups = _group_values(by, len(data.bag_index))
        return exclude_classes(shares_of_rows(data, model.predict_proba(data), index, groups), exclude)
    ids = () if bag is None else check_names(bag, "bag")
    rows = open_rows(data, () if model.encoder_ is None else model.encoder_.text_columns, ids)
    probabilities = model.predict_proba(data if model.encoder_ is None else rows)
    return shares_by_columns(rows, probabilities, model.classes_, by, bag, proportions, counts, weight, exclude)


def shares_by_columns(
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
    index, groups = group_rows(rows, check_names(by, "by"))
    if proportions is None and counts is None:
        if bag is not None:
            raise ValueError(
                "a bag is named (bag), but neither its proportions nor its counts (proportions, counts)"
            )
        weights = row_weights(rows, weight)
        weights = np.ones(len(index)) if weights is None else weights
        return exclude_classes(_predicted_shares(probabilities, weights, classes, index, groups), exclude)
    bags = shared_bags(rows, classes, TableSpec(bag=bag, proportions=proportions, counts=counts, weight=weight))
    return exclude_classes(shares_of_rows(bags, probabilities, index, groups), exclude)


def group_rows(rows: Rows, columns: Sequence[str]) -> tuple[Index, list[Hashable]]:
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
    return _numbered([row[0] for row in tuples] if len(columns) == 1 else tuples)


def _group_values(by: Any, n_rows: int) -> tuple[Index, list[Hashable]]:
    with check_argument("by"):
        values = check_one_per_row(by, "by")
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


def exclude_classes(shares: GroupShares, outcomes: Sequence[Hashable]) -> GroupShares:
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
