"""The share of each outcome in each group, estimated from the counts of units, with intervals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.ecological.cells import (
    AGGREGATION_BIAS,
    PRIOR_SCALE,
    CellCovariance,
    CellFit,
    RatesPrior,
    fit_margins,
    interactions,
    sum_covariances,
)
from llpgan.ecological.counts import GroupCounts, cell_bounds, goodman_rates, regress
from llpgan.evaluation.scores import Estimate
from llpgan.utils.arrays import to_frame
from llpgan.utils.messages import did_you_mean, html_table, warn_user

Table = NDArray[np.float64]
_NORMAL = 1.959964  # the 97.5 % point of the normal distribution
POOLED_BIAS = 1.0  # the scale of the aggregation bias of units that may be of several districts
MANY_UNITS = 120  # more than most districts have that intervals were measured on
_UNITS_PER_GROUP = 2  # of a stratum that is estimated without help from others
_PSEUDO_STRATA, _USUAL_DIFFERENCE = 2, 0.5  # with which the scale of differences between strata is estimated
_HALVES_BIAS = 0.2  # included in the standard error with which halves are compared


@dataclass(frozen=True, eq=False, repr=False)
class GroupShares:
    """Estimated shares of outcomes by group.

    Attributes
    ----------
    groups : tuple of hashable
        The names of the groups; tuples if several columns define a group.
    outcomes : tuple of hashable
        The names of the outcomes, or classes.
    sizes : ndarray of shape (n_groups,)
        How many people each group has.
    shares : ndarray of shape (n_groups, n_outcomes)
        The estimated share of each outcome in each group.
    covariance : ndarray of shape (n_groups, n_outcomes, n_groups, n_outcomes) or None
        Of the shares; None if it is unknown.
    lowest : ndarray of shape (n_groups, n_outcomes)
        The smallest share that is possible: the lower bound of Duncan and Davis.
    highest : ndarray of shape (n_groups, n_outcomes)
        The largest share that is possible.
    goodman : ndarray of shape (n_groups, n_outcomes)
        Goodman's regression, for comparison; NaN if the units do not determine it.
    confounding : ndarray of shape (n_strata, n_groups, n_outcomes, n_groups, n_outcomes) or None
        How much shares are biased if what units do is correlated with who lives in them, for each stratum; see
        :meth:`critical_correlation`. None if it is unknown.
    by_stratum : dict of hashable to GroupShares
        The shares in each stratum; empty without strata.
    divergence : float or None
        How far the estimates of parts of the units are from that of all, in standard errors. From 1 on, the
        intervals of one estimate for all units are too narrow. None with strata or a stated bias.
    """

    groups: tuple[Hashable, ...]
    outcomes: tuple[Hashable, ...]
    sizes: Table
    shares: Table
    covariance: Table | None
    lowest: Table
    highest: Table
    goodman: Table
    confounding: Table | None = None
    by_stratum: Mapping[Hashable, GroupShares] = field(default_factory=dict)
    divergence: float | None = None

    @property
    def intervals(self) -> tuple[Table, Table] | None:
        """The ends of the 95 % intervals, each of shape (n_groups, n_outcomes): normal, cut at the bounds."""
        if self.covariance is None:
            return None
        variance = np.einsum("rcrc->rc", self.covariance)
        half = _NORMAL * np.sqrt(np.maximum(variance, 0.0))
        return np.maximum(self.lowest, self.shares - half), np.minimum(self.highest, self.shares + half)

    def share(self, group: Hashable, outcome: Hashable) -> Estimate:
        """Return the share of one outcome in one group, with its 95 % interval if there is one.

        Parameters
        ----------
        group, outcome : hashable
            Their names.

        Returns
        -------
        Estimate
            The estimate with its interval.
        """
        place = _find(group, self.groups, "group"), _find(outcome, self.outcomes, "outcome")
        if self.intervals is None:
            return Estimate(float(self.shares[place]))
        low, high = self.intervals
        return Estimate(float(self.shares[place]), float(low[place]), float(high[place]))

    def difference(self, group: Hashable, other: Hashable) -> dict[Hashable, Estimate]:
        """Return by how much the shares of one group exceed those of another: polarisation.

        Parameters
        ----------
        group, other : hashable
            The names of two groups.

        Returns
        -------
        dict of outcome to Estimate
            With 95 % intervals, cut at what the bounds of both groups allow.
        """
        r, s = _find(group, self.groups, "group"), _find(other, self.groups, "group")
        if self.covariance is None:
            return _subtract((self, r), (self, s), None)
        both = self.covariance
        return _subtract((self, r), (self, s), both[r, :, r] + both[s, :, s] - both[r, :, s] - both[s, :, r])

    def differences(self) -> list[tuple[Hashable, Hashable, Hashable, Estimate]]:
        """Return all pairs of groups: the two names, the outcome, and the difference of the shares.

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

    def stratum_difference(self, stratum: Hashable, other: Hashable, group: Hashable) -> dict[Hashable, Estimate]:
        """Return by how much the shares of a group in one stratum exceed those in another.

        Parameters
        ----------
        stratum, other : hashable
            The names of two strata.
        group : hashable
            The name of a group that both have.

        Returns
        -------
        dict of outcome to Estimate
            With 95 % intervals, as if the biases of the two strata were independent.
        """
        names, parts = tuple(self.by_stratum), list(self.by_stratum.values())
        one, two = (parts[_find(name, names, "stratum")] for name in (stratum, other))
        r, s = (_find(group, part.groups, "group") for part in (one, two))
        if one.covariance is None or two.covariance is None:
            return _subtract((one, r), (two, s), None)
        return _subtract((one, r), (two, s), one.covariance[r, :, r] + two.covariance[s, :, s])

    def sensitivity(self, group: Hashable, other: Hashable, outcome: Hashable) -> Sensitivity | None:
        """Return how strong confounding must be for a difference between two groups to vanish.

        Parameters
        ----------
        group, other : hashable
            The names of two groups.
        outcome : hashable
            The name of an outcome.

        Returns
        -------
        Sensitivity or None
            None if it is unknown, as for shares without intervals.
        """
        if self.confounding is None:
            return None
        r, s = _find(group, self.groups, "group"), _find(other, self.groups, "group")
        c = _find(outcome, self.outcomes, "outcome")
        both = self.confounding[:, :, c, :, c]
        squared = both[:, r, r] + both[:, s, s] - 2 * both[:, r, s]
        return Sensitivity(
            float(self.shares[r, c] - self.shares[s, c]), float(np.sqrt(np.maximum(squared, 0.0)).sum())
        )

    def without(self, outcomes: Sequence[Hashable]) -> GroupShares:
        """Return the shares among the people with the other outcomes, such as among those who voted.

        Parameters
        ----------
        outcomes : sequence of hashable
            The outcomes to leave out.

        Returns
        -------
        GroupShares
            The shares; a stratum leaves out groups of whom nobody remains.
        """
        left_out = [_find(name, self.outcomes, "outcome") for name in outcomes]
        kept = np.setdiff1d(np.arange(len(self.outcomes)), left_out)
        if len(kept) == 0:
            raise ValueError("all outcomes are left out: at least one must remain")
        shares, low, high = self.shares[:, kept], self.lowest[:, kept], self.highest[:, kept]
        total = shares.sum(axis=1, keepdims=True)
        for group in np.flatnonzero(total[:, 0] <= 0):
            raise ValueError(f"nobody is left in group {self.groups[group]!r} without {list(outcomes)}")
        slopes = (np.eye(len(kept)) - (shares / total)[:, :, None]) / total[:, :, None]

        def carry_over(covariance: Table | None) -> Table | None:
            if covariance is None:
                return None
            part = covariance[..., kept, :, :][..., kept]
            return np.einsum("rab,...rbsc,sdc->...rasd", slopes, part, slopes, optimize=True)

        return replace(
            self,
            outcomes=tuple(self.outcomes[place] for place in kept),
            sizes=self.sizes * total[:, 0],
            shares=shares / total,
            covariance=carry_over(self.covariance),
            lowest=_divide(low, low + high.sum(axis=1, keepdims=True) - high, otherwise=0.0),
            highest=_divide(high, high + low.sum(axis=1, keepdims=True) - low, otherwise=1.0),
            goodman=self.goodman[:, kept] / self.goodman[:, kept].sum(axis=1, keepdims=True),
            confounding=carry_over(self.confounding),
            by_stratum={
                name: part._describe_people(kept).without(outcomes) for name, part in self.by_stratum.items()
            },
        )

    def _describe_people(self, outcomes: NDArray[np.int64]) -> GroupShares:
        """The same without groups of whom nobody has one of these outcomes."""
        kept = np.flatnonzero(self.shares[:, outcomes].sum(axis=1) > 0)
        parts = {name: getattr(self, name)[kept] for name in ("sizes", "shares", "lowest", "highest", "goodman")}
        if self.covariance is not None:
            parts["covariance"] = self.covariance[kept][:, :, kept]
        if self.confounding is not None:
            parts["confounding"] = self.confounding[:, kept][:, :, :, kept]
        return replace(self, groups=tuple(self.groups[place] for place in kept), **parts)

    def columns(
        self, by: Sequence[str] = ("group",), outcome: str = "outcome", stratum: str | None = None
    ) -> dict[str, list[Any]]:
        """Return the table of shares as a dict of columns, with one row for each group and outcome.

        Parameters
        ----------
        by : sequence of str, default=("group",)
            The names of the columns that define the group; several if groups are tuples.
        outcome : str, default="outcome"
            The name of the column of outcomes.
        stratum : str, default=None
            The name of a column of strata: the rows of each stratum follow those of all strata together, of which
            the stratum is None. None means that the table has no strata.

        Returns
        -------
        dict of str to list
            The group, its size, the outcome, ``share``, the ``low`` and ``high`` end of the 95 % interval (None
            without one), ``lowest`` and ``highest`` possible share, and ``goodman``.
        """
        if stratum is not None:
            parts = {None: self, **self.by_stratum}
            tables = {name: part.columns(by, outcome) for name, part in parts.items()}
            names = [name for name, table in tables.items() for _ in table[outcome]]
            return {stratum: names} | {
                column: [value for table in tables.values() for value in table[column]]
                for column in self.columns(by, outcome)
            }
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

    def to_frame(
        self, by: Sequence[str] | None = None, outcome: str = "outcome", stratum: str | None = None
    ) -> Any:
        """Return the table of shares as a pandas frame, with one row for each group and outcome.

        Parameters
        ----------
        by : sequence of str, default=None
            The names of the columns that define the group, several if groups are tuples. None means one column,
            ``group``, with the parts of a tuple in one text.
        outcome : str, default="outcome"
            The name of the column of outcomes.
        stratum : str, default=None
            The name of a column of strata; None means that the table has no strata.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`columns`.
        """
        if by is not None:
            return to_frame(self.columns(by, outcome, stratum))
        columns = self.columns(("group",), outcome, stratum)
        parts = (self, *self.by_stratum.values()) if stratum is not None else (self,)
        texts = [group_text(group) for part in parts for group in part.groups for _ in part.outcomes]
        return to_frame({**columns, "group": texts})

    def __repr__(self) -> str:
        strata = f", {len(self.by_stratum):,} strata" if self.by_stratum else ""
        return f"GroupShares({len(self.groups):,} groups, {len(self.outcomes):,} outcomes{strata})"

    def _repr_html_(self) -> str:
        shown = {str(outcome): [self.share(group, outcome) for group in self.groups] for outcome in self.outcomes}
        texts = {name: [_format_with_interval(share) for share in shares] for name, shares in shown.items()}
        columns = {"group": [group_text(group) for group in self.groups], **texts}
        return html_table(columns, f"Shares of {len(self.groups):,} groups, with 95 % intervals", most=40)

    def __str__(self) -> str:
        width = max(len(group_text(group)) for group in self.groups)
        return "\n".join(
            f"{group_text(group):<{width}}  {outcome}  {self.share(group, outcome)}"
            for group in self.groups
            for outcome in self.outcomes
        )


