"""Drawing that displays share: axes, colours, and names that do not overlap."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from inspect import isfunction
from itertools import product
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from llpgan.utils.arrays import Array
from llpgan.utils.messages import did_you_mean, fill_docstring

DASHED = (0, (4, 3))


#: Entries of parameters that several displays have; {ax} in a docstring stands for one.
_ENTRIES = {
    "estimator": (
        "estimator : LLPClassifier",
        "A fitted model.",
    ),
    "X": (
        "X : rows",
        "In any form that ``predict_proba`` takes.",
    ),
    "y": (
        "y : array-like of shape (n_rows,)",
        "The true class of each row.",
    ),
    "y_true": (
        "y_true : array-like of shape (n_rows,)",
        "The true class of each row.",
    ),
    "y_prob": (
        "y_prob : array-like of shape (n_rows, n_classes)",
        "The predicted probability of each class.",
    ),
    "classes": (
        "classes : array-like of shape (n_classes,)",
        "The classes, in the order of the columns of ``y_prob``.",
    ),
    "threshold": (
        "threshold : float or mapping of class to float, default=None",
        "The probability from which a class is predicted, as in ``predict``.",
    ),
    "sample_weight": (
        "sample_weight : array-like of shape (n_rows,), default=None",
        "How much each row counts. None means that all rows count the same.",
    ),
    "ax": (
        "ax : matplotlib.axes.Axes, default=None",
        "The axes to draw on; those of a new figure by default.",
    ),
    "palette": (
        "palette : Palette, default=None",
        "The colours; those of matplotlib's current style by default.",
    ),
}
_PLACEHOLDERS = re.compile(r"^( *)\{([\w, ]+)\}$", re.MULTILINE)


@dataclass(frozen=True)
class Palette:
    """The colours of a plot.

    Attributes
    ----------
    ink, soft, line, card : str
        Of text, of what is in the background, of grid lines, and of the background.
    blue, orange, green : str
        Of data; orange is for what matters most.
    """

    ink: str
    soft: str
    line: str
    card: str
    blue: str = "#0b6aa8"
    orange: str = "#d55e00"
    green: str = "#00875f"

    @classmethod
    def from_matplotlib(cls) -> Self:
        """Text and background as matplotlib's current style has them, so that dark styles work."""
        return cls(rcParams["text.color"], "#7f7f7f", "#7f7f7f40", rcParams["axes.facecolor"])

    @property
    def series(self) -> tuple[str, str, str]:
        """The colours of several curves."""
        return self.blue, self.orange, self.green


