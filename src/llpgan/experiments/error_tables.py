"""Errors by data set, method and bag size, beside the paper's: what Tables 1 and 2 look like."""

import statistics

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from llpgan.experiments.figures import COLOURS, SOFT, Draw, panels
from llpgan.experiments.paper import published
from llpgan.experiments.results import Results, errors, grouped, method_label, problem_title, values
from llpgan.experiments.tables import Table, mean_and_spread

_ABOUT = (
    "Test error in per cent at the last epoch: mean over draws of the bags (standard deviation), number of draws, "
    "and the paper's figure."
)


def error_table(results: Results, title: str, paper: str) -> Table:
    """A row for each data set and method, and for each bag size ours and the paper's."""
    sizes = sorted(values(results, lambda cell: cell.bag_size or 1))
    names = ["labels" if size == 1 else f"{size}" for size in sizes]
    columns = ["data", "rows", "method", *(part for name in names for part in (name, f"{name}, paper"))]
    rows = []
    for (problem, method), group in grouped(
        results, lambda cell: (problem_title(cell), method_label(cell))
    ).items():
        entries = [_entries(group, paper, size) for size in sizes]
        head = [problem, _rows_in_words(group), method]
        rows.append(head + [part for entry in entries for part in entry])
    return Table(title, _ABOUT, columns, rows)


def error_figure(results: Results, paper: str) -> Figure:
    """A panel a data set: error against bag size, ours in full lines, the paper's dotted."""
    groups = grouped(results, problem_title)
    return panels([_panel(problem, group, paper) for problem, group in groups.items()], n_columns=2)


def _entries(group: Results, paper: str, size: int) -> tuple[str, str]:
    dataset, method = group[0].cell.dataset, group[0].cell.method
    found = errors(group, bag_size=size)
    ours = mean_and_spread(found) + (f", {len(found)}" if found else "")
    return ours, _paper_in_words(published(paper, dataset, method, size))


def _paper_in_words(entry: list[float]) -> str:
    return "" if not entry else f"{entry[0]:g}" + (f" ({entry[1]:g})" if len(entry) > 1 else "")


def _rows_in_words(group: Results) -> str:
    return ", ".join(f"{n:,}" for n in sorted({int(result.row["train_rows"]) for result in group}))


def _panel(problem: str, group: Results, paper: str) -> Draw:
    dataset = group[0].cell.dataset

    def draw(axes: Axes) -> None:
        all_sizes = [size for size in sorted(values(group, lambda cell: cell.bag_size or 1)) if size > 1]
        for title, found in grouped(group, method_label).items():
            sizes, method = sorted(values(found, lambda cell: cell.bag_size or 1)), found[0].cell.method
            colour = COLOURS.get(title, COLOURS.get(method, SOFT))
            if sizes == [1]:
                axes.axhline(statistics.fmean(errors(found)), color=colour, label=title, linewidth=1)
                continue
            _with_spread(axes, sizes, [errors(found, bag_size=size) for size in sizes], colour, title)
            told = [(size, published(paper, dataset, method, size)[0]) for size in all_sizes
                    if published(paper, dataset, method, size)]  # fmt: skip
            if told:
                axes.plot(*zip(*told, strict=True), color=colour, linestyle=":", label=f"{title}, paper")
        axes.set_xscale("log", base=2)
        axes.set_xticks(all_sizes, [str(size) for size in all_sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set(xlabel="bag size", ylabel="test error (%)", title=problem)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)

    return draw


def _with_spread(axes: Axes, sizes: list[int], found: list[list[float]], colour: str, title: str) -> None:
    means = [statistics.fmean(values) for values in found]
    spreads = [statistics.stdev(values) if len(values) > 1 else 0.0 for values in found]
    axes.errorbar(sizes, means, spreads, color=colour, marker="o", markersize=4, capsize=2, label=title)