@dataclass(frozen=True)
class Sensitivity:
    """How strong confounding must be for a difference between two groups to vanish.

    The estimate assumes that what makes a unit vote differently from its groups is uncorrelated with who lives
    there. If the correlation is r, in the direction that harms most, the difference is biased by at most
    r / √(1 − r²) · ``reach``; see :func:`~llpgan.ecological.cells.cell_covariance`.

    Attributes
    ----------
    difference : float
        The estimated difference of the shares.
    reach : float
        The bias for r / √(1 − r²) = 1; over strata, as if each had the same r.

    Examples
    --------
    >>> print(round(Sensitivity(0.3, 0.4).critical_correlation, 3))
    0.6
    """

    difference: float
    reach: float

    @property
    def critical_correlation(self) -> float:
        """The least correlation, between 0 and 1, with which the true difference can be zero."""
        return float(abs(self.difference) / np.hypot(self.difference, self.reach)) if self.difference else 0.0

    def largest_bias(self, correlation: float) -> float:
        """Compute by how much the difference may be wrong.

        Parameters
        ----------
        correlation : float
            At least 0, below 1.

        Returns
        -------
        float
            The largest bias.
        """
        return correlation / np.sqrt(1 - correlation**2) * self.reach


def group_text(group: Hashable) -> str:
    """Format a group's name for readers.

    Parameters
    ----------
    group : hashable
        A value, or a tuple of values.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> group_text("white"), group_text(("white", 1)), group_text(None)
    ('white', 'white, 1', 'missing')
    """
    return ", ".join("missing" if part is None else str(part) for part in _as_tuple(group))


