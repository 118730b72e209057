"""The average error over the binary problems by bag size (the paper's Figure 5)."""

import statistics
from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from reproduction.outputs import PUBLISHED, Table, error_by_bag_size, method_colour, panels, published_figures
from reproduction.run import Results, errors, group_results, method_label, problem_title, values

_ABOUT = (
    "Test error in per cent, averaged over the problems that every method and bag size has rows of ({}): ours, "
    "and the same mean of the paper's Table 4 over its data sets. Each problem counts once, as the mean over "
    "draws."
)


def table(results: Results) -> Table:
    """A row a method, and for each bag size ours and the paper's."""
    results = _drop_small_networks(results)
    shared = _find_shared_problems(results)
    sizes = sorted(values(results, lambda cell: cell.bag_size or 1))
    columns = ["method", *(part for size in sizes for part in (f"{size}", f"{size}, paper"))]
    rows = [
        [method, *(_text(mean) for pair in _means(found, shared, sizes) for mean in pair)]
        for method, found in group_results(results, method_label).items()
    ]
    return Table("Average error (%)", _ABOUT.format("; ".join(shared) or "none"), columns, rows)


def figure(results: Results) -> Figure:
    """Lines of ours, dotted lines of the paper's."""
    results = _drop_small_networks(results)
    shared, sizes = _find_shared_problems(results), sorted(values(results, lambda cell: cell.bag_size or 1))

    def draw(axes: Axes) -> None:
        for title, found in group_results(results, method_label).items():
            ours, papers = zip(*_means(found, shared, sizes), strict=True)
            colour = method_colour(title, found[0].cell.method)
            axes.plot(sizes, [_number(mean) for mean in ours], color=colour, marker="o", label=title)
            axes.plot(sizes, [_number(mean) for mean in papers], color=colour, **PUBLISHED)
        error_by_bag_size(axes, sizes, "Ours; the paper's dotted", "average test error (%)")

    return panels([draw], size=(4.6, 3.4))


def _drop_small_networks(results: Results) -> Results:
    return [result for result in results if not result.cell.has_small_network]


def _find_shared_problems(results: Results) -> dict[str, str]:
    """The problems that can be averaged, with their data set: a mean over others would compare unlike things."""
    wanted = len(values(results, lambda cell: (method_label(cell), cell.bag_size)))
    there = group_results(results, problem_title)
    full = {p: g for p, g in there.items() if len(values(g, lambda c: (method_label(c), c.bag_size))) == wanted}
    return {problem: group[0].cell.dataset for problem, group in full.items()}


def _means(
    of_method: Results, shared: dict[str, str], sizes: list[int]
) -> Iterator[tuple[float | None, float | None]]:
    """Of one method, for each size the mean of ours and of the paper's."""
    method, by_problem = of_method[0].cell.method, group_results(of_method, problem_title)
    for size in sizes:
        found = [errors(by_problem[problem], bag_size=size) for problem in shared]
        ours = [statistics.fmean(each) for each in found if each]  # all or none: see _shared
        told = [
            published_figures("table2", dataset, method, size)[:1] for dataset in dict.fromkeys(shared.values())
        ]
        yield _mean(ours), _mean([value for entry in told for value in entry])


def _mean(numbers: list[float]) -> float | None:
    return statistics.fmean(numbers) if numbers else None


def _text(mean: float | None) -> str:
    return "" if mean is None else f"{mean:.2f}"


def _number(mean: float | None) -> float:
    return float("nan") if mean is None else mean
