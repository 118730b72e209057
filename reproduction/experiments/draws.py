"""LLP-GAN over several random draws of the bags (Table 5)."""

import statistics

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from reproduction.outputs import COLOURS, SOFT, Draw, Table, panels, published_figures
from reproduction.run import Results, dataset_title, group_results, values

_ABOUT = (
    "LLP-GAN's test accuracy in per cent at the last epoch over random draws of the bags, its standard deviation, "
    "the mean number of wrong test instances, and the paper's figures."
)


def table(results: Results) -> Table:
    """A row for each data set and bag size."""
    rows = []
    for (dataset, size), group in group_results(results, lambda cell: (cell.dataset, cell.bag_size)).items():
        found = [100 - result.error for result in group]
        wrong = statistics.fmean(result.error * result.row["test_rows"] / 100 for result in group)
        spread = f"{statistics.stdev(found):.3g}" if len(found) > 1 else ""
        ours = [str(len(found)), f"{wrong:.0f}", f"{statistics.fmean(found):.2f}", spread]
        told = [f"{value:g}" for value in published_figures("table3", dataset, "LLPGAN", size or 0)] or [
            "",
            "",
            "",
        ]
        rows.append([dataset_title(dataset), str(size), *ours, *told])
    ours, papers = ["draws", "wrong", "accuracy", "deviation"], ["draws, paper", "accuracy, paper", "dev., paper"]
    return Table("Draws of bags", _ABOUT, ["data", "bag size", *ours, *papers], rows)


def figure(results: Results) -> Figure:
    """A dot for each draw; the paper's mean and deviation beside them."""
    groups = group_results(results, lambda cell: cell.dataset)
    return panels([_panel(dataset, group) for dataset, group in groups.items()], size=(4.2, 3.2))


def _panel(dataset: str, group: Results) -> Draw:
    def draw(axes: Axes) -> None:
        sizes = sorted(values(group, lambda cell: cell.bag_size or 1))
        at = [result.cell.bag_size or 1 for result in group]
        found = [100 - result.error for result in group]
        axes.scatter(at, found, 24, color=COLOURS["LLPGAN"], alpha=0.8, label="a draw")
        told = {size: entry for size in sizes if (entry := published_figures("table3", dataset, "LLPGAN", size))}
        if told:
            means, spreads = [entry[1] for entry in told.values()], [entry[2] for entry in told.values()]
            beside = [size * 1.08 for size in told]
            axes.errorbar(beside, means, spreads, color=SOFT, marker="s", linestyle="", capsize=2, label="paper")
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set(xlabel="bag size", ylabel="test accuracy (%)", title=dataset_title(dataset))
        axes.legend(fontsize=8)

    return draw
