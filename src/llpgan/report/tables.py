"""Tables of a report."""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from llpgan.ecological import GroupShares
from llpgan.ecological.shares import group_text
from llpgan.evaluation import BagCalibration, BagScores, Inspection, LabelScores, LearningCurve, PartialDependence
from llpgan.evaluation.compare import Comparison, remark
from llpgan.evaluation.explain import Rise
from llpgan.evaluation.sets import SetLevel
from llpgan.report.content import name_bag
from llpgan.report.drawing import shorten
from llpgan.report.effects import GroupSharesDisplay
from llpgan.report.text import figure_form, format_count, format_percent, format_percent_interval, rates_by_class

MOST_ROWS = 2000  # that a page shows; the CSV has all


@dataclass(frozen=True)
class Cell:
    """What a page shows of one value, and what it is sorted by; nothing where it is sorted by what is shown."""

    text: str
    key: str
    is_number: bool


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    head : str
        Its name.
    values : sequence
        The value of each row, as the CSV has it.
    form : callable, default=str
        From a value to what the page shows.
    is_number : bool, default=True
        Whether it is sorted as numbers, and aligned to the right.
    is_shown : bool, default=True
        Whether the page has it; the CSV always does.
    texts : sequence of str, default=()
        What the page shows of each value, if that depends on more than the value.
    """

    head: str
    values: Sequence[Any]
    form: Callable[[Any], str] = str
    is_number: bool = True
    is_shown: bool = True
    texts: Sequence[str] = ()

    def cell(self, row: int) -> Cell:
        """What the page shows of one value.

        Parameters
        ----------
        row : int
            The position of the value.

        Returns
        -------
        Cell
        """
        value = self.values[row]
        key = f"{value:.6g}" if self.is_number and isinstance(value, int | float) else ""
        text = self.texts[row] if self.texts else "" if value is None else self.form(value)
        return Cell(text, key, self.is_number)


@dataclass(frozen=True)
class DataTable:
    """A table.

    Attributes
    ----------
    name : str
        Of the CSV file, without its ending.
    about : str
        What is in it: the table's caption.
    columns : tuple of Column
        All of the same length.
    """

    name: str
    about: str
    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns[0].values)

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that a page shows."""
        return tuple(column for column in self.columns if column.is_shown)

    def rows(self) -> Iterator[list[Cell]]:
        """What a page shows: the first rows."""
        for row in range(min(len(self), MOST_ROWS)):
            yield [column.cell(row) for column in self.shown]

    def csv(self) -> str:
        r"""All rows and columns as CSV.

        Returns
        -------
        str

        Examples
        --------
        >>> DataTable("bags", "", (Column("bag", ["a, b"]), Column("error", [0.5]))).csv()
        'bag,error\r\n"a, b",0.5\r\n'
        """
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow([column.head for column in self.columns])
        writer.writerows(zip(*(column.values for column in self.columns), strict=True))
        return file.getvalue()

    @property
    def address(self) -> str:
        """An address that carries the CSV, so that a link can download it without a request or a script.

        It begins with the mark by which spreadsheets know UTF-8.
        """
        return "data:text/csv;charset=utf-8;base64," + b64encode(self.csv().encode("utf-8-sig")).decode()


_FEW_CLASSES = 2  # whose shares the page shows; of more, that of the class which is missed by most


def bags_table(scores: BagScores, held_out: BagScores | None = None) -> DataTable:
    """All bags, those with the largest errors first: given and predicted shares, and the error."""
    parts = [scores] if held_out is None else [scores, held_out]
    given, predicted = (np.concatenate([getattr(part, name) for part in parts]) for name in ("given", "predicted"))
    error = np.concatenate([part.total_variation for part in parts])
    order = (-error).argsort(kind="stable")
    names = [name_bag(name) for part in parts for name in part.bag_ids]
    sizes = np.concatenate([part.sizes for part in parts])
    columns = [
        Column("Bag", [names[bag] for bag in order], is_number=False),
        Column("Size", sizes[order].tolist(), format_count),
        Column("Error", error[order].tolist(), format_percent),
    ]
    if held_out is not None:
        used = np.repeat(["training", "held out"], [len(part.kl) for part in parts])
        columns.insert(1, Column("Used for", used[order].tolist(), is_number=False))
    columns += _shares(given[order], predicted[order], scores.classes)
    return DataTable("bags", "All bags, those with the largest errors first", tuple(columns))


