"""Plots of what a model finds: the importance of columns, their effects on predictions, and shares of groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from llpgan.bags import Bags
from llpgan.ecological.shares import group_text
from llpgan.evaluation import PartialDependence, importance, partial_dependence
from llpgan.evaluation.explain import Rise, find_columns
from llpgan.methods.base import LLPClassifier
from llpgan.report.drawing import (
    Display,
    Palette,
    add_legend_below,
    class_place,
    hide_spines,
    percent_text,
    set_percent_ticks,
    shorten,
)
from llpgan.utils.arrays import Array
from llpgan.utils.messages import did_you_mean
from llpgan.utils.old_names import OldName

MOST_COLUMNS = 20  # of a plot of importance
_ROOM = 0.05  # on both sides of the axis of effects


@dataclass(eq=False, repr=False)  # a notebook shows the figure, not its arrays
class ImportanceDisplay(Display):
    """By how much the loss of bags rises when a column is shuffled.

    Make one with :meth:`from_estimator` or :meth:`from_importance`.

    Parameters
    ----------
    rises : mapping of str to Rise
        The rise for each column, with its standard deviation over shuffles.

    Attributes
    ----------
    {inherited}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from llpgan.evaluation.explain import Rise, find_columns
    >>> rises = {"age": Rise(0.2, 0.01), "city": Rise(0.0, 0.01)}
    >>> display = ImportanceDisplay.from_importance(rises, ax=Figure().add_subplot())
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['city', 'age']
    """

    rises: Mapping[str, Rise]

    @classmethod
    def from_estimator(
        cls,
        estimator: LLPClassifier,
        bags: Bags,
        columns: Mapping[str, Sequence[int]] | None = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Measure the importance of columns, and plot it.

        Parameters
        ----------
        estimator : LLPClassifier
            A fitted model.
        bags : Bags
            Bags with the same encoding as those of the training.
        columns : mapping of str to sequence of int, default=None
            The positions of each column among those of the instances. None means the columns of the user's table.
        {ax}

        Returns
        -------
        ImportanceDisplay
        """
        return cls(importance(estimator, bags, columns)).plot(ax)

    @classmethod
    def from_importance(cls, rises: Mapping[str, Rise], *, ax: Axes | None = None) -> Self:
        """Plot what :func:`llpgan.evaluation.importance` found.

        Parameters
        ----------
        rises : mapping of str to Rise
            What it returned.
        {ax}

        Returns
        -------
        ImportanceDisplay
        """
        return cls(rises).plot(ax)

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """One bar for each column, the most important on top."""
        rises = sorted(self.rises.items(), key=lambda item: item[1].mean)[-MOST_COLUMNS:]
        means, deviations = np.array([rise for _, rise in rises], dtype=np.float64).T
        places = range(len(rises))
        for place, bar in enumerate(ax.barh(places, means, 0.66, color=colours.blue)):
            bar.set_gid(f"bar-{place}")
        ax.errorbar(means, places, xerr=deviations, fmt="none", ecolor=colours.soft, elinewidth=1.4, capsize=2.5)
        ax.set_yticks(places, [shorten(name, 22) for name, _ in rises])
        ax.axvline(0, color=colours.soft, linewidth=1)
        left_out = f"\n({len(rises)} of {len(self.rises)} columns)" if len(rises) < len(self.rises) else ""
        ax.set(xlabel=f"rise of the loss of bags{left_out}", ylabel="column", ylim=(-0.6, len(rises) - 0.4))
        hide_spines(ax, "x", colours)
        ax.tick_params(axis="y", labelcolor=colours.ink)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.spines["left"].set_visible(False)
        return {f"bar-{i}": [f"{name}: {mean:z.4f} ± {sd:.4f}"] for i, (name, (mean, sd)) in enumerate(rises)}


