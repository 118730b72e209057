"""Errors by data set, method and bag size, beside the paper's: what Tables 1 and 2 look like."""

import statistics
from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from llpgan.data.experiments.cell_results import (
    Results,
    dataset_title,
    errors,
    grouped,
    method_label,
    part_title,
    problem_title,
    values,
)
from llpgan.data.experiments.figures import PUBLISHED, SOFT, Draw, error_by_bag_size, method_colour, panels
from llpgan.data.experiments.markdown_tables import Table, mean_and_spread
from llpgan.data.experiments.published_figures import published

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
        for method, found in grouped(problem.results, method_label).items():
            ours = [errors(found, bag_size=size) for size in sizes]
            rows.append([problem.title, method, _runs_in_words(ours), *map(mean_and_spread, ours)])
            told = [_paper_in_words(published(paper, *_published_as(found), size)) for size in sizes]
            if problem.is_the_papers and any(told):
                rows.append(["", "in the paper", "", *told])
    return Table(title, _ABOUT, ["data", "method", "runs", *names], rows)


def error_figure(results: Results, paper: str) -> Figure:
    """A panel a data set: error against bag size, with the range over draws; the paper's dotted."""
    shown = [problem for problem in _problems(results) if problem.is_the_papers]
    return panels([_panel(problem.title, problem.results, paper) for problem in shown], n_columns=2)


def _problems(results: Results) -> Iterator[Problem]:
    for dataset, group in grouped(results, lambda cell: cell.dataset).items():
        pairs = grouped(group, problem_title)
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
        for title, found in grouped(group, method_label).items():
            sizes, method = sorted(values(found, lambda cell: cell.bag_size or 1)), found[0].cell.method
            colour = method_colour(title, method)
            if sizes == [1]:
                axes.axhline(statistics.fmean(errors(found)), color=colour, label=title, linewidth=1)
                continue
            ours = [errors(found, bag_size=size) for size in sizes]
            _plot_means(axes, sizes, ours, colour, title)
            if is_one_problem:  # pairs of classes differ more than draws of the bags and methods do
                _shade_range(axes, sizes, ours, colour)
            told = {size: entry[0] for size in all_sizes if (entry := published(paper, dataset, method, size))}
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