def _shares(given: Any, predicted: Any, classes: Sequence[Any]) -> list[Column]:
    """Of two classes the second, which says all; of many the one that is missed by most, and all in the CSV."""
    is_few = len(classes) <= _FEW_CLASSES
    shown = [len(classes) - 1] if is_few else []
    columns = []
    if not is_few:
        worst = np.abs(given - predicted).argmax(axis=1)
        rows = np.arange(len(given))
        columns = [
            Column("Missed class", [shorten(classes[k], 24) for k in worst], is_number=False),
            Column("Given", given[rows, worst].tolist(), format_percent),
            Column("Predicted", predicted[rows, worst].tolist(), format_percent),
        ]
    for k, name in enumerate(classes):
        for what, shares in (("Given", given), ("Predicted", predicted)):
            head = f"{what} {shorten(name, 24)}"
            columns.append(Column(head, shares[:, k].tolist(), format_percent, is_shown=k in shown))
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
            Column("Rise of the loss", [rises[name].mean for name in names], "{:z.4f}".format),
            Column("Standard deviation", [rises[name].sd for name in names], "{:z.4f}".format, is_shown=False),
            Column(
                "Direction",
                ["no clear effect" if effect is None else effect.describe(k) for effect in known],
                is_number=False,
            ),
        ),
    )


def effects_table(effects: Sequence[PartialDependence]) -> DataTable:
    """The mean prediction at each value of each column."""
    cells = [(effect, place) for effect in effects for place in range(len(effect.names))]
    shares = [
        Column(f"Predicted {shorten(name, 24)}", [float(e.predicted[i, k]) for e, i in cells], format_percent)
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
            Column("Share", shares.shares.tolist(), format_percent),
            Column("From", ends[0], format_percent),
            Column("To", ends[1], format_percent),
        ),
    )


def shares_table(found: GroupShares) -> DataTable:
    """The share of each class in each group, with what is certain of it and Goodman's estimate."""
    columns = found.columns(("group",), "class")
    groups = [group_text(group) for group in found.groups for _ in found.outcomes]
    ends = [] if found.intervals is None else [("From", "low"), ("To", "high")]
    more = [("Certain from", "lowest"), ("Certain to", "highest"), ("Goodman", "goodman")] if ends else []
    return DataTable(
        "shares",
        "Shares of classes by group",
        (
            Column("Group", groups, is_number=False),
            Column("Rows", [round(size) for size in columns["size"]], format_count),
            Column("Class", [str(name) for name in columns["class"]], is_number=False),
            Column("Share", columns["share"], format_percent),
            *(Column(head, _clip_shares(columns[name]), format_percent) for head, name in ends + more[:2]),
            *(Column(head, columns[name], format_possible_share) for head, name in more[2:]),
        ),
    )


def _clip_shares(shares: Sequence[float]) -> list[float]:
    """Shares without the errors of rounding below 0 and above 1."""
    return np.clip(shares, 0, 1).tolist()


def format_possible_share(share: float) -> str:
    """Format an estimate that may leave the range of shares: then it is named, not shown as a share."""
    return format_percent(share) if 0 <= share <= 1 else "impossible"


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
            Column("Difference", [row[3].value for row in rows], _percentage_points),
            *(
                Column(head, [getattr(row[3], end) for row in rows], _percentage_points)
                for head, end in zip(("From", "To"), ends, strict=False)
            ),
        ),
    )


def _percentage_points(difference: float) -> str:
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
    """Confidence and accuracy of groups of instances."""
    bins = scores.calibration
    return DataTable(
        "calibration",
        "Confidence and accuracy, by labels",
        (
            Column("Confidence", [row.confidence for row in bins], format_percent),
            Column("Accuracy", [row.accuracy for row in bins], format_percent),
            Column("Instances", [row.n for row in bins], format_count),
        ),
    )


def bag_calibration_table(found: BagCalibration) -> DataTable:
    """Confidence, and the accuracy that bags show with its interval."""
    accuracy, half = found.accuracies, 1.96 * found.errors
    ends = np.clip([accuracy - half, accuracy + half], 0, 1).tolist()
    return DataTable(
        "bag_calibration",
        "Confidence and accuracy, by bags alone",
        (
            Column("Confidence", found.confidences.tolist(), format_percent),
            Column("Accuracy", np.clip(accuracy, 0, 1).tolist(), format_percent),
            Column("From", ends[0], format_percent),
            Column("To", ends[1], format_percent),
            Column("Share of instances", found.shares.tolist(), format_percent),
        ),
    )


