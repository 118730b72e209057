"""What holds in the worst case, whatever the bags: bounds, not estimates."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from llpgan.bags import validation
from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.evaluation.bag_scores import bag_scores
from llpgan.evaluation.interval_estimate import Estimate


@dataclass(frozen=True)
class WorstCase:
    """Bounds that hold for every way in which the labels can lie in the bags.

    Attributes:
        bag_error: the mean over bags of the hard total variation, with Hoeffding's interval: for bags that are
            drawn independently, whatever their law, it holds the mean over all such bags.
        lowest_accuracy: no arrangement of labels that agrees with the proportions has fewer rows right.
        highest_accuracy: nor more: 1 − bag error, by size.
        purity: the mean over rows of the share of their bag's commonest class: the purer, the closer the two.
    """

    bag_error: Estimate
    lowest_accuracy: float
    highest_accuracy: float
    purity: float


def hoeffding(value: float, n: int, *, confidence: float = 0.95) -> Estimate:
    """A mean of n independent figures between 0 and 1: ± √(ln(2/δ) / 2n), with δ = 1 − confidence.

    >>> print(hoeffding(0.1, 200))
    0.100 (0.004 to 0.196)
    """
    half = sqrt(log(2 / (1 - confidence)) / (2 * n))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))


def worst_case(bags: Bags, probabilities: ArrayLike) -> WorstCase:
    """What follows from the proportions of these bags alone, for the accuracy on these very rows.

    In a bag with proportions p and predicted shares q, at most Σ_k min(p_k, q_k) of the rows are right, and at
    least Σ_k max(0, p_k + q_k − 1); both are reached by some arrangement of the labels. In mixed bags the two lie
    far apart: a small bag error alone promises nothing for single rows.

    >>> bags = Bags.from_labels(np.zeros((4, 1)), [0, 0, 0, 1], groups=[0, 0, 0, 0])
    >>> found = worst_case(bags, [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> found.lowest_accuracy, found.highest_accuracy, found.purity
    (0.5, 1.0, 0.75)
    """
    refuse_other_than_bags(bags, "bags")
    table = validation.probabilities(probabilities, len(bags.instances), bags.n_classes)
    given, predicted = bags.proportions, bags.means(np.eye(bags.n_classes)[table.argmax(axis=1)])
    lowest = np.maximum(given + predicted - 1, 0).sum(axis=1)
    highest = np.minimum(given, predicted).sum(axis=1)
    return WorstCase(
        bag_error=hoeffding(float(bag_scores(bags, table).hard_total_variation.mean()), bags.n_bags),
        lowest_accuracy=float(np.average(lowest, weights=bags.totals)),
        highest_accuracy=float(np.average(highest, weights=bags.totals)),
        purity=float(np.average(given.max(axis=1), weights=bags.totals)),
    )