@dataclass(eq=False, repr=False)  # a notebook shows the figure, not its arrays
class EffectDisplay(Display):
    """The mean prediction of a class if all rows had the same value in one column.

    Make one with :meth:`from_estimator` or :meth:`from_effect`.

    Parameters
    ----------
    effect : PartialDependence
        The mean predictions.
    k : int
        The position of the class.
    ends : tuple of float, default=None
        The ends of the axis of predictions. None means those of the predictions.

    Attributes
    ----------
    {inherited}

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from llpgan import Bags, MeanMap
    >>> X, groups = np.arange(40.0)[:, None] % 20, np.arange(40) // 8
    >>> bags = Bags.from_labels(X, X[:, 0] > 9, groups, features=["age"])
    >>> display = EffectDisplay.from_estimator(MeanMap().fit_bags(bags), bags, "age", ax=Figure().add_subplot())
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('age', 'predicted share of “True”')
    """

    effect: PartialDependence
    k: int
    ends: tuple[float, float] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: LLPClassifier,
        bags: Bags,
        column: str,
        *,
        class_name: Hashable | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Measure the effect of a column, and plot it.

        Parameters
        ----------
        estimator : LLPClassifier
            A fitted model.
        bags : Bags
            Bags with the same encoding as those of the training.
        column : str
            The column of the user's table.
        class_name : hashable, default=None
            The class whose predictions are shown. None means the last one.
        {ax}

        Returns
        -------
        EffectDisplay
        """
        if column not in (columns := find_columns(bags)):
            raise ValueError(f"there is no column {column!r} (column){did_you_mean(column, columns)}")
        found = partial_dependence(estimator, bags, [column])[column]
        return cls(found, class_place(class_name, bags.classes.tolist())).plot(ax)

    @classmethod
    def from_effect(
        cls, effect: PartialDependence, *, class_name: str | None = None, ax: Axes | None = None
    ) -> Self:
        """Plot what :func:`llpgan.evaluation.partial_dependence` found for one column.

        Parameters
        ----------
        effect : PartialDependence
            The mean predictions.
        class_name : str, default=None
            The class whose predictions are shown. None means the last one.
        {ax}

        Returns
        -------
        EffectDisplay
        """
        return cls(effect, class_place(class_name, list(effect.classes))).plot(ax)

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """A curve of numbers and dates, and one point for each category."""
        effect, k = self.effect, self.k
        shares = effect.predicted[:, k]
        ends = self.ends or effect_range([effect], k)
        (self._draw_curve if effect.values is not None else self._draw_points)(ax, colours, shares, ends)
        hide_spines(ax, "x" if effect.values is None else "y", colours)
        ax.spines["left"].set_visible(False)
        texts = [f"{name}: {percent_text(share)}" for name, share in zip(effect.names, shares, strict=True)]
        return {"values": texts}

    def _draw_curve(self, ax: Axes, colours: Palette, shares: Array, ends: tuple[float, float]) -> None:
        values, names = self.effect.values, self.effect.names
        assert values is not None
        ax.plot(values, shares, color=colours.blue, marker="o", markersize=4)
        ax.scatter(values, shares, 120, color=colours.blue, alpha=0, linewidths=0, gid="values")
        ax.set(ylim=ends, xlabel=shorten(self.effect.column, 28), ylabel=self._axis_name())
        set_percent_ticks(ax.yaxis, 4)
        if any(not _reads_as_number(name) for name in names):  # dates
            outer = [0, len(values) - 1]
            ax.set_xticks(values[outer], [names[place] for place in outer])
        elif len(values) <= 6:
            ax.set_xticks(values, names)
        else:
            ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))

    def _draw_points(self, ax: Axes, colours: Palette, shares: Array, ends: tuple[float, float]) -> None:
        heights = np.arange(len(shares))
        ax.hlines(heights, ends[0], shares, color=colours.blue, linewidth=1.2, alpha=0.5)
        ax.scatter(shares, heights, 46, color=colours.blue, linewidths=0, gid="values")
        ax.set_yticks(heights, [shorten(name, 20) for name in self.effect.names])
        ax.tick_params(axis="y", labelcolor=colours.ink)
        ax.set(ylim=(-0.7, len(shares) - 0.3), xlim=ends)
        ax.set(xlabel=self._axis_name(), ylabel=shorten(self.effect.column, 28))
        set_percent_ticks(ax.xaxis, 3)

    def _axis_name(self) -> str:
        return f"predicted share of “{shorten(self.effect.classes[self.k])}”"


def effect_range(effects: Sequence[PartialDependence], k: int) -> tuple[float, float]:
    """One axis for the effects of all columns, so that their sizes can be compared."""
    shares = np.concatenate([effect.predicted[:, k] for effect in effects])
    return max(-0.02, float(shares.min()) - _ROOM), min(1.02, float(shares.max()) + _ROOM)


def number_text(value: float) -> str:
    """A number on an axis, with commas and without an exponent.

    >>> number_text(16930.0), number_text(0.25)
    ('16,930', '0.25')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


