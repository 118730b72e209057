"""The convergence curves: test error by epoch, a panel for each data set and bag size."""

from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from reproduction.cells import Cell
from reproduction.outputs import (
    Draw,
    Table,
    error_by_epoch,
    mean_and_spread,
    method_colour,
    panels,
    plot_by_epoch,
    published_figures,
)
from reproduction.run import Results, curves, dataset_title, group_results, method_label, part_title, values

_PARTS = (0.25, 0.5, 0.75, 1.0)
_ABOUT = (
    "Test error in per cent after a part of the epochs: mean over draws of the bags (standard deviation). The "
    "last column is how much the error moves from one epoch to the next over the second half, on average. The "
    "paper shows curves on CIFAR-10, and no numbers."
)


def table(results: Results) -> Table:
    """A row for each data set, bag size and method."""
    columns = ["data", "bag size", "method", "epochs", *(f"after {part:.0%}" for part in _PARTS), "swing"]
    rows = []
    for (dataset, size, method), group in group_results(select_bags(results), _group).items():
        curves = [result.curve("error") for result in group]
        head = [dataset_title(dataset) + part_title(group), str(size), method, str(max(map(len, curves)))]
        parts = [mean_and_spread([_after(curve, part) for curve in curves]) for part in _PARTS]
        rows.append([*head, *parts, mean_and_spread([swing(curve) for curve in curves])])
    return Table("Convergence", _ABOUT, columns, rows)


def figure(results: Results) -> Figure:
    """A line for each method; the paper's last error, where its Table 1 tells it, dotted."""
    groups = group_results(select_bags(results), lambda cell: (cell.dataset, cell.bag_size))
    n_sizes = len(values(select_bags(results), lambda cell: cell.bag_size))
    return panels([_panel(*key, group) for key, group in groups.items()], n_columns=n_sizes)


def select_bags(results: Results) -> Results:
    """Results of methods with epochs, in bags of more than one; small bags first."""
    found = [result for result in results if (result.cell.bag_size or 0) > 1 and result.row["history"]]
    order = values(found, lambda cell: cell.dataset)
    return sorted(found, key=lambda result: (order.index(result.cell.dataset), result.cell.bag_size or 0))


def _group(cell: Cell) -> tuple[str, int | None, str]:
    return cell.dataset, cell.bag_size, method_label(cell)


def _after(curve: list[float], part: float) -> float:
    return curve[max(1, round(part * len(curve))) - 1]


def swing(curve: list[float]) -> float:
    """The mean change of the second half, epoch to epoch.

    >>> swing([9.0, 5.0, 3.0, 4.0])
    1.0
    """
    second = curve[len(curve) // 2 :]
    moves = [abs(b - a) for a, b in pairwise(second)]
    return sum(moves) / len(moves) if moves else 0.0


def _panel(dataset: str, size: int | None, group: Results) -> Draw:
    def draw(axes: Axes) -> None:
        for label, found in group_results(group, method_label).items():
            method = found[0].cell.method
            colour = method_colour(label, method)
            plot_by_epoch(axes, curves(found, "error"), colour, label)
            for told in published_figures("table1", dataset, method, size or 0)[:1]:
                axes.axhline(told, color=colour, linestyle=":", linewidth=1)
        error_by_epoch(axes, f"{dataset_title(dataset)}{part_title(group)}, bags of {size}")

    return draw
