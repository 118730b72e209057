"""Methods compared on held-out bags, as a plot."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from llpgan.evaluation.selection import Comparison, Result
from llpgan.evaluation.selection.candidates import OVERALL
from llpgan.evaluation.selection.comparison_view import SCORES_IN_WORDS
from llpgan.report.displays.drawing import Display, Palette, axes_or_new, quiet
from llpgan.report.short_names import shorten


@dataclass(eq=False, repr=False)  # a notebook shows the figure, not its arrays
class ComparisonDisplay(Display):
    """The score of each method on held-out bags, the best on top.

    Make one with :meth:`from_comparison`.

    Parameters
    ----------
    results : sequence of Result
        Of the methods that were judged, the best first.
    chosen : str
        The method that was chosen.
    score_name : str
        What the score is.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from llpgan import Bags
    >>> from llpgan.evaluation.selection import compare
    >>> X = np.arange(80.0)[:, None] % 40
    >>> found = compare(Bags.from_labels(X, X[:, 0] >= 20, np.arange(80) // 8), ["MeanMap"], cv=2)
    >>> display = ComparisonDisplay.from_comparison(found, ax=Figure().add_subplot())
    >>> display.chosen
    'MeanMap'
    """

    results: Sequence[Result]
    chosen: str
    score_name: str

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Axes | None = None) -> Self:
        """Plot what :func:`llpgan.evaluation.selection.compare` found.

        Parameters
        ----------
        comparison : Comparison
            What it returned.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.

        Returns
        -------
        ComparisonDisplay
        """
        return cls.of(comparison).plot(ax)

    @classmethod
    def of(cls, comparison: Comparison) -> Self:
        """Make the display of a comparison without drawing it.

        Parameters
        ----------
        comparison : Comparison
            The comparison.

        Returns
        -------
        ComparisonDisplay
            The display.
        """
        judged = [result for result in comparison.results if result.score is not None]
        return cls(judged, comparison.chosen, SCORES_IN_WORDS[comparison.score])

    def plot(self, ax: Axes | None = None, *, palette: Palette | None = None) -> Self:
        """Draw one point for each method, with the standard error of its difference from the best.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.
        palette : Palette, default=None
            The colours; those of matplotlib's current style by default.

        Returns
        -------
        ComparisonDisplay
            Itself.
        """
        ax, colours = axes_or_new(ax), palette or Palette.of_matplotlib()
        shown = list(self.results)[::-1]
        scores = [result.score or 0.0 for result in shown]
        errors = [result.error or 0.0 for result in shown]
        tints = [self._colour(result, colours) for result in shown]
        for place, tint in enumerate(tints):
            ax.errorbar(scores[place], place, xerr=errors[place], fmt="none", ecolor=tint, capsize=3)
        ax.scatter(scores, np.arange(len(shown)), 44, color=tints, gid="methods", zorder=3)
        ax.set_yticks(np.arange(len(shown)), [shorten(result.name, 30) for result in shown])
        ax.set_ylim(-0.6, len(shown) - 0.4)
        ax.set_xlabel(f"{self.score_name}\n(lower is better; orange: chosen)")
        quiet(ax, "x", colours)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.spines["left"].set_visible(False)
        return self._drawn_on(ax, {"methods": [_about(result) for result in shown]})

    def _colour(self, result: Result, colours: Palette) -> str:
        if result.name == self.chosen:
            return colours.orange
        return colours.soft if result.name == OVERALL else colours.blue


def _about(result: Result) -> str:
    return f"{result.name}: {result.score:.4f}, worse than the best by {result.worse_by:.4f} ± {result.error:.4f}"