def _format_with_interval(share: Estimate) -> str:
    if share.low is None or share.high is None:
        return f"{share.value:.1%}"
    return f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%})"


def _as_tuple(group: Hashable) -> tuple[Hashable, ...]:
    return group if isinstance(group, tuple) else (group,)


def _find(name: Hashable, names: Sequence[Hashable], what: str) -> int:
    if name not in names:
        raise ValueError(f"there is no {what} {name!r}{did_you_mean(name, names)}")
    return list(names).index(name)


def _subtract(
    one: tuple[GroupShares, int], two: tuple[GroupShares, int], covariance: Table | None
) -> dict[Hashable, Estimate]:
    """The differences of the shares of two groups, cut at what the bounds of both allow."""
    (first, r), (second, s) = one, two
    apart = first.shares[r] - second.shares[s]
    if covariance is None:
        return {name: Estimate(value) for name, value in zip(first.outcomes, apart.tolist(), strict=True)}
    half = _NORMAL * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    low = np.maximum(apart - half, first.lowest[r] - second.highest[s])
    high = np.minimum(apart + half, first.highest[r] - second.lowest[s])
    ends = zip(first.outcomes, apart.tolist(), low.tolist(), high.tolist(), strict=True)
    return {name: Estimate(value, lower, upper) for name, value, lower, upper in ends}


