"""The look of figures, and figures as files."""

import statistics
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import cycle
from pathlib import Path
from textwrap import fill
from typing import Any, TypeVar

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from llpgan.utils.atomic_files import whole_file

INK, SOFT, LINE = "#1f2933", "#5f6b7a", "#d9dee5"
COLOURS = {
    "LLPGAN": "#2f6fde",
    "DLLP": "#e07b1a",
    "Supervised": "#2e9e5b",
    "InvCal": "#8a56c2",
    "AlterSVM": "#c2456b",
    "InvCal, linear": "#b79bdb",
    "alter-∝SVM, linear": "#e0a0b4",
    "LLP-GAN, weight decay": "#163d80",
    "DLLP, weight decay": "#8f4a08",
    "supervised, weight decay": "#175230",
    "LLP-GAN, small network": "#8fb4f2",
    "DLLP, small network": "#f0bd8a",
    "MeanMap": "#1a9aa8",
    "BagLogistic": "#8c6d1f",
}
PUBLISHED: Any = {"linestyle": ":", "marker": "o", "markersize": 4, "markerfacecolor": "none"}  # the paper's
PALETTE = ("#2f6fde", "#e07b1a", "#2e9e5b", "#8a56c2", "#c2456b", "#1a9aa8", "#8c6d1f", "#5f6b7a")
_STYLE: Any = {
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": LINE,
    "grid.linewidth": 0.7,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "llpgan",
}
_WIDEST_TITLE = 30  # letters in a chart of usual size
_LINES_WITHIN = 4  # a legend of more covers too much of a chart
Draw = Callable[[Axes], None]
K = TypeVar("K", bound=Hashable)


def panels(draws: Sequence[Draw], n_columns: int | None = None, size: tuple[float, float] = (3.2, 2.7)) -> Figure:
    """A figure of small charts, each drawn by its function, so many beside each other."""
    n_columns = min(n_columns or len(draws), len(draws)) or 1
    n_rows = -(-len(draws) // n_columns) or 1
    with rc_context(_STYLE):
        figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
        for place, draw in enumerate(draws, start=1):
            draw(figure.add_subplot(n_rows, n_columns, place))
        _share_legend(figure)
    return figure


def _share_legend(figure: Figure) -> None:
    """One legend below, where charts agree on their lines, or have very many: inside, it would hide some."""
    entries = [axes.get_legend_handles_labels() for axes in figure.axes]
    longest_first = sorted(entries, key=lambda entry: -len(entry[1]))
    pairs = [pair for handles, labels in longest_first for pair in zip(labels, handles, strict=True)]
    shared = dict(reversed(pairs))  # of each label the first handle
    labels = list(dict.fromkeys(label for label, _ in pairs))
    handles = [shared[label] for label in labels]
    is_crowded = len(entries) > 1 or len(labels) > _LINES_WITHIN
    agree = len({(label, _colour(handle)) for label, handle in pairs}) == len(labels)
    if not labels or not is_crowded or not agree or len(set(map(_colour, handles))) < len(labels):
        return
    for axes in figure.axes:
        if (own := axes.get_legend()) is not None:
            own.remove()
    widest = 0.6 + 0.07 * max(map(len, labels))  # inches: the line, and letters of nine points
    n_beside = max(1, min(len(labels), int(figure.get_figwidth() / widest)))
    n_lines = -(-len(labels) // n_beside)
    figure.set_figheight(figure.get_figheight() + 0.2 * n_lines)
    figure.legend(handles, labels, loc="outside lower center", ncols=n_beside, fontsize=9)


def _colour(handle: Artist) -> object:
    """Of a line; other marks are told apart by their label."""
    return handle.get_color() if isinstance(handle, Line2D) else handle.get_label()


def method_colour(label: str, method: str) -> str:
    """That of the variant, where it has one of its own, or else of the method."""
    return COLOURS.get(label, COLOURS.get(method, SOFT))


def colours_of(things: Iterable[K]) -> dict[K, str]:
    """A colour for each thing, which it then has in every chart of a figure.

    >>> colours_of([16, 64])
    {16: '#2f6fde', 64: '#e07b1a'}
    """
    return dict(zip(things, cycle(PALETTE), strict=False))


def plot_by_epoch(axes: Axes, curves: Sequence[Sequence[float]], colour: str, label: str) -> None:
    """A line of the mean over runs, by epoch; where there are several, each is a thin line behind it."""
    epochs = range(1, min(map(len, curves)) + 1)
    for curve in curves if len(curves) > 1 else ():
        axes.plot(epochs, curve[: len(epochs)], color=colour, linewidth=0.7, alpha=0.35)
    axes.plot(
        epochs, [statistics.fmean(values) for values in zip(*curves, strict=False)], color=colour, label=label
    )


def error_by_epoch(axes: Axes, title: str) -> None:
    """Axes of test errors by epoch."""
    axes.set(xlabel="epoch", ylabel="test error (%)", title=_in_lines(title))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    _errors_in_factors(axes)
    axes.legend(fontsize=8)


def error_by_bag_size(axes: Axes, sizes: Sequence[int], title: str, ylabel: str = "test error (%)") -> None:
    """Axes of test errors by bag size."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="bag size", ylabel=ylabel, title=_in_lines(title))
    _errors_in_factors(axes)
    axes.legend(fontsize=8)


def _in_lines(title: str) -> str:
    r"""A title that is not wider than its chart.

    >>> _in_lines("SVHN, classes 0 and 1, random 3,000 rows")
    'SVHN, classes 0 and 1, random\n3,000 rows'
    """
    return fill(title, _WIDEST_TITLE)


def _errors_in_factors(axes: Axes) -> None:
    """Logarithmic: the first errors are many times the last, and those of one method those of another."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high > 20 * low else (1, 1.5, 2, 3, 5, 7)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """The figure as SVG and PNG; the same figure gives the same files."""
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("svg", "png")]
    with rc_context(_STYLE):
        for path in paths:
            with whole_file(path) as aside:
                metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
                figure.savefig(aside, dpi=160, metadata=metadata)
    return paths
