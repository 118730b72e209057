"""Means that need every row's label, from the labels' counts in bags: what all label-free figures are made of."""

from typing import NamedTuple

import numpy as np

from llpgan.utils.arrays import Array

_ROUNDS = 60  # of the fixed point; it converges in a handful


class Pairs(NamedTuple):
    """Sums over each bag, of labels and of their figures: one row per bag, pairs d along the last axis.

    Axes between are figures that are estimated side by side, such as the cells of a confusion matrix.

    Attributes
    ----------
    sizes : ndarray
        M, ``(n_bags,)``.
    counts : ndarray
        C_d, how many rows of the bag have the class that pair d asks for.
    sums : ndarray
        S_d, the bag's sum of g_d(x), a figure of the row that is known.
    squares : ndarray
        The bag's sum of Σ_d g_d(x)²; without the last axis.
    noise : float, default=0.0
        The standard deviation of the given proportions around the true ones.
    """

    sizes: Array
    counts: Array
    sums: Array
    squares: Array
    noise: float = 0.0


class LabelMean(NamedTuple):
    """An estimate of E Σ_d 1[y is the class of pair d] g_d(x).

    Attributes
    ----------
    value : ndarray
        The estimate.
    leave_one_out : ndarray
        The same without each bag in turn, ``(n_bags, ...)``.
    expected : ndarray
        Its variance, by theory, for normal sums of large bags.
    """

    value: Array
    leave_one_out: Array
    expected: Array


class _Moments(NamedTuple):
    """Of all bags together: labels and figures over rows (``*_rows``), and as the spread of bags shows them."""

    product: Array
    covariance: Array
    labels: Array
    figures: Array
    labels_rows: Array
    figures_rows: Array


def label_mean(pairs: Pairs) -> LabelMean:
    """The mean over rows of a figure that depends on the row's label, where only bags' counts of labels are known.

    In bags drawn at random, of any sizes m_b, with B bags and N rows, π = Σc/N and ḡ = Σs/N,

        (1 − 1/N)/(B − 1) · Σ_b (c_b − m_b π)(s_b − m_b ḡ)/m_b

    is on average the covariance over rows of 1[y = k] and g, so that πḡ plus it is the mean wanted, without bias:
    over all ways to deal the N rows into the bags it is exactly that of these rows. For bags of one size this is
    the 0-1 estimate of EasyLLP (Busa-Fekete et al., 2023), m p_k − (m − 1) π_k in place of a label, with the prior
    π taken from the *other* bags, which is what makes it unbiased; the bags' own prior would pull it towards
    chance by one part in B.

    It is sharpened by two figures whose mean is known to be zero: the spread of the bags' counts, and of their
    sums, less what they must be in random bags. With r the correlation of labels and figures, r/(1 + r²) of each
    (in units of its rows) is taken off; r is the one that results. Near r = 1 the variance falls by (1 − r)²: a
    classifier that is right for 98 % is known twenty times better.
    """
    totals = _sums(pairs)
    without = tuple(total - part for total, part in zip(totals, _parts(pairs), strict=True))
    n_bags = len(pairs.sizes)
    moments = _moments(totals, n_bags, pairs)
    value, r = _sharpened(moments)
    leave_one_out, _ = _sharpened(_moments(without, n_bags - 1, pairs))
    reach = moments.labels_rows * moments.figures_rows
    share_of_bags = 1 - n_bags / pairs.sizes.sum()  # bags of one row have no noise but that of their rows
    per_bag = share_of_bags * reach * (1 - r**2) ** 2 / (1 + r**2) / _dimension(totals, pairs)
    return LabelMean(value, leave_one_out, per_bag / (n_bags - 1))


def _parts(pairs: Pairs) -> tuple[Array, ...]:
    """What each bag adds to the totals: N, m², c, s, c·s/m, c·c/m, s·s/m, g²; the first two with axes to spare."""
    sizes, counts, sums = pairs.sizes.astype(np.float64), pairs.counts, pairs.sums
    shape = (-1,) + (1,) * (np.broadcast(counts, sums).ndim - 2)
    m = sizes.reshape(shape)
    return (
        m, m**2, counts, sums, (counts * sums).sum(-1) / m, (counts**2).sum(-1) / m, (sums**2).sum(-1) / m,
        pairs.squares,
    )  # fmt: skip


def _sums(pairs: Pairs) -> tuple[Array, ...]:
    return tuple(part.sum(axis=0) for part in _parts(pairs))


def _moments(totals: tuple[Array, ...], n_bags: int, pairs: Pairs) -> _Moments:
    n, n_squared, counts, sums, both, counts_squared, sums_squared, squares = totals
    prior, mean = counts / n[..., None], sums / n[..., None]
    unbiased = (1 - 1 / n) / (n_bags - 1)
    noise = pairs.noise**2 * counts.shape[-1] * (n - n_squared / n)
    product = (prior * mean).sum(-1)
    return _Moments(
        product=product,
        covariance=unbiased * (both - n * product),
        labels=unbiased * (counts_squared - n * (prior**2).sum(-1) - noise),
        figures=unbiased * (sums_squared - n * (mean**2).sum(-1)),
        labels_rows=(prior - prior**2).sum(-1),
        figures_rows=np.maximum(squares / n - (mean**2).sum(-1), 0),
    )


def _sharpened(moments: _Moments) -> tuple[Array, Array]:
    """The estimate, and r."""
    reach = np.sqrt(moments.labels_rows * moments.figures_rows)
    plain = _ratio(moments.covariance, reach)
    excess = 2 - _ratio(moments.labels, moments.labels_rows, 1) - _ratio(moments.figures, moments.figures_rows, 1)
    r = np.clip(plain, -1, 1)
    for _ in range(_ROUNDS):
        r = np.clip(plain + r / (1 + r**2) * excess, -1, 1)
    return moments.product + reach * (plain + r / (1 + r**2) * excess), r


def _ratio(part: Array, whole: Array, otherwise: float = 0.0) -> Array:
    """Rounding may leave next to nothing where there is nothing: a figure that is the same for all rows."""
    something = whole > 1e-12
    return np.where(something, part / np.where(something, whole, 1), otherwise)


def _dimension(totals: tuple[Array, ...], pairs: Pairs) -> Array:
    """In how many directions the counts of bags vary: K − 1 for K equal classes, 1 for one."""
    prior = totals[2] / totals[0][..., None]
    trace = (prior - prior**2).sum(-1)
    squared = (prior**2).sum(-1) - 2 * (prior**3).sum(-1) + (prior**2).sum(-1) ** 2
    return np.where(squared > 0, trace**2 / np.where(squared > 0, squared, 1), 1)
