"""``llpgan evaluate``: how good a saved model is, by labels where they exist, by bags, or both."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from llpgan.commands.labels import labels_as_classes
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation import BagScores, Estimate, LabelScores, bag_scores, label_scores
from llpgan.files import refuse_existing, whole_file
from llpgan.model_files import load
from llpgan.sources import Rows, label_values, open_rows, shared_bags


@dataclass(frozen=True)
class Evaluation:
    """What there is to say: of labels, of bags, or of both."""

    by_label: LabelScores | None
    by_bag: BagScores | None
    classes: list[Any]

    def figures(self) -> dict[str, Estimate]:
        """The figures by name, each with its interval if it has one."""
        found: dict[str, Estimate | None] = {}
        if self.by_label is not None:
            found |= {"accuracy": self.by_label.accuracy, "AUC": self.by_label.auc}
            found |= {"log loss": self.by_label.log_loss, "calibration error": self.by_label.calibration_error}
        if self.by_bag is not None:
            found["bag error (total variation)"] = self.by_bag.mean_total_variation
            found["bag error of predicted classes"] = self.by_bag.mean_hard_total_variation
            found["bag cross-entropy"] = self.by_bag.mean_cross_entropy
        return {name: estimate for name, estimate in found.items() if estimate is not None}


def evaluate(
    model: str,
    data: str,
    *,
    label: str | None = None,
    label_names: Sequence[str] = (),
    bag: str | Sequence[str] | None = None,
    proportions: str | None = None,
    counts: str | None = None,
    out: str | None = None,
    overwrite: bool = False,
) -> Evaluation:
    """Judge a saved model by labels of single rows, by proportions of bags, or by both.

    Args:
        model: the folder of a saved model.
        data: a file like that of the training.
        label: the column that holds the true class of each row.
        label_names: the class of each of the label's values, in their sorted order, where they have other names.
        bag: the column, or the columns, that say which bag a row belongs to.
        proportions: a table with a row a bag: the columns of the bag, and a column a class.
        counts: a table like proportions that holds counts.
        out: a file (.json) for the figures; they are always shown.
        overwrite: replace the file that is there.
    """
    if out is not None:
        refuse_existing(Path(out), overwrite)
    loaded = load(model)
    rows = open_rows(data, () if loaded.encoder_ is None else loaded.encoder_.text_columns)
    found = evaluated(loaded, rows, label, label_names, bag, proportions, counts)
    Console().print(_as_table(found))
    if found.by_label is not None:
        Console().print(_confusion(found.by_label, found.classes))
    if out is not None:
        with whole_file(Path(out)) as aside:
            aside.write_text(json.dumps({n: vars(e) for n, e in found.figures().items()}, indent=2) + "\n")
    return found


def evaluated(
    model: LLPClassifier,
    rows: Rows,
    label: str | None,
    label_names: Sequence[str] = (),
    bag: str | Sequence[str] | None = None,
    proportions: Any = None,
    counts: Any = None,
) -> Evaluation:
    """The scores for which the truth is given."""
    by_bags = proportions is not None or counts is not None
    if label is None and not by_bags:
        raise ValueError("nothing to judge by: give a label, or a bag and its proportions or counts")
    truth = None
    if label is not None:
        truth = labels_as_classes(label_values(rows, label), model.classes_, label, label_names)
    bags = shared_bags(rows, model.classes_, bag, proportions, counts) if by_bags else None
    probabilities = model.predict_proba(rows if rows.array is None else rows.array)
    return Evaluation(
        by_label=None if truth is None else label_scores(truth, probabilities, model.classes_),
        by_bag=None if bags is None else bag_scores(bags, probabilities),
        classes=model.classes_.tolist(),
    )


def _as_table(found: Evaluation) -> Table:
    counted = found.by_label.n if found.by_label is not None else len(found.by_bag.kl) if found.by_bag else 0
    of = "rows" if found.by_label is not None else "bags"
    table = Table("", "value", "95 % interval", title=f"{counted:,} {of}", title_justify="left")
    for name, estimate in found.figures().items():
        ends = "none" if estimate.low is None else f"{estimate.low:.4f} to {estimate.high:.4f}"
        table.add_row(name, f"{estimate.value:.4f}", ends)
    return table


def _confusion(scores: LabelScores, classes: list[Any]) -> Table:
    table = Table(
        "true class", *(f"predicted {name}" for name in classes), title="Confusion", title_justify="left"
    )
    for name, counts in zip(classes, scores.confusion.tolist(), strict=True):
        table.add_row(str(name), *(f"{count:,}" for count in counts))
    return table
