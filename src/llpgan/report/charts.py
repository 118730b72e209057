"""Charts as SVG inside the page: one function per chart."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from markupsafe import Markup, escape
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from llpgan.bags.fit_warnings import kept_epoch
from llpgan.evaluation import BagCalibration, LabelScores, LearningCurve, PartialDependence
from llpgan.evaluation.compare import Comparison
from llpgan.report.content import BagFacts, ReportContent, ReportedBags
from llpgan.report.displays import (
    IN_WORDS,
    NOT_CURVES,
    ComparisonDisplay,
    ConfusionDisplay,
    LearningCurveDisplay,
    ProportionDisplay,
    ReliabilityDisplay,
)
from llpgan.report.drawing import Display, Palette, set_percent_ticks, shorten
from llpgan.report.effects import MOST_COLUMNS, EffectDisplay, GroupSharesDisplay, ImportanceDisplay, effect_range
from llpgan.report.text import worst_bags
from llpgan.utils.arrays import Array

# Colours that no chart would use: in the SVG they become the page's variables.
INK, SOFT, LINE, CARD = "#010a01", "#010a02", "#010a03", "#010a04"
BLUE, ORANGE, GREEN = "#010a05", "#010a06", "#010a07"
PAGE = Palette(INK, SOFT, LINE, CARD, BLUE, ORANGE, GREEN)
_VARIABLES = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    LINE: "var(--line)",
    CARD: "var(--card)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREEN: "var(--green)",
}
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlecolor": INK,
    "axes.titlesize": "medium",
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "lines.linewidth": 2.0,
    "legend.frameon": False,
    "legend.labelcolor": INK,
}
_NOT_FOR_PAGES = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
_NOT_FOR_TAGS = re.compile(r' xmlns(:xlink)?="[^"]*"| (width|height)="[\d.]+pt"|(?<=\.\d\d)\d+|xlink:(?=href)')
_ID = re.compile(r'(\bid="|href="#|url\(#)')
_POINTS_AN_INCH = 72
_MARKS = re.compile(r"<defs>.*?</defs>|<(path|use)\b([^>]*?)/>", re.DOTALL)
Hover = Mapping[str, Sequence[str]]  # for each group of marks, the text of each


def svg(
    name: str,
    draw: Callable[[Axes], Hover] | Display,
    *,
    width: float = 420,
    height: float = 280,
    text: float = 13,
) -> Markup:
    """A chart of so many pixels. No other has its name: all ids in it begin with it.

    It is drawn narrow, and its text large, since a telephone shows it narrower still. ``draw`` returns, for each
    artist that has a ``gid``, the text of each of its marks: a browser shows it when the mouse is over the mark.
    """
    style: Any = {**_STYLE, "svg.hashsalt": name, "font.size": text}
    with rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has its own fonts
        figure = Figure(figsize=(width / _POINTS_AN_INCH, height / _POINTS_AN_INCH), layout="constrained")
        axes = figure.add_subplot()
        hover = draw.plot(axes, palette=PAGE).hover_ if isinstance(draw, Display) else draw(axes)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return Markup(_add_texts(_embed(file.getvalue(), name), name, hover))


def _add_texts(chart: str, name: str, hover: Hover) -> str:
    """With a text on each mark of the groups that have one; the order of marks is that of the texts."""
    for group, texts in hover.items():
        before, found, after = chart.partition(f'<g id="{name}-{group}">')
        if not found:
            raise ValueError(f"chart {name!r} has no group {group!r}: give an artist this gid")
        marks = (mark for mark in _MARKS.finditer(after) if mark[1])
        parts, done = [before, found], 0
        for mark, text in zip(islice(marks, len(texts)), texts, strict=True):
            tag = f'<{mark[1]} class="mark"{mark[2]}><title>{escape(text)}</title></{mark[1]}>'
            parts += [after[done : mark.start()], tag]
            done = mark.end()
        chart = "".join([*parts, after[done:]])
    return chart


def _embed(text: str, name: str) -> str:
    """Without prolog and global style. Only tags are changed: between them are a user's names."""
    body = _NOT_FOR_PAGES.sub("", text[text.index("<svg") :]).strip()
    tags = re.sub(r"<[^>]*>", lambda tag: _style_for_page(tag[0], name), body)
    return tags.replace("<svg", '<svg aria-hidden="true"', 1)  # the caption says it in words


