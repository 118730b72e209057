"""The tables of the pages, from what they tell."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from llpgan.evaluation import BagScores, Inspection, LabelScores, LearningCurve, PartialDependence, Rise
from llpgan.evaluation.groups import GroupShares
from llpgan.evaluation.groups.group_shares import group_text
from llpgan.evaluation.selection import Comparison
from llpgan.evaluation.selection.comparison_view import remark
from llpgan.report.data_tables import Column, DataTable
from llpgan.report.displays.group_shares_display import GroupSharesDisplay
from llpgan.report.formatting import count, percent
from llpgan.report.short_names import shorten

_FEW_CLASSES = 3  # whose shares the page shows; of more, that of the class which is missed by most


def bags_table(scores: BagScores, held_out: BagScores | None = None) -> DataTable:
    """All bags, those with the largest errors first: given and predicted shares, and the error."""
    parts = [scores] if held_out is None else [scores, held_out]
    given, predicted = (np.concatenate([getattr(part, name) for part in parts]) for name in ("given", "predicted"))
    error = np.concatenate([part.total_variation for part in parts])
    order = (-error).argsort(kind="stable")
    names = [str(name) for part in parts for name in part.bag_ids]
    sizes = np.concatenate([part.sizes for part in parts])
    columns = [
        Column("Bag", [names[bag] for bag in order], is_number=False),
        Column("Size", sizes[order].tolist(), count),
        Column("Error", error[order].tolist(), percent),
    ]
    if held_out is not None:
        used = np.repeat(["training", "held out"], [len(part.kl) for part in parts])
        columns.insert(1, Column("Used for", used[order].tolist(), is_number=False))
    columns += _shares(given[order], predicted[order], scores.classes)
    return DataTable("bags", "All bags, those with the largest errors first", tuple(columns))


def _shares(given: Any, predicted: Any, classes: Sequence[Any]) -> list[Column]:
    """Of two classes the second, which says all; of many the one that is missed by most, and all in the CSV."""
    is_few = len(classes) <= _FEW_CLASSES
    shown = [1] if len(classes) == 2 else list(range(len(classes))) if is_few else []
    columns = []
    if not is_few:
        worst = np.abs(given - predicted).argmax(axis=1)
        rows = np.arange(len(given))
        columns = [
            Column("Missed class", [shorten(classes[k], 24) for k in worst], is_number=False),
            Column("Given", given[rows, worst].tolist(), percent),
            Column("Predicted", predicted[rows, worst].tolist(), percent),
        ]
    for k, name in enumerate(classes):
        for what, shares in (("Given", given), ("Predicted", predicted)):
            head = f"{what} {shorten(name, 24)}"
            columns.append(Column(head, shares[:, k].tolist(), percent, is_shown=k in shown))
    return columns


def rises_table(rises: Mapping[str, Rise], effects: Sequence[PartialDependence], k: int) -> DataTable:
    """All columns, the most important first, with the direction of their effect on a class."""
    said = {effect.column: effect for effect in effects}
    names = sorted(rises, key=lambda name: -rises[name].mean)
    known = [said.get(name) for name in names]
    return DataTable(
        "columns",
        "All columns, the most important first",
        (
            Column("Column", names, is_number=False),
            Column("Rise of the loss", [rises[name].mean for name in names], "{:.4f}".format),
            Column("Standard deviation", [rises[name].sd for name in names], "{:.4f}".format, is_shown=False),
            Column(
                "Direction",
                ["hardly any effect" if effect is None else effect.in_words(k) for effect in known],
                is_number=False,
            ),
        ),
    )


def effects_table(effects: Sequence[PartialDependence]) -> DataTable:
    """The mean prediction at each value of each column."""
    cells = [(effect, place) for effect in effects for place in range(len(effect.names))]
    shares = [
        Column(f"Predicted {shorten(name, 24)}", [float(e.predicted[i, k]) for e, i in cells], percent)
        for k, name in enumerate(effects[0].classes)
    ]
    return DataTable(
        "effects",
        "The mean prediction if all instances had this value",
        (
            Column("Column", [effect.column for effect, _ in cells], is_number=False),
            Column("Value", [effect.names[place] for effect, place in cells], is_number=False),
            *shares,
        ),
    )


def groups_table(shares: GroupSharesDisplay) -> DataTable:
    """The share of each class in each group."""
    ends = [[None if np.isnan(end) else end for end in ends.tolist()] for ends in (shares.low, shares.high)]
    return DataTable(
        "groups",
        "Shares of classes by group",
        (
            Column("Group", list(shares.groups), is_number=False),
            Column("Class", list(shares.classes), is_number=False),
            Column("Share", shares.shares.tolist(), percent),
            Column("From", ends[0], percent),
            Column("To", ends[1], percent),
        ),
    )


def shares_table(found: GroupShares) -> DataTable:
    """The share of each class in each group, with what is certain of it and Goodman's estimate."""
    columns = found.columns(("group",), "class")
    groups = [group_text(group) for group in found.groups for _ in found.outcomes]
    ends = [] if found.intervals is None else [("From", "low"), ("To", "high")]
    beside = [("Certain from", "lowest"), ("Certain to", "highest"), ("Goodman", "goodman")] if ends else []
    return DataTable(
        "shares",
        "Shares of classes by group",
        (
            Column("Group", groups, is_number=False),
            Column("Rows", [round(size) for size in columns["size"]], count),
            Column("Class", [str(name) for name in columns["class"]], is_number=False),
            Column("Share", columns["share"], percent),
            *(Column(head, columns[name], percent) for head, name in (*ends, *beside)),
        ),
    )


