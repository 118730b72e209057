"""The honest answer to "how good is it?" where nobody has a label."""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from llpgan.bags import validation
from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.evaluation.accuracy_bounds import WorstCase, worst_case
from llpgan.evaluation.bag_scores import BagScores, bag_scores
from llpgan.evaluation.label_free_accuracy import LEAST_BAGS, LabelFreeScores, are_weighted, estimate_accuracy
from llpgan.evaluation.randomness import RandomnessTest, randomness_test
from llpgan.utils.notebook_html import html_table

ENOUGH_BAGS = 50  # from which on intervals were measured to hold
_MEANING = (
    "What remains is the bag error: the share of a bag that is counted for the wrong class. It says how well sums "
    "over such bags are predicted. Single predictions may be worse, since errors cancel within a bag."
)


@dataclass(frozen=True, eq=False)
class Verdict:
    """Evaluation of predictions by bags alone.

    Attributes
    ----------
    bags : BagScores
        The comparison of predictions with the proportions of the bags.
    worst_case : WorstCase
        Bounds on the accuracy of single predictions, which hold for any bags.
    randomness : RandomnessTest
        The test whether the bags were drawn at random.
    scores : LabelFreeScores or None
        The scores of single predictions; None if they cannot be estimated, for the reason in ``why``.
    why : str
        A description of what the scores rest on, or of why there are none.
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


_WEIGHTED = (
    f"The rows have weights, or belong to several bags, so they are no random sample of their bags, and how often "
    f"single predictions are right cannot be told. {_MEANING}"
)

_PARTIAL = (
    f"Less is known of these bags than all shares, so how often single predictions are right cannot be told. The "
    f"bag error compares predictions with the nearest possible shares. {_MEANING}"
)


def judge_without_labels(
    bags: Bags, probabilities: ArrayLike, *, proportions_sd: float = 0.0, random_state: int = 0
) -> Verdict:
    """Estimate the accuracy from held-out bags if they look random, and otherwise explain why not.

    Parameters
    ----------
    bags : Bags
        The bags, which the model was not trained on, with their instances.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities of the instances.
    proportions_sd : float, default=0.0
        The standard deviation of the noise in the given proportions, if it is known.
    random_state : int, default=0
        The seed of the test of randomness.

    Returns
    -------
    Verdict
        The bag error, the bounds, the test of randomness and, if possible, the scores of single predictions.

    Examples
    --------
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
    able = randomness.looks_random and bags.n_bags >= LEAST_BAGS and not are_weighted(bags) and bags.known is None
    return Verdict(
        bags=bag_scores(bags, probabilities),
        worst_case=worst_case(bags, probabilities),
        randomness=randomness,
        scores=estimate_accuracy(bags, probabilities, proportions_sd=proportions_sd) if able else None,
        why=_why(bags, randomness),
    )


def _why(bags: Bags, randomness: RandomnessTest) -> str:
    if bags.known is not None:
        return _PARTIAL
    if are_weighted(bags):
        return _WEIGHTED
    n_bags = bags.n_bags
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
