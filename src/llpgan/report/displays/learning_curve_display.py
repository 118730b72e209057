"""Curves of a training, epoch by epoch, or of the error against the number of bags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from llpgan.evaluation import LearningCurve
from llpgan.report.displays.drawing import DASHED, Display, Palette, axes_or_new, legend_below, quiet
from llpgan.training.epoch_choice import kept_epoch
from llpgan.utils.suggestions import did_you_mean

IN_WORDS = {
    "proportion_loss": "bags in training",
    "held_out_loss": "held-out bags",
    "real_loss": "classifier, on real instances",
    "fake_loss": "classifier, on generated ones",
    "generator_loss": "generator",
    "entropy": "entropy",
    "smoothness": "smoothness of predictions",
    "self_training_loss": "labels of its own",
}
NOT_CURVES = frozenset({"epoch", "seconds", "held_out_error"})
_LINES = ("-", "--", ":", "-.")
_MOST_HOVER = 200  # points of a curve that have a text
Points = tuple[tuple[float, float], ...]


@dataclass(eq=False, repr=False)  # a notebook shows the figure, not its arrays
class LearningCurveDisplay(Display):
    """Curves over epochs, or over the number of bags.

    Make one with :meth:`from_history` or :meth:`from_learning_curve`.

    Parameters
    ----------
    curves : mapping of str to tuple of (x, y)
        The points of each curve, by the name that the legend shows.
    x_name : str
        What x is.
    marked : float, default=None
        An x with a vertical line, such as the epoch whose weights were kept.
    deviations : mapping of str to sequence of float, default=<factory>
        The standard deviation at each point of a curve, if there is one.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> history = [{"epoch": 1, "proportion_loss": 0.7}, {"epoch": 2, "proportion_loss": 0.5}]
    >>> display = LearningCurveDisplay.from_history(history, ax=Figure().add_subplot())
    >>> display.curves
    {'bags in training': ((1, 0.7), (2, 0.5))}
    """

    curves: Mapping[str, Points]
    x_name: str
    marked: float | None = None
    deviations: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @classmethod
    def from_history(
        cls,
        history: Sequence[Mapping[str, float]] | Any,
        *,
        columns: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot what was measured in each epoch.

        Parameters
        ----------
        history : sequence of mapping, or estimator
            One mapping per epoch, such as ``model.history_``; or the fitted model that has it.
        columns : sequence of str, default=None
            What to plot; by default the losses of bags, in training and held out.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.

        Returns
        -------
        LearningCurveDisplay
        """
        return cls.of_history(history, columns).plot(ax)

    @classmethod
    def of_history(cls, history: Any, columns: Sequence[str] | None = None) -> Self:
        """Make the display of a training without drawing it.

        Parameters
        ----------
        history : estimator or list of dict
            A fitted deep estimator, or its ``history_``.
        columns : sequence of str, default=None
            The columns that are shown. None means all losses.

        Returns
        -------
        LearningCurveDisplay
            The display.
        """
        rows = getattr(history, "history_", history)
        if not isinstance(rows, Sequence) or not rows:
            raise ValueError(
                "there are no epochs to plot: give model.history_ of a method that learns in epochs, such as DLLP"
            )
        there = dict.fromkeys(name for row in rows for name in row if name not in NOT_CURVES)
        for name in columns or ():
            if name not in there:
                raise ValueError(f"the history has no column {name!r} (columns){did_you_mean(name, there)}")
        usual = [name for name in ("proportion_loss", "held_out_loss") if name in there] or list(there)[:1]
        curves = {
            IN_WORDS.get(name, name): tuple((row["epoch"], row[name]) for row in rows if name in row)
            for name in columns or usual
        }
        return cls(curves, "epoch", kept_epoch(rows))

    @classmethod
    def from_learning_curve(cls, curve: LearningCurve, *, ax: Axes | None = None) -> Self:
        """Plot the error on held-out bags against the number of bags in training, and the law through it.

        Parameters
        ----------
        curve : LearningCurve
            What :func:`llpgan.evaluation.learning_curve` found.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.

        Returns
        -------
        LearningCurveDisplay
        """
        return cls.of_learning_curve(curve).plot(ax)

    @classmethod
    def of_learning_curve(cls, curve: LearningCurve) -> Self:
        """Make the display of a learning curve without drawing it.

        Parameters
        ----------
        curve : LearningCurve
            The learning curve.

        Returns
        -------
        LearningCurveDisplay
            The display.
        """
        steps = curve.steps
        law = np.linspace(steps[0].n_bags, 2 * steps[-1].n_bags, 40).tolist()
        measured = "measured, ± one standard deviation"
        return cls(
            {
                measured: tuple((step.n_bags, step.error) for step in steps),
                "going on like this": tuple((n, curve.at(n)) for n in law),
            },
            "bags to learn from",
            deviations={measured: [step.sd for step in steps]},
        )

    def plot(self, ax: Axes | None = None, *, palette: Palette | None = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.
        palette : Palette, default=None
            The colours; those of matplotlib's current style by default.

        Returns
        -------
        LearningCurveDisplay
            Itself.
        """
        ax, colours = axes_or_new(ax), palette or Palette.of_matplotlib()
        hover: dict[str, list[str]] = {}
        for place, (name, points) in enumerate(self.curves.items()):
            hover[f"curve-{place}"] = self._draw(ax, name, points, colours, place)
        if self.marked is not None:
            ax.axvline(self.marked, color=colours.soft, linewidth=1, linestyle=DASHED, label="kept")
        quiet(ax, "y", colours)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(self.x_name)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.yaxis.set_major_locator(MaxNLocator(5))
        places = sorted({x for points in self.curves.values() for x, _ in points})
        if len(places) == 1:
            ax.set_xticks(places)
        if len(self.curves) > 1 or self.marked is not None:
            legend_below(ax)
        return self._drawn_on(ax, hover)

    def _draw(self, ax: Axes, name: str, points: Points, colours: Palette, place: int) -> list[str]:
        """A curve, and points that cannot be seen but have a text; after three colours the next kind of line."""
        colour, line = colours.series[place % 3], _LINES[place // 3 % len(_LINES)]
        x, y = np.array(points).T
        few = (len(points) < 12 and name in self.deviations) or len(points) < 3
        marker = "o" if few else None
        ax.plot(x, y, line, color=colour, label=name, linewidth=2, marker=marker, zorder=3 - 0.1 * place)
        if name in self.deviations:
            ax.errorbar(x, y, yerr=self.deviations[name], fmt="none", ecolor=colour, elinewidth=1.2, capsize=3)
        chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), _MOST_HOVER)).astype(np.int64))
        ax.scatter(x[chosen], y[chosen], 60, color=colour, alpha=0, linewidths=0, gid=f"curve-{place}", zorder=4)
        return [f"{name}: {y[i]:.4g} ({self.x_name}: {x[i]:,.0f})" for i in chosen]