def _divide(part: Table, whole: Table, otherwise: float) -> Table:
    return np.divide(part, whole, out=np.full_like(part, otherwise), where=whole > 0)


# ---- From counts


def shares_from_counts(
    counts: GroupCounts,
    *,
    exclude: Sequence[Hashable] = (),
    prior_scale: float = PRIOR_SCALE,
    aggregation_bias: float | None = None,
) -> GroupShares:
    """Estimate the share of each outcome in each group over all units, with 95 % intervals.

    The estimate is :func:`~llpgan.ecological.cells.fit_cells`. The intervals include that groups differ from unit
    to unit; see :func:`~llpgan.ecological.cells.cell_covariance`.

    If the counts have strata, each is estimated by itself, and the cells are added up; see
    :func:`~llpgan.ecological.cells.sum_covariances`. A stratum with fewer than two units per group borrows what it
    lacks from the other strata: its log odds ratios are drawn towards theirs.

    Without strata, the estimates of halves of the units are compared with that of all: halves by who lives in a
    unit, and by its outcomes. If they differ by a standard error or more, or if there are more than 120 units, the
    units may be of districts that behave differently. There is a warning then, and the intervals are wide.

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units; more units than groups.
    exclude : sequence of hashable, default=()
        Outcomes to leave out *after* the estimate, such as ``["abstained"]``: shares are then among the others.
    prior_scale : float, default=1.5
        The scale of the prior of log odds ratios; infinite for no prior.
    aggregation_bias : float, default=None
        The scale of errors of log odds ratios that come from groups that behave differently where they are many.
        The margins cannot show them. It widens the intervals and does not change the shares. None means 0.3, or 1
        for units that may be of several districts.

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
    0.781 (0.664 to 0.898)
    """
    if not isinstance(counts, GroupCounts):
        raise TypeError(f"counts must be GroupCounts, got a {type(counts).__name__}")
    fits, divergence = _fit_strata(counts, prior_scale), None
    if aggregation_bias is None:
        aggregation_bias = AGGREGATION_BIAS
        if counts.strata is None:
            divergence = _measure_divergence(counts, fits[None], prior_scale)
            if _may_be_pooled(counts, divergence):
                aggregation_bias = POOLED_BIAS
    names = tuple(counts.group_names or ()), tuple(counts.outcome_names or ())
    low, high = cell_bounds(counts)
    found = {
        name: assemble_shares(
            *names,
            fit.unit_cells.sum(axis=0),
            [fit.covariance],
            aggregation_bias,
            (low[rows].sum(axis=0), high[rows].sum(axis=0)),
            regress(counts.groups[rows], counts.outcomes[rows]),
        )
        for (name, fit), rows in zip(fits.items(), counts.rows_by_stratum.values(), strict=True)
    }
    if counts.strata is None:
        shares = replace(found[None], divergence=divergence)
    else:
        shares = assemble_shares(
            *names,
            np.sum([fit.unit_cells.sum(axis=0) for fit in fits.values()], axis=0),
            [fit.covariance for fit in fits.values()],
            aggregation_bias,
            (low.sum(axis=0), high.sum(axis=0)),
            goodman_rates(counts),
        )
        shares = replace(shares, by_stratum=found)
    return shares.without(exclude) if len(exclude) else shares


