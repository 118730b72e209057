"""How often a classifier is right, against how sure it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation import CalibrationBin, label_scores
from llpgan.report.displays.drawing import DASHED, Display, Palette, axes_or_new, in_percent, percent, quiet


@dataclass(eq=False, repr=False)  # a notebook shows the figure, not its arrays
class ReliabilityDisplay(Display):
    """The accuracy of predictions against their confidence, in ten groups of instances.

    Make one with :meth:`from_estimator` or :meth:`from_predictions`; both need labels of instances.

    Parameters
    ----------
    bins : sequence of CalibrationBin
        Instances of which the classifier is about equally sure: how sure, how often right, how many.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> probabilities = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
    >>> display = ReliabilityDisplay.from_predictions(
    ...     ["no", "yes", "yes"], probabilities, classes=["no", "yes"], ax=Figure().add_subplot()
    ... )
    >>> [bin.n for bin in display.bins]
    [1, 1, 1]
    """

    bins: Sequence[CalibrationBin]

    @classmethod
    def from_estimator(cls, estimator: LLPClassifier, X: Any, y: ArrayLike, *, ax: Axes | None = None) -> Self:
        """Predict rows, and compare with their labels.

        Parameters
        ----------
        estimator : LLPClassifier
            A fitted model.
        X : rows
            In any form that ``predict_proba`` takes.
        y : array-like of shape (n_rows,)
            The true class of each row.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.

        Returns
        -------
        ReliabilityDisplay
        """
        return cls.from_predictions(y, estimator.predict_proba(X), classes=estimator.classes_, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_prob: ArrayLike, *, classes: ArrayLike, ax: Axes | None = None
    ) -> Self:
        """Compare predictions with labels.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            The true class of each row.
        y_prob : array-like of shape (n_rows, n_classes)
            The predicted probability of each class.
        classes : array-like of shape (n_classes,)
            The classes, in the order of the columns of ``y_prob``.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.

        Returns
        -------
        ReliabilityDisplay
        """
        return cls(label_scores(y_true, y_prob, classes).calibration).plot(ax)

    def plot(self, ax: Axes | None = None, *, palette: Palette | None = None) -> Self:
        """Draw one point for each group; its area is the group's share of the instances.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.
        palette : Palette, default=None
            The colours; those of matplotlib's current style by default.

        Returns
        -------
        ReliabilityDisplay
            Itself.
        """
        ax, colours = axes_or_new(ax), palette or Palette.of_matplotlib()
        sure, right, n = np.array(self.bins, dtype=np.float64).T
        low = min(sure.min(), right.min()) - 0.05
        ax.plot([low, 1], [low, 1], color=colours.soft, linewidth=1, linestyle=DASHED)
        ax.plot(sure, right, color=colours.blue, linewidth=1.2)
        areas = 24 + 180 * n / n.max()
        ax.scatter(sure, right, areas, color=colours.blue, linewidths=0, alpha=0.75, gid="groups")
        ax.set(xlabel="how sure the classifier is", ylabel="how often it is right", aspect="equal")
        ax.set(xlim=(low, 1.03), ylim=(low, 1.03))
        quiet(ax, "both", colours)
        for axis in (ax.xaxis, ax.yaxis):
            in_percent(axis, 5)
        return self._drawn_on(
            ax,
            {
                "groups": [
                    f"{b.n:,} instances: sure {percent(b.confidence)}, right {percent(b.accuracy)}"
                    for b in self.bins
                ]
            },
        )
