"""Which rows to label in addition to bags: those whose labels reduce the uncertainty of predictions most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.bags.scales import column_moments
from llpgan.methods.base import LLPClassifier
from llpgan.utils.arrays import Array

STRATEGIES = ("variance", "uncertainty", "random")
_MOST_CANDIDATES = 20_000
_MOST_FEATURES = 100
_FARTHEST = 3.0  # standard deviations from the mean of a column, so that no outlier decides alone
_LEAST_INFORMATION = 1e-3  # of a label; a row whose label is certain has little to say


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Rows to label, in the order in which they help.

    Attributes
    ----------
    rows : ndarray of shape (budget,)
        The positions of the rows.
    bag_of_row : ndarray of shape (budget,)
        The positions of their bags.
    variances : ndarray of shape (budget,)
        The mean variance of the predicted probabilities that is expected to remain after each label, relative to
        that before the first. NaN for other strategies than ``"variance"``.
    """

    rows: NDArray[np.int64]
    bag_of_row: NDArray[np.int64]
    variances: NDArray[np.float64]


def suggest_labels(
    model: LLPClassifier,
    bags: Bags,
    budget: int,
    *,
    strategy: Literal["variance", "uncertainty", "random"] = "variance",
    labelled: ArrayLike = (),
    random_state: int = 0,
) -> Suggestion:
    """Select the rows whose labels, in addition to the bags, help most.

    Bags say little about single directions of the features, while each label says something about one. Labels are
    chosen by ``"variance"`` as in Bayesian experimental design for a logistic regression whose weights have
    covariance Σ = I before, on standardized columns: a label of row x with predicted probability p carries the
    information p (1 − p) x xᵀ, and the row is selected that reduces the mean variance of all predictions most,

        xᵀ Σ M Σ x / (xᵀ Σ x + 1 / (p (1 − p))),  M = mean over rows of p (1 − p) x xᵀ

    (V-optimality [1]_ [2]_). Then Σ is updated, so that the next row differs from those before. With more than two
    classes, the reductions of all classes are added.

    Parameters
    ----------
    model : LLPClassifier
        The fitted model. Its probabilities say which labels are uncertain.
    bags : Bags
        The bags that the labels will be added to, with the encoding of the training bags.
    budget : int
        The number of rows to label.
    strategy : {"variance", "uncertainty", "random"}, default="variance"
        ``"uncertainty"`` selects rows whose most probable class is least probable; ``"variance"`` reduces the
        expected variance of all predictions most; ``"random"`` selects any rows.
    labelled : array-like of shape (n_labelled,), default=()
        The positions of rows whose labels are known already. They are not suggested, and neither are rows from
        ``bags.add_labels`` or rows of bags that have one class alone.
    random_state : int, default=0
        The seed of the candidates, of which there are at most 20,000.

    Returns
    -------
    Suggestion
        The rows, the most helpful first. Label them, and pass them to ``bags.add_labels``.

    References
    ----------
    .. [1] D. Cohn, Z. Ghahramani and M. Jordan, "Active learning with statistical models", JAIR 4, 1996.
    .. [2] K. Chaloner and I. Verdinelli, "Bayesian experimental design: a review", Statistical Science 10, 1995.

    Examples
    --------
    >>> from llpgan import MeanMap
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(640, 3))
    >>> bags = Bags.from_labels(X, (X[:, 0] + X[:, 1] > 0).astype(int), np.arange(640) // 32)
    >>> found = suggest_labels(MeanMap().fit_bags(bags), bags, 5, strategy="variance")
    >>> len(found.rows), bool((np.diff(found.variances) < 0).all())
    (5, True)
    """
    refuse_other_than_bags(bags, "bags")
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
    candidates = _find_unlabelled(bags, labelled)
    n_rows = len(candidates)
    if n_rows == 0:
        raise ValueError("the class of every row is known already: there is nothing to label")
    if not 1 <= budget <= n_rows or budget != int(budget):
        rows = "rows" if n_rows == len(bags.instances) else "rows without a known label"
        raise ValueError(f"budget must be a number of {rows} from 1 to {n_rows:,}, got {budget!r}")
    rng = np.random.default_rng(random_state)
    if n_rows > max(_MOST_CANDIDATES, budget):
        candidates = candidates[np.sort(rng.choice(n_rows, max(_MOST_CANDIDATES, budget), replace=False))]
    variances = np.full(budget, np.nan)
    if strategy == "random":
        chosen = rng.choice(candidates, budget, replace=False)
    else:
        probabilities = model.predict_encoded(bags.instances[candidates])
        if strategy == "uncertainty":
            chosen = candidates[np.argsort(probabilities.max(axis=1), kind="stable")[:budget]]
        else:
            weights = bags.row_weights[candidates]
            features = _standardize(np.asarray(bags.instances[candidates]), weights)
            places, variances = _select_rows(features, probabilities, weights / weights.sum(), budget)
            chosen = candidates[places]
    return Suggestion(chosen, bags.bag_index[chosen], variances)


