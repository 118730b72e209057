"""Shares of classes by group, with intervals, as a plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from llpgan.report.displays.drawing import Display, Palette, axes_or_new, in_percent, legend_below, percent, quiet
from llpgan.report.short_names import shorten

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

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.

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

    @classmethod
    def from_shares(cls, shares: Any, *, classes: Sequence[Any] | None = None, ax: Axes | None = None) -> Self:
        """Plot a table of shares by group.

        Parameters
        ----------
        shares : mapping of columns, frame, or SharesByGroup
            A table has the columns ``group``, ``class`` (or ``outcome``) and ``share``; and ``low`` and ``high``,
            the ends of the intervals, if there are any.
        classes : sequence, default=None
            The classes that are shown; by default the second of two, and all of more.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.

        Returns
        -------
        GroupSharesDisplay
        """
        return cls.of(shares, classes).plot(ax)

    @classmethod
    def of(cls, shares: Any, classes: Sequence[Any] | None = None) -> Self:
        """Make the display of group shares without drawing it.

        Parameters
        ----------
        shares : GroupShares or table
            The shares.
        classes : sequence, default=None
            The classes that are shown. None means all of them.

        Returns
        -------
        GroupSharesDisplay
            The display.
        """
        table = _columns(shares)
        of_row = [str(name) for name in table[next(name for name in _CLASS_NAMES if name in table)]]
        wanted = _shown_classes(of_row, classes)
        kept = [row for row, name in enumerate(of_row) if name in wanted]
        none = [None] * len(of_row)
        numbers = {
            name: np.array([table.get(name, none)[row] for row in kept], dtype=np.float64)
            for name in ("share", "low", "high")
        }
        groups = [_text(table["group"][row]) for row in kept]
        return cls(groups, [of_row[row] for row in kept], numbers["share"], numbers["low"], numbers["high"])

    def plot(self, ax: Axes | None = None, *, palette: Palette | None = None) -> Self:
        """Draw one point and one interval for each group and class.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.
        palette : Palette, default=None
            The colours; those of matplotlib's current style by default.

        Returns
        -------
        GroupSharesDisplay
            Itself.
        """
        ax, colours = axes_or_new(ax), palette or Palette.of_matplotlib()
        names = list(dict.fromkeys(self.groups))
        height = {name: len(names) - 1 - place for place, name in enumerate(names)}
        shown = list(dict.fromkeys(self.classes))
        step = min(0.22, 0.7 / len(shown))
        hover = {}
        for place, name in enumerate(shown):
            rows = np.array([row for row, of_row in enumerate(self.classes) if of_row == name])
            y = np.array([height[self.groups[row]] for row in rows]) - step * (place - (len(shown) - 1) / 2)
            self._draw(ax, rows, y, _tints(colours)[place % _MOST_CLASSES], place, name)
            hover[f"class-{place}"] = [self._about(row) for row in rows]
        ax.set_yticks(range(len(names)), [shorten(name, 30) for name in reversed(names)])
        ax.set_ylim(-0.6, len(names) - 0.4)
        quiet(ax, "x", colours)
        in_percent(ax.xaxis, 5)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(f"share of “{shorten(shown[0])}” in the group" if len(shown) == 1 else "share of the group")
        if len(shown) > 1:
            legend_below(ax)
        return self._drawn_on(ax, hover)

    def _draw(
        self, ax: Axes, rows: NDArray[np.int64], y: NDArray[np.float64], tint: str, place: int, name: str
    ) -> None:
        low, high = self.low[rows], self.high[rows]
        known = np.isfinite(low) & np.isfinite(high)
        ax.hlines(y[known], low[known], high[known], color=tint, linewidth=2, alpha=0.6)
        ax.scatter(self.shares[rows], y, 40, color=tint, label=shorten(name), gid=f"class-{place}", zorder=3)

    def _about(self, row: int) -> str:
        said = f"{self.groups[row]}: {self.classes[row]} {percent(self.shares[row])}"
        if not np.isfinite(self.low[row]):
            return said
        return f"{said}, 95 % interval {percent(self.low[row])} to {percent(self.high[row])}"


def _columns(shares: Any) -> dict[str, list[Any]]:
    """The columns as lists, whatever they came in: a mapping, :class:`SharesByGroup`, or a frame."""
    if isinstance(shares, Mapping):
        table: Any = shares
    elif all(hasattr(shares, name) for name in ("groups", "outcomes", "shares", "intervals")):
        table = _of_result(shares)
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


def _of_result(result: SharesByGroup) -> dict[str, list[Any]]:
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


def _text(group: Any) -> str:
    parts = group if isinstance(group, tuple) else (group,)
    return ", ".join("missing" if part is None else str(part) for part in parts)


def _tints(colours: Palette) -> tuple[str, ...]:
    return (*colours.series, colours.soft, colours.ink, colours.line)
