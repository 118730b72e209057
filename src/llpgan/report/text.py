"""What a page says: figures and summaries as text, and the verdict at the top of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from llpgan.evaluation import BagScores, Estimate, LabelScores
from llpgan.report.content import BagFacts, ReportContent, ReportedBags

MOST_CLASSES = 12  # that get a chart each


def format_count(n: float) -> str:
    """With commas: ``12,345``."""
    return f"{n:,.0f}"


def format_percent(share: float) -> str:
    """One decimal, two of a small one; a difference of shares may be negative.

    >>> format_percent(0.1234), format_percent(0.00567), format_percent(1.0)
    ('12.3 %', '0.57 %', '100 %')
    >>> format_percent(-0.1234), format_percent(-0.00567), format_percent(-1e-9), format_percent(-1.0)
    ('-12.3 %', '-0.57 %', '0.00 %', '-100 %')
    """
    if abs(share) > 0.9995:
        return f"{100 * share:.0f} %"
    return f"{100 * share:z.{1 if abs(share) >= 0.01 or share == 0 else 2}f} %"


def keep_percent(text: str) -> str:
    """The text with numbers that stay on one line with their sign."""
    return text.replace(" %", "\u00a0%")


def format_decimals(value: float) -> str:
    """Format with three decimals."""
    return f"{value:.3f}"


_NOT_SHARES = ("AUC", "log loss", "Brier", "bag cross-entropy", "classes per set")


def figure_form(name: str) -> Callable[[float], str]:
    """How a figure of an evaluation is written: in per cent if it is a share, else with three decimals."""
    return format_decimals if name.startswith(_NOT_SHARES) else format_percent


def format_percent_interval(estimate: Estimate) -> str:
    """An interval of shares as text; empty if there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{format_percent(estimate.low)} to {format_percent(estimate.high)}"


def format_interval(estimate: Estimate) -> str:
    """An interval as text; empty if there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:.3f} to {estimate.high:.3f}"


def shown_classes(story: BagFacts) -> list[int]:
    """The classes that get a chart each: of two the second, which says all; of many the largest."""
    if len(story.classes) == 2:
        return [1]
    overall = story.sizes @ story.proportions
    return sorted(sorted(range(len(overall)), key=lambda k: (-overall[k], k))[:MOST_CLASSES])


def format_epochs(story: ReportContent) -> str:
    """How many rounds over all bags there were; not how long they took, so that a page can be made again."""
    n = len(story.history)
    return "One epoch (round over all bags)" if n == 1 else f"{format_count(n)} epochs (rounds over all bags)"


def worst_bags(story: ReportedBags, most: int = 10) -> list[int]:
    """The bags with the largest errors, the worst first."""
    return [int(bag) for bag in (-story.scores.total_variation).argsort(kind="stable")[:most]]


def format_shape(sides: tuple[int, ...]) -> str:
    """A table's columns, or an image's size, as text.

    >>> format_shape((12,)), format_shape((1, 8, 8))
    ('12 columns', '1 × 8 × 8 pixels')
    """
    if len(sides) == 1:
        return "1 column" if sides == (1,) else f"{format_count(sides[0])} columns"
    return " × ".join(map(str, sides)) + " pixels"


def summarize(story: ReportContent) -> str:
    """The method, where the proportions came from, and the bag error with that of the overall shares."""
    n_bags = len(story.bag_names)
    error, overall = story.scores.mean_total_variation.value, story.overall.mean_total_variation.value
    bags = "one bag" if n_bags == 1 else f"{format_count(n_bags)} bags"
    sentences = [
        f"{story.method} learned from {format_count(story.n_instances)} instances in {bags}, of which only the "
        f"shares of {len(story.classes)} classes were known",
        as_sentence(story.origin),
        f"Its mean error on these bags is {format_percent(error)}; that of predicting the overall shares "
        f"for every instance is {format_percent(overall)}",
    ]
    if story.held_out is not None:
        n_held_out = format_count(len(story.held_out.kl))
        unseen = format_percent(story.held_out.mean_total_variation.value)
        sentences.append(f"On {n_held_out} held-out bags, its mean error is {unseen}")
    return " ".join(f"{said}." for said in sentences if said)


def as_sentence(text: str) -> str:
    """With a capital letter, and without a full stop.

    Examples
    --------
    >>> as_sentence("proportions: from results.csv")
    'Proportions: from results.csv'
    """
    return text[:1].upper() + text[1:].rstrip(".")


def effect_class(story: ReportContent) -> int:
    """The class whose probability shows the direction of effects: of two the second, of many the commonest."""
    return 1 if len(story.classes) == 2 else int((story.sizes @ story.proportions).argmax())


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
