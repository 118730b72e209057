"""A comparison as a table."""

from rich.table import Table

from llpgan.evaluation.selection.candidates import OVERALL
from llpgan.evaluation.selection.comparison import Comparison, Result
from llpgan.utils.notebook_html import html_table

_HEAD = ("method", "score", "worse than the best by", "seconds a fold", "")
SCORES_IN_WORDS = {
    "cross_entropy": "cross-entropy of held-out bags",
    "total_variation": "bag error (total variation) of held-out bags",
    "hard_total_variation": "bag error of predicted classes, held-out bags",
}


def as_cells(comparison: Comparison) -> list[tuple[str, ...]]:
    """A row a method, the best first: its score, how much worse than the best with the standard error, seconds."""
    return [(result.name, *_figures(result), remark(comparison, result)) for result in comparison.results]


def as_table(comparison: Comparison) -> Table:
    """For a terminal."""
    table = Table(*_HEAD, title=SCORES_IN_WORDS[comparison.score].capitalize(), title_justify="left")
    for cells in as_cells(comparison):
        table.add_row(*cells)
    return table


def as_markdown(comparison: Comparison) -> str:
    """For a file: the table, and what methods warned of."""
    lines = ["| " + " | ".join(_HEAD) + " |", "|---" * len(_HEAD) + "|"]
    lines += ["| " + " | ".join(cells) + " |" for cells in as_cells(comparison)]
    notes = [f"- {result.name}: {note}" for result in comparison.results for note in result.notes]
    about = (
        f"Score: {SCORES_IN_WORDS[comparison.score]}; ± one standard error, bag by bag; near the best: within it."
    )
    return "\n".join(["# Comparison", "", about, "", *lines, *([""] if notes else []), *notes]) + "\n"


def as_html(comparison: Comparison) -> str:
    """For a notebook."""
    columns = dict(zip(_HEAD, zip(*as_cells(comparison), strict=True), strict=True))
    note = "± one standard error of the difference, bag by bag; the lower the score, the better."
    return html_table(columns, SCORES_IN_WORDS[comparison.score].capitalize(), most=40, note=note)


def _figures(result: Result) -> tuple[str, str, str]:
    seconds = "" if result.seconds is None else f"{result.seconds:.1f}"
    if result.score is None:
        return "", "", seconds
    return f"{result.score:.4f}", f"{result.worse_by:.4f} ± {result.error:.4f}", seconds


def remark(comparison: Comparison, result: Result) -> str:
    """What there is to say of a method: chosen, near the best, or why it failed."""
    if result.failed:
        return result.failed
    if result.name == comparison.chosen:
        return "chosen"
    if result.name == OVERALL:
        return "baseline that ignores the features"
    return "near the best" if comparison.is_near(result.name) else ""