def sets_table(levels: Sequence[SetLevel]) -> DataTable:
    """Coverage and sizes of the prediction sets of each level."""
    measured = [None if each.scores is None else each.scores.coverage for each in levels]
    coverages = {"Coverage": [each.estimated for each in levels]}
    if any(found is not None for found in measured):
        coverages["Coverage on these bags"] = measured
    return DataTable(
        "prediction_sets",
        "Prediction sets by level",
        (
            Column("Level", [each.level for each in levels], lambda share: f"{100 * share:.0f} %"),
            *(
                column
                for head, found in coverages.items()
                for column in (
                    Column(head, [None if each is None else each.value for each in found], format_percent),
                    Column(
                        "95 % interval",
                        ["" if each is None else format_percent_interval(each) for each in found],
                        is_number=False,
                    ),
                )
            ),
            Column("Mean size", [each.scores and each.scores.mean_size for each in levels], "{:.2f}".format),
            Column(
                "Sets of one class", [each.scores and each.scores.share_single for each in levels], format_percent
            ),
        ),
    )


def classes_found_table(scores: LabelScores, classes: Sequence[str]) -> DataTable:
    """Recall and precision of each class."""
    rates = rates_by_class(scores, tuple(classes))
    return DataTable(
        "classes",
        "Recall and precision of each class",
        (
            Column("Class", [rate.name for rate in rates], is_number=False),
            Column("Instances", [rate.n for rate in rates], format_count),
            Column("Recall", [rate.recall for rate in rates], format_percent),
            Column("Precision", [rate.precision for rate in rates], format_percent),
        ),
    )


def tried_table(tried: Sequence[Mapping[str, Any]]) -> DataTable:
    """What an automatic method tried, the largest weight first."""
    rows = sorted(tried, key=lambda row: -row["weight"])
    return DataTable(
        "tried",
        "Methods that were tried",
        (
            Column("Method", [row["method"] for row in rows], is_number=False),
            Column("Weight", [row["weight"] for row in rows], format_percent),
            Column("Loss on held-out bags", [row["held_out_loss"] for row in rows], "{:.4f}".format),
        ),
    )


def confusion_table(scores: LabelScores, classes: Sequence[str]) -> DataTable:
    """Counts of true against predicted classes."""
    counts = scores.confusion.tolist()
    predicted = [
        Column(f"Predicted {shorten(name, 24)}", [round(row[k]) for row in counts], format_count)
        for k, name in enumerate(classes)
    ]
    return DataTable(
        "confusion",
        "How many instances of each true class got which class",
        (Column("True class", list(classes), is_number=False), *predicted),
    )


def classes_table(found: Inspection) -> DataTable:
    """How informative the bags are about each class."""
    return DataTable(
        "classes",
        "What the bags show of each class",
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
            Column("Bags", [step.n_bags for step in curve.steps], format_count),
            Column("Bag error", [step.error for step in curve.steps], format_percent),
            Column("Standard deviation", [step.sd for step in curve.steps], format_percent),
        ),
    )


def sizes_table(bag_names: Sequence[str], sizes: Any, proportions: Any, classes: Sequence[str]) -> DataTable:
    """All bags, with their given shares."""
    shares = [
        Column(
            f"Share of {shorten(name, 24)}", proportions[:, k].tolist(), format_percent, is_shown=k < _FEW_CLASSES
        )
        for k, name in enumerate(classes)
    ]
    return DataTable(
        "bags",
        "All bags",
        (Column("Bag", list(bag_names), is_number=False), Column("Size", sizes.tolist(), format_count), *shares),
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
    columns = []
    for head, end in (("Value", "value"), ("From", "low"), ("To", "high")):
        values = [getattr(found, end) for found in figures.values()]
        texts = [
            "" if value is None else figure_form(name)(value) for name, value in zip(figures, values, strict=True)
        ]
        columns.append(Column(head, values, texts=texts))
    return DataTable("figures", "All figures", (Column("Figure", list(figures), is_number=False), *columns))
