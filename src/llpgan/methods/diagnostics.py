"""Settings in messages, and how bags differ from each other."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from llpgan.bags import Bags
from llpgan.methods.base import LLPClassifier
from llpgan.methods.linear import FeaturesOf, bag_blocks
from llpgan.methods.mean_map import class_means
from llpgan.utils.arrays import Array
from llpgan.utils.workers import find_workers

_PLAIN = (str, int, float, tuple, list, type(None))


class Setting(NamedTuple):
    """A setting's name, its value, the value that it has where nobody sets it, and whether somebody did."""

    name: str
    value: str
    usual: str
    differs: bool


def changed_settings(model: LLPClassifier) -> tuple[Setting, ...]:
    """All settings of a model.

    >>> from llpgan import MeanMap
    >>> changed_settings(MeanMap(C=2.0))[0]
    Setting(name='C', value='2.0', usual='None', differs=True)
    """
    usual = type(model)().get_params(deep=False)
    return tuple(
        Setting(name, _describe_value(value), _describe_value(usual[name]), _differ(value, usual[name]))
        for name, value in model.get_params(deep=False).items()
    )


def _differ(value: Any, usual: Any) -> bool:
    """3 and 3.0 do not; functions and networks do, unless they are the same one."""
    if isinstance(value, tuple | list) and isinstance(usual, tuple | list):
        return tuple(value) != tuple(usual)
    return bool(value != usual) if isinstance(value, _PLAIN) or is_dataclass(value) else value is not usual


def describe_method(model: LLPClassifier) -> str:
    """What the method is: its docstring's first line."""
    return (inspect.getdoc(type(model)) or "").partition("\n")[0]


def _describe_value(value: Any) -> str:
    """Plain values as Python writes them; of functions, networks and generators the name, which has no address."""
    if isinstance(value, Path):
        return str(value)
    is_part = is_dataclass(value) and not isinstance(value, LLPClassifier)  # a loss or a term, with its settings
    if is_part or isinstance(value, _PLAIN):
        return repr(value)
    return getattr(value, "__name__", type(value).__name__)


_RIDGE = 1e-3  # of each column's variance, against columns that depend on others
_CONSTANT = 1e-7  # deviations up to this are rounding, in features of one scale
_DEVIATIONS = 2.0  # of the variance of proportions of random bags
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


def shift_evidence(bags: Bags, features_of: FeaturesOf) -> ShiftEvidence:
    """Look for label shift in bags.

    Parameters
    ----------
    bags : Bags
        With their proportions.
    features_of : callable
        Turns instances into features in one scale. Those in a file are read block by block.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(4000) < np.repeat([0.2, 0.4, 0.6, 0.8], 1000)).astype(int)
    >>> rows = rng.normal(size=(4000, 2)) + labels[:, None]  # given the class, the same in all bags
    >>> bags = Bags.from_labels(rows, labels, np.repeat(range(4), 1000))
    >>> shift_evidence(bags, lambda instances: instances).label_shift
    True
    """
    dispersion = _dispersion(bags)
    if bags.n_bags < bags.n_classes or dispersion <= _BEYOND_CHANCE:
        return ShiftEvidence(dispersion, np.inf)
    return ShiftEvidence(dispersion, _implied_correlation(bags, features_of))


def differ_by_chance(bags: Bags) -> bool:
    """Return whether proportions vary no more than those of random bags do, by two standard deviations.

    Parameters
    ----------
    bags : Bags
        With their proportions.

    Examples
    --------
    >>> labels = np.random.default_rng(0).integers(2, size=4000)
    >>> differ_by_chance(Bags.from_labels(np.zeros((4000, 1)), labels, np.arange(4000) // 40))
    True
    >>> differ_by_chance(Bags.from_labels(np.zeros((4000, 1)), np.sort(labels), np.arange(4000) // 40))
    False
    """
    degrees = max(1, (bags.n_bags - 1) * (bags.n_classes - 1))
    return bool(_dispersion(bags) < 1 + _DEVIATIONS * np.sqrt(2 / degrees))


def _dispersion(bags: Bags) -> float:
    """The variance of proportions relative to that of bags drawn at random from all rows."""
    weights = bags.totals / bags.totals.sum()
    spread = weights @ (bags.proportions - bags.prior) ** 2
    by_chance = (bags.prior * (1 - bags.prior)).sum() * (bags.n_bags - 1) / len(bags.bag_index)
    return float(spread.sum() / by_chance) if by_chance > 0 else 0.0


def _implied_correlation(bags: Bags, features_of: FeaturesOf) -> float:
    """The largest eigenvalue of the between-class variance relative to that of all rows."""
    bag_means, total = _bag_moments(bags, features_of)
    deviations = np.sqrt(np.maximum(np.diag(total), 0))
    used = deviations > _CONSTANT
    if not used.any():
        return np.inf
    means = class_means(bag_means[:, used] / deviations[used], bags.proportions, bags.totals)
    between = means.T @ (bags.prior[:, None] * means)
    within = total[np.ix_(used, used)] / np.outer(deviations[used], deviations[used])
    last = int(used.sum()) - 1
    ridge = _RIDGE * np.eye(last + 1)
    return float(eigh(between, within + ridge, eigvals_only=True, subset_by_index=[last, last])[0])


def _bag_moments(bags: Bags, features_of: FeaturesOf) -> tuple[Array, Array]:
    """The mean of each bag, from the mean of all, (n_bags, d), and the covariance of all rows, (d, d)."""
    blocks = bag_blocks(bags, features_of, keep=False)
    n_features = int(np.prod(bags.instances.shape[1:]))
    sums, products = [], np.zeros((n_features, n_features))
    for block in blocks:
        rows = block.read()[:, :-1]
        weighted = rows if block.shares is None else rows * block.shares[:, None]
        weights = block.repeat_rows(bags.totals[block.bags] / block.sizes)[:, None]
        sums.append(block.sums(weighted) / block.sizes[:, None])
        products += (weighted * weights).T @ rows
    means, shares = find_workers().gather(np.concatenate(sums)), bags.totals / bags.totals.sum()
    (products,) = find_workers().sum(products)
    mean = shares @ means
    return means - mean, products / bags.totals.sum() - np.outer(mean, mean)
