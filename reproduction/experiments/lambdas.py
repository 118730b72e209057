"""LLP-GAN's error for several weights λ of the proportion loss (the paper's Figure 6 a to c)."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from reproduction.cells import Cell
from reproduction.experiments.convergence import swing
from reproduction.outputs import (
    Draw,
    Table,
    assign_colours,
    error_by_epoch,
    mean_and_spread,
    panels,
    plot_by_epoch,
)
from reproduction.run import Results, curves, group_results, problem_title, values

_ABOUT = (
    "LLP-GAN's test error in per cent at the last epoch, mean over draws (standard deviation), and how much it "
    "moves from one epoch to the next over the second half. The paper shows curves, and says that λ ≥ 1 is a good "
    "choice and that a smaller one swings more."
)


def weight(cell: Cell) -> float:
    """λ; the mean size of the bags where none is set."""
    return float(dict(cell.settings).get("proportion_weight") or cell.bag_size or 1)


def table(results: Results) -> Table:
    """A row for each data set, bag size and λ."""
    rows = []
    for (problem, size, value), group in group_results(_order_weights(results), _group).items():
        swings = [swing(result.curve("error")) for result in group]
        found = [result.error for result in group]
        rows.append([problem, str(size), f"{value:g}", mean_and_spread(found), mean_and_spread(swings)])
    return Table("The weight of the proportions", _ABOUT, ["data", "bag size", "λ", "error (%)", "swing"], rows)


def figure(results: Results) -> Figure:
    """A panel for each data set and bag size, a line for each λ."""
    groups = group_results(_order_weights(results), lambda cell: f"{problem_title(cell)}, bags of {cell.bag_size}")
    colours = assign_colours(values(_order_weights(results), weight))
    return panels([_panel(title, group, colours) for title, group in groups.items()], n_columns=3)


def _order_weights(results: Results) -> Results:
    places = {problem: place for place, problem in enumerate(group_results(results, problem_title))}
    return sorted(
        results, key=lambda r: (places[problem_title(r.cell)], r.cell.bag_size or 0, weight(r.cell), r.cell.draw)
    )


def _group(cell: Cell) -> tuple[str, int | None, float]:
    return problem_title(cell), cell.bag_size, weight(cell)


def _panel(title: str, group: Results, colours: dict[float, str]) -> Draw:
    def draw(axes: Axes) -> None:
        for value, found in group_results(group, weight).items():
            plot_by_epoch(axes, curves(found, "error"), colours[value], f"λ = {value:g}")
        error_by_epoch(axes, title)

    return draw
