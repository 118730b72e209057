"""How many: bags of each size and of each share, and instances of each probability."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from llpgan.report.charts.svg_canvas import BLUE, CARD, Hover, svg
from llpgan.report.displays.drawing import in_percent
from llpgan.report.short_names import shorten
from llpgan.report.story import Story
from llpgan.report.told_bags import BagFacts
from llpgan.utils.arrays import Array

_SMALL = {"width": 230, "height": 190, "text": 14}
_BINS = 20
_FEW = 5


def bag_sizes(bags: BagFacts) -> Markup:
    """How many bags have how many instances."""

    def draw(axes: Axes) -> Hover:
        counts, edges = np.histogram(bags.sizes, _size_edges(bags.sizes))
        middles = (edges[:-1] + edges[1:]) / 2
        texts = [f"{n:,} bags of about {size:,.0f} instances" for n, size in zip(counts, middles, strict=True)]
        hover = _bars(axes, counts, edges, texts)
        axes.set(xlabel="instances in the bag", ylabel="bags")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        return hover

    return svg("bag-sizes", draw)


def class_shares(bags: BagFacts, k: int) -> Markup:
    """How many bags have which share of a class."""

    def draw(axes: Axes) -> Hover:
        counts, edges = np.histogram(bags.proportions[:, k], _share_edges(bags))
        hover = _bars(axes, counts, edges, _of_shares(counts, edges, "bags with a share"))
        axes.set(xlabel=f"share of “{_short(bags, k)}”", ylabel="bags")
        in_percent(axes.xaxis, 2 if len(bags.classes) > 2 else 5)
        return hover

    return svg(f"class-shares-{k}", draw, **({} if len(bags.classes) == 2 else _SMALL))


def probabilities(story: Story, k: int) -> Markup:
    """How many instances have which probability of a class."""

    def draw(axes: Axes) -> Hover:
        counts = story.probability_counts[k]
        edges = np.linspace(0, 1, len(counts) + 1)
        hover = _bars(axes, counts, edges, _of_shares(counts, edges, "instances with a probability"))
        axes.set(xlabel=f"probability of “{_short(story, k)}”", ylabel="instances", xlim=(0, 1))
        in_percent(axes.xaxis, 2 if len(story.classes) > 2 else 5)
        return hover

    return svg(f"probabilities-{k}", draw, **({} if len(story.classes) == 2 else _SMALL))


def _short(bags: BagFacts, k: int) -> str:
    """The name of a class, shorter in the small charts that there are of many classes."""
    return shorten(bags.classes[k], 18 if len(bags.classes) == 2 else 11)


def _bars(axes: Axes, counts: Array, edges: Array, texts: Sequence[str]) -> Hover:
    """Bars, each with a text."""
    bars = axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=BLUE, edgecolor=CARD, linewidth=1)
    for place, bar in enumerate(bars):
        bar.set_gid(f"bar-{place}")
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=0)
    axes.tick_params(axis="x", pad=7)
    return {f"bar-{place}": [text] for place, text in enumerate(texts)}


def _of_shares(counts: Array, edges: Array, what: str) -> list[str]:
    """What each bar counts: so many of what, from one edge to the next."""
    ends = np.clip(edges, 0, 1)
    return [
        f"{n:,} {what} from {low:.0%} to {high:.0%}"
        for n, low, high in zip(counts, ends[:-1], ends[1:], strict=True)
    ]


def _size_edges(sizes: Array) -> Array:
    """A bar for each size where there are few, else some twenty of whole width."""
    width = max(1, -(-int(np.ptp(sizes) + 1) // _BINS))
    return np.arange(sizes.min(), sizes.max() + width + 1, width) - 0.5


def _share_edges(bags: BagFacts) -> Array:
    """The same for all classes, so that they compare; small bags have few shares, a bar for each."""
    top = min(1.0, float(np.ceil(10 * bags.proportions.max())) / 10)
    size = int(np.median(bags.sizes))
    if size < _FEW or top * size > _BINS:
        return np.linspace(0, top, _BINS + 1)
    return (np.arange(int(np.ceil(top * size)) + 2) - 0.5) / size