class Display:
    """A result that can be drawn. Each kind implements ``_draw``.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.
    hover_ : dict of str to list of str
        For each artist that has a ``gid``, the text of each of its points, in their order.
    """

    ax_: Axes
    figure_: Figure
    hover_: dict[str, list[str]]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.__doc__ = fill_docstring(cls)
        for member in vars(cls).values():
            function = getattr(member, "__func__", member)
            if isfunction(function) and function.__doc__:
                function.__doc__ = _PLACEHOLDERS.sub(_write_entries, function.__doc__)

    def plot(self, ax: Axes | None = None, *, palette: Palette | None = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None means new axes.
        palette : Palette, default=None
            The colours. None means those of matplotlib's current style.

        Returns
        -------
        Self
            The display, with its axes in ``ax_``.
        """
        ax = axes_or_new(ax)
        return self._drawn_on(ax, self._draw(ax, palette or Palette.from_matplotlib()))

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """Draw on these axes, and return the texts of marks."""
        raise NotImplementedError(f"{type(self).__name__} is drawn by its own plot")

    def _drawn_on(self, ax: Axes, hover: dict[str, list[str]]) -> Self:
        self.ax_, self.hover_ = ax, hover
        self.figure_ = ax.get_figure(root=True)  # type: ignore[assignment]
        return self


def _write_entries(placeholder: re.Match[str]) -> str:
    """The entries of a placeholder, such as {estimator, ax}, each on two lines."""
    margin, names = placeholder.groups()
    entries = (_ENTRIES[name] for name in names.split(", "))
    return "\n".join(f"{margin}{head}\n{margin}    {text}" for head, text in entries)


def axes_or_new(ax: Axes | None) -> Axes:
    """The axes that are given, or those of a new figure of pyplot."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def class_place(class_name: Hashable | None, classes: list[Hashable]) -> int:
    """The place of a class among all; without a name, the last."""
    if class_name is None:
        return len(classes) - 1
    if class_name not in classes:
        raise ValueError(f"there is no class {class_name!r} (class_name){did_you_mean(class_name, classes)}")
    return classes.index(class_name)


def set_percent_ticks(axis: Axis, steps: int, *, are_shares: bool = True) -> None:
    """Ticks in per cent: about so many. Those of shares are from 0 to 100 %; differences may be negative."""
    axis.set_major_locator(_ShareLocator(steps) if are_shares else MaxNLocator(steps))
    axis.set_major_formatter(PercentFormatter(1, decimals=0))


class _ShareLocator(MaxNLocator):
    """Ticks from 0 to 1, however far the axis goes."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        ticks = np.asarray(super().tick_values(vmin, vmax))
        return ticks[(ticks > -1e-9) & (ticks < 1 + 1e-9)]


def percent_text(share: float) -> str:
    """A share in text, with one decimal.

    >>> percent_text(0.1234)
    '12.3 %'
    """
    return f"{100 * share:.1f} %"


def hide_spines(ax: Axes, grid: Literal["x", "y", "both"], palette: Palette) -> None:
    """A grid behind the data, no tick marks, and no frame above and to the right."""
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=palette.line)
    ax.tick_params(length=0)
    ax.spines[["top", "right"]].set_visible(False)


def add_legend_below(ax: Axes) -> None:
    """A legend under the axes, where it covers nothing."""
    ax.legend(loc="upper left", bbox_to_anchor=(0, -0.16), borderaxespad=0.6, frameon=False, handlelength=1.6)


_ANGLES = np.deg2rad([30, 150, 210, 330, 60, 120, 240, 300, 0, 180, 78, 102, 258, 282])
_REACHES = (0.06, 0.10, 0.15, 0.21, 0.28)
_RING = 0.016
_COSTS = {"outside": 100.0, "name": 50.0, "line": 25.0, "ring": 20.0, "point": 1.0, "crossing": 0.7, "reach": 9.0}


class Box(NamedTuple):
    """A rectangle in units of the axes, which are a square from 0 to 1."""

    left: float
    bottom: float
    right: float
    top: float

    def covers(self, other: Box) -> bool:
        """Whether the two overlap."""
        apart = self.left >= other.right or other.left >= self.right
        return not (apart or self.bottom >= other.top or other.bottom >= self.top)

    def holds(self, points: Array) -> Array:
        """Which points lie inside."""
        x, y = points[..., 0], points[..., 1]
        return (x > self.left) & (x < self.right) & (y > self.bottom) & (y < self.top)


class Placed(NamedTuple):
    """A name's box, and the line from the point's ring to it."""

    box: Box
    line: Array


def place_names(points: Array, sizes: Sequence[tuple[float, float]], others: Array) -> list[Placed]:
    """A place for each name, one after the other, that is cheap given the places before.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        The points to be named, in units of the axes.
    sizes : sequence of (width, height)
        Of the names, in the same units.
    others : ndarray of shape (m, 2)
        All points, which a name should not hide.

    Returns
    -------
    list of Placed

    Examples
    --------
    >>> two = place_names(np.array([[0.5, 0.5], [0.52, 0.5]]), [(0.2, 0.04)] * 2, np.empty((0, 2)))
    >>> two[0].box.covers(two[1].box)
    False
    """
    placed: list[Placed] = []
    for point, size in zip(points, sizes, strict=True):
        candidates = [_candidate(point, size, *where) for where in product(_REACHES, _ANGLES)]
        placed.append(min(candidates, key=lambda place: _cost(place, placed, points, others)))
    return placed


def _candidate(point: Array, size: tuple[float, float], reach: float, angle: float) -> Placed:
    """A name whose nearer end is at this distance and angle."""
    way = np.array([np.cos(angle), np.sin(angle)])
    end = point + reach * way
    left = end[0] if way[0] > 0 else end[0] - size[0]
    box = Box(left, end[1] - size[1] / 2, left + size[0], end[1] + size[1] / 2)
    return Placed(box, np.array([point + _RING * way, end]))


def _cost(place: Placed, placed: Sequence[Placed], named: Array, others: Array) -> float:
    box, line = place
    steps = np.linspace(line[0], line[1], 24)
    cost = _COSTS["outside"] * float(box.left < 0 or box.right > 1.04 or box.bottom < 0.02 or box.top > 0.99)
    cost += _COSTS["reach"] * float(np.linalg.norm(line[1] - line[0]))
    cost += _COSTS["ring"] * float(_enlarge_box(box, _RING).holds(named).sum())
    cost += _COSTS["point"] * float(_enlarge_box(box, 0.01).holds(others).sum()) if len(others) else 0.0
    if len(others):  # how many points the line touches
        apart = np.abs(steps[4:, None] - others[None]).max(axis=2)
        cost += _COSTS["crossing"] * int((apart < _RING / 2).any(axis=0).sum())
    for other in placed:
        cost += _COSTS["name"] * box.covers(_enlarge_box(other.box, 0.008))
        cost += _COSTS["line"] * bool(
            _enlarge_box(box, 0.006).holds(np.linspace(other.line[0], other.line[1], 24)).any()
        )
        cost += _COSTS["line"] * bool(_enlarge_box(other.box, 0.006).holds(steps).any())
        cost += _COSTS["line"] * _cross(line, other.line)
    return cost


def _enlarge_box(box: Box, by: float) -> Box:
    return Box(box.left - by, box.bottom - by, box.right + by, box.top + by)


def _cross(line: Array, other: Array) -> bool:
    """Whether two segments cross: each has the other's ends on both sides."""
    return _is_left(line, other[0]) != _is_left(line, other[1]) and _is_left(other, line[0]) != _is_left(
        other, line[1]
    )


def _is_left(line: Array, point: Array) -> bool:
    (x0, y0), (x1, y1) = line
    return bool((x1 - x0) * (point[1] - y0) > (y1 - y0) * (point[0] - x0))


def shorten(name: object, most: int = 18) -> str:
    r"""A name that fits a plot: on one line, and cut if it is long.

    Parameters
    ----------
    name : object
        Any name; it is written as ``str`` writes it.
    most : int, default=18
        How many characters remain.

    Returns
    -------
    str

    Examples
    --------
    >>> shorten("a name that goes on"), shorten("two\nlines")
    ('a name that goes…', 'two lines')
    """
    line = " ".join(str(name).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
