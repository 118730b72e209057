"""``llpgan evaluate`` and ``llpgan inspect``."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from llpgan.bags import Bags
from llpgan.cli.fit import (
    BAG_OPTIONS,
    check_predictions,
    describe_origin,
    labels_as_classes,
    list_inputs,
    load_model,
    open_model_rows,
    read_instances,
)
from llpgan.cli.main import make_console, make_visible
from llpgan.cli.options import passes_on, read_threshold
from llpgan.evaluation import (
    BagCalibration,
    BagScores,
    Estimate,
    Inspection,
    LabelScores,
    LearningCurve,
    RandomnessTest,
    SetScores,
    Verdict,
    bag_scores,
    inspect_bags,
    judge_without_labels,
    label_scores,
    learning_curve,
    randomness_test,
    set_scores,
)
from llpgan.evaluation.scores import share
from llpgan.evaluation.sets import SetLevel, score_levels, summarize_sets
from llpgan.methods.base import LLPClassifier
from llpgan.persistence.model import files_of_model
from llpgan.report import InspectionPage, evaluation_page
from llpgan.report.content import measure_calibration
from llpgan.report.text import (
    LOW_RECALL,
    balanced_accuracy,
    baseline_accuracy,
    figure_form,
    format_count,
    format_interval,
    format_percent,
    format_percent_interval,
    rates_by_class,
)
from llpgan.tables import Rows, TableSpec, label_values, shared_bags
from llpgan.tables.build import row_weights
from llpgan.utils.arrays import check_between_0_and_1
from llpgan.utils.files import check_endings, output_if_named


@dataclass(frozen=True)
class Evaluation:
    """What there is to say: of labels, of bags, or of both."""

    by_label: LabelScores | None
    verdict: Verdict | None
    classes: list[Any]
    overall: BagScores | None = None  # of predicting the overall shares for every row
    calibration: BagCalibration | None = None
    sets: SetScores | None = None
    levels: tuple[SetLevel, ...] = ()  # the sets of several levels, if the model has any
    coverage_by_label: Estimate | None = None
    threshold: str | None = None

    @property
    def by_bag(self) -> BagScores | None:
        """How well the model fits the bags."""
        return None if self.verdict is None else self.verdict.bags

    def page(self, title: str, method: str) -> str:
        """The page with charts and tables."""
        return evaluation_page(
            title,
            method,
            [str(name) for name in self.classes],
            self.figures(),
            labels=self.by_label,
            verdict=self.verdict,
            calibration=self.calibration,
            sets=self.levels,
        )

    def figures(self) -> dict[str, Estimate]:
        """The figures by name, each with its interval if it has one."""
        found: dict[str, Estimate | None] = {}
        if self.by_label is not None:
            found["accuracy"] = self.by_label.accuracy
            found["accuracy of the commonest class"] = Estimate(baseline_accuracy(self.by_label))
            found["balanced accuracy"] = Estimate(balanced_accuracy(self.by_label))
            found["AUC"] = self.by_label.auc
            found |= {"log loss": self.by_label.log_loss, "calibration error": self.by_label.calibration_error}
        if self.by_bag is not None:
            found["bag error (total variation)"] = self.by_bag.mean_total_variation
            if self.overall is not None:
                found["bag error of the overall shares"] = self.overall.mean_total_variation
            found["bag error of predicted classes"] = self.by_bag.mean_hard_total_variation
            found["bag cross-entropy"] = self.by_bag.mean_cross_entropy
        if self.verdict is not None and self.verdict.scores is not None:
            found["accuracy, from bags alone"] = self.verdict.scores.accuracy
            found["Brier score, from bags alone"] = self.verdict.scores.brier
            found["log loss, from bags alone"] = self.verdict.scores.log_loss
            for k, name in enumerate(self.classes):
                found[f"recall of {name}, from bags alone"] = self.verdict.scores.recall.at(k)
        if self.calibration is not None:
            found["calibration error, from bags alone"] = self.calibration.error
            found["confidence minus accuracy, from bags alone"] = self.calibration.overconfidence
        if self.sets is not None:
            found["coverage of sets"] = self.coverage_by_label
            found["coverage of sets, from bags alone"] = self.sets.coverage
            found["classes per set"] = Estimate(self.sets.mean_size)
            found["share of sets of one class"] = Estimate(self.sets.share_single)
        return {name: estimate for name, estimate in found.items() if estimate is not None}


@passes_on(Bags.from_tables, only=(*BAG_OPTIONS, "partial", "within"))
def evaluate(
    model: str,
    data: str,
    *,
    label: str | None = None,
    label_names: Sequence[str] = (),
    threshold: str | None = None,
    coverage: float | None = None,
    weight: str | None = None,
    image: str | None = None,
    resize: bool = False,
    out: str | None = None,
    html: str | None = None,
    overwrite: bool = False,
    **tables: Any,
) -> Evaluation:
    """Evaluate a saved model by labels of single rows, by proportions of bags, or by both.

    Parameters
    ----------
    model : str
        The folder of a saved model.
    data : str
        A file like that of the training.
    label : str, default=None
        The column that holds the true class of each row.
    label_names : sequence of str, default=()
        The class of each value of the label, in the sorted order of the values, if they have other names.
    threshold : str, default=None
        The probability from which a class is predicted: a number for the second of two classes, such as 0.3, or
        classes with numbers, such as rare=0.2. None means that the most probable class is predicted.
    coverage : float, default=None
        The level of the prediction sets to evaluate, such as 0.9. None means that sets are not evaluated.
    weight : str, default=None
        The column that says how much each row counts, such as survey weights. None means the one that
        ``llpgan fit`` learned with, if any.
    image : str, default=None
        The column that holds the paths of images. None means the same name as in the training.
    resize : bool, default=False
        Resize images to the size of the training images.
    out : str, default=None
        A file (.json) for the figures, which are always shown.
    html : str, default=None
        A file (.html) for a page with charts and tables.
    overwrite : bool, default=False
        Replace files that are there.
    **tables : dict
        The parameters of Bags.from_tables that describe the proportions of bags.

    Examples
    --------
    llpgan evaluate model people.csv --bag state --proportions results.csv
    """
    if coverage is not None:
        check_between_0_and_1(coverage, "coverage", such_as=0.9)
    spec, limits = TableSpec(**tables, label=label, weight=weight), read_threshold(threshold)
    if label_names and label is None:
        raise ValueError("names are given for labels (label_names), but no column of labels (label)")
    if label is None and not spec.tables_of_bags:
        raise ValueError("nothing to judge by: give a label, or a bag and its proportions or counts")
    inputs = [*list_inputs(data, tables), *files_of_model(model)]
    outputs = [output_if_named(path, overwrite=overwrite, inputs=inputs) for path in (out, html)]
    with outputs[0] as aside, outputs[1] as page:
        check_endings(out=(out, ".json"), html=(html, ".html"))
        loaded = load_model(model, image, resize)
        check_predictions(loaded, limits, coverage)
        if label is not None:
            refuse_learned(loaded, label)
        rows, spec = open_model_rows(loaded, data, spec)
        found = score_model(loaded, rows, label, label_names, spec, coverage, threshold)
        _print_evaluation(found)
        if aside is not None:
            aside.write_text(json.dumps(_as_json(found), indent=2) + "\n")
        if page is not None:
            method = type(loaded).__name__
            page.write_text(found.page(f"Evaluation of {method} on {Path(data).name}", method), encoding="utf-8")
    for path in filter(None, (out, html)):
        make_console(stderr=True).print(f"saved {path}")
    return found


def score_model(
    model: LLPClassifier,
    rows: Rows,
    label: str | None,
    label_names: Sequence[str] = (),
    spec: TableSpec | None = None,
    coverage: float | None = None,
    threshold: str | None = None,
) -> Evaluation:
    """The scores for which the truth is given."""
    by_bags = spec is not None and bool(spec.tables_of_bags)
    truth = None
    if label is not None:
        truth = labels_as_classes(label_values(rows, label), model.classes_, label, label_names)
    bags = shared_bags(rows, model.classes_, spec) if spec is not None and by_bags else None
    column = None if spec is None else spec.weight
    weights = row_weights(rows, column)
    if weights is not None and not weights.any():
        raise ValueError(f"{rows.name}: column {column!r}: all weights are zero")
    instances = read_instances(model, rows)
    probabilities = model.predict_encoded(instances)
    calibration, sets, covered, thresholds = None, None, None, getattr(model, "sets_", None)
    if bags is not None:
        bags = replace(
            bags, instances=instances, features=None if model.encoder_ is None else model.encoder_.features
        )
        calibration = measure_calibration(bags, probabilities)
    if coverage is not None:
        inside = model.require_sets().contain(probabilities, coverage)
        sets = summarize_sets(inside, None, weights) if bags is None else set_scores(bags, probabilities, inside)
        if truth is not None:
            hits = inside[truth[:, None] == model.classes_]
            counts = np.ones(len(hits)) if weights is None else weights
            n_effective = float(counts.sum() ** 2 / np.square(counts).sum())
            covered = share(float(np.average(hits, weights=counts)) * n_effective, n_effective)
    return Evaluation(
        by_label=None
        if truth is None
        else label_scores(truth, probabilities, model.classes_, weights, threshold=read_threshold(threshold)),
        verdict=None if bags is None else judge_without_labels(bags, probabilities),
        classes=model.classes_.tolist(),
        overall=None if bags is None else bag_scores(bags, np.broadcast_to(bags.prior, probabilities.shape)),
        calibration=calibration,
        sets=sets,
        levels=() if thresholds is None else score_levels(thresholds, probabilities, bags, weights=weights),
        coverage_by_label=covered,
        threshold=threshold,
    )


def score_on_bags(model: LLPClassifier, bags: Bags) -> Evaluation:
    """The scores of a model with prediction sets, on the bags that the sets were made from."""
    probabilities = model.predict_proba(bags)
    return Evaluation(
        by_label=None,
        verdict=judge_without_labels(bags, probabilities),
        classes=model.classes_.tolist(),
        overall=bag_scores(bags, np.broadcast_to(bags.prior, probabilities.shape)),
        calibration=measure_calibration(bags, probabilities),
        levels=score_levels(model.require_sets(), probabilities, weights=bags.weights),
    )


def refuse_learned(model: LLPClassifier, label: str) -> None:
    """Refuse to judge by a column that the model learned from: it would seem better than it is."""
    if model.encoder_ is not None and label in model.encoder_.positions:
        raise ValueError(
            f"the model learned from column {label!r} and cannot be judged by it (label): train one without "
            f"it, by naming it the label or leaving it out, or judge by another column"
        )


def _print_evaluation(found: Evaluation) -> None:
    console = make_console()
    console.print(_as_table(found))
    if found.by_label is not None:
        console.print(_classes_table(found.by_label, found.classes))
        console.print(_confusion_table(found.by_label, found.classes))
        if found.threshold is None:
            _warn_of_missed_classes(found.by_label, found.classes)
    if found.verdict is not None:
        console.print(describe_verdict(found.verdict))


def _warn_of_missed_classes(scores: LabelScores, classes: list[Any]) -> None:
    for rate in rates_by_class(scores, tuple(map(str, classes))):
        if rate.recall is not None and rate.recall < LOW_RECALL:
            share = rate.n / scores.n
            warnings.warn(
                f"{format_percent(1 - rate.recall)} of “{rate.name}” are missed; to find more, predict it from a "
                f"lower probability on, such as its share: --threshold {rate.name}={share:.2g}",
                stacklevel=2,
            )


def _as_table(found: Evaluation) -> Table:
    counted = found.by_label.n if found.by_label is not None else len(found.by_bag.kl) if found.by_bag else 0
    of = "rows" if found.by_label is not None else "bags"
    limit = "" if found.threshold is None else f", with the threshold {found.threshold}"
    table = Table("", "value", "95 % interval", title=f"{counted:,} {of}{limit}", title_justify="left")
    for name, estimate in found.figures().items():
        form = figure_form(name)
        interval = format_percent_interval if form is format_percent else format_interval
        table.add_row(name, form(estimate.value), interval(estimate))
    return table


def _classes_table(scores: LabelScores, classes: list[Any]) -> Table:
    table = Table("true class", "rows", "recall", "precision", title="By class", title_justify="left")
    for rate in rates_by_class(scores, tuple(map(str, classes))):
        shares = ("none" if share is None else format_percent(share) for share in (rate.recall, rate.precision))
        table.add_row(rate.name, format_count(rate.n), *shares)
    return table


def _confusion_table(scores: LabelScores, classes: list[Any]) -> Table:
    table = Table(
        "true class", *(f"predicted {name}" for name in classes), title="Confusion", title_justify="left"
    )
    for name, counts in zip(classes, scores.confusion.tolist(), strict=True):
        table.add_row(str(name), *(f"{count:,.0f}" for count in counts))
    return table


def describe_verdict(verdict: Verdict) -> Text:
    """What bags say of single predictions, and what holds in the worst case."""
    bounds = verdict.worst_case
    return Text.assemble(
        ("Without labels.", "bold"),
        make_visible(f" {verdict.why}\n"),
        ("In the worst case", "bold"),
        f", for any bags: on these rows between {format_percent(bounds.lowest_accuracy)} and "
        f"{format_percent(bounds.highest_accuracy)} of single predictions are right, if the given shares are "
        f"exact. On average, {format_percent(bounds.purity)} of a bag belongs to its commonest class. The bag "
        f"error of predicted classes, over all bags drawn like these, is "
        f"{format_percent_interval(bounds.bag_error)} (Hoeffding's 95 % interval).",
    )


def _as_json(found: Evaluation) -> dict[str, Any]:
    figures: dict[str, Any] = {name: vars(estimate) for name, estimate in found.figures().items()}
    if found.by_label is not None:
        figures["classes"] = [vars(r) for r in rates_by_class(found.by_label, tuple(map(str, found.classes)))]
    if found.verdict is not None:
        figures["without labels"] = found.verdict.why
        figures["bags look random, p"] = found.verdict.randomness.p_value
    return figures


@passes_on(Bags.from_tables, "instances")
def inspect(
    data: str,
    *,
    curve: bool = True,
    random_state: int = 0,
    out: str | None = None,
    html: str | None = None,
    overwrite: bool = False,
    **tables: Any,
) -> Inspection:
    """Inspect bags before training: what they can tell, whether they are random, and what more bags would bring.

    Parameters
    ----------
    data : str
        A table of rows (.csv, .csv.gz, .parquet), a folder with one folder of images per bag, or an .npz file.
    curve : bool, default=True
        Whether to fit a fast method to parts of the bags, to see what more bags would bring.
    random_state : int, default=0
        The seed of the random draws.
    out : str, default=None
        A file (.json) for the figures, which are always shown.
    html : str, default=None
        A file (.html) for a page with charts and tables.
    overwrite : bool, default=False
        Replace files that are there.
    **tables : dict
        The parameters of Bags.from_tables.

    Examples
    --------
    llpgan inspect people.csv --bag state --proportions results.csv
    """
    outputs = [
        output_if_named(path, overwrite=overwrite, inputs=list_inputs(data, tables)) for path in (out, html)
    ]
    with outputs[0] as aside, outputs[1] as page:
        check_endings(out=(out, ".json"), html=(html, ".html"))
        bags = Bags.from_tables(data, **tables)
        found = inspect_bags(bags)
        randomness = randomness_test(bags, random_state=random_state)
        steps = learning_curve(bags, random_state=random_state) if curve and bags.instances.ndim == 2 else None
        console = make_console()
        console.print(_facts(found))
        lines = explain_inspection(found, randomness, steps)
        for line in lines:
            console.print(f"- {line}")
        if aside is not None:
            aside.write_text(json.dumps(_inspection_as_json(found, randomness, steps), indent=2) + "\n")
        if page is not None:
            content = InspectionPage(
                f"The bags of {Path(data).name}", describe_origin(data, bags, tables), bags, found, lines, steps
            )
            page.write_text(content.render(), encoding="utf-8")
    for path in filter(None, (out, html)):
        make_console(stderr=True).print(f"saved {path}")
    return found


def explain_inspection(found: Inspection, randomness: RandomnessTest, curve: LearningCurve | None) -> list[str]:
    """What the figures mean."""
    lines = [*_randomness(found, randomness), _describe_worth(found)]
    lines += [f"No bag distinguishes {pair}: their shares keep one ratio." for pair in found.unclear]
    lines.append(
        f"Bags of half the size would be worth about {found.worth_if_halved:,.0f} labelled rows; bags half as "
        f"mixed, about {found.worth_if_purer:,.0f}."
    )
    return [*lines, _more_bags(curve, found.n_bags)]


def _randomness(found: Inspection, randomness: RandomnessTest) -> list[str]:
    if randomness.looks_random and not found.can_judge:
        if found.n_bags > 1 and found.spread == 0:
            return ["All bags have the same shares, so they do not show which rows belong to which class."]
        few = "A single bag is" if found.n_bags == 1 else f"{found.n_bags} bags are"
        return [f"{few} too few to see whether bags are drawn at random, or to judge a model without labels."]
    return [randomness.describe(), _describe_use(randomness)]


def _describe_use(randomness: RandomnessTest) -> str:
    if randomness.looks_random:
        return "So the accuracy of single predictions can be estimated from held-out bags, without labels."
    return (
        "Methods can learn from such bags, often even better. But the accuracy of single predictions cannot be "
        "estimated without labels: `llpgan evaluate` then shows the bag error."
    )


def _describe_worth(found: Inspection) -> str:
    if not np.isfinite(found.condition):
        return "The bags do not determine all classes: add bags in which their shares differ."
    return (
        f"If bags differ only in their shares, they are worth about {found.total_worth:,.0f} labelled rows for "
        f"estimating the mean of each class; there are {found.rows.sum():,.0f} rows without labels."
    )


def _more_bags(curve: LearningCurve | None, n_bags: int) -> str:
    if curve is None:
        return "What more bags would bring was not tried (it needs a table, and 16 bags)."
    tried = ", ".join(f"{step.error:.3f} with {step.n_bags}" for step in curve.steps)
    if curve.scale == 0:
        return f"More bags seem to bring little to a quick method: bag error on held-out bags {tried}."
    return (
        f"Bag error of a quick method on held-out bags: {tried} bags. Extrapolated: {curve.at(n_bags):.3f} "
        f"with all {n_bags}, and {curve.at(2 * n_bags):.3f} with twice as many, without an interval."
    )


def _facts(found: Inspection) -> Table:
    table = Table("", "", title="The bags", title_justify="left", show_header=False)
    table.add_row("bags", f"{found.n_bags:,} (effective number {found.effective_bags:,.0f}, because sizes differ)")
    table.add_row(
        "rows in a bag", f"{found.smallest:,} to {found.largest:,}, half of the bags up to {found.median:,.0f}"
    )
    table.add_row("share of a bag's commonest class", f"{format_percent(found.purity)} on average")
    table.add_row("shares differ between bags", f"{found.spread:.1f} times as much as in random bags")
    table.add_row("condition number", f"{found.condition:,.0f} (1 is best; large: classes hard to separate)")
    for name, worth, rows in zip(found.classes, found.worth, found.rows, strict=True):
        table.add_row(f"class {name}", f"{rows:,.0f} rows, worth {worth:,.0f} labelled ones")
    return table


def _inspection_as_json(
    found: Inspection, randomness: RandomnessTest, curve: LearningCurve | None
) -> dict[str, Any]:
    plain = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in vars(found).items()}
    plain["condition"] = found.condition if np.isfinite(found.condition) else None
    return {**plain, "randomness": vars(randomness), "learning_curve": None if curve is None else vars(curve)}
