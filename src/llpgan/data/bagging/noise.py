"""Proportions that are not quite true: for privacy, from rounding, or by mistake.

The two mechanisms of differential privacy publish each bag's counts with noise. Which rows are in a bag, and so
its size, is taken as known; the secret is a row's class. A row that changes its class moves two counts by one:
counts have an L1 sensitivity of 2 and an L2 sensitivity of √2. A row is in one bag only, so that all bags together
are as private as each. What is done to the noisy counts (clipped at 0, made to sum to one) cannot harm privacy; a
seed that others know does, and so does the finite precision of floating-point noise: these are for experiments.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from llpgan.bags import Bags

_L1_SENSITIVITY = 2.0
_L2_SENSITIVITY = 2**0.5
_LOG_DEVIATIONS = (-40.0, 40.0)  # more than any ε and δ ask for


def laplace_noise(bags: Bags, epsilon: float, seed: int) -> Bags:
    """Add Laplace noise of scale 2 / ε to the counts: ε-differentially private proportions.

    Parameters
    ----------
    bags : Bags
        The bags.
    epsilon : float
        The privacy parameter ε.
    seed : int
        The seed of the noise.

    Returns
    -------
    Bags
        The same bags with noisy proportions.

    Examples
    --------
    >>> bags = Bags.from_labels(np.eye(4), [0, 1, 1, 1], groups=[0, 0, 0, 0])
    >>> laplace_noise(bags, epsilon=1.0, seed=0).proportions.round(2)
    array([[0.48, 0.52]])
    """
    _positive("epsilon", epsilon)
    rng = np.random.default_rng(seed)
    return _with_count_noise(bags, rng.laplace(scale=_L1_SENSITIVITY / epsilon, size=bags.proportions.shape))


def gaussian_noise(bags: Bags, epsilon: float, delta: float, seed: int) -> Bags:
    """Add normal noise to the counts: (ε, δ)-differentially private proportions.

    Parameters
    ----------
    bags : Bags
        The bags.
    epsilon : float
        The privacy parameter ε.
    delta : float
        The privacy parameter δ, between 0 and 1.
    seed : int
        The seed of the noise.

    Returns
    -------
    Bags
        The same bags with noisy proportions.

    References
    ----------
    .. [1] B. Balle and Y.-X. Wang, "Improving the Gaussian mechanism for differential privacy", International
       Conference on Machine Learning, 2018.

    Examples
    --------
    >>> bags = Bags.from_labels(np.eye(4), [0, 1, 1, 1], groups=[0, 0, 0, 0])
    >>> gaussian_noise(bags, epsilon=1.0, delta=1e-3, seed=0).proportions.round(2)
    array([[0.37, 0.63]])
    """
    deviation = gaussian_deviation(epsilon, delta, _L2_SENSITIVITY)
    rng = np.random.default_rng(seed)
    return _with_count_noise(bags, rng.normal(scale=deviation, size=bags.proportions.shape))


def gaussian_deviation(epsilon: float, delta: float, sensitivity: float) -> float:
    """The least standard deviation of normal noise that is (ε, δ)-differentially private.

    The analytic mechanism (Balle and Wang, 2018, theorem 8), right for every ε; the textbook's formula
    Δ √(2 ln(1.25 / δ)) / ε is larger, and holds only below ε = 1.

    >>> round(gaussian_deviation(1.0, 1e-5, sensitivity=1.0), 2)
    3.73
    """
    from scipy.optimize import brentq
    from scipy.special import log_ndtr, ndtr

    _positive("epsilon", epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}")

    def excess(log_deviation: float) -> float:
        ratio = sensitivity / np.exp(log_deviation)
        beyond = np.exp(epsilon + log_ndtr(-ratio / 2 - epsilon / ratio))
        return float(ndtr(ratio / 2 - epsilon / ratio) - beyond - delta)

    return float(np.exp(brentq(excess, *_LOG_DEVIATIONS)))


def rounded(bags: Bags, step: float) -> Bags:
    """Round each proportion to a multiple of a step, and normalize those of each bag.

    Parameters
    ----------
    bags : Bags
        The bags.
    step : float
        The step, such as 0.05.

    Returns
    -------
    Bags
        The same bags with rounded proportions.

    Examples
    --------
    >>> bags = Bags.from_labels(np.eye(3), [0, 1, 1], groups=[0, 0, 0])
    >>> rounded(bags, step=0.05).proportions
    array([[0.35, 0.65]])
    """
    if not 0 < step <= 1:
        raise ValueError(f"the step must lie between 0 and 1, got {step}")
    return _with_weights(bags, np.round(bags.proportions / step) * step)


def swapped(bags: Bags, share: float, seed: int) -> Bags:
    """Exchange the proportions of some bags at random, so that each of them gets those of another.

    Parameters
    ----------
    bags : Bags
        The bags.
    share : float
        The share of bags that exchange their proportions.
    seed : int
        The seed of the random draws.

    Returns
    -------
    Bags
        The same bags with exchanged proportions.

    Examples
    --------
    >>> bags = Bags.from_labels(np.eye(4), [0, 1, 1, 1], groups=[0, 1, 1, 1])
    >>> swapped(bags, share=1.0, seed=0).proportions
    array([[0., 1.],
           [1., 0.]])
    """
    if not 0 <= share <= 1:
        raise ValueError(f"the share of bags must lie between 0 and 1, got {share}")
    chosen = np.random.default_rng(seed).permutation(bags.n_bags)[: round(share * bags.n_bags)]
    proportions = bags.proportions.copy()
    proportions[chosen] = proportions[np.roll(chosen, 1)]
    return replace(bags, proportions=proportions)


def _with_count_noise(bags: Bags, noise: NDArray[np.float64]) -> Bags:
    return _with_weights(bags, bags.proportions * bags.sizes[:, None] + noise)


def _with_weights(bags: Bags, weights: NDArray[np.float64]) -> Bags:
    """Negative weights count as none; a bag where nothing is left gets equal proportions, for want of any."""
    weights = np.maximum(weights, 0)
    weights[weights.sum(axis=1) <= 0] = 1
    return replace(bags, proportions=weights / weights.sum(axis=1, keepdims=True))


def _positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{name} must be a number above 0, got {value}")
