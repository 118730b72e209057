"""Tables and panels of results that cross two settings."""

import statistics
from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from reproduction.cells import Cell
from reproduction.outputs import COLOURS, SOFT, Draw, Table, mean_and_spread, panels
from reproduction.run import Results, errors, group_results, method_title, values

Describe = Callable[[Cell], str]


def crossed_table(results: Results, title: str, about: str, heads: Mapping[str, Describe]) -> Table:
    """A row for each combination that the heads tell apart, and one column per method: mean (deviation), draws."""
    methods = values(results, lambda cell: cell.method)
    columns = [*heads, *(method_title(method) for method in methods)]
    groups = group_results(results, lambda cell: tuple(describe(cell) for describe in heads.values()))
    rows = [[*key, *(_entry(errors(group, method=method)) for method in methods)] for key, group in groups.items()]
    return Table(title, about, columns, rows)


def line_panels(
    results: Results, panel: Describe, place: Callable[[Cell], float], xlabel: str, *, log: bool = False
) -> Figure:
    """A panel for each description, where the errors of a method over a number are a line."""
    groups = group_results(results, panel)
    return panels([_lines(title, group, place, xlabel, log) for title, group in groups.items()], n_columns=2)


def dot_panels(results: Results, panel: Describe, line: Describe) -> Figure:
    """A panel for each description, in it a line for each other one, and on it a dot for each method."""
    groups = group_results(results, panel)
    height = 0.8 + 0.32 * max(len(values(group, line)) for group in groups.values())
    draws = [_dots(title, group, line) for title, group in groups.items()]
    return panels(draws, n_columns=2, size=(4.4, height + 0.6))


def _entry(found: Sequence[float]) -> str:
    return mean_and_spread(found) + (f", {len(found)}" if found else "")


def _lines(title: str, group: Results, place: Callable[[Cell], float], xlabel: str, log: bool) -> Draw:
    def draw(axes: Axes) -> None:
        for method, found in group_results(group, lambda cell: cell.method).items():
            points = {at: [r.error for r in same] for at, same in sorted(group_results(found, place).items())}
            means = [statistics.fmean(same) for same in points.values()]
            spreads = [statistics.stdev(same) if len(same) > 1 else 0.0 for same in points.values()]
            colour, name = COLOURS.get(method, SOFT), method_title(method)
            axes.errorbar(list(points), means, spreads, color=colour, marker="o", markersize=4, label=name)
        if log:
            places = sorted(values(group, place))
            axes.set_xscale("log")
            axes.set_xticks(places, [f"{at:g}" for at in places])
            axes.xaxis.set_minor_locator(NullLocator())
        axes.set(xlabel=xlabel, ylabel="test error (%)", title=title)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)

    return draw


def _dots(title: str, group: Results, line: Describe) -> Draw:
    def draw(axes: Axes) -> None:
        lines = values(group, line)
        for method, found in group_results(group, lambda cell: cell.method).items():
            at = [lines.index(line(result.cell)) for result in found]
            colour, name = COLOURS.get(method, SOFT), method_title(method)
            axes.scatter([result.error for result in found], at, 22, color=colour, alpha=0.8, label=name)
        axes.set_yticks(range(len(lines)), lines)
        axes.set(xlabel="test error (%)", title=title, ylim=(len(lines) - 0.5, -0.5))
        axes.set_xlim(left=0)
        axes.legend(fontsize=7)

    return draw