def _style_for_page(tag: str, name: str) -> str:
    """Of the width there is, with ids that no other chart has, two decimals, and the page's colours."""
    tag = _ID.sub(rf"\g<1>{name}-", _NOT_FOR_TAGS.sub("", tag))
    for colour, variable in _VARIABLES.items():
        tag = tag.replace(colour, variable)
    return tag


def importance_chart(story: ReportContent) -> Markup:
    """A bar a column: the rise of the bags' loss when it is shuffled, with the shuffles' standard deviation."""
    display = ImportanceDisplay(story.rises or {})

    return svg("what-matters", display, height=76 + 25 * min(len(display.rises), MOST_COLUMNS))


def comparison_chart(found: Comparison) -> Markup:
    """The score of each method on held-out bags, the best on top."""
    display = ComparisonDisplay.prepare(found)

    return svg("methods", display, height=110 + 30 * len(display.results))


_WIDTH, _TEXT = 300, 14.5


def effect_chart(effects: Sequence[PartialDependence], k: int, place: int) -> Markup:
    """The mean prediction of a class if all instances had this value; all effects have the same axis."""
    found, ends = effects[place], effect_range(effects, k)

    def draw(axes: Axes) -> Hover:
        hover = EffectDisplay(found, k, ends).plot(axes, palette=PAGE).hover_
        axes.set(xlabel="", ylabel="")  # the caption of all has the class
        axes.set_title(shorten(found.column, 28))
        return hover

    height = 220 if found.values is not None else 90 + 21 * len(found.names)
    return svg(f"effect-{place + 1}", draw, width=_WIDTH, height=height, text=_TEXT)


def group_chart(shares: GroupSharesDisplay) -> Markup:
    """The share of each class in each group, with its interval."""
    n_groups, n_classes = len(set(shares.groups)), len(set(shares.classes))

    height = 90 + n_groups * max(28, 15 * n_classes) + (22 * n_classes if n_classes > 1 else 0)
    return svg("groups", shares, height=height)


_SMALL = {"width": 230, "height": 190, "text": 14}
_BINS = 20
_FEW = 5


