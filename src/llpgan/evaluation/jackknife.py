"""Intervals of figures that have a lower end, and often an upper one, from the figure without each bag in turn."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, stdtrit

from llpgan.evaluation.interval_estimate import Estimate
from llpgan.utils.arrays import Array

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
