"""Figures and summaries as text."""

from __future__ import annotations

from collections.abc import Callable

from llpgan.evaluation import Estimate
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
