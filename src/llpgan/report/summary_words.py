"""What was done, in the few sentences at the top of a page."""

from llpgan.evaluation import BagScores
from llpgan.report.formatting import count, percent
from llpgan.report.story import Story


def what_was_done(story: Story) -> str:
    """The method, where the proportions came from, and the bag error beside that of the overall shares."""
    n_bags = len(story.bag_names)
    bags = "one bag" if n_bags == 1 else f"{count(n_bags)} bags"
    sentences = [
        f"{story.method} learned from {count(story.n_instances)} instances in {bags}, of which only the shares of "
        f"{len(story.classes)} classes were known",
        sentence(story.origin),
        f"Its mean error on these bags is {_error(story.scores)}; that of predicting the overall shares for "
        f"every instance is {_error(story.overall)}",
    ]
    if story.held_out is not None:
        n_held_out = count(len(story.held_out.kl))
        sentences.append(f"On {n_held_out} held-out bags, its mean error is {_error(story.held_out)}")
    return " ".join(f"{said}." for said in sentences if said)


def _error(scores: BagScores) -> str:
    return percent(scores.mean_total_variation.value)


def sentence(text: str) -> str:
    """With a capital letter, and without a full stop.

    Examples
    --------
    >>> sentence("proportions: those of results.csv")
    'Proportions: those of results.csv'
    """
    return text[:1].upper() + text[1:].rstrip(".")


def effect_class(story: Story) -> int:
    """The class whose probability shows the direction of effects: of two the second, of many the commonest."""
    return 1 if len(story.classes) == 2 else int((story.sizes @ story.proportions).argmax())
