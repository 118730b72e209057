"""Plots in scikit-learn's way: a result and an ``ax`` in, a display out, with ``ax_`` and ``figure_``."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import kept_epoch
from llpgan.evaluation import BagCalibration, LearningCurve, estimate_calibration, label_scores
from llpgan.evaluation.compare import OVERALL, SCORES_IN_WORDS, Comparison, Result
from llpgan.evaluation.scores import CalibrationBin, bag_scores
from llpgan.methods.base import LLPClassifier
from llpgan.report.drawing import (
    DASHED,
    Display,
    Palette,
    add_legend_below,
    axes_or_new,
    class_place,
    hide_spines,
    percent_text,
    place_names,
    set_percent_ticks,
    shorten,
)
from llpgan.report.effects import GroupSharesDisplay
from llpgan.utils.arrays import Array
from llpgan.utils.messages import did_you_mean
from llpgan.utils.old_names import OldName

__all__ = [
    "ComparisonDisplay",
    "ConfusionDisplay",
    "GroupSharesDisplay",
    "LearningCurveDisplay",
    "ProportionDisplay",
    "ReliabilityDisplay",
]


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
    {inherited}

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from llpgan import Bags
    >>> from llpgan.evaluation.compare import compare
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
        """Plot what :func:`llpgan.evaluation.compare.compare` found.

        Parameters
        ----------
        comparison : Comparison
            What it returned.
        {ax}

        Returns
        -------
        ComparisonDisplay
        """
        return cls.prepare(comparison).plot(ax)

    of = OldName("prepare")

    @classmethod
    def prepare(cls, comparison: Comparison) -> Self:
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

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """Draw one point for each method, with the standard error of its difference from the best."""
        shown = list(self.results)[::-1]
        scores = [result.score or 0.0 for result in shown]
        errors = [result.error or 0.0 for result in shown]
        special = {self.chosen: colours.orange, OVERALL: colours.soft}
        tints = [special.get(result.name, colours.blue) for result in shown]
        for place, tint in enumerate(tints):
            ax.errorbar(scores[place], place, xerr=errors[place], fmt="none", ecolor=tint, capsize=3)
        ax.scatter(scores, np.arange(len(shown)), 44, color=tints, gid="methods", zorder=3)
        ax.set_yticks(np.arange(len(shown)), [shorten(result.name, 30) for result in shown])
        ax.set_ylim(-0.6, len(shown) - 0.4)
        ax.set(xlabel=f"{self.score_name}\n(lower is better; orange: chosen)", ylabel="method")
        hide_spines(ax, "x", colours)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.spines["left"].set_visible(False)
        return {"methods": [_about(result) for result in shown]}


def _about(result: Result) -> str:
    return f"{result.name}: {result.score:.4f}, worse than the best by {result.worse_by:.4f} ± {result.error:.4f}"


IN_WORDS = {
    "proportion_loss": "bags in training",
    "held_out_loss": "held-out bags",
    "real_loss": "classifier, on real instances",
    "fake_loss": "classifier, on generated ones",
    "generator_loss": "generator",
    "entropy": "entropy",
    "smoothness": "smoothness of predictions",
    "self_training_loss": "pseudo-labels",
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
    y_name : str, default="loss"
        What y is.

    Attributes
    ----------
    {inherited}

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
    y_name: str = "loss"

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
        {ax}

        Returns
        -------
        LearningCurveDisplay
        """
        return cls.prepare_history(history, columns).plot(ax)

    of_history = OldName("prepare_history")

    @classmethod
    def prepare_history(cls, history: Any, columns: Sequence[str] | None = None) -> Self:
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
        is_loss = all(name in IN_WORDS for name in columns or usual)
        y_name = "loss" if is_loss or not columns else ", ".join(columns).replace("_", " ")
        return cls(curves, "epoch", kept_epoch(rows), y_name=y_name)

    @classmethod
    def from_learning_curve(cls, curve: LearningCurve, *, ax: Axes | None = None) -> Self:
        """Plot the error on held-out bags against the number of bags in training, and the law through it.

        Parameters
        ----------
        curve : LearningCurve
            What :func:`llpgan.evaluation.inspect` found.
        {ax}

        Returns
        -------
        LearningCurveDisplay
        """
        return cls.prepare_learning_curve(curve).plot(ax)

    of_learning_curve = OldName("prepare_learning_curve")

    @classmethod
    def prepare_learning_curve(cls, curve: LearningCurve) -> Self:
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
                "extrapolated": tuple((n, curve.at(n)) for n in law),
            },
            "bags to learn from",
            deviations={measured: [step.sd for step in steps]},
            y_name="bag error on held-out bags",
        )

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """Draw the curves."""
        hover: dict[str, list[str]] = {}
        for place, (name, points) in enumerate(self.curves.items()):
            hover[f"curve-{place}"] = self._draw_curve(ax, name, points, colours, place)
        if self.marked is not None:
            ax.axvline(self.marked, color=colours.soft, linewidth=1, linestyle=DASHED, label="kept")
        hide_spines(ax, "y", colours)
        ax.spines["left"].set_visible(False)
        ax.set(xlabel=self.x_name, ylabel=self.y_name)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.yaxis.set_major_locator(MaxNLocator(5))
        places = sorted({x for points in self.curves.values() for x, _ in points})
        if len(places) == 1:
            ax.set_xticks(places)
        if len(self.curves) > 1 or self.marked is not None:
            add_legend_below(ax)
        return hover

    def _draw_curve(self, ax: Axes, name: str, points: Points, colours: Palette, place: int) -> list[str]:
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


