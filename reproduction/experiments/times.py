"""Training time against sample size (the paper's Figure 6 d), and how it grows."""

import statistics

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from reproduction.outputs import COLOURS, SOFT, Table, panels
from reproduction.run import Result, Results, dataset_title, group_results, method_title

_ABOUT = (
    "Seconds an epoch (the median) by the number of instances m, bags of one size. {} The paper shows curves and "
    "concludes that the time of all bags is about m ln m, so that the time a bag is linear in ln m."
)
_Points = dict[str, list[tuple[int, float, float]]]  # by method: rows, seconds an epoch, milliseconds a bag


def growth(rows: list[int], seconds: list[float]) -> float:
    """The exponent b of t = a · m^b, by least squares on logarithms: 1 is linear, 2 is quadratic.

    >>> round(growth([10, 100, 1000], [2.0, 20.0, 200.0]), 3)
    1.0
    """
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def table(results: Results) -> Table:
    """A row for each data set, method and number of instances."""
    rows = [
        [title, f"{m:,}", f"{seconds:.3g}", f"{a_bag:.3g}"]
        for title, points in _points(results).items()
        for m, seconds, a_bag in points
    ]
    columns = ["data, method", "instances m", "seconds an epoch", "milliseconds a bag and epoch"]
    return Table("Training time", _ABOUT.format(_describe_growth(_points(results))), columns, rows)


def figure(results: Results) -> Figure:
    """All seconds on logarithmic axes with the growth fitted, and the time a bag as the paper draws it."""
    points = _points(results)
    colours = {_title(result): COLOURS.get(result.cell.method, SOFT) for result in results}

    def in_all(axes: Axes) -> None:
        for title, found in points.items():
            rows, seconds = [m for m, _, _ in found], [s for _, s, _ in found]
            label = f"{title}: m^{growth(rows, seconds):.2f}" if len(rows) > 1 else title
            axes.plot(rows, seconds, color=colours[title], marker="o", label=label)
        axes.set(xscale="log", yscale="log", xlabel="instances m", ylabel="seconds an epoch", title="In all")
        axes.legend(fontsize=8)

    def a_bag(axes: Axes) -> None:
        for title, found in points.items():
            rows, each = [m for m, _, _ in found], [ms for _, _, ms in found]
            axes.plot(rows, each, color=colours[title], marker="o", label=title)
        axes.set(xscale="log", xlabel="instances m", ylabel="milliseconds a bag", title="A bag")
        axes.set_ylim(bottom=0)
        axes.set_xticks(sorted({m for found in points.values() for m, _, _ in found}))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="x", labelsize=7, rotation=30)

    return panels([in_all, a_bag], size=(4.2, 3.2))


def _points(results: Results) -> _Points:
    found: _Points = {}
    for title, group in group_results(results, lambda cell: (cell.dataset, cell.method)).items():
        ordered = sorted(group, key=lambda result: int(result.row["train_rows"]))
        found[f"{dataset_title(title[0])}, {method_title(title[1])}"] = [_point(result) for result in ordered]
    return found


def _point(result: Result) -> tuple[int, float, float]:
    seconds = statistics.median(result.curve("seconds"))
    return int(result.row["train_rows"]), seconds, 1000 * seconds / result.row["bags"]


def _title(result: Result) -> str:
    return f"{dataset_title(result.cell.dataset)}, {method_title(result.cell.method)}"


def _describe_growth(points: _Points) -> str:
    fits = [
        f"{title}: t ∝ m^{growth([m for m, _, _ in found], [s for _, s, _ in found]):.2f}"
        for title, found in points.items()
        if len(found) > 1
    ]
    return f"Growth fitted: {'; '.join(fits)}." if fits else ""
