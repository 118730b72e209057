"""The page on shares estimated from counts of units, and the plots that analysts of elections know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from llpgan.ecological import GroupCounts, GroupShares
from llpgan.ecological.cells import PRIOR_SCALE
from llpgan.ecological.shares import group_text
from llpgan.report.charts import PAGE, svg
from llpgan.report.drawing import (
    DASHED,
    Display,
    Palette,
    hide_spines,
    percent_text,
    set_percent_ticks,
    shorten,
)
from llpgan.report.effects import GroupSharesDisplay
from llpgan.report.tables import Column, DataTable
from llpgan.report.text import format_count, format_percent

_MOST_LINES = 300  # of a tomography plot; the largest units
_MOST_STRATA = 30  # of a chart; the largest
_MOST_BOUNDS = 6  # plots of bounds on a page
_LEGEND_BELOW = -44  # points, from the axes
USUAL_CORRELATION = 0.18  # 95 % of differences between groups in New Zealand (results/new_zealand_sensitivity.md)
_STRONGEST = 0.6  # correlation that the sensitivity plot shows


@dataclass(eq=False, repr=False)  # a notebook shows the figure, not its arrays
class BoundsDisplay(Display):
    """What the counts of each unit say with certainty of one group's share: King's tomography plot.

    In a unit of which a part x is of the group and a part t has the outcome, the share of the outcome in the group
    and in the rest lie on a line: x · share + (1 − x) · share of the rest = t. Each line is a unit, within 0 to 1.
    Make one with :meth:`from_counts`.

    Parameters
    ----------
    group : str
        The name of the group.
    outcome : str
        The name of the outcome.
    ends : ndarray of shape (n_units, 2, 2)
        The two ends of the line of each unit: the share in the group, and that in the rest.
    sizes : ndarray of shape (n_units,)
        The number of people in each unit.
    estimate : tuple of float, default=None
        The estimated shares in the group and in the rest, over all units; None if there is no estimate.

    Attributes
    ----------
    {inherited}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> counts = GroupCounts([[80, 20], [20, 80]], [[70, 30], [40, 60]], ["a", "b"], ["yes", "no"])
    >>> display = BoundsDisplay.from_counts(counts, "a", "yes", ax=Figure().add_subplot())
    >>> display.ends[0].round(3).tolist()
    [[0.625, 1.0], [0.875, 0.0]]
    """

    group: str
    outcome: str
    ends: NDArray[np.float64]
    sizes: NDArray[np.float64]
    estimate: tuple[float, float] | None = None

    @classmethod
    def from_counts(
        cls,
        counts: GroupCounts,
        group: Any,
        outcome: Any,
        *,
        shares: GroupShares | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the bounds of one share in all units.

        Parameters
        ----------
        counts : GroupCounts
            The counts.
        group, outcome : hashable
            The names of a group and an outcome.
        shares : GroupShares, default=None
            Estimated shares of all outcomes, to be drawn as a point.
        {ax}

        Returns
        -------
        BoundsDisplay
        """
        return cls.compute(counts, group, outcome, shares).plot(ax)

    @classmethod
    def compute(cls, counts: GroupCounts, group: Any, outcome: Any, shares: GroupShares | None = None) -> Self:
        """Compute the display without drawing it.

        Parameters
        ----------
        counts : GroupCounts
            The counts.
        group, outcome : hashable
            The names of a group and an outcome.
        shares : GroupShares, default=None
            Estimated shares of all outcomes.

        Returns
        -------
        BoundsDisplay
            The display.
        """
        r, c = list(counts.group_names or ()).index(group), list(counts.outcome_names or ()).index(outcome)
        members, results, totals = counts.groups[:, r], counts.outcomes[:, c], counts.totals
        rest = totals - members
        mixed = (members > 0) & (rest > 0)
        members, results, totals, rest = members[mixed], results[mixed], totals[mixed], rest[mixed]
        low, high = np.maximum(0.0, results - rest), np.minimum(members, results)
        ends = np.stack([np.stack([x / members, (results - x) / rest], axis=1) for x in (low, high)], axis=1)
        estimate = None
        if shares is not None:
            people = shares.sizes * shares.shares[:, shares.outcomes.index(outcome)]
            own = shares.groups.index(group)
            others = shares.sizes.sum() - shares.sizes[own]
            estimate = float(people[own] / shares.sizes[own]), float((people.sum() - people[own]) / others)
        return cls(group_text(group), str(outcome), ends, totals, estimate)

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """Draw one line for each unit, and the estimate for all units."""
        largest = np.sort(np.argsort(-self.sizes, kind="stable")[:_MOST_LINES])
        ax.plot(
            self.ends[largest, :, 0].T,
            self.ends[largest, :, 1].T,
            color=colours.blue,
            linewidth=0.9,
            alpha=float(np.clip(12 / max(1, len(largest)), 0.12, 0.7)),
        )
        hover = {}
        if self.estimate is not None:
            ax.scatter(*self.estimate, 70, color=colours.orange, zorder=3, gid="estimate")
            own, others = map(percent_text, self.estimate)
            hover["estimate"] = [f"{self.group}: {own}, others: {others}"]
        hide_spines(ax, "both", colours)
        for axis in (ax.xaxis, ax.yaxis):
            set_percent_ticks(axis, 5)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_aspect("equal")
        ax.set_xlabel(f"“{shorten(self.outcome)}” in {shorten(self.group)}")
        ax.set_ylabel(f"“{shorten(self.outcome)}” in the rest")
        return hover