def differences_table(found: GroupShares) -> DataTable:
    """By how much the shares of each group exceed those of each other."""
    rows = found.differences()
    ends = [] if found.intervals is None else ["low", "high"]
    return DataTable(
        "differences",
        "Differences of shares between groups, in percentage points",
        (
            Column("Group", [group_text(row[0]) for row in rows], is_number=False),
            Column("Minus", [group_text(row[1]) for row in rows], is_number=False),
            Column("Class", [str(row[2]) for row in rows], is_number=False),
            Column("Difference", [row[3].value for row in rows], _points),
            *(
                Column(head, [getattr(row[3], end) for row in rows], _points)
                for head, end in zip(("From", "To"), ends, strict=False)
            ),
        ),
    )


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}"


def history_table(history: Sequence[Mapping[str, float]]) -> DataTable:
    """What was measured in each epoch."""
    names = dict.fromkeys(name for row in history for name in row if name != "seconds")
    return DataTable(
        "epochs",
        "What was measured in each epoch",
        tuple(
            Column(name.replace("_", " "), [row.get(name) for row in history], "{:.5g}".format) for name in names
        ),
    )


def calibration_table(scores: LabelScores) -> DataTable:
    """How sure, how often right, how many."""
    bins = scores.calibration
    return DataTable(
        "calibration",
        "Instances in groups by how sure the classifier is",
        (
            Column("Sure", [row.confidence for row in bins], percent),
            Column("Right", [row.accuracy for row in bins], percent),
            Column("Instances", [row.n for row in bins], count),
        ),
    )


def confusion_table(scores: LabelScores, classes: Sequence[str]) -> DataTable:
    """Counts of true against predicted classes."""
    counts = scores.confusion.tolist()
    predicted = [
        Column(f"Predicted {shorten(name, 24)}", [row[k] for row in counts], count)
        for k, name in enumerate(classes)
    ]
    return DataTable(
        "confusion",
        "How many instances of each true class got which class",
        (Column("True class", list(classes), is_number=False), *predicted),
    )


def classes_table(found: Inspection) -> DataTable:
    """What bags tell of each class."""
    return DataTable(
        "classes",
        "What the bags tell of each class",
        (
            Column("Class", list(found.classes), is_number=False),
            Column("Rows", found.rows.tolist(), "{:,.0f}".format),
            Column("Worth in labelled rows", found.worth.tolist(), "{:,.0f}".format),
        ),
    )


def curve_table(curve: LearningCurve) -> DataTable:
    """The error on held-out bags, by the number of bags to learn from."""
    return DataTable(
        "learning_curve",
        "Bag error by the number of bags",
        (
            Column("Bags", [step.n_bags for step in curve.steps], count),
            Column("Bag error", [step.error for step in curve.steps], percent),
            Column("Standard deviation", [step.sd for step in curve.steps], percent),
        ),
    )


def sizes_table(bag_names: Sequence[str], sizes: Any, proportions: Any, classes: Sequence[str]) -> DataTable:
    """All bags, with their given shares."""
    shares = [
        Column(f"Share of {shorten(name, 24)}", proportions[:, k].tolist(), percent, is_shown=k < _FEW_CLASSES)
        for k, name in enumerate(classes)
    ]
    return DataTable(
        "bags",
        "All bags",
        (Column("Bag", list(bag_names), is_number=False), Column("Size", sizes.tolist(), count), *shares),
    )


def methods_table(found: Comparison) -> DataTable:
    """All methods, the best first."""
    results = found.results
    return DataTable(
        "comparison",
        "All methods, the best first",
        (
            Column("Method", [result.name for result in results], is_number=False),
            Column("Score", [result.score for result in results], "{:.4f}".format),
            Column("Worse by", [result.worse_by for result in results], "{:.4f}".format),
            Column("± error", [result.error for result in results], "{:.4f}".format),
            Column("Seconds per fold", [result.seconds for result in results], "{:.1f}".format),
            Column("Remark", [remark(found, result) for result in results], is_number=False),
        ),
    )


def figures_table(figures: Mapping[str, Any]) -> DataTable:
    """Figures with their 95 % intervals, where they have one."""
    return DataTable(
        "figures",
        "All figures",
        (
            Column("Figure", list(figures), is_number=False),
            Column("Value", [found.value for found in figures.values()], "{:.4f}".format),
            Column("From", [found.low for found in figures.values()], "{:.4f}".format),
            Column("To", [found.high for found in figures.values()], "{:.4f}".format),
        ),
    )
