"""How much a labelled row should count beside a bag: chosen by labels that were held out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import KFold

from llpgan.bags import Bags, validation
from llpgan.bags.fit_warnings import trials
from llpgan.estimators.base import LLPClassifier
from llpgan.utils.arrays import Array

_LEAST = np.finfo(np.float64).eps  # a probability of zero would make one mistake count for ever
WEIGHTS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class LabelWeight:
    """How much a labelled row should count beside a bag, and how the weights compared.

    Attributes
    ----------
    weight : float
        The smallest weight whose log loss is within one standard error of the lowest.
    log_losses : dict
        From each weight to the mean log loss of the labels that were held out.
    """

    weight: float
    log_losses: dict[float, float]


def choose_label_weight(
    method: LLPClassifier,
    bags: Bags,
    rows: ArrayLike,
    labels: ArrayLike,
    *,
    weights: Sequence[float] = WEIGHTS,
    cv: int = 5,
    random_state: int = 0,
) -> LabelWeight:
    """Choose how much labelled rows should count beside bags, by cross-validation on the labels.

    The proportions of a bag of a thousand rows tell more than one label, but how much more depends on how well the
    bags' proportions hold for the rows that are there. Each fold of the labels is held out once: a copy of the
    method learns from all bags and the other labels, and is judged by the log loss of those held out. A few labels
    judge with much chance, and a large weight means to learn from few of them: of the weights that are within one
    standard error of the best, label by label, the smallest is chosen.

    Parameters
    ----------
    method : LLPClassifier
        An estimator that can weigh bags; copies of it are fitted.
    bags : Bags
        The bags.
    rows : array-like of shape (n_labelled,)
        The positions of the labelled rows, as in :meth:`llpgan.Bags.with_labels`.
    labels : array-like of shape (n_labelled,)
        Their classes.
    weights : sequence of float, default=(0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
        The weights to choose from.
    cv : int, default=5
        The number of folds.
    random_state : int, default=0
        The seed of the folds.

    Returns
    -------
    LabelWeight
        The weight for ``bags.with_labels(rows, labels, weight=...)``, and the log loss of each.

    Raises
    ------
    ValueError
        If there are fewer labels than folds, or no weight to choose from.

    Examples
    --------
    >>> from llpgan import BagLogistic
    >>> X = np.arange(40.0)[:, None]
    >>> y = (X[:, 0] >= 20).astype(int)
    >>> bags = Bags.from_labels(X, y, groups=np.arange(40) % 5)
    >>> rows = np.arange(0, 40, 4)
    >>> choose_label_weight(BagLogistic(n_resamples=0), bags, rows, y[rows], weights=[0.01, 1.0]).weight
    1.0
    """
    if not len(weights):
        raise ValueError("weights: there must be at least one to choose from")
    chosen, given = validation.labelled_rows(rows, labels, len(bags.bag_index))
    if not 2 <= cv <= len(chosen):
        raise ValueError(f"cv must be from 2 to the number of labels, which is {len(chosen)}, got {cv!r}")
    splits = list(KFold(cv, shuffle=True, random_state=random_state).split(chosen))
    losses = {
        float(weight): np.concatenate([_losses(method, bags, chosen, given, weight, *split) for split in splits])
        for weight in sorted(weights)
    }
    best = min(losses.values(), key=np.mean)
    within = [weight for weight, of_labels in losses.items() if _is_as_good(of_labels - best)]
    return LabelWeight(within[0], {weight: float(of_labels.mean()) for weight, of_labels in losses.items()})


def _is_as_good(more: Array) -> bool:
    """Whether losses that are this much higher are so by no more than one standard error."""
    return bool(more.mean() <= more.std(ddof=1) / np.sqrt(len(more)))


def _losses(
    method: LLPClassifier, bags: Bags, rows: Array, labels: Array, weight: float, train: Array, test: Array
) -> Array:
    """The log loss of each held-out label of one fold."""
    with trials():
        model = clone(method).fit_bags(bags.with_labels(rows[train], labels[train], weight=weight))
    probabilities = model.predict_encoded(bags.instances[rows[test]])
    of_label = probabilities[labels[test][:, None] == bags.classes]
    return np.asarray(-np.log(np.maximum(of_label, _LEAST)))
