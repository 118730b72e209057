"""How bags differ: in how common the classes are (label shift), or in what their instances look like."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from llpgan.bags import Bags
from llpgan.estimators.mean_operator import class_means
from llpgan.utils.arrays import Array

_RIDGE = 1e-3  # of each column's variance, against columns that depend on others
_BEYOND_CHANCE = 5.0  # times as much as proportions of random bags: then chance is out of the question


@dataclass(frozen=True)
class ShiftEvidence:
    """What tells label shift from covariate shift, without any label.

    Attributes
    ----------
    dispersion : float
        The variance of proportions relative to that of bags drawn at random from all rows, which is near 1.
    implied_correlation : float
        The squared correlation of class and features that the bags would imply under label shift. If P(x | y) is
        the same in all bags, bag means are mixtures of class means, which can thus be solved for; and classes
        cannot differ by more than all rows do. Above 1, label shift is impossible.
    """

    dispersion: float
    implied_correlation: float

    @property
    def label_shift(self) -> bool:
        """Whether bags differ by more than chance in their proportions, and as mixtures of the classes would."""
        return self.dispersion > _BEYOND_CHANCE and self.implied_correlation < 1


def shift_evidence(bags: Bags, rows: Array) -> ShiftEvidence:
    """Look for label shift in bags.

    Parameters
    ----------
    bags : Bags
        With their proportions.
    rows : array of shape (n_rows, n_features)
        The instances in one scale.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(4000) < np.repeat([0.2, 0.4, 0.6, 0.8], 1000)).astype(int)
    >>> rows = rng.normal(size=(4000, 2)) + labels[:, None]  # given the class, the same in all bags
    >>> bags = Bags.from_labels(rows, labels, np.repeat(range(4), 1000))
    >>> shift_evidence(bags, rows).label_shift
    True
    """
    weights = bags.sizes / len(bags.bag_index)
    spread = weights @ (bags.proportions - bags.prior) ** 2
    by_chance = (bags.prior * (1 - bags.prior)).sum() * (bags.n_bags - 1) / len(bags.bag_index)
    dispersion = float(spread.sum() / by_chance) if by_chance > 0 else 0.0
    if bags.n_bags < bags.n_classes or dispersion <= _BEYOND_CHANCE:
        return ShiftEvidence(dispersion, np.inf)
    return ShiftEvidence(dispersion, _implied_correlation(bags, rows))


def _implied_correlation(bags: Bags, rows: Array) -> float:
    """The largest eigenvalue of the between-class variance relative to that of all rows."""
    centred = rows - rows.mean(axis=0)
    deviations = centred.std(axis=0)
    centred = centred[:, deviations > 0] / deviations[deviations > 0]
    if centred.shape[1] == 0:
        return np.inf
    means = class_means(bags.means(centred), bags.proportions, bags.sizes)
    between = means.T @ (bags.prior[:, None] * means)
    total = centred.T @ centred / len(centred) + _RIDGE * np.eye(centred.shape[1])
    last = centred.shape[1] - 1
    return float(eigh(between, total, eigvals_only=True, subset_by_index=[last, last])[0])