@dataclass(eq=False, repr=False)
class DifferencesDisplay(Display):
    """By how much the shares of groups differ, with intervals: polarisation.

    Make one with :meth:`from_shares`.

    Parameters
    ----------
    pairs : sequence of str
        The two groups of each row of the table.
    outcomes : sequence of str
        The outcome of each row.
    differences : ndarray of shape (n_rows,)
        The difference of the shares.
    low : ndarray of shape (n_rows,)
        The lower ends of the intervals; NaN if there is none.
    high : ndarray of shape (n_rows,)
        The upper ends of the intervals; NaN if there is none.

    Attributes
    ----------
    {inherited}
    """

    pairs: Sequence[str]
    outcomes: Sequence[str]
    differences: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def from_shares(
        cls, shares: GroupShares, *, outcomes: Sequence[Any] | None = None, ax: Axes | None = None
    ) -> Self:
        """Plot the differences between all pairs of groups.

        Parameters
        ----------
        shares : GroupShares
            The shares.
        outcomes : sequence, default=None
            The outcomes to show. None means all of them, or the first of two.
        {ax}

        Returns
        -------
        DifferencesDisplay
        """
        return cls.compute(shares, outcomes).plot(ax)

    @classmethod
    def compute(cls, shares: GroupShares, outcomes: Sequence[Any] | None = None) -> Self:
        """Compute the display without drawing it.

        Parameters
        ----------
        shares : GroupShares
            The shares.
        outcomes : sequence, default=None
            The outcomes to show. None means all of them, or the first of two.

        Returns
        -------
        DifferencesDisplay
            The display.
        """
        shown = list_shown_outcomes(shares) if outcomes is None else outcomes
        rows = [row for row in shares.differences() if row[2] in shown]
        figures = [
            [getattr(row[3], end) if getattr(row[3], end) is not None else np.nan for row in rows]
            for end in ("value", "low", "high")
        ]
        pairs = [f"{shorten(group_text(row[0]), 14)} − {shorten(group_text(row[1]), 14)}" for row in rows]
        return cls(pairs, [str(row[2]) for row in rows], *map(np.array, figures))

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """Draw one point and one interval for each pair of groups and outcome."""
        table = {"group": self.pairs, "class": self.outcomes, "share": self.differences}
        table |= {"low": self.low, "high": self.high}
        drawn = GroupSharesDisplay.prepare(table, list(dict.fromkeys(self.outcomes))).plot(ax, palette=colours)
        ax.axvline(0, color=colours.soft, linewidth=1, linestyle=DASHED)
        ax.set_xlabel("difference of the shares")
        set_percent_ticks(ax.xaxis, 4, are_shares=False)
        return drawn.hover_