def assemble_shares(
    groups: tuple[Hashable, ...],
    outcomes: tuple[Hashable, ...],
    cells: Table,
    covariances: Sequence[CellCovariance],
    aggregation_bias: float,
    bounds: tuple[Table, Table],
    goodman: Table,
) -> GroupShares:
    """Divide the totals of cells by the sizes of groups; groups without people are left out.

    Parameters
    ----------
    groups, outcomes : tuple of hashable
        Their names.
    cells : ndarray of shape (n_groups, n_outcomes)
        The estimated number of people in each cell.
    covariances : sequence of CellCovariance
        The uncertainty of the cells in each stratum.
    aggregation_bias : float
        The scale of the bias of log odds ratios.
    bounds : pair of ndarray of shape (n_groups, n_outcomes)
        The least and the most people that each cell can hold.
    goodman : ndarray of shape (n_groups, n_outcomes)
        Goodman's regression.

    Returns
    -------
    GroupShares
        The shares.
    """
    kept = np.flatnonzero(cells.sum(axis=1) > 0)
    sizes = cells[kept].sum(axis=1)
    shape = (*cells.shape, *cells.shape)

    def divide(covariance: Table) -> Table:
        part = covariance.reshape(shape)[kept][:, :, kept]
        return part / np.multiply.outer(sizes, sizes)[:, None, :, None]

    low, high = bounds
    return GroupShares(
        tuple(groups[place] for place in kept),
        outcomes,
        sizes,
        cells[kept] / sizes[:, None],
        divide(sum_covariances(covariances, aggregation_bias)),
        low[kept] / sizes[:, None],
        high[kept] / sizes[:, None],
        goodman[kept],
        np.stack([divide(covariance.confounding) for covariance in covariances]),
    )


def _fit_strata(counts: GroupCounts, prior_scale: float) -> dict[Hashable, CellFit]:
    """The cells of each stratum; those with few units are drawn towards the others."""
    covariates = counts.covariates

    def fit(rows: NDArray[np.int64], prior: RatesPrior | None = None) -> CellFit:
        numbers = None if covariates is None else covariates[rows]
        return fit_margins(
            counts.groups[rows], counts.outcomes[rows], numbers, prior_scale=prior_scale, prior=prior
        )

    strata = counts.rows_by_stratum
    if len(strata) == 1:
        return {name: fit(rows) for name, rows in strata.items()}
    n_covariates = 0 if covariates is None else covariates.shape[1]
    few = []
    for name, rows in strata.items():
        n_units = int((counts.totals[rows] > 0).sum())
        n_groups = int((counts.groups[rows].sum(axis=0) > 0).sum())
        if n_units < _UNITS_PER_GROUP * n_groups + n_covariates:
            few.append(name)
    fits = {name: fit(rows) for name, rows in strata.items() if name not in few}
    if few:
        if not fits:
            warn_user(
                f"no stratum has {_UNITS_PER_GROUP} units per group: all are drawn towards one estimate for all "
                f"units, so the result hardly shows how strata differ. Larger strata are better (strata)"
            )
        prior = _borrow(list(fits.values()) or [fit(np.arange(counts.n_units))])
        fits |= {name: fit(strata[name], prior) for name in few}
    return {name: fits[name] for name in strata}


