"""Figures and names as a reader wants them."""

from llpgan.evaluation import Estimate
from llpgan.report.short_names import shorten as shorten
from llpgan.report.story import Story
from llpgan.report.told_bags import BagFacts, ToldBags

MOST_CLASSES = 12  # that get a chart each


def count(n: int) -> str:
    """With commas: ``12,345``."""
    return f"{n:,}"


def percent(share: float) -> str:
    """One decimal, two of a small one.

    >>> percent(0.1234), percent(0.00567), percent(1.0)
    ('12.3 %', '0.57 %', '100 %')
    """
    if share == 1:
        return "100 %"
    return f"{100 * share:.{1 if share >= 0.01 or share == 0 else 2}f} %"


def decimals(value: float) -> str:
    """Three of them."""
    return f"{value:.3f}"


def percent_between(estimate: Estimate) -> str:
    """An interval of shares in words; nothing where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{percent(estimate.low)} to {percent(estimate.high)}"


def between(estimate: Estimate) -> str:
    """An interval in words; nothing where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:.3f} to {estimate.high:.3f}"


def shown_classes(story: BagFacts) -> list[int]:
    """The classes that get a chart each: of two the second, which says all; of many the largest."""
    if len(story.classes) == 2:
        return [1]
    overall = story.sizes @ story.proportions
    return sorted(sorted(range(len(overall)), key=lambda k: (-overall[k], k))[:MOST_CLASSES])


def epochs(story: Story) -> str:
    """How many rounds over all bags there were; not how long they took, so that a page can be made again."""
    n = len(story.history)
    return "One epoch (round over all bags)" if n == 1 else f"{count(n)} epochs (rounds over all bags)"


def worst_bags(story: ToldBags, most: int = 10) -> list[int]:
    """The bags with the largest errors, the worst first."""
    return [int(bag) for bag in (-story.scores.total_variation).argsort(kind="stable")[:most]]


def shape(sides: tuple[int, ...]) -> str:
    """A table's columns, or an image's size, in words.

    >>> shape((12,)), shape((1, 8, 8))
    ('12 columns', '1 × 8 × 8 pixels')
    """
    if len(sides) == 1:
        return "1 column" if sides == (1,) else f"{count(sides[0])} columns"
    return " × ".join(map(str, sides)) + " pixels"
