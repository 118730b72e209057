"""Tables and figures from rows."""

import csv
import io
import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple, TypeVar

import yaml
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from rich.box import SIMPLE_HEAD
from rich.table import Table as TerminalTable

from llpgan.utils.files import replace_file
from reproduction.run import (
    Results,
    dataset_title,
    errors,
    group_results,
    method_label,
    part_title,
    problem_title,
    values,
)

_Table = dict[str, dict[str, dict[int, list[float]]]]  # data set, method, bag size


@cache
def _all() -> dict[str, _Table]:
    return dict(yaml.safe_load(Path(__file__).with_name("paper.yaml").read_text(encoding="utf-8")))


def published_figures(table: str, dataset: str, method: str, bag_size: int) -> list[float]:
    """An entry of one of the paper's tables: of the first two the error, and its deviation where it is told.

    >>> published_figures("table1", "mnist", "LLPGAN", 16)
    [1.1, 0.026]
    >>> published_figures("table1", "digits", "LLPGAN", 16)
    []
    """
    return _all()[table].get(dataset, {}).get(method, {}).get(bag_size, [])


@dataclass(frozen=True)
class Table:
    """Words in rows and columns, and what they are."""

    title: str
    about: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_terminal(self) -> TerminalTable:
        """To print with rich; in a narrow terminal words go to a second line, and none is cut off.

        What the first column says again, it says once.
        """
        table = TerminalTable(title=self.title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for place, name in enumerate(self.columns):
            words = " ".join([name, *(row[place] for row in self.rows)]).split()
            table.add_column(name, min_width=max(map(len, words)), overflow="fold")
        said = ""
        for first, *others in self.rows:
            table.add_row("" if first == said else first, *others)
            said = first or said
        return table

    def as_markdown(self) -> str:
        """A page with the table.

        >>> print(Table("Errors", "In %.", ["method", "error"], [["DLLP", "1.2"]]).as_markdown())
        # Errors
        <BLANKLINE>
        In %.
        <BLANKLINE>
        | method | error |
        |---|---|
        | DLLP | 1.2 |
        <BLANKLINE>
        """
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        body = ("|---" * len(line) + "|" if line[0] == "---" else f"| {' | '.join(line)} |" for line in lines)
        return f"# {self.title}\n\n{self.about}\n\n" + "\n".join(body) + "\n"

    def as_csv(self) -> str:
        """With the columns' names in the first line."""
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows([self.columns, *self.rows])
        return file.getvalue()


def mean_and_spread(values: Sequence[float], digits: int = 2) -> str:
    """Mean, and the standard deviation in brackets where there is one.

    >>> mean_and_spread([1.0, 2.0]), mean_and_spread([3.0]), mean_and_spread([])
    ('1.50 (0.71)', '3.00', '')
    """
    if not values:
        return ""
    mean = f"{statistics.fmean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ({statistics.stdev(values):.{digits}f})"


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
    "CountLLP": "#8a2be2",
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


def assign_colours(things: Iterable[K]) -> dict[K, str]:
    """A colour for each thing, which it then has in every chart of a figure.

    >>> assign_colours([16, 64])
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
    axes.set(xlabel="epoch", ylabel="test error (%)", title=_wrap_title(title))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    _errors_in_factors(axes)
    axes.legend(fontsize=8)


def error_by_bag_size(axes: Axes, sizes: Sequence[int], title: str, ylabel: str = "test error (%)") -> None:
    """Axes of test errors by bag size."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="bag size", ylabel=ylabel, title=_wrap_title(title))
    _errors_in_factors(axes)
    axes.legend(fontsize=8)


def _wrap_title(title: str) -> str:
    r"""A title that is not wider than its chart.

    >>> _wrap_title("SVHN, classes 0 and 1, random 3,000 rows")
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
            with replace_file(path) as aside:
                metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
                figure.savefig(aside, dpi=160, metadata=metadata)
    return paths


_ABOUT = (
    "Test error in per cent at the last epoch: mean over draws of the bags, and over pairs of classes where there "
    "are several (standard deviation over all these runs); below it the paper's figure."
)


class Problem(NamedTuple):
    """A panel of the figure, a block of the table: a data set, a pair of its classes, or all its pairs."""

    title: str
    results: Results
    is_the_papers: bool  # the paper names no pairs: its figures stand beside the mean over all of them


def error_table(results: Results, title: str, paper: str) -> Table:
    """A line for each problem and method, with one column per bag size; the paper's figures are below."""
    sizes = sorted(values(results, lambda cell: cell.bag_size or 1))
    names = ["labels" if size == 1 else f"{size}" for size in sizes]
    rows = []
    for problem in _problems(results):
        for method, found in group_results(problem.results, method_label).items():
            ours = [errors(found, bag_size=size) for size in sizes]
            rows.append([problem.title, method, _runs_in_words(ours), *map(mean_and_spread, ours)])
            told = [_paper_in_words(published_figures(paper, *_published_as(found), size)) for size in sizes]
            if problem.is_the_papers and any(told):
                rows.append(["", "in the paper", "", *told])
    return Table(title, _ABOUT, ["data", "method", "runs", *names], rows)


def error_figure(results: Results, paper: str) -> Figure:
    """A panel a data set: error against bag size, with the range over draws; the paper's dotted."""
    shown = [problem for problem in _problems(results) if problem.is_the_papers]
    return panels([_panel(problem.title, problem.results, paper) for problem in shown], n_columns=2)


def _problems(results: Results) -> Iterator[Problem]:
    for dataset, group in group_results(results, lambda cell: cell.dataset).items():
        pairs = group_results(group, problem_title)
        for title, found in pairs.items():
            yield Problem(title + part_title(found), found, is_the_papers=len(pairs) == 1)
        if len(pairs) > 1:
            yield Problem(f"{dataset_title(dataset)}, {len(pairs)} pairs", group, is_the_papers=True)


def _published_as(group: Results) -> tuple[str, str]:
    return group[0].cell.dataset, group[0].cell.method


def _paper_in_words(entry: list[float]) -> str:
    if not entry:
        return ""
    error = f"{entry[0]:.2f}" if entry[0] >= 0.1 else f"{entry[0]:g}"
    return error + (f" ({entry[1]:g})" if len(entry) > 1 else "")


def _runs_in_words(found: list[list[float]]) -> str:
    """How many errors there are to a bag size: one number, or the fewest and the most."""
    counts = sorted({len(errors) for errors in found if errors})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _panel(problem: str, group: Results, paper: str) -> Draw:
    dataset = group[0].cell.dataset
    is_one_problem = len(values(group, problem_title)) == 1

    def draw(axes: Axes) -> None:
        all_sizes = [size for size in sorted(values(group, lambda cell: cell.bag_size or 1)) if size > 1]
        is_told = False
        for title, found in group_results(group, method_label).items():
            sizes, method = sorted(values(found, lambda cell: cell.bag_size or 1)), found[0].cell.method
            colour = method_colour(title, method)
            if sizes == [1]:
                axes.axhline(statistics.fmean(errors(found)), color=colour, label=title, linewidth=1)
                continue
            ours = [errors(found, bag_size=size) for size in sizes]
            _plot_means(axes, sizes, ours, colour, title)
            if is_one_problem:  # pairs of classes differ more than draws of the bags and methods do
                _shade_range(axes, sizes, ours, colour)
            told = {
                size: entry[0] for size in all_sizes if (entry := published_figures(paper, dataset, method, size))
            }
            if told:
                axes.plot(list(told), list(told.values()), color=colour, **PUBLISHED)
                is_told = True
        if is_told:  # one entry of the legend for all its lines
            axes.plot([], [], color=SOFT, **PUBLISHED, label="the paper")
        error_by_bag_size(axes, all_sizes, problem)

    return draw


def _plot_means(axes: Axes, sizes: list[int], found: list[list[float]], colour: str, title: str) -> None:
    axes.plot(sizes, list(map(statistics.fmean, found)), color=colour, marker="o", markersize=4, label=title)


def _shade_range(axes: Axes, sizes: list[int], found: list[list[float]], colour: str) -> None:
    """From the least error to the largest."""
    axes.fill_between(sizes, list(map(min, found)), list(map(max, found)), color=colour, alpha=0.15, linewidth=0)