def _borrow(fits: Sequence[CellFit]) -> RatesPrior:
    """What several strata say about another one: their mean log odds ratios, and by how much these differ."""
    weights = np.array([fit.unit_cells.sum() for fit in fits])[:, None, None]
    found = np.stack([_interactions_of_present(fit.log_rates) for fit in fits])
    known = [place for place, table in enumerate(found) if np.isfinite(table).any()]
    if not known:  # nothing was unknown in any of them
        return RatesPrior(np.zeros(found.shape[1:]), _USUAL_DIFFERENCE, 1.0)
    weights, found = weights[known], found[known]
    fits = [fits[place] for place in known]
    total = (weights * ~np.isnan(found)).sum(axis=0)
    centre = np.nansum(weights * found, axis=0) / np.where(total > 0, total, 1.0)
    apart = np.nanmean((found - centre) ** 2, axis=(1, 2)) if len(fits) > 1 else np.zeros(0)
    squares = np.nansum(apart) + _PSEUDO_STRATA * _USUAL_DIFFERENCE**2
    scale = np.sqrt(squares / (len(apart) + _PSEUDO_STRATA - 1))
    return RatesPrior(centre, float(scale), float(np.median([fit.overdispersion for fit in fits])))


def _interactions_of_present(log_rates: Table) -> Table:
    there = ~np.isnan(log_rates)
    found = np.full_like(log_rates, np.nan)
    rows, columns = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
    if len(rows) and len(columns):
        found[np.ix_(rows, columns)] = interactions(log_rates[np.ix_(rows, columns)])
    return found


def _measure_divergence(counts: GroupCounts, whole: CellFit, prior_scale: float) -> float | None:
    """How far the sums of the estimates of two halves are from the estimate of all units, in standard errors.

    The units are cut in two along the first principal component of their group shares, and of their outcome
    shares; the larger divergence counts. None if there are too few units.
    """
    occupied = np.flatnonzero(counts.totals > 0)
    n_effects = counts.groups.shape[1] + (0 if counts.covariates is None else counts.covariates.shape[1])
    variance = np.diag(whole.covariance.sampling) + _HALVES_BIAS**2 * (whole.covariance.moving**2).sum(axis=1)
    sums = []
    for margin in (counts.groups, counts.outcomes):
        halves = _halve(margin[occupied])
        if min(map(len, halves)) < _UNITS_PER_GROUP * n_effects:
            return None
        total = np.zeros(whole.log_rates.shape)
        for half in halves:
            rows = occupied[half]
            numbers = None if counts.covariates is None else counts.covariates[rows]
            fit = fit_margins(
                counts.groups[rows],
                counts.outcomes[rows],
                numbers,
                prior_scale=prior_scale,
                start=whole.log_rates,
            )
            total += fit.unit_cells.sum(axis=0)
        sums.append(total)
    distances = [(whole.unit_cells.sum(axis=0) - total).ravel() for total in sums]
    certain = variance <= 0
    return max(
        float(np.sqrt(np.mean(distance[~certain] ** 2 / variance[~certain]))) if not certain.all() else 0.0
        for distance in distances
    )


def _halve(margin: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two sets of units with about as many people, on the two sides of the first principal component."""
    totals = margin.sum(axis=1)
    shares = margin / totals[:, None]
    centred = shares - np.average(shares, axis=0, weights=totals)
    axis = np.linalg.eigh((centred * totals[:, None]).T @ centred)[1][:, -1]
    order = np.argsort(centred @ (axis * np.sign(axis[np.argmax(np.abs(axis))])), kind="stable")
    n_first = int(np.searchsorted(np.cumsum(totals[order]), totals.sum() / 2)) + 1
    return np.sort(order[:n_first]), np.sort(order[n_first:])


def _may_be_pooled(counts: GroupCounts, divergence: float | None) -> bool:
    """Whether the units may be of several districts, with a warning if so."""
    n_units = int((counts.totals > 0).sum())
    if divergence is not None and divergence >= 1:
        reason = (
            f"estimates for halves of these {n_units:,} units differ from that for all by {divergence:.1f} "
            f"standard errors (below 1 is usual within one district)"
        )
    elif n_units > MANY_UNITS:
        reason = f"{n_units:,} units are more than one district usually has"
    else:
        return False
    warn_user(
        f"{reason}: if they are of several counties or districts, name the column that says which (strata), so "
        f"that each is estimated by itself. The intervals are widened; if all units are of one district, give the "
        f"bias of one, {AGGREGATION_BIAS} (aggregation_bias)"
    )
    return True