_LETTER = 0.56  # the width of a letter, relative to its height


@dataclass(eq=False, repr=False)  # a notebook shows the figure, not its arrays
class ProportionDisplay(Display):
    """The given share of a class in each bag against the predicted one.

    Make one with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    given : ndarray of shape (n_bags,)
        The given share of the class in each bag.
    predicted : ndarray of shape (n_bags,)
        The mean over the bag of the predicted probability of the class.
    sizes : ndarray of shape (n_bags,)
        How many instances each bag has, or the sum of their weights.
    bag_names : sequence of hashable
        The names of the bags.
    class_name : hashable
        The name of the class.

    Attributes
    ----------
    {inherited}

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from llpgan import Bags, MeanMap
    >>> X, groups = np.arange(40.0)[:, None] % 20, np.arange(40) // 8
    >>> bags = Bags.from_labels(X, np.where(X[:, 0] > 9, "yes", "no"), groups)
    >>> model = MeanMap().fit_bags(bags)
    >>> display = ProportionDisplay.from_estimator(model, bags, ax=Figure().add_subplot())
    >>> display.class_name, display.ax_.get_xlabel()
    ('yes', 'given share of “yes”')
    """

    given: NDArray[np.float64]
    predicted: NDArray[np.float64]
    sizes: NDArray[Any]
    bag_names: Sequence[Hashable]
    class_name: Hashable

    @classmethod
    def from_estimator(
        cls,
        estimator: LLPClassifier,
        bags: Bags,
        *,
        class_name: Hashable | None = None,
        n_named: int = 5,
        ax: Axes | None = None,
    ) -> Self:
        """Predict the instances of bags, and plot the shares.

        Parameters
        ----------
        {estimator}
        bags : Bags
            Those that it was trained on, or others of the same classes.
        class_name : hashable, default=None
            The class whose shares are shown; the last one by default.
        n_named : int, default=5
            How many of the bags that are missed by most are named.
        {ax}

        Returns
        -------
        ProportionDisplay
        """
        return cls.from_predictions(
            bags, estimator.predict_proba(bags), class_name=class_name, n_named=n_named, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        bags: Bags,
        probabilities: ArrayLike,
        *,
        class_name: Hashable | None = None,
        n_named: int = 5,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the shares of bags whose instances have predictions already.

        Parameters
        ----------
        bags : Bags
            With their proportions.
        probabilities : array-like of shape (n_instances, n_classes)
            Of each class for each instance.
        class_name : hashable, default=None
            The class whose shares are shown.
        n_named : int, default=5
            The number of bags that are named: those with the largest errors.
        {ax}

        Returns
        -------
        ProportionDisplay
        """
        k = class_place(class_name, bags.classes.tolist())
        scores = bag_scores(bags, probabilities)
        given, predicted = scores.given[:, k], scores.predicted[:, k]
        shown = cls(given, predicted, bags.shown_sizes, bags.bag_ids, bags.classes.tolist()[k])
        return shown.plot(ax, n_named=n_named)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_named: int = 5,
        largest: float = 160.0,
        palette: Palette | None = None,
    ) -> Self:
        """Draw one point for each bag.

        Parameters
        ----------
        {ax}
        n_named : int, default=5
            How many of the bags that are missed by most are named.
        largest : float, default=160.0
            The area of the largest bag's point, in square points.
        {palette}

        Returns
        -------
        ProportionDisplay
            Itself.
        """
        ax, colours = axes_or_new(ax), palette or Palette.from_matplotlib()
        shares = np.concatenate([self.given, self.predicted])
        room = 0.04 + 0.06 * float(np.ptp(shares))  # within 0 and 1 up to a point's width
        low, high = max(-0.04, float(shares.min()) - room), min(1.04, float(shares.max()) + room)
        ax.plot([low, high], [low, high], color=colours.soft, linewidth=1, linestyle=DASHED)
        areas = np.maximum(largest * self.sizes / self.sizes.max(), largest / 12)
        ax.scatter(self.given, self.predicted, areas, color=colours.blue, alpha=0.55, linewidths=0, gid="bags")
        ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        ax.set(xlabel=f"given share of “{shorten(self.class_name)}”", ylabel="predicted share")
        hide_spines(ax, "both", colours)
        for axis in (ax.xaxis, ax.yaxis):
            set_percent_ticks(axis, 4)
        hover = {"bags": [self._about(bag) for bag in range(len(self.given))]}
        if n_named:
            worst = np.abs(self.given - self.predicted).argsort(kind="stable")[::-1][:n_named]
            self._name(ax, worst, colours)
            hover["rings"] = [self._about(int(bag)) for bag in worst]
        return self._drawn_on(ax, hover)

    def _about(self, bag: int) -> str:
        return (
            f"{shorten(self.bag_names[bag], 60)}: given {percent_text(self.given[bag])}, predicted "
            f"{percent_text(self.predicted[bag])}, {self.sizes[bag]:,.0f} instances"
        )

    def _name(self, ax: Axes, bags: Array, colours: Palette) -> None:
        """A ring around each of these points, and its name."""
        low, high = ax.get_xlim()
        points = (np.column_stack([self.given, self.predicted]) - low) / (high - low)
        text, side_length = float(ax.xaxis.label.get_fontsize()), _axes_side(ax)
        names = [shorten(self.bag_names[bag], 24) for bag in bags]
        sizes = [((len(name) + 1) * _LETTER * text / side_length, 1.15 * text / side_length) for name in names]
        ax.scatter(
            self.given[bags],
            self.predicted[bags],
            40,
            facecolors="none",
            edgecolors=colours.orange,
            linewidths=1.5,
            gid="rings",
        )
        diagonal = np.repeat(np.linspace(0, 1, 60)[:, None], 2, axis=1)
        placed = place_names(points[bags], sizes, np.vstack([points, diagonal]))
        for bag, name, place in zip(bags, names, placed, strict=True):
            ax.plot(*(low + (high - low) * place.line).T, color=colours.orange, linewidth=0.8)
            end, leftwards = low + (high - low) * place.line[1], place.line[1][0] > place.box.left + 1e-9
            written = f"{name} " if leftwards else f" {name}"
            side: Literal["left", "right"] = "right" if leftwards else "left"
            shown = ax.text(end[0], end[1], written, ha=side, va="center", fontsize=text, color=colours.ink)
            shown.set_gid(f"named-{bag}")


def _axes_side(ax: Axes) -> float:
    """About how many points the axes are wide and high: they are a square, with labels next to it."""
    figure, place = ax.get_figure(root=True), ax.get_position()
    assert figure is not None
    width, height = 72 * figure.get_size_inches()
    return float(max(60.0, min(width * place.width, height * place.height)))


@dataclass(eq=False, repr=False)  # a notebook shows the figure, not its arrays
class ReliabilityDisplay(Display):
    """The accuracy of predictions against their confidence, in ten groups of instances.

    Make one with :meth:`from_estimator` or :meth:`from_predictions`, which need labels of instances, or with
    :meth:`from_bags`, which needs held-out random bags.

    Parameters
    ----------
    bins : sequence of CalibrationBin
        Instances of which the classifier is about equally sure: how sure, how often right, how many.
    errors : sequence of float, default=()
        The standard errors of the accuracies, if they are estimates from bags.

    Attributes
    ----------
    {inherited}

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
    errors: Sequence[float] = ()

    @classmethod
    def from_bags(cls, estimator: LLPClassifier, bags: Bags, *, ax: Axes | None = None) -> Self:
        """Estimate the accuracy of each group of instances from random bags, without labels.

        Parameters
        ----------
        {estimator}
        bags : Bags
            Random bags that the model was not trained on.
        {ax}

        Returns
        -------
        ReliabilityDisplay
            The display, with 95 % intervals.
        """
        found = estimate_calibration(bags, estimator.predict_proba(bags))
        return cls.prepare_bags(found, int(bags.is_counted.sum())).plot(ax)

    @classmethod
    def prepare_bags(cls, found: BagCalibration, n_rows: int) -> Self:
        """Make the display of a calibration that was estimated from bags, without drawing it.

        Parameters
        ----------
        found : BagCalibration
            What :func:`llpgan.evaluation.estimate_calibration` returns.
        n_rows : int
            The number of rows in the bags.

        Returns
        -------
        ReliabilityDisplay
            The display.
        """
        numbers = np.rint(found.shares * n_rows).astype(int).tolist()
        groups = zip(found.confidences.tolist(), found.accuracies.tolist(), numbers, strict=True)
        return cls([CalibrationBin(*group) for group in groups], found.errors.tolist())

    @classmethod
    def from_estimator(
        cls,
        estimator: LLPClassifier,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Predict rows, and compare with their labels.

        Parameters
        ----------
        {estimator, X, y, sample_weight, ax}

        Returns
        -------
        ReliabilityDisplay
        """
        found = estimator.predict_proba(X)
        return cls.from_predictions(y, found, classes=estimator.classes_, sample_weight=sample_weight, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compare predictions with labels.

        Parameters
        ----------
        {y_true, y_prob, classes, sample_weight, ax}

        Returns
        -------
        ReliabilityDisplay
        """
        return cls(label_scores(y_true, y_prob, classes, sample_weight).calibration).plot(ax)

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """Draw one point for each group; its area is the group's share of the instances."""
        sure, right, n = np.array(self.bins, dtype=np.float64).T
        errors = 1.96 * np.array(self.errors)
        low, high = np.clip([right - errors, right + errors], 0, 1) if self.errors else (right, right)
        right = np.clip(right, 0, 1)  # estimates from bags may lie outside
        start = min(sure.min(), low.min()) - 0.05
        ax.plot([start, 1], [start, 1], color=colours.soft, linewidth=1, linestyle=DASHED)
        if self.errors:
            ax.vlines(sure, low, high, color=colours.blue, linewidth=1.5, alpha=0.6)
        else:
            ax.plot(sure, right, color=colours.blue, linewidth=1.2)
        areas = 24 + 180 * n / n.max()
        ax.scatter(sure, right, areas, color=colours.blue, linewidths=0, alpha=0.75, gid="groups")
        ax.set(xlabel="confidence", ylabel="accuracy", aspect="equal")
        ax.set(xlim=(start, 1.03), ylim=(start, 1.03))
        hide_spines(ax, "both", colours)
        for axis in (ax.xaxis, ax.yaxis):
            set_percent_ticks(axis, 5)
        texts = [
            f"{b.n:,} instances: confidence {percent_text(b.confidence)}, accuracy {percent_text(b.accuracy)}"
            for b in self.bins
        ]
        if self.errors:
            ends = zip(texts, low, high, strict=True)
            texts = [f"{text} ({percent_text(a)} to {percent_text(b)})" for text, a, b in ends]
        return {"groups": texts}


@dataclass(eq=False, repr=False)  # a notebook shows the figure, not its arrays
class ConfusionDisplay(Display):
    """The number of rows of each true class with each predicted class.

    Make one with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    confusion : ndarray of shape (n_classes, n_classes)
        The counts, or sums of weights, with true classes in rows and predicted classes in columns.
    classes : sequence
        The names of the classes.

    Attributes
    ----------
    {inherited}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> probabilities = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
    >>> display = ConfusionDisplay.from_predictions(
    ...     ["no", "yes", "yes"], probabilities, classes=["no", "yes"], ax=Figure().add_subplot()
    ... )
    >>> display.confusion.tolist()
    [[1, 0], [1, 1]]
    """

    confusion: NDArray[Any]
    classes: Sequence[Any]

    @classmethod
    def from_estimator(
        cls,
        estimator: LLPClassifier,
        X: Any,
        y: ArrayLike,
        *,
        threshold: float | Mapping[Any, float] | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Predict rows, and compare with their labels.

        Parameters
        ----------
        {estimator, X, y, threshold, sample_weight, ax}

        Returns
        -------
        ConfusionDisplay
        """
        found = estimator.predict_proba(X)
        given: dict[str, Any] = {"threshold": threshold, "sample_weight": sample_weight}
        return cls.from_predictions(y, found, classes=estimator.classes_, ax=ax, **given)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike,
        threshold: float | Mapping[Any, float] | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compare predictions with labels.

        Parameters
        ----------
        {y_true, y_prob, classes, threshold, sample_weight, ax}

        Returns
        -------
        ConfusionDisplay
        """
        scores = label_scores(y_true, y_prob, classes, sample_weight, threshold=threshold)
        return cls(scores.confusion, np.asarray(classes).tolist()).plot(ax)

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """Darker the larger the share of the row."""
        k, names = len(self.classes), [shorten(name, 12) for name in self.classes]
        of_class = self.confusion.sum(axis=1, keepdims=True)
        shares = self.confusion / np.maximum(of_class, np.finfo(np.float64).tiny)
        size = 14 if k <= 4 else max(6, 13 - k / 2.5)
        for row, column in np.ndindex(k, k):
            alpha = 0.04 + 0.41 * float(shares[row, column])
            ax.bar(column, 0.96, 0.96, bottom=row - 0.48, color=colours.blue, alpha=alpha)
            if n := round(self.confusion[row, column].item()):
                ax.text(column, row, f"{n:,}", ha="center", va="center", fontsize=size, color=colours.ink)
        ax.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5), aspect="equal")
        is_upright = k > 6 or max(map(len, names)) * k > 40
        ax.set_xticks(range(k), names, rotation=90 if is_upright else 0)
        ax.set_yticks(range(k), names)
        ax.set(xlabel="predicted class", ylabel="true class")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        return {}