@dataclass(eq=False, repr=False)
class SensitivityDisplay(Display):
    """How far a difference between two groups may be wrong if units behave as who lives in them: a band.

    Make one with :meth:`from_shares`.

    Parameters
    ----------
    title : str
        What differs.
    difference : float
        The estimated difference.
    reach : float
        Its bias for r / √(1 − r²) = 1; see :class:`~llpgan.ecological.Sensitivity`.
    critical : float
        The correlation with which the difference can vanish.

    Attributes
    ----------
    {inherited}
    """

    title: str
    difference: float
    reach: float
    critical: float

    @classmethod
    def from_shares(
        cls, shares: GroupShares, group: Any, other: Any, outcome: Any, *, ax: Axes | None = None
    ) -> Self:
        """Plot the possible differences by the strength of confounding.

        Parameters
        ----------
        shares : GroupShares
            The shares, with intervals.
        group, other : hashable
            The names of two groups.
        outcome : hashable
            The name of an outcome.
        {ax}

        Returns
        -------
        SensitivityDisplay
        """
        return cls.compute(shares, group, other, outcome).plot(ax)

    @classmethod
    def compute(cls, shares: GroupShares, group: Any, other: Any, outcome: Any) -> Self:
        """Compute the display without drawing it.

        Parameters
        ----------
        shares : GroupShares
            The shares, with intervals.
        group, other : hashable
            The names of two groups.
        outcome : hashable
            The name of an outcome.

        Returns
        -------
        SensitivityDisplay
            The display.
        """
        found = shares.sensitivity(group, other, outcome)
        if found is None:
            raise ValueError("these shares have no intervals, so that nothing is known of their sensitivity")
        title = f"“{shorten(str(outcome))}”: {shorten(group_text(group))} − {shorten(group_text(other))}"
        return cls(title, found.difference, found.reach, found.critical_correlation)

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """Draw the band of possible differences."""
        correlations = np.linspace(0, _STRONGEST, 61)
        bias = correlations / np.sqrt(1 - correlations**2) * self.reach
        low, high = np.clip(self.difference - bias, -1, 1), np.clip(self.difference + bias, -1, 1)
        ax.fill_between(correlations, low, high, color=colours.blue, alpha=0.2, linewidth=0)
        ax.axhline(self.difference, color=colours.blue, linewidth=2)
        ax.axhline(0, color=colours.soft, linewidth=1, linestyle=DASHED)
        hover = {}
        if self.critical <= _STRONGEST:
            ax.scatter([self.critical], [0], 60, color=colours.orange, zorder=3, gid="critical")
            hover["critical"] = [f"the difference can vanish from r = {self.critical:.2f} on"]
        hide_spines(ax, "y", colours)
        set_percent_ticks(ax.yaxis, 5, are_shares=False)
        ax.set_xlim(0, _STRONGEST)
        ax.set_title(self.title)
        ax.set_xlabel("correlation r between behaviour and composition")
        ax.set_ylabel("possible difference")
        return hover


def list_shown_outcomes(shares: GroupShares) -> list[Any]:
    """List the outcomes that tables and charts show: of two complementary ones, the first.

    Parameters
    ----------
    shares : GroupShares
        The shares.

    Returns
    -------
    list of hashable
        The names.
    """
    return list(shares.outcomes[:1] if len(shares.outcomes) == 2 else shares.outcomes)


