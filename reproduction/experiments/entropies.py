"""The entropy of DLLP's predictions of single instances by epoch (the appendix's figure)."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from reproduction.cells import Cell
from reproduction.outputs import Draw, Table, assign_colours, mean_and_spread, panels, plot_by_epoch
from reproduction.run import Results, curves, group_results, problem_title, values

_ABOUT = (
    "DLLP's mean entropy of an instance's prediction over the training instances, in nats (10 equal classes have "
    "{:.2f}), after the first and the last epoch, and the test error: mean over draws (standard deviation). The "
    "paper sums the entropy over instances, shows a curve on MNIST, and says that DLLP comes to fairly low "
    "entropy by itself, so that a term for it is redundant."
)


def table(results: Results) -> Table:
    """A row for each data set, bag size and weight of the entropy term."""
    rows = []
    for key, group in group_results(
        results, lambda c: (problem_title(c), str(c.bag_size), f"{weight(c):g}")
    ).items():
        curves = [result.curve("entropy") for result in group]
        first, last = (mean_and_spread([curve[place] for curve in curves], 3) for place in (0, -1))
        sums = [curve[-1] * result.row["train_rows"] for curve, result in zip(curves, group, strict=True)]
        found = [result.error for result in group]
        rows.append([*key, first, last, mean_and_spread(sums, 0), mean_and_spread(found)])
    columns = ["data", "bag size", "weight", "first epoch", "last epoch", "sum, last epoch", "error (%)"]
    return Table("Entropy of instances", _ABOUT.format(math.log(10)), columns, rows)


def figure(results: Results) -> Figure:
    """A panel for each data set and weight, a line for each bag size."""
    ordered = sorted(results, key=lambda result: (weight(result.cell), result.cell.bag_size or 0))
    groups = group_results(ordered, lambda cell: f"{problem_title(cell)}, weight {weight(cell):g}")
    colours = assign_colours(values(ordered, lambda cell: cell.bag_size))
    return panels([_panel(title, group, colours) for title, group in groups.items()], n_columns=3)


def weight(cell: Cell) -> float:
    """Of the entropy term; 0 is the original DLLP."""
    return float(dict(cell.settings).get("entropy_weight", 0.0))


def _panel(title: str, group: Results, colours: dict[int | None, str]) -> Draw:
    def draw(axes: Axes) -> None:
        for size, found in group_results(group, lambda cell: cell.bag_size).items():
            plot_by_epoch(axes, curves(found, "entropy"), colours[size], f"bags of {size}")
        axes.set(xlabel="epoch", ylabel="mean entropy (nats)", title=title)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.legend(fontsize=8)

    return draw