def _find_unlabelled(bags: Bags, labelled: ArrayLike) -> NDArray[np.int64]:
    """The positions of rows whose class neither the caller nor their bag knows."""
    n_rows = len(bags.instances)
    known = ~bags.is_counted  # whose labels would not count either
    given = np.asarray(labelled, dtype=np.int64 if np.size(labelled) == 0 else None)
    if given.dtype.kind not in "iu" or ((given < 0) | (given >= n_rows)).any():
        raise ValueError(f"labelled: give the positions of rows, whole numbers from 0 to {n_rows - 1:,}")
    known[given] = True
    if bags.share_constraints is None:
        known |= (bags.proportions.max(axis=1) == 1)[bags.bag_index]
    for place, name in enumerate(bags.bag_ids):
        if isinstance(name, tuple) and name[0] == "label" and isinstance(name[1], int):  # from add_labels
            copied, row = bags.rows_of(place)[0], name[1]
            known[copied] = True
            if row < n_rows and np.array_equal(bags.instances[row], bags.instances[copied]):
                known[row] = True
    return np.flatnonzero(~known)


def _standardize(instances: Array, weights: Array) -> Array:
    """Columns of mean 0 and variance 1 with a constant; if there are many, the first principal components."""
    table = instances.reshape(len(instances), -1).astype(np.float64)
    means, deviations = column_moments(table, weights)
    table = np.clip((table - means) / np.where(deviations > 0, deviations, 1), -_FARTHEST, _FARTHEST)
    if table.shape[1] > _MOST_FEATURES:
        _, directions = np.linalg.eigh((table * weights[:, None]).T @ table / weights.sum())
        table = table @ directions[:, -_MOST_FEATURES:]
    return np.hstack([table, np.ones((len(table), 1))])


def _select_rows(features: Array, probabilities: Array, shares: Array, budget: int) -> tuple[Array, Array]:
    """Select rows one after another, each with the largest expected reduction of variance over all rows."""
    p = probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities
    information = np.maximum(p * (1 - p), _LEAST_INFORMATION).T
    wanted = [(features * (shares * each)[:, None]).T @ features for each in information]
    covariances = [np.eye(features.shape[1]) for _ in information]
    selected: list[int] = []
    before, left = sum(np.trace(each) for each in wanted), []
    for _ in range(budget):
        gains = np.zeros(len(features))
        for of_label, weights, covariance in zip(information, wanted, covariances, strict=True):
            moved = features @ covariance
            gains += ((moved @ weights) * moved).sum(axis=1) / ((moved * features).sum(axis=1) + 1 / of_label)
        gains[selected] = -1
        row = int(gains.argmax())
        selected.append(row)
        for k, covariance in enumerate(covariances):
            moved_row = covariance @ features[row]
            total = features[row] @ moved_row + 1 / information[k, row]
            covariances[k] = covariance - np.outer(moved_row, moved_row) / total
        variance = sum((w * c).sum() for w, c in zip(wanted, covariances, strict=True))
        left.append(variance / before)
    return np.array(selected), np.array(left)
