"""How many: bags of each size and of each share, and instances of each probability."""

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter

from llpgan.report.charts.svg_canvas import BLUE, CARD, svg
from llpgan.report.formatting import shorten
from llpgan.report.story import Story
from llpgan.utils.arrays import Array

_SMALL = {"width": 230, "height": 190, "text": 14}
_BINS = 20
_FEW = 5


def bag_sizes(story: Story) -> Markup:
    """How many bags have how many instances."""

    def draw(axes: Axes) -> None:
        counts, edges = np.histogram(story.sizes, _size_edges(story.sizes))
        _bars(axes, counts, edges)
        axes.set(xlabel="instances in the bag", ylabel="bags")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))

    return svg("bag-sizes", draw)


def class_shares(story: Story, k: int) -> Markup:
    """How many bags have which share of a class."""

    def draw(axes: Axes) -> None:
        _bars(axes, *np.histogram(story.proportions[:, k], _share_edges(story)))
        axes.set(xlabel=f"share of “{shorten(story.classes[k])}”", ylabel="bags")
        _in_percent(axes, 2 if len(story.classes) > 2 else 5)

    return svg(f"class-shares-{k}", draw, **({} if len(story.classes) == 2 else _SMALL))


def probabilities(story: Story, k: int) -> Markup:
    """How many instances have which probability of a class."""

    def draw(axes: Axes) -> None:
        counts = story.probability_counts[k]
        _bars(axes, counts, np.linspace(0, 1, len(counts) + 1))
        axes.set(xlabel=f"probability of “{shorten(story.classes[k])}”", ylabel="instances", xlim=(0, 1))
        _in_percent(axes, 2 if len(story.classes) > 2 else 5)

    return svg(f"probabilities-{k}", draw, **({} if len(story.classes) == 2 else _SMALL))


def _bars(axes: Axes, counts: Array, edges: Array) -> None:
    axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=BLUE, edgecolor=CARD, linewidth=1)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=0)


def _size_edges(sizes: Array) -> Array:
    """A bar for each size where there are few, else some twenty of whole width."""
    width = max(1, -(-int(np.ptp(sizes) + 1) // _BINS))
    return np.arange(sizes.min(), sizes.max() + width + 1, width) - 0.5


def _share_edges(story: Story) -> Array:
    """The same for all classes, so that they compare; small bags have few shares, a bar for each."""
    top = min(1.0, float(np.ceil(10 * story.proportions.max())) / 10)
    size = int(np.median(story.sizes))
    if size < _FEW or top * size > _BINS:
        return np.linspace(0, top, _BINS + 1)
    return (np.arange(int(np.ceil(top * size)) + 2) - 0.5) / size


def _in_percent(axes: Axes, steps: int) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(steps))
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