def bag_size_chart(bags: BagFacts) -> Markup:
    """How many bags have how many instances."""

    def draw(axes: Axes) -> Hover:
        width = max(1, -(-int(np.ptp(bags.sizes) + 1) // _BINS))  # a bar for each size where there are few
        counts, edges = np.histogram(
            bags.sizes, np.arange(bags.sizes.min(), bags.sizes.max() + width + 1, width) - 0.5
        )
        middles = (edges[:-1] + edges[1:]) / 2
        texts = [f"{n:,} bags of about {size:,.0f} instances" for n, size in zip(counts, middles, strict=True)]
        hover = _bars(axes, counts, edges, texts)
        axes.set(xlabel="instances in the bag", ylabel="bags")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        return hover

    return svg("bag-sizes", draw)


def class_share_chart(bags: BagFacts, k: int) -> Markup:
    """How many bags have which share of a class."""
    counts, edges = np.histogram(bags.proportions[:, k], _share_edges(bags))
    return _share_histogram(bags, k, f"class-shares-{k}", counts, edges, "bags with a share")


def probability_chart(story: ReportContent, k: int) -> Markup:
    """How many instances have which probability of a class."""
    counts = story.probability_counts[k]
    edges = np.linspace(0, 1, len(counts) + 1)
    return _share_histogram(
        story, k, f"probabilities-{k}", counts, edges, "instances with a probability", xlim=(0, 1)
    )


def _share_histogram(
    bags: BagFacts, k: int, name: str, counts: Array, edges: Array, what: str, **limits: Any
) -> Markup:
    """How many of what, such as bags with a share, lie between these edges; small where there are many classes."""
    has_two_classes, (things, _, figure) = len(bags.classes) == 2, what.rpartition(" with a ")
    ends = np.clip(edges, 0, 1)
    texts = [
        f"{n:,} {what} from {low:.0%} to {high:.0%}"
        for n, low, high in zip(counts, ends[:-1], ends[1:], strict=True)
    ]

    def draw(axes: Axes) -> Hover:
        hover = _bars(axes, counts, edges, texts)
        class_name = shorten(bags.classes[k], 18 if has_two_classes else 11)
        axes.set(xlabel=f"{figure} of “{class_name}”", ylabel=things, **limits)
        set_percent_ticks(axes.xaxis, 5 if has_two_classes else 2)
        return hover

    return svg(name, draw, **({} if has_two_classes else _SMALL))


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


def _share_edges(bags: BagFacts) -> Array:
    """Edges of bars, the same for all classes; small bags have few shares, a bar for each."""
    top = min(1.0, float(np.ceil(10 * bags.proportions.max())) / 10)
    size = int(np.median(bags.sizes))
    if size < _FEW or top * size > _BINS:
        return np.linspace(0, top, _BINS + 1)
    return (np.arange(int(np.ceil(top * size)) + 2) - 0.5) / size


MOST_CLASSES_CONFUSED = 20


def calibration_chart(scores: LabelScores) -> Markup:
    """How often the classifier is right, against how sure it is; a point's area is its share of instances."""
    return svg("calibration", ReliabilityDisplay(scores.calibration), height=390)


def bag_calibration_chart(found: BagCalibration, n_rows: int) -> Markup:
    """The accuracy that bags show against the confidence, with 95 % intervals."""
    display = ReliabilityDisplay.prepare_bags(found, n_rows)

    return svg("bag-calibration", display, height=390)


def confusion_chart(scores: LabelScores, classes: tuple[str, ...]) -> Markup:
    """Counts of true against predicted classes, darker the larger their share of the row."""
    return svg("confusion", ConfusionDisplay(scores.confusion, classes), height=390)


_TOGETHER = {
    "Loss of bags": ("proportion_loss", "held_out_loss"),
    "Classifier against generator": ("real_loss", "fake_loss", "generator_loss"),
    "Uncertainty of single predictions": ("entropy",),
    "Terms on single instances": ("smoothness", "self_training_loss"),
}
_MOST_ALONE = 6  # curves of a monitor's own figures


def learning_charts(story: ReportContent) -> list[Markup]:
    """Losses that belong together in one chart; figures of a monitor in one each."""
    return [
        _curves(story, f"learning-{i}", title, names) for i, (title, names) in enumerate(_charts(story), start=1)
    ]


def chosen_epoch(story: ReportContent) -> int | None:
    """The epoch whose weights were kept, by held-out bags; None where the last one counts."""
    return kept_epoch(story.history)


def error_by_bags(curve: LearningCurve) -> Markup:
    """The bag error on held-out bags against the number of bags to learn from."""
    return svg("error-by-bags", LearningCurveDisplay.prepare_learning_curve(curve), height=340)


def _charts(story: ReportContent) -> Iterator[tuple[str, tuple[str, ...]]]:
    there = dict.fromkeys(name for row in story.history for name in row if name not in NOT_CURVES)
    for title, names in _TOGETHER.items():
        if kept := tuple(name for name in names if name in there):
            yield title, kept
    alone = [name for name in there if name not in IN_WORDS]
    for name in alone[:_MOST_ALONE]:
        yield name.replace("_", " "), (name,)


def _curves(story: ReportContent, chart: str, title: str, names: tuple[str, ...]) -> Markup:
    def draw(axes: Axes) -> Hover:
        axes.set_title(shorten(title, 40))
        return LearningCurveDisplay.prepare_history(story.history, names).plot(axes, palette=PAGE).hover_

    return svg(chart, draw, height=280 + 22 * len(names))


MOST_POINTS, MOST_SMALL_POINTS = 1000, 200
_NAMED = 5


def predicted_against_given(bags: ReportedBags, k: int) -> Markup:
    """For one class the given share of each bag and the mean prediction; the worst bags are named."""
    display = _display(bags, k, MOST_POINTS)
    return svg(f"given-{k}", lambda axes: display.plot(axes, n_named=_NAMED, palette=PAGE).hover_, height=410)


def predicted_against_given_small(bags: ReportedBags, k: int) -> Markup:
    """The same for one class of many, without names."""

    def draw(axes: Axes) -> Hover:
        shown = _display(bags, k, MOST_SMALL_POINTS).plot(axes, n_named=0, largest=40, palette=PAGE)
        axes.set(xlabel="given", ylabel="predicted")
        axes.set_title(shorten(bags.classes[k], 16))
        return shown.hover_

    return svg(f"given-{k}", draw, width=230, height=240, text=14)


def _display(bags: ReportedBags, k: int, most: int) -> ProportionDisplay:
    n = len(bags.sizes)  # of very many bags some, evenly spread, and the worst
    spread = np.linspace(0, n - 1, min(n, most)).astype(np.int64).tolist()
    chosen = sorted({*spread, *worst_bags(bags, _NAMED)})
    return ProportionDisplay(
        bags.proportions[chosen, k],
        bags.scores.predicted[chosen, k],
        bags.sizes[chosen],
        [bags.bag_names[bag] for bag in chosen],
        bags.classes[k],
    )
