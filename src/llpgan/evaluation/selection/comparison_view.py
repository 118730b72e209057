"""A comparison as a table and as a picture."""

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from llpgan.evaluation.selection.candidates import OVERALL
from llpgan.evaluation.selection.comparison import Comparison, Result

_HEAD = ("method", "score", "worse than the best by", "seconds a fold", "")
_WORDS = {
    "cross_entropy": "cross-entropy of held-out bags",
    "total_variation": "bag error (total variation) of held-out bags",
    "hard_total_variation": "bag error of predicted classes, held-out bags",
}


def as_cells(comparison: Comparison) -> list[tuple[str, ...]]:
    """A row a method, the best first: its score, how much worse than the best with the standard error, seconds."""
    return [(result.name, *_figures(result), _remark(comparison, result)) for result in comparison.results]


def as_table(comparison: Comparison) -> Table:
    """For a terminal."""
    table = Table(*_HEAD, title=_WORDS[comparison.score].capitalize(), title_justify="left")
    for cells in as_cells(comparison):
        table.add_row(*cells)
    return table


def as_markdown(comparison: Comparison) -> str:
    """For a file: the table, and what methods warned of."""
    lines = ["| " + " | ".join(_HEAD) + " |", "|---" * len(_HEAD) + "|"]
    lines += ["| " + " | ".join(cells) + " |" for cells in as_cells(comparison)]
    notes = [f"- {result.name}: {note}" for result in comparison.results for note in result.notes]
    about = f"Score: {_WORDS[comparison.score]}; ± one standard error, bag by bag; near the best: within it."
    return "\n".join(["# Comparison", "", about, "", *lines, *([""] if notes else []), *notes]) + "\n"


def as_figure(comparison: Comparison) -> Figure:
    """Each method's score, the best on top, with the standard error of its difference from the best."""
    shown = [result for result in comparison.results if result.score is not None][::-1]
    figure = Figure(figsize=(7, 1.2 + 0.4 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    for place, result in enumerate(shown):
        colour = _colour(comparison, result)
        axes.errorbar([result.score or 0.0], [place], xerr=[result.error or 0.0], fmt="o", color=colour, capsize=3)
    axes.set_yticks(np.arange(len(shown)), [result.name for result in shown])
    axes.margins(y=0.5 / len(shown))
    axes.set_xlabel(_WORDS[comparison.score] + " (lower is better)")
    axes.set_title("± one standard error of the difference from the best; chosen: orange", fontsize="medium")
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _figures(result: Result) -> tuple[str, str, str]:
    seconds = "" if result.seconds is None else f"{result.seconds:.1f}"
    if result.score is None:
        return "", "", seconds
    return f"{result.score:.4f}", f"{result.worse_by:.4f} ± {result.error:.4f}", seconds


def _remark(comparison: Comparison, result: Result) -> str:
    if result.failed:
        return result.failed
    if result.name == comparison.chosen:
        return "chosen"
    if result.name == OVERALL:
        return "baseline that ignores the features"
    return "near the best" if comparison.is_near(result.name) else ""


def _colour(comparison: Comparison, result: Result) -> str:
    if result.name == comparison.chosen:
        return "tab:orange"
    return "tab:gray" if result.name == OVERALL else "tab:blue"
