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
    """Bounds that hold for every arrangement of the labels that agrees with the bags.

    Attributes
    ----------
    bag_error : Estimate
        The mean over bags of the hard total variation, with Hoeffding's interval for the mean over all such bags.
        The interval assumes only that bags are drawn independently.
    lowest_accuracy : float
        The lowest accuracy of any arrangement of labels that agrees with the proportions.
    highest_accuracy : float
        The highest accuracy: 1 − bag error, with bags weighted by size.
    purity : float
        The mean over rows of the proportion of the commonest class of their bag. The purer the bags are, the
        closer are the two bounds.
    """

    bag_error: Estimate
    lowest_accuracy: float
    highest_accuracy: float
    purity: float


def hoeffding(value: float, n: int, *, confidence: float = 0.95) -> Estimate:
    """Return Hoeffding's interval of a mean of independent figures between 0 and 1.

    The interval is ± √(ln(2/δ) / 2n), with δ = 1 − confidence.

    Parameters
    ----------
    value : float
        The mean.
    n : int
        The number of figures.
    confidence : float, default=0.95
        The confidence level.

    Returns
    -------
    Estimate
        The mean with its interval.

    Examples
    --------
    >>> print(hoeffding(0.1, 200))
    0.100 (0.004 to 0.196)
    """
    half = sqrt(log(2 / (1 - confidence)) / (2 * n))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))


def worst_case(bags: Bags, probabilities: ArrayLike) -> WorstCase:
    """Bound the accuracy on single rows by the proportions of their bags alone.

    In a bag with proportions p and predicted shares q, at most Σ_k min(p_k, q_k) of the rows are right, and at
    least Σ_k max(0, p_k + q_k − 1). Some arrangement of the labels reaches each bound. In mixed bags the bounds
    are far apart: a small bag error alone guarantees nothing for single rows. If less is known of the bags than
    all shares, the smallest and largest possible ones count.

    Parameters
    ----------
    bags : Bags
        The bags.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities of the instances of the bags.

    Returns
    -------
    WorstCase
        The bounds.

    Examples
    --------
    >>> bags = Bags.from_labels(np.zeros((4, 1)), [0, 0, 0, 1], groups=[0, 0, 0, 0])
    >>> found = worst_case(bags, [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> found.lowest_accuracy, found.highest_accuracy, found.purity
    (0.5, 1.0, 0.75)
    """
    refuse_other_than_bags(bags, "bags")
    table = validation.probabilities(probabilities, len(bags.instances), bags.n_classes)
    predicted = bags.means(np.eye(bags.n_classes)[table.argmax(axis=1)])
    given = bags.nearest_shares(predicted)
    known = bags.known
    least, most = (given, given) if known is None or known.sd is not None else (known.lower, known.upper)
    lowest = np.maximum(least + predicted - 1, 0).sum(axis=1)
    highest = np.minimum(most, predicted).sum(axis=1)
    return WorstCase(
        bag_error=hoeffding(float(bag_scores(bags, table).hard_total_variation.mean()), bags.n_bags),
        lowest_accuracy=float(np.average(lowest, weights=bags.totals)),
        highest_accuracy=float(np.average(highest, weights=bags.totals)),
        purity=float(np.average(given.max(axis=1), weights=bags.totals)),
    )
