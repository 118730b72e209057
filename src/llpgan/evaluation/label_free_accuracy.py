"""Accuracy without labels: in random bags, counts of labels tell how often single predictions are right."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from llpgan.bags import validation
from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.evaluation.interval_estimate import Estimate
from llpgan.evaluation.jackknife import Intervals, jackknife
from llpgan.evaluation.label_means import Pairs, label_mean
from llpgan.utils.arrays import Array

LEAST_BAGS = 3
_LEAST = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class LabelFreeScores:
    """Scores of single predictions that are estimated from bags alone, with 95 % intervals over bags.

    Attributes
    ----------
    n_bags : int
        The number of bags. In simulations, intervals covered the truth in 93 to 98 of 100 cases with 50 bags or
        more, in at least 91 with 20 bags, and in 89 with 10 bags.
    accuracy : Estimate
        The share of rows whose predicted class is right.
    confusion : Intervals
        The confusion matrix as shares of all rows, with true classes in rows and predicted classes in columns.
    recall : Intervals
        The recall of each class. It is NaN for a class that no bag has.
    brier : Estimate or None
        The mean of Σ_k (p_k − 1[y = k])², between 0 and 2. None if only the predicted classes are given.
    log_loss : Estimate or None
        The mean of −log (probability of the true class). None if only the predicted classes are given.
    """

    n_bags: int
    accuracy: Estimate
    confusion: Intervals
    recall: Intervals
    brier: Estimate | None
    log_loss: Estimate | None


def estimate_accuracy(bags: Bags, predictions: ArrayLike, *, proportions_sd: float = 0.0) -> LabelFreeScores:
    """Estimate how often single predictions are right, without any label.

    The bags must have been **drawn at random**, and the model must **not have been trained on them**. Otherwise
    the figures are wrong without any sign of it. :func:`~llpgan.evaluation.randomness_test` tests the first
    condition, and :func:`~llpgan.evaluation.judge_without_labels` does both. See
    :func:`~llpgan.evaluation.label_means.label_mean` for the method. Values are unbiased and may therefore lie
    slightly outside 0 and 1; intervals do not.

    Parameters
    ----------
    bags : Bags
        The held-out bags.
    predictions : array-like of shape (n_samples, n_classes) or (n_samples,)
        The predicted probabilities of the instances, or their predicted classes.
    proportions_sd : float, default=0.0
        The standard deviation of the noise in the given proportions, if it is known.

    Returns
    -------
    LabelFreeScores
        The estimates with their intervals.

    Raises
    ------
    ValueError
        If there are fewer than three bags, or a prediction is not one of the classes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=6400)
    >>> guesses = np.where(rng.random(6400) < 0.9, labels, rng.integers(3, size=6400))
    >>> bags = Bags.from_labels(np.zeros((6400, 1)), labels, groups=np.arange(6400) // 32)
    >>> print(estimate_accuracy(bags, guesses).accuracy, (labels == guesses).mean().round(3))
    0.939 (0.926 to 0.949) 0.934
    """
    refuse_other_than_bags(bags, "bags")
    if bags.n_bags < LEAST_BAGS:
        raise ValueError(f"accuracy without labels needs {LEAST_BAGS} bags at least, here are {bags.n_bags}")
    if are_weighted(bags):
        raise ValueError(
            "accuracy without labels cannot be told of rows with weights, or in several bags: they are no random "
            "sample"
        )
    table = np.asarray(predictions)
    validation.same_length("instances", bags.instances, "rows of predictions", table)
    soft = table.astype(np.float64) if table.ndim == 2 else None
    hard = _one_hot(bags, table) if soft is None else np.eye(bags.n_classes)[soft.argmax(axis=1)]
    confusion, recall = _confusion(bags, hard, proportions_sd)
    return LabelFreeScores(
        n_bags=bags.n_bags,
        accuracy=_accuracy(bags, hard, proportions_sd),
        confusion=confusion,
        recall=recall,
        brier=None if soft is None else _brier(bags, soft, proportions_sd),
        log_loss=None if soft is None else _log_loss(bags, soft, proportions_sd),
    )


def are_weighted(bags: Bags) -> bool:
    """Whether some rows count more than others, or belong to several bags, which then have weights."""
    return bags.uneven_weights is not None or bags.bag_weights is not None


def _one_hot(bags: Bags, predicted: Array) -> Array:
    found = predicted[:, None] == bags.classes
    for row in np.flatnonzero(~found.any(axis=1)).tolist():
        raise ValueError(
            f"row {row}: prediction {predicted[row].item()!r} is not one of the classes {bags.classes.tolist()}"
        )
    return found.astype(np.float64)


def paired(bags: Bags, figures: Array, noise: float) -> Pairs:
    """Class k goes with column k of figures that have one row per instance."""
    sizes = bags.sizes[:, None]
    squares = bags.means((figures**2).sum(axis=1, keepdims=True))[:, 0] * bags.sizes
    return Pairs(bags.sizes, sizes * bags.proportions, sizes * bags.means(figures), squares, noise)


def _accuracy(bags: Bags, hard: Array, noise: float) -> Estimate:
    found = label_mean(paired(bags, hard, noise))
    return jackknife(*found, len(hard), top=1.0, share=True).at()


def _confusion(bags: Bags, hard: Array, noise: float) -> tuple[Intervals, Intervals]:
    """Each cell on its own: the class in the row, the prediction in the column."""
    pairs = paired(bags, hard, noise)
    counts, sums = pairs.counts[:, :, None, None], pairs.sums[:, None, :, None]
    found = label_mean(Pairs(bags.sizes, counts, sums, sums[..., 0], noise))
    cells = jackknife(*found, len(hard), top=1.0, share=True)
    diagonal = [np.diagonal(part, axis1=-2, axis2=-1) for part in found]
    total = pairs.counts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        prior, others = total / len(hard), (total - pairs.counts) / (len(hard) - bags.sizes)[:, None]
        rows = np.maximum(total, 1)
        recall = jackknife(
            diagonal[0] / prior, diagonal[1] / others, diagonal[2] / prior**2, rows, top=1.0, share=True
        )
    return cells, recall


def _brier(bags: Bags, soft: Array, noise: float) -> Estimate:
    """Σ_k p_k² + 1 − 2 p_y: all but the last is known of each row."""
    pairs = paired(bags, soft, noise)
    found = label_mean(pairs)
    known, n = pairs.squares.sum(), len(soft)
    value = known / n + 1 - 2 * found.value
    others = (known - pairs.squares) / (n - bags.sizes) + 1 - 2 * found.leave_one_out
    return jackknife(value, others, 4 * found.expected, n, top=2.0).at()


def _log_loss(bags: Bags, soft: Array, noise: float) -> Estimate:
    found = label_mean(paired(bags, -np.log(np.clip(soft, _LEAST, 1)), noise))
    return jackknife(*found, len(soft)).at()