@dataclass(frozen=True, eq=False)
class CountsPage:
    """The content of the page on shares that were estimated from counts.

    Parameters
    ----------
    title : str
        The title of the page.
    counts : GroupCounts
        The counts.
    complete : GroupShares
        The shares of all outcomes.
    shares : GroupShares
        The shares that the page shows, perhaps without some outcomes.
    notes : sequence of str
        Warnings.
    excluded : sequence of str
        The outcomes that were left out after the estimate.
    remainder : str or None
        The outcome that the counts of groups and outcomes differ by.
    aggregation_bias : float
        The scale of the aggregation bias.
    """

    title: str
    counts: GroupCounts
    complete: GroupShares
    shares: GroupShares
    aggregation_bias: float
    notes: Sequence[str] = ()
    excluded: Sequence[str] = ()
    remainder: str | None = None

    @property
    def shown(self) -> list[Any]:
        """The outcomes that charts and tables show."""
        return list_shown_outcomes(self.shares)

    @property
    def main_outcome(self) -> Any:
        """The outcome by which the groups differ most."""
        spread = np.ptp(self.shares.shares, axis=0)
        return max(self.shown, key=lambda name: spread[self.shares.outcomes.index(name)])

    @property
    def main_pair(self) -> tuple[Any, Any]:
        """The two groups that differ most in the main outcome."""
        place = self.shares.outcomes.index(self.main_outcome)
        order = np.argsort(-self.shares.shares[:, place], kind="stable")
        return self.shares.groups[order[0]], self.shares.groups[order[-1]]

    @property
    def prior_scale(self) -> float:
        """The scale of the prior of log odds ratios."""
        return PRIOR_SCALE

    @property
    def usual_correlation(self) -> float:
        """The correlation to which the errors of most differences corresponded where the truth was counted."""
        return USUAL_CORRELATION

    @property
    def finding(self) -> str:
        """The largest difference, as a sentence."""
        group, other = self.main_pair
        apart = self.shares.difference(group, other)[self.main_outcome]
        if group == other:
            return ""
        text = (
            f"Among the groups, “{self.main_outcome}” differs most between {group_text(group)} "
            f"({format_percent(self.shares.share(group, self.main_outcome).value)}) and {group_text(other)} "
            f"({format_percent(self.shares.share(other, self.main_outcome).value)}): "
            f"by {100 * apart.value:.1f} percentage points"
        )
        if apart.low is None or apart.high is None:
            return f"{text}."
        return f"{text}, 95 % interval {100 * apart.low:.1f} to {100 * apart.high:.1f}."

    @property
    def for_charts(self) -> Self:
        """The same without the words with which all names of groups, or of outcomes, begin: charts are narrow."""
        groups = _drop_common_words(self.complete.groups)
        outcomes = _drop_common_words([name for name in self.complete.outcomes if name != self.remainder])

        def rename(shares: GroupShares) -> GroupShares:
            return replace(
                shares,
                groups=tuple(groups[name] for name in shares.groups),
                outcomes=tuple(outcomes.get(name, name) for name in shares.outcomes),
                by_stratum={name: rename(part) for name, part in shares.by_stratum.items()},
            )

        counts = replace(
            self.counts,
            group_names=[groups.get(name, name) for name in self.counts.group_names or ()],
            outcome_names=[outcomes.get(name, name) for name in self.counts.outcome_names or ()],
        )
        return replace(self, counts=counts, complete=rename(self.complete), shares=rename(self.shares))

    def shares_chart(self) -> Markup:
        """The share of each shown outcome in each group."""
        display = GroupSharesDisplay.prepare(self.shares, self.shown)
        return _draw_chart("shares", display, len(self.shares.groups), len(self.shown))

    def differences_chart(self) -> Markup:
        """The differences between all pairs of groups."""
        n_pairs = len(list(combinations(self.shares.groups, 2)))
        return _draw_chart("differences", DifferencesDisplay.compute(self.shares), n_pairs, len(self.shown))

    def strata_chart(self) -> Markup:
        """The share of the main outcome by stratum and group, in the largest strata."""
        parts = sorted(self.shares.by_stratum.items(), key=lambda item: -item[1].sizes.sum())[:_MOST_STRATA]
        rows = []
        for name, part in sorted(parts, key=lambda item: str(item[0])):
            rows += [(str(name), group_text(group), part.share(group, self.main_outcome)) for group in part.groups]
        table = {
            "group": [row[0] for row in rows],
            "class": [row[1] for row in rows],
            "share": [row[2].value for row in rows],
            "low": [row[2].low for row in rows],
            "high": [row[2].high for row in rows],
        }
        groups = [group_text(group) for group in self.shares.groups][:6]
        display = GroupSharesDisplay.prepare(table, groups)
        chart = _draw_chart(
            "strata", display, len(parts), len(groups), f"share of “{shorten(str(self.main_outcome))}”"
        )
        return chart

    def bounds_charts(self) -> list[Markup]:
        """What is certain of the main outcome in each group."""
        groups = [group for group in self.complete.groups if len(self.complete.groups) > 1][:_MOST_BOUNDS]
        if len(groups) == 2:
            groups = groups[:1]  # the other plot is its mirror image
        charts = []
        for number, group in enumerate(groups):
            display = BoundsDisplay.compute(self.counts, group, self.main_outcome, self.complete)
            charts.append(
                svg(
                    f"bounds-{number}",
                    lambda axes, display=display: display.plot(axes, palette=PAGE).hover_,  # type: ignore[misc]
                    width=330,
                    height=330,
                )
            )
        return charts

    def sensitivity_chart(self) -> Markup:
        """How strong confounding must be for the main difference to vanish."""
        display = SensitivityDisplay.compute(self.shares, *self.main_pair, self.main_outcome)
        return svg("sensitivity", lambda axes: display.plot(axes, palette=PAGE).hover_, height=300)

    def shares_table(self) -> DataTable:
        """All shares, with what is certain of them and Goodman's estimate."""
        return _table_of_shares("shares", "Estimated shares by group", self.shares, None)

    def strata_table(self) -> DataTable:
        """The shares in all strata."""
        return _table_of_shares("strata", "Estimated shares by stratum and group", self.shares, "Stratum")

    def differences_table(self) -> DataTable:
        """All differences, with the correlation at which each can vanish."""
        rows = [row for row in self.shares.differences() if row[2] in self.shown]
        found = [self.shares.sensitivity(*row[:3]) for row in rows]
        return DataTable(
            "differences",
            "Differences between groups, in percentage points",
            (
                Column("Group", [group_text(row[0]) for row in rows], is_number=False),
                Column("Minus", [group_text(row[1]) for row in rows], is_number=False),
                Column("Outcome", [str(row[2]) for row in rows], is_number=False),
                Column("Difference", [row[3].value for row in rows], _points),
                Column("From", [row[3].low for row in rows], _points),
                Column("To", [row[3].high for row in rows], _points),
                Column(
                    "Vanishes at r",
                    [None if one is None else one.critical_correlation for one in found],
                    "{:.2f}".format,
                ),
            ),
        )

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What the counts are, as figures and what they count."""
        strata = [] if self.counts.strata is None else [(format_count(len(set(self.counts.strata))), "strata")]
        return [
            (format_count(self.counts.n_units), "units"),
            *strata,
            (format_count(round(self.counts.totals.sum())), "people"),
            (format_count(len(self.counts.group_names or ())), "groups"),
            (format_count(len(self.counts.outcome_names or ())), "outcomes"),
        ]

    def render(self) -> str:
        """Render the page.

        Returns
        -------
        str
            The text.
        """
        from llpgan.report.page import render_template

        sections = {"summary": "Summary", "shares": "Shares"}
        if len(self.shares.groups) > 1:
            sections |= {"differences": "Polarisation", "sensitivity": "Sensitivity"}
        if self.shares.by_stratum:
            sections["strata"] = "Strata"
        if len(self.complete.groups) > 1:
            sections["bounds"] = "Bounds"
        sections["method"] = "Method"
        return render_template("counts_page.html.j2", self.title, sections, page=self)


def _drop_common_words(names: Sequence[Any]) -> dict[Any, str]:
    words = [re.findall(r"[^ _]*[ _]*", group_text(name))[:-1] for name in names]
    alike = [len(set(parts)) == 1 for parts in zip(*words, strict=False)]
    n_common = min([*alike, False].index(False), len(alike) - 1) if len(words) > 1 else 0
    return {name: "".join(some[n_common:]) for name, some in zip(names, words, strict=True)}


def _draw_chart(name: str, display: Any, n_rows: int, n_series: int, label: str = "") -> Markup:
    def draw(axes: Axes) -> Any:
        hover = display.plot(axes, palette=PAGE).hover_
        if label:
            axes.set_xlabel(label)
        if legend := axes.get_legend():  # at the same distance in charts of any height
            below = ScaledTranslation(0, _LEGEND_BELOW / 72, axes.figure.dpi_scale_trans)
            legend.set_bbox_to_anchor((0, 0), transform=axes.transAxes + below)
        return hover

    height = 90 + n_rows * max(28, 15 * n_series) + (22 * n_series if n_series > 1 else 0)
    return svg(name, draw, height=height)


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}"


def _table_of_shares(name: str, about: str, shares: GroupShares, stratum: str | None) -> DataTable:
    parts = [(None, shares)] if stratum is None else list(shares.by_stratum.items())
    shown = list_shown_outcomes(shares)
    rows = [(key, part, group, outcome) for key, part in parts for group in part.groups for outcome in shown]
    estimates = [part.share(group, outcome) for _, part, group, outcome in rows]
    places = [(part.groups.index(group), part.outcomes.index(outcome)) for _, part, group, outcome in rows]

    def figures(attribute: str) -> list[float | None]:
        values = [float(getattr(row[1], attribute)[place]) for row, place in zip(rows, places, strict=True)]
        return [None if np.isnan(value) else value for value in values]

    people = [round(float(row[1].sizes[place[0]])) for row, place in zip(rows, places, strict=True)]
    return DataTable(
        name,
        about,
        (
            *([] if stratum is None else [Column(stratum, [str(row[0]) for row in rows], is_number=False)]),
            Column("Group", [group_text(row[2]) for row in rows], is_number=False),
            Column("People", people, format_count),
            Column("Outcome", [str(row[3]) for row in rows], is_number=False),
            Column("Share", [one.value for one in estimates], format_percent),
            Column("From", [one.low for one in estimates], format_percent),
            Column("To", [one.high for one in estimates], format_percent),
            Column("Certain from", figures("lowest"), format_percent),
            Column("Certain to", figures("highest"), format_percent),
            Column("Goodman", figures("goodman"), format_percent),
        ),
    )
