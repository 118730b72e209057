"""Estimates with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, stdtrit

from llpgan.utils.arrays import Array

_NORMAL = 1.959964  # the 97.5 % point of the normal distribution


@dataclass(frozen=True)
class Estimate:
    """A figure with the ends of its 95 % confidence interval, if there is one.

    Attributes
    ----------
    value : float
        The figure.
    low : float or None
        The lower end of the interval.
    high : float or None
        The upper end of the interval.

    Examples
    --------
    >>> print(Estimate(0.8, 0.7, 0.9), Estimate(0.8))
    0.800 (0.700 to 0.900) 0.800
    """

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def share(n_hits: float, n: float) -> Estimate:
    """A share of independent trials, with Wilson's interval: it holds also near 0 and 1, and for few trials.

    >>> print(share(9, 10))
    0.900 (0.596 to 0.982)
    """
    hit, pull = n_hits / n, _NORMAL**2 / n
    centre = (hit + pull / 2) / (1 + pull)
    half = _NORMAL * np.sqrt(hit * (1 - hit) / n + pull / (4 * n)) / (1 + pull)
    return Estimate(hit, max(0.0, float(centre - half)), min(1.0, float(centre + half)))


def mean(values: Array, weights: Array | None = None) -> Estimate:
    """A mean of values that are never negative, with Student's t interval; of one value there is none.

    Weights say how much each value counts; the interval takes them as given.

    >>> print(mean(np.array([1.0, 2.0, 3.0, 4.0])))
    2.500 (0.446 to 4.554)
    >>> print(mean(np.array([1.0, 2.0, 3.0, 4.0]), weights=np.array([1, 1, 1, 5])))
    3.250 (1.158 to 5.342)
    """
    n, centre = len(values), float(np.average(values, weights=weights))
    if n < 2:
        return Estimate(centre)
    shares = np.full(n, 1 / n) if weights is None else weights / np.sum(weights)
    error = np.sqrt(n / (n - 1) * np.sum((shares * (values - centre)) ** 2))
    half = float(stdtrit(n - 1, 0.975) * error)
    return Estimate(centre, max(0.0, centre - half), centre + half)


def auc_estimate(scores: Array, positive: Array, weights: Array | None = None) -> Estimate:
    """How often a positive instance scores above a negative one, ties half; DeLong's interval in log-odds.

    There is no interval where an end is reached (0 or 1) or a class has one instance: the variance is unknown.

    >>> print(auc_estimate(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True])))
    0.750 (0.069 to 0.992)
    """
    weights = np.ones(len(scores)) if weights is None else weights
    times, times_below = weights[positive], weights[~positive]
    above, below = _placements(scores[positive], scores[~positive], times, times_below)
    area = float(np.average(above, weights=times))
    if min(len(above), len(below)) < 2 or not 0 < area < 1:
        return Estimate(area)
    error = np.sqrt(_variance_of_mean(above, times) + _variance_of_mean(below, times_below))
    half = _NORMAL * error / (area * (1 - area))
    return Estimate(area, float(expit(logit(area) - half)), float(expit(logit(area) + half)))


def _placements(positives: Array, negatives: Array, *weights: Array) -> tuple[Array, Array]:
    """Of each positive the share of negatives below it, and of each negative the share of positives above it."""
    times, times_below = weights or (np.ones(len(positives)), np.ones(len(negatives)))
    return _weight_below(positives, negatives, times_below), 1 - _weight_below(negatives, positives, times)


def _weight_below(scores: Array, others: Array, weights: Array) -> Array:
    """For each score, the share of the others' weight that lies below it; half of what is equal."""
    order = np.argsort(others, kind="stable")
    sums = np.append(0.0, np.cumsum(weights[order]))
    left, right = (np.searchsorted(others[order], scores, side=side) for side in ("left", "right"))
    return np.asarray((sums[left] + sums[right]) / (2 * sums[-1]))


def _variance_of_mean(values: Array, weights: Array) -> float:
    """The variance of a weighted mean; with equal weights, that of the values over their number."""
    n, shares = len(values), weights / weights.sum()
    return float(n / (n - 1) * np.sum((shares * (values - shares @ values)) ** 2))


_PRIOR_BAGS = 10  # for how many bags the variance by theory counts: few bags know little of their own spread


class Intervals(NamedTuple):
    """Figures with the ends of their 95 % intervals; arrays of one shape."""

    value: Array
    low: Array
    high: Array

    def at(self, *place: int) -> Estimate:
        """One of them."""
        return Estimate(float(self.value[place]), float(self.low[place]), float(self.high[place]))


def jackknife(
    value: Array,
    leave_one_out: Array,
    expected: Array,
    n_rows: Any,
    *,
    top: float = np.inf,
    share: bool = False,
) -> Intervals:
    """Student's t intervals over bags, of log-odds between 0 and ``top``, or of the logarithm if there is no top.

    The variance is the jackknife's, (B−1)/B Σ_b (θ₍₋b₎ − θ̄)², averaged with the one that theory expects, which
    counts as ten bags. The interval of a share of rows is at least as wide as if all labels were known: also where
    no bag shows a mistake.

    Parameters
    ----------
    value : ndarray
        The figures, unbiased, so that they may lie beyond their ends: they are given as they are.
    leave_one_out : ndarray
        Without each bag in turn, ``(n_bags, ...)``.
    expected : ndarray
        Their variance by theory.
    n_rows : object
        That the figures are of; a number, or one for each.
    top : float, default=np.inf
        The largest possible figure; the least is 0.
    share : bool, default=False
        Whether the figures are shares of rows.

    Examples
    --------
    >>> found = jackknife(np.array(0.9), np.array([0.89, 0.9, 0.91, 0.88, 0.92]), np.array(0.0), 100, top=1.0)
    >>> print(found.at())
    0.900 (0.788 to 0.956)
    """
    step = (1 if np.isinf(top) else top) / (4 * n_rows)
    n_bags = len(leave_one_out)
    centre = np.clip(value, step, top - step)
    slope = 1 / centre + 1 / (top - centre)
    moved = _to_line(leave_one_out, step, top)
    spread = (n_bags - 1) / n_bags * ((moved - moved.mean(axis=0)) ** 2).sum(axis=0)
    prior = np.where(expected > 0, _PRIOR_BAGS, 0)
    variance = ((n_bags - 1) * spread + prior * expected * slope**2) / (n_bags - 1 + prior)
    if share:
        variance = np.maximum(variance, 1 / (n_rows * centre * (1 - centre) + 0.5))
    half = stdtrit(n_bags - 1, 0.975) * np.sqrt(variance)
    line = _to_line(value, step, top)
    return Intervals(value, _from_line(line - half, top), _from_line(line + half, top))


def _to_line(figures: Array, step: Any, top: float) -> Array:
    inside = np.clip(figures, step, top - step)
    return np.log(inside) if np.isinf(top) else np.log(inside / (top - inside))


def _from_line(line: Array, top: float) -> Array:
    return np.exp(line) if np.isinf(top) else top * expit(line)