def _reads_as_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


_CLASS_NAMES = ("class", "outcome")
_MOST_CLASSES = 6


class SharesByGroup(Protocol):
    """A result with a share for each group and outcome, such as ``GroupShares``.

    Attributes
    ----------
    groups, outcomes : sequence
        The names; a group is a tuple if several columns make it.
    shares : ndarray of shape (n_groups, n_outcomes)
        The share of each outcome in each group.
    intervals : pair of ndarray of that shape, or None
        The low and the high ends of the intervals.
    """

    groups: Sequence[Any]
    outcomes: Sequence[Any]
    shares: NDArray[np.float64]

    @property
    def intervals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The low and the high ends."""


@dataclass(eq=False, repr=False)  # a notebook shows the figure, not its arrays
class GroupSharesDisplay(Display):
    """The estimated share of each class in each group, with its interval.

    Make one with :meth:`from_shares`.

    Parameters
    ----------
    groups : sequence of str
        The group of each row of the table.
    classes : sequence of str
        The class of each row.
    shares : ndarray of shape (n_rows,)
        The share of the class in the group.
    low : ndarray of shape (n_rows,)
        The lower ends of the intervals; NaN where there is none.
    high : ndarray of shape (n_rows,)
        The ends of the intervals; NaN where there is none.
    left_out : str, default=""
        A remark on the classes that are not shown.

    Attributes
    ----------
    {inherited}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> table = {"group": ["young", "old"], "class": ["yes", "yes"], "share": [0.3, 0.6],
    ...          "low": [0.2, 0.5], "high": [0.4, 0.7]}
    >>> display = GroupSharesDisplay.from_shares(table, ax=Figure().add_subplot())
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['old', 'young']
    """

    groups: Sequence[str]
    classes: Sequence[str]
    shares: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    left_out: str = ""

    @classmethod
    def from_shares(cls, shares: Any, *, classes: Sequence[Any] | None = None, ax: Axes | None = None) -> Self:
        """Plot a table of shares by group.

        Parameters
        ----------
        shares : mapping of columns, frame, or SharesByGroup
            A table has the columns ``group``, ``class`` (or ``outcome``) and ``share``; and ``low`` and ``high``,
            the ends of the intervals, if there are any.
        classes : sequence, default=None
            The classes that are shown. None means the second of two, and the first six of more.
        {ax}

        Returns
        -------
        GroupSharesDisplay
        """
        return cls.prepare(shares, classes).plot(ax)

    of = OldName("prepare")

    @classmethod
    def prepare(cls, shares: Any, classes: Sequence[Any] | None = None) -> Self:
        """Make the display of group shares without drawing it.

        Parameters
        ----------
        shares : GroupShares or table
            The shares.
        classes : sequence, default=None
            The classes that are shown. None means the second of two, and the first six of more.

        Returns
        -------
        GroupSharesDisplay
            The display.
        """
        table = _columns_as_lists(shares)
        of_row = [str(name) for name in table[next(name for name in _CLASS_NAMES if name in table)]]
        wanted = _shown_classes(of_row, classes)
        kept = [row for row, name in enumerate(of_row) if name in wanted]
        none = [None] * len(of_row)
        numbers = {
            name: np.array([table.get(name, none)[row] for row in kept], dtype=np.float64)
            for name in ("share", "low", "high")
        }
        groups = [group_text(table["group"][row]) for row in kept]
        n_classes = len(set(of_row))
        is_cut = classes is None and n_classes > max(2, len(wanted))
        left_out = f"\n({len(wanted)} of {n_classes} classes are shown)" if is_cut else ""
        shown = [of_row[row] for row in kept]
        return cls(groups, shown, numbers["share"], numbers["low"], numbers["high"], left_out)

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """Draw one point and one interval for each group and class."""
        names = list(dict.fromkeys(self.groups))
        height = {name: len(names) - 1 - place for place, name in enumerate(names)}
        shown = list(dict.fromkeys(self.classes))
        step = min(0.22, 0.7 / len(shown))
        hover = {}
        for place, name in enumerate(shown):
            rows = np.array([row for row, of_row in enumerate(self.classes) if of_row == name])
            y = np.array([height[self.groups[row]] for row in rows]) - step * (place - (len(shown) - 1) / 2)
            tints = (*colours.series, colours.soft, colours.ink, colours.line)
            self._draw_class(ax, rows, y, tints[place % _MOST_CLASSES], place, name)
            hover[f"class-{place}"] = [self._about(row) for row in rows]
        ax.set_yticks(range(len(names)), [shorten(name, 30) for name in reversed(names)])
        ax.set_ylim(-0.6, len(names) - 0.4)
        hide_spines(ax, "x", colours)
        set_percent_ticks(ax.xaxis, 5)
        ax.spines["left"].set_visible(False)
        share = f"share of “{shorten(shown[0])}” in the group" if len(shown) == 1 else "share of the group"
        ax.set(xlabel=share + self.left_out, ylabel="group")
        if len(shown) > 1:
            add_legend_below(ax)
        return hover

    def _draw_class(
        self, ax: Axes, rows: NDArray[np.int64], y: NDArray[np.float64], tint: str, place: int, name: str
    ) -> None:
        low, high = self.low[rows], self.high[rows]
        known = np.isfinite(low) & np.isfinite(high)
        ax.hlines(y[known], low[known], high[known], color=tint, linewidth=2, alpha=0.6)
        ax.scatter(self.shares[rows], y, 40, color=tint, label=shorten(name), gid=f"class-{place}", zorder=3)

    def _about(self, row: int) -> str:
        said = f"{self.groups[row]}: {self.classes[row]} {percent_text(self.shares[row])}"
        if not np.isfinite(self.low[row]):
            return said
        return f"{said}, 95 % interval {percent_text(self.low[row])} to {percent_text(self.high[row])}"


def _columns_as_lists(shares: Any) -> dict[str, list[Any]]:
    """The columns as lists, whatever they came in: a mapping, :class:`SharesByGroup`, or a frame."""
    if isinstance(shares, Mapping):
        table: Any = shares
    elif all(hasattr(shares, name) for name in ("groups", "outcomes", "shares", "intervals")):
        table = _read_result(shares)
    else:  # a frame, whose columns are names
        table = {name: shares[name] for name in getattr(shares, "columns", ())}
    found = {str(name): list(values) for name, values in table.items()}
    lacking = [name for name in ("group", "share") if name not in found]
    if not any(name in found for name in _CLASS_NAMES):
        lacking.append("class")
    if lacking:
        raise ValueError(
            f"the table of shares has no column {lacking[0]!r}: it needs group, class, share, and low and high if "
            f"there are intervals; it has {', '.join(found) or 'none'}"
        )
    return found


def _read_result(result: SharesByGroup) -> dict[str, list[Any]]:
    """One row for each group and outcome."""
    low, high = result.intervals or (np.full_like(result.shares, np.nan),) * 2
    return {
        "group": [group for group in result.groups for _ in result.outcomes],
        "class": list(result.outcomes) * len(result.groups),
        **{name: t.ravel().tolist() for name, t in (("share", result.shares), ("low", low), ("high", high))},
    }


def _shown_classes(of_row: Sequence[str], wanted: Sequence[Any] | None) -> list[str]:
    there = list(dict.fromkeys(of_row))
    if wanted is None:
        return there[1:] if len(there) == 2 else there[:_MOST_CLASSES]
    for name in wanted:
        if str(name) not in there:
            raise ValueError(f"the table of shares has no class {name!r}: it has {', '.join(there)}")
    return [str(name) for name in wanted]
