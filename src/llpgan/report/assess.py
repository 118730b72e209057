"""The verdict at the top of a report: usable, usable with care, or not; why; and what to do next."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from llpgan.evaluation import BagScores, LabelScores
from llpgan.report.content import ReportContent
from llpgan.report.text import as_sentence, format_count, format_decimals, format_percent

Level = Literal["usable", "usable with care", "not usable"]
LOW_RECALL = 0.5
_RANKS_WELL = 0.6  # the least AUC at which the order of probabilities is of use
_PREDICT = "Predict new rows with llpgan predict."
_MORE_BAGS = (
    "Look at the bags with llpgan inspect. More bags, smaller bags and more varied proportions all help; so do "
    "columns that are related to the class."
)
_LABEL_SOME = "Label a few hundred rows, and run llpgan evaluate with --label: labels show how often it is right."
_THRESHOLD = (
    "Use the probabilities rather than the predicted class, or predict a rare class as soon as its probability "
    "reaches a threshold that you choose, with --threshold."
)


HEADLINES: dict[Level, str] = {
    "usable": "This model is usable.",
    "usable with care": "Usable with care.",
    "not usable": "Do not rely on this model.",
}


@dataclass(frozen=True)
class Assessment:
    """Whether to use a model.

    Attributes
    ----------
    level : {"usable", "usable with care", "not usable"}
        The verdict.
    reasons : tuple of str
        Sentences that say why.
    next_step : str
        What to do next.
    """

    level: Level
    reasons: tuple[str, ...]
    next_step: str


@dataclass(frozen=True)
class ClassRates:
    """How well one class is found.

    Attributes
    ----------
    name : str
        The class.
    n : int
        The number of its instances.
    recall : float or None
        The share of its instances that are predicted as this class. None if it has no instances.
    precision : float or None
        The share of the instances with this prediction that belong to the class. None if it is never predicted.
    """

    name: str
    n: int
    recall: float | None
    precision: float | None


def rates_by_class(scores: LabelScores, classes: tuple[str, ...]) -> list[ClassRates]:
    """Recall and precision of each class.

    Parameters
    ----------
    scores : LabelScores
        The scores.
    classes : tuple of str
        The names of the classes, in the order of the confusion matrix.

    Returns
    -------
    list of ClassRates
    """
    counts = scores.confusion
    true, predicted, right = counts.sum(axis=1), counts.sum(axis=0), counts.diagonal()
    return [
        ClassRates(
            name,
            int(true[k]),
            float(right[k] / true[k]) if true[k] else None,
            float(right[k] / predicted[k]) if predicted[k] else None,
        )
        for k, name in enumerate(classes)
    ]


def baseline_accuracy(scores: LabelScores) -> float:
    """The accuracy of always predicting the commonest class."""
    return float(scores.confusion.sum(axis=1).max() / scores.n)


def balanced_accuracy(scores: LabelScores) -> float:
    """The mean recall over the classes that occur."""
    counts = scores.confusion
    true = counts.sum(axis=1)
    return float((counts.diagonal()[true > 0] / true[true > 0]).mean())


def mean_by_size(scores: BagScores) -> float:
    """The mean bag error over instances: large bags count more."""
    return float(np.average(scores.total_variation, weights=scores.sizes))


def assess(content: ReportContent) -> Assessment:
    """Judge a model by its labels if there are any, else by held-out bags, else by its training bags.

    Parameters
    ----------
    content : ReportContent
        The content of the report.

    Returns
    -------
    Assessment
        The verdict.
    """
    bags = tuple(_describe_bag_errors(content))
    if content.doubt:
        return Assessment("not usable", (f"{as_sentence(content.doubt)}.", *bags), _MORE_BAGS)
    if content.held_out is not None:
        baseline = (content.overall_held_out or content.overall).mean_total_variation.value
        if content.held_out.mean_total_variation.value >= baseline:
            worse = (
                "On held-out bags the model is no better than predicting the overall shares for every instance."
            )
            return Assessment("not usable", (worse, *bags), _MORE_BAGS)
    if content.labels_held_out is not None:
        return _assess_by_labels(content.labels_held_out, content.classes, bags, " of held-out bags")
    if content.labels is not None:
        return _assess_by_labels(content.labels, content.classes, bags)
    return _assess_by_bags(content, bags)


def _assess_by_labels(
    scores: LabelScores, classes: tuple[str, ...], bags: tuple[str, ...], which: str = ""
) -> Assessment:
    reasons, baseline = (describe_accuracy(scores, classes, which), *bags), baseline_accuracy(scores)
    low = scores.accuracy.value if scores.accuracy.low is None else scores.accuracy.low
    if low <= baseline:
        if scores.auc is None or scores.auc.value < _RANKS_WELL:
            return Assessment("not usable", reasons, _MORE_BAGS)
        ranks = (
            f"Predicted classes are no more accurate than the baseline, but the probabilities rank instances well "
            f"(AUC {format_decimals(scores.auc.value)})."
        )
        return Assessment("usable with care", (ranks, *reasons), _THRESHOLD)
    missed = [rate for rate in rates_by_class(scores, classes) if rate.recall is not None]
    if low_recall := [rate for rate in missed if (rate.recall or 0) < LOW_RECALL]:
        named = ", ".join(f"“{rate.name}”" for rate in low_recall[:3])
        more = f" and {len(low_recall) - 3} more" if len(low_recall) > 3 else ""
        return Assessment(
            "usable with care",
            (f"More than half of the instances of {named}{more} are missed.", *reasons),
            _THRESHOLD,
        )
    return Assessment("usable", reasons, _PREDICT)


def _assess_by_bags(content: ReportContent, bags: tuple[str, ...]) -> Assessment:
    if content.held_out is None:
        unknown = (
            "How often single predictions are right is unknown: no labels are known, and no bags were held out."
        )
        return Assessment("usable with care", (unknown, *bags), f"Fit with --hold_out 0.2. {_LABEL_SOME}")
    scores = content.verdict.scores
    if scores is None:
        unknown = "How often single predictions are right is unknown: it cannot be estimated from these bags."
        return Assessment("usable with care", (unknown, *bags), _LABEL_SOME)
    commonest = float((content.sizes @ content.proportions / content.sizes.sum()).max())
    low = scores.accuracy.value if scores.accuracy.low is None else scores.accuracy.low
    estimate = (
        f"Accuracy, estimated from held-out bags: {format_percent(scores.accuracy.value)}. Always predicting the "
        f"commonest class would have {format_percent(commonest)}."
    )
    level: Level = "usable" if low > commonest else "usable with care"
    return Assessment(level, (estimate, *bags), _PREDICT if level == "usable" else _LABEL_SOME)


def describe_accuracy(scores: LabelScores, classes: tuple[str, ...], which: str = "") -> str:
    """Accuracy, its baseline, and the recall of each class if there are few, else of the lowest."""
    rates = [rate for rate in rates_by_class(scores, classes) if rate.recall is not None]
    lowest = sorted(rates, key=lambda rate: rate.recall or 0)[:3]
    shown = rates if len(rates) <= 3 else lowest
    recalls = ", ".join(f"{format_percent(rate.recall or 0)} of “{rate.name}”" for rate in shown)
    head = "Recall" if len(rates) <= 3 else "Lowest recall"
    return (
        f"Accuracy by the labels of {format_count(scores.n)} instances{which}: "
        f"{format_percent(scores.accuracy.value)}. "
        f"Always predicting the commonest class would have {format_percent(baseline_accuracy(scores))}. "
        f"{head}: {recalls}."
    )


def _describe_bag_errors(content: ReportContent) -> Iterator[str]:
    overall = format_percent(content.overall.mean_total_variation.value)
    floor = format_percent(content.noise_floor)
    if content.held_out is not None:
        error = format_percent(content.held_out.mean_total_variation.value)
        baseline = (content.overall_held_out or content.overall).mean_total_variation.value
        yield f"Bag error on held-out bags: {error}. Baseline (overall shares): {format_percent(baseline)}."
    error = format_percent(content.scores.mean_total_variation.value)
    yield (
        f"Bag error on the training bags: {error}. Baseline (overall shares): {overall}. Chance alone "
        f"causes about {floor} in bags of this size, even for a perfect model."
    )
