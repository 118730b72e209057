"""How much a labelled row should count beside a bag: chosen by labels that were held out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import KFold

from llpgan.bags import Bags, validation
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation.label_scores import label_scores
from llpgan.utils.arrays import Array

WEIGHTS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class LabelWeight:
    """How much a labelled row should count beside a bag, and how the weights compared.

    Attributes
    ----------
    weight : float
        The weight with the lowest log loss.
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
    method learns from all bags and the other labels, and is judged by the log loss of those held out.

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
    found = {
        float(weight): float(np.mean([_losses(method, bags, chosen, given, weight, *split) for split in splits]))
        for weight in weights
    }
    return LabelWeight(min(found, key=lambda weight: found[weight]), found)


def _losses(
    method: LLPClassifier, bags: Bags, rows: Array, labels: Array, weight: float, train: Array, test: Array
) -> float:
    """The log loss of the held-out labels of one fold."""
    model = clone(method).fit_bags(bags.with_labels(rows[train], labels[train], weight=weight))
    probabilities = model.predict_encoded(bags.instances[rows[test]])
    return label_scores(labels[test], probabilities, bags.classes).log_loss.value
