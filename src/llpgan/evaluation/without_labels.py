"""The honest answer to "how good is it?" where nobody has a label."""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from llpgan.bags import validation
from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.evaluation.accuracy_bounds import WorstCase, worst_case
from llpgan.evaluation.bag_scores import BagScores, bag_scores
from llpgan.evaluation.label_free_accuracy import LEAST_BAGS, LabelFreeScores, estimate_accuracy
from llpgan.evaluation.randomness import RandomnessTest, randomness_test
from llpgan.utils.notebook_html import html_table

ENOUGH_BAGS = 50  # from which on intervals were measured to hold
_MEANING = (
    "What remains is the bag error: the share of a bag that is counted for the wrong class. It says how well sums "
    "over such bags are met. Single predictions may be worse, since mistakes in both directions cancel in a bag."
)


@dataclass(frozen=True, eq=False)
class Verdict:
    """How good predictions are, by bags alone.

    Attributes:
        bags: how well the bags are met.
        worst_case: what holds for single predictions, whatever the bags.
        randomness: whether the bags look drawn at random.
        scores: how good single predictions are; None where that cannot be promised, and ``why`` says why.
        why: in words, what the figures rest on, or why there are none of single predictions.
    """

    bags: BagScores
    worst_case: WorstCase
    randomness: RandomnessTest
    scores: LabelFreeScores | None
    why: str

    def _repr_html_(self) -> str:
        figures = {"bag error": self.bags.mean_total_variation}
        if self.scores is not None:
            known = {"accuracy": self.scores.accuracy, "Brier score": self.scores.brier}
            known |= {"log loss": self.scores.log_loss}
            figures |= {name: estimate for name, estimate in known.items() if estimate is not None}
        ends = ["" if found.low is None else f"{found.low:.3f} to {found.high:.3f}" for found in figures.values()]
        values = [f"{found.value:.3f}" for found in figures.values()]
        columns = {"": list(figures), "value": values, "95 % interval": ends}
        return html_table(columns, "How good predictions are, by bags alone", note=self.why)


def judge_without_labels(
    bags: Bags, probabilities: ArrayLike, *, proportions_sd: float = 0.0, random_state: int = 0
) -> Verdict:
    """Accuracy from held-out bags if they look drawn at random; else the reason why not, and the bag error.

    Args:
        bags: that the model was not trained on, with their instances.
        probabilities: of the classes for each instance.
        proportions_sd: the standard deviation of noise in the given proportions, where it is known.
        random_state: of the test of randomness.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3200, 1))
    >>> bags = Bags.from_labels(X, X[:, 0] + rng.normal(size=3200) > 0, np.arange(3200) // 16)
    >>> sure = 1 / (1 + np.exp(-2 * X))
    >>> print(judge_without_labels(bags, np.hstack([1 - sure, sure])).scores.accuracy)
    0.771 (0.725 to 0.811)
    """
    refuse_other_than_bags(bags, "bags")
    probabilities = validation.probabilities(probabilities, len(bags.instances), bags.n_classes)
    randomness = randomness_test(bags, proportions_sd=proportions_sd, random_state=random_state)
    able = randomness.looks_random and bags.n_bags >= LEAST_BAGS
    return Verdict(
        bags=bag_scores(bags, probabilities),
        worst_case=worst_case(bags, probabilities),
        randomness=randomness,
        scores=estimate_accuracy(bags, probabilities, proportions_sd=proportions_sd) if able else None,
        why=_why(bags.n_bags, randomness),
    )


def _why(n_bags: int, randomness: RandomnessTest) -> str:
    if n_bags < LEAST_BAGS:
        return f"{n_bags} bags are too few to say how often single predictions are right. {_MEANING}"
    if not randomness.looks_random:
        return (
            f"{randomness.in_words()} How often single predictions are right can be told only from random bags, "
            f"so it is not told. {_MEANING}"
        )
    few = " With so few bags, intervals hold in some 90 cases of 100 rather than 95."
    return (
        f"{randomness.in_words()} So their shares tell how often single predictions are right, on rows like "
        f"these, if the model was not trained on these bags.{few if n_bags < ENOUGH_BAGS else ''}"
    )
