"""From matplotlib's axes to SVG that lives inside a page and takes its colours, light or dark."""

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from markupsafe import Markup, escape
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from llpgan.report.displays.drawing import Palette

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
    name: str, draw: Callable[[Axes], Hover], *, width: float = 420, height: float = 280, text: float = 13
) -> Markup:
    """A chart of so many pixels that ``draw`` fills. No other has its name: all ids in it begin with it.

    It is drawn narrow, and its text large, since a telephone shows it narrower still. ``draw`` returns, for each
    artist that has a ``gid``, the text of each of its marks: a browser shows it when the mouse is over the mark.
    """
    style: Any = {**_STYLE, "svg.hashsalt": name, "font.size": text}
    with rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has its own fonts
        figure = Figure(figsize=(width / _POINTS_AN_INCH, height / _POINTS_AN_INCH), layout="constrained")
        hover = draw(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return Markup(_with_texts(_inside_a_page(file.getvalue(), name), name, hover))


def _with_texts(chart: str, name: str, hover: Hover) -> str:
    """With a text on each mark of the groups that have one; the order of marks is that of the texts."""
    for group, texts in hover.items():
        before, found, after = chart.partition(f'<g id="{name}-{group}">')
        if not found:
            raise ValueError(f"chart {name!r} has no group {group!r}: give an artist this gid")
        chart = before + found + _titled(after, texts)
    return chart


def _titled(after: str, texts: Sequence[str]) -> str:
    marks = (mark for mark in _MARKS.finditer(after) if mark[1])
    parts, done = [], 0
    for mark, text in zip(islice(marks, len(texts)), texts, strict=True):
        tag = f'<{mark[1]} class="mark"{mark[2]}><title>{escape(text)}</title></{mark[1]}>'
        parts += [after[done : mark.start()], tag]
        done = mark.end()
    return "".join([*parts, after[done:]])


def _inside_a_page(text: str, name: str) -> str:
    """Without prolog and global style. Only tags are changed: what stands between them are a user's names."""
    body = _NOT_FOR_PAGES.sub("", text[text.index("<svg") :]).strip()
    tags = re.sub(r"<[^>]*>", lambda tag: _in_the_pages_way(tag[0], name), body)
    return tags.replace("<svg", '<svg aria-hidden="true"', 1)  # the caption says it in words


def _in_the_pages_way(tag: str, name: str) -> str:
    """Of the width there is, with ids that no other chart has, two decimals, and the page's colours."""
    tag = _ID.sub(rf"\g<1>{name}-", _NOT_FOR_TAGS.sub("", tag))
    for colour, variable in _VARIABLES.items():
        tag = tag.replace(colour, variable)
    return tag
