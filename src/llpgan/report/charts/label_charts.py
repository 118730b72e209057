"""Charts of predictions against labels."""

from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from numpy.typing import NDArray

from llpgan.evaluation import LabelScores
from llpgan.report.charts.svg_canvas import BLUE, INK, PAGE, Hover, svg
from llpgan.report.displays.reliability_display import ReliabilityDisplay
from llpgan.report.formatting import count, shorten

MOST_CLASSES_CONFUSED = 20


def calibration(scores: LabelScores) -> Markup:
    """How often the classifier is right, against how sure it is; a point's area is its share of instances."""

    def draw(axes: Axes) -> Hover:
        return ReliabilityDisplay(scores.calibration).plot(axes, palette=PAGE).hover_

    return svg("calibration", draw, height=390)


def confusion(scores: LabelScores, classes: tuple[str, ...]) -> Markup:
    """Counts of true against predicted classes, darker the larger their share of the row."""
    k = len(classes)
    names = [shorten(name, 12) for name in classes]

    def draw(axes: Axes) -> Hover:
        shares = scores.confusion / np.maximum(scores.confusion.sum(axis=1, keepdims=True), 1)
        for row, column in np.ndindex(k, k):
            _cell(axes, (row, column), scores.confusion, shares[row, column])
        axes.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5), aspect="equal")
        upright = k > 6 or max(map(len, names)) * k > 40
        axes.set_xticks(range(k), names, rotation=90 if upright else 0)
        axes.set_yticks(range(k), names)
        axes.set(xlabel="predicted class", ylabel="true class")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        return {}

    return svg("confusion", draw, height=390)


def _cell(axes: Axes, place: tuple[int, int], counts: NDArray[Any], share: float) -> None:
    row, column = place
    axes.bar(column, 0.96, 0.96, bottom=row - 0.48, color=BLUE, alpha=0.04 + 0.41 * share)
    if n := int(counts[place]):
        size = 14 if len(counts) <= 4 else max(6, 13 - len(counts) / 2.5)
        axes.text(column, row, count(n), ha="center", va="center", fontsize=size, color=INK)
