"""Predicted against given shares: a point a bag."""

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator, PercentFormatter

from llpgan.report.charts.svg_canvas import BLUE, INK, ORANGE, SOFT, svg
from llpgan.report.formatting import shorten, worst_bags
from llpgan.report.story import Story
from llpgan.utils.arrays import Array

MOST_POINTS, MOST_SMALL_POINTS = 1000, 200
_NAMED = 5


def predicted_against_given(story: Story, k: int) -> Markup:
    """For one class the given share of each bag and the mean prediction; the worst bags are named."""

    def draw(axes: Axes) -> None:
        _scatter(axes, story, k, most=MOST_POINTS, largest=160)
        axes.set(xlabel=f"given share of “{shorten(story.classes[k])}”", ylabel="predicted share")
        _name_the_worst(axes, story, k)

    return svg(f"given-{k}", draw, height=440)


def predicted_against_given_small(story: Story, k: int) -> Markup:
    """The same for one class of many, without names."""

    def draw(axes: Axes) -> None:
        _scatter(axes, story, k, most=MOST_SMALL_POINTS, largest=40)
        axes.set(xlabel="given", ylabel="predicted")
        axes.set_title(shorten(story.classes[k], 22))

    return svg(f"given-{k}", draw, width=230, height=240, text=14)


def _scatter(axes: Axes, story: Story, k: int, *, most: int, largest: float) -> None:
    bags = _some_bags(story, most)
    given, predicted = story.proportions[bags, k], story.scores.predicted[bags, k]
    low, high = _limits(np.concatenate([given, predicted]))
    axes.plot([low, high], [low, high], color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
    areas = np.maximum(largest * story.sizes[bags] / story.sizes.max(), largest / 12)
    axes.scatter(given, predicted, areas, color=BLUE, alpha=0.55, linewidths=0)
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    axes.grid()
    axes.tick_params(length=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(4))
        axis.set_major_formatter(PercentFormatter(1, decimals=0))


def _some_bags(story: Story, most: int) -> list[int]:
    """All bags; of very many some, evenly spread, and the worst."""
    n = len(story.sizes)
    spread = np.linspace(0, n - 1, min(n, most)).astype(np.int64).tolist()
    return sorted({*spread, *worst_bags(story, _NAMED)})


def _limits(shares: Array) -> tuple[float, float]:
    """The range of the shares with some room, within 0 and 1 up to a point's width."""
    room = 0.04 + 0.06 * float(np.ptp(shares))
    return max(-0.04, float(shares.min()) - room), min(1.04, float(shares.max()) + room)


def _name_the_worst(axes: Axes, story: Story, k: int) -> None:
    """Names stand away from the diagonal, where there are few points: above it upwards, below it downwards."""
    given, predicted = story.proportions[:, k], story.scores.predicted[:, k]
    bags = sorted(worst_bags(story, _NAMED), key=lambda bag: float(predicted[bag]))
    above = [bag for bag in bags if predicted[bag] > given[bag]]
    below = [bag for bag in reversed(bags) if predicted[bag] <= given[bag]]
    low, high = axes.get_xlim()
    gap = (high - low) / 22
    for group, side in ((above, 1), (below, -1)):
        heights = _apart(side * predicted[group] + 3 * gap, gap)
        for bag, height in zip(group, heights, strict=True):
            text = _name(axes, shorten(story.bag_names[bag], 24), (given[bag], predicted[bag]), side * height)
            text.set_gid(f"named-{bag}")


def _name(axes: Axes, name: str, point: tuple[float, float], height: float) -> Text:
    """A ring around a point, and its name at a height, joined by a thin line."""
    low, high = axes.get_xlim()
    leftwards = (point[0] - low) / (high - low) > (0.38 if height > point[1] else 0.62)
    axes.plot([point[0]] * 2, [point[1], height], color=ORANGE, linewidth=0.8)
    axes.scatter(*point, 40, facecolors="none", edgecolors=ORANGE, linewidths=1.5)
    return axes.text(
        point[0], height, name, ha="right" if leftwards else "left", va="center", fontsize=11, color=INK
    )


def _apart(heights: Array, gap: float) -> list[float]:
    """Rising heights, moved up where they would overlap.

    >>> _apart(np.array([0.0, 0.1, 2.0]), gap=1.0)
    [0.0, 1.0, 2.0]
    """
    placed: list[float] = []
    for height in heights.tolist():
        placed.append(max(height, placed[-1] + gap) if placed else height)
    return placed
