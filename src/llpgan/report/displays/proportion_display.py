"""Given against predicted shares of bags, as a plot."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import Bags
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation.bag_scores import bag_scores
from llpgan.report.displays.drawing import DASHED, Display, Palette, axes_or_new, in_percent, percent, quiet
from llpgan.report.displays.name_placing import place_names
from llpgan.report.short_names import shorten
from llpgan.utils.arrays import Array
from llpgan.utils.suggestions import did_you_mean

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
        How many instances each bag has.
    bag_names : sequence of hashable
        The names of the bags.
    class_name : hashable
        The name of the class.

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
    sizes: NDArray[np.int64]
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
        estimator : LLPClassifier
            A fitted model.
        bags : Bags
            Those that it was trained on, or others of the same classes.
        class_name : hashable, default=None
            The class whose shares are shown; the last one by default.
        n_named : int, default=5
            How many of the bags that are missed by most are named.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.

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
            The number of bags that are named: those that are met worst.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None means new axes.

        Returns
        -------
        ProportionDisplay
        """
        k = _place(class_name, bags.classes.tolist())
        scores = bag_scores(bags, probabilities)
        given, predicted = scores.given[:, k], scores.predicted[:, k]
        shown = cls(given, predicted, bags.sizes, bags.bag_ids, bags.classes.tolist()[k])
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
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; those of a new figure by default.
        n_named : int, default=5
            How many of the bags that are missed by most are named.
        largest : float, default=160.0
            The area of the largest bag's point, in square points.
        palette : Palette, default=None
            The colours; those of matplotlib's current style by default.

        Returns
        -------
        ProportionDisplay
            Itself.
        """
        ax, colours = axes_or_new(ax), palette or Palette.of_matplotlib()
        low, high = _limits(np.concatenate([self.given, self.predicted]))
        ax.plot([low, high], [low, high], color=colours.soft, linewidth=1, linestyle=DASHED)
        areas = np.maximum(largest * self.sizes / self.sizes.max(), largest / 12)
        ax.scatter(self.given, self.predicted, areas, color=colours.blue, alpha=0.55, linewidths=0, gid="bags")
        ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        ax.set(xlabel=f"given share of “{shorten(self.class_name)}”", ylabel="predicted share")
        quiet(ax, "both", colours)
        for axis in (ax.xaxis, ax.yaxis):
            in_percent(axis, 4)
        hover = {"bags": [self._about(bag) for bag in range(len(self.given))]}
        if n_named:
            worst = np.abs(self.given - self.predicted).argsort(kind="stable")[::-1][:n_named]
            self._name(ax, worst, colours)
            hover["rings"] = [self._about(int(bag)) for bag in worst]
        return self._drawn_on(ax, hover)

    def _about(self, bag: int) -> str:
        return (
            f"{shorten(self.bag_names[bag], 60)}: given {percent(self.given[bag])}, predicted "
            f"{percent(self.predicted[bag])}, {self.sizes[bag]:,} instances"
        )

    def _name(self, ax: Axes, bags: Array, colours: Palette) -> None:
        """A ring around each of these points, and its name."""
        low, high = ax.get_xlim()
        points = (np.column_stack([self.given, self.predicted]) - low) / (high - low)
        text = _font_size(ax)
        names = [shorten(self.bag_names[bag], 24) for bag in bags]
        sizes = [((len(name) + 1) * _LETTER * text / _side(ax), 1.15 * text / _side(ax)) for name in names]
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


def _place(class_name: Hashable | None, classes: list[Hashable]) -> int:
    if class_name is None:
        return len(classes) - 1
    if class_name not in classes:
        raise ValueError(f"there is no class {class_name!r} (class_name){did_you_mean(class_name, classes)}")
    return classes.index(class_name)


def _limits(shares: Array) -> tuple[float, float]:
    """The range of the shares with some room, within 0 and 1 up to a point's width."""
    room = 0.04 + 0.06 * float(np.ptp(shares))
    return max(-0.04, float(shares.min()) - room), min(1.04, float(shares.max()) + room)


def _font_size(ax: Axes) -> float:
    return float(ax.xaxis.label.get_fontsize())


def _side(ax: Axes) -> float:
    """About how many points the axes are wide and high: they are a square, with labels beside it."""
    figure, place = ax.get_figure(root=True), ax.get_position()
    assert figure is not None
    width, height = 72 * figure.get_size_inches()
    return float(max(60.0, min(width * place.width, height * place.height)))
