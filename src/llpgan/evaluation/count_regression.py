"""Means that need every row's label, estimated from random bags with the help of the model's predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from llpgan.bags.bags import Bags
from llpgan.evaluation.intervals import Estimate
from llpgan.evaluation.without_labels import are_weighted, randomness_test
from llpgan.utils.arrays import Array

LEVEL_OF_REFUSAL = 0.01  # one of a hundred random draws of bags is refused
_MOST_COLUMNS = 200
_N_TERMS = 5  # of the regression: the mean, and four control variates


class NotRandomError(ValueError):
    """Bags are not a random sample, so that their proportions do not tell about single rows."""


@dataclass(frozen=True, eq=False)
class CountMean:
    """An estimate of E Σ_k 1[y = k] g_k(x).

    Attributes
    ----------
    value : float
        The estimate.
    influences : ndarray of shape (n_bags,)
        How much each bag contributes to the error of the estimate. The standard error is the root of the sum of
        squares; sums over two estimates of products of their influences estimate their covariance.
    least_error : float
        The standard error if all labels were known.
    """

    value: float
    influences: NDArray[np.float64]
    least_error: float = 0.0

    @property
    def error(self) -> float:
        """The standard error."""
        return max(float(np.sqrt(np.sum(self.influences**2))), self.least_error)

    @property
    def skewness(self) -> float:
        """The estimated skewness of the estimate."""
        squares = float(np.sum(self.influences**2))
        return float(np.sum(self.influences**3)) / squares**1.5 if squares > 0 else 0.0

    def as_share(self) -> Estimate:
        """The estimate of a share, with its 95 % interval by Student's t."""
        half = quantile(len(self.influences)) * self.error
        ends = np.clip([self.value - half, self.value + half], 0, 1)
        return Estimate(self.value, float(ends[0]), float(ends[1]))

    def as_estimate(self) -> Estimate:
        """The estimate of any figure, with its 95 % interval by Student's t."""
        half = quantile(len(self.influences)) * self.error
        return Estimate(self.value, self.value - half, self.value + half)


class CountRegression:
    """Estimates E Σ_k 1[y = k] g_k(x) from random bags, for any figures g of rows that are known.

    In random bags with class counts c_b and sums G_b of g, both centred and divided by √m_b, the mean of c_b · G_b
    is Σ_k cov(1[y = k], g_k). Adding Σ_k π_k ḡ_k gives the mean that is wanted. Four other products have known
    means in random bags, because all rows' g and predicted probabilities p are known: G·G, G·P, P·P, and c·c
    (whose mean is Σ_k π_k (1 − π_k)). They serve as control variates: the estimate is the intercept of the
    regression of c · G on their deviations. The better p predicts the labels, the more of the noise is removed.
    Standard errors are robust to unequal variances (HC3).

    Compared with :func:`~llpgan.evaluation.label_means.label_mean`, which uses two of the four and no
    predictions, the error is the same for the accuracy. For figures that depend less on the predicted class it is
    as little as half. It needs about 20 bags.

    Parameters
    ----------
    bags : Bags
        Random bags that the model was not trained on.
    probabilities : ndarray of shape (n_samples, n_classes)
        The predicted probabilities of their instances.

    References
    ----------
    .. [1] R. Y. Rubinstein and R. Marcus, "Efficiency of multivariate control variates in Monte Carlo simulation",
       Operations Research 33, 1985.
    .. [2] J. G. MacKinnon and H. White, "Some heteroskedasticity-consistent covariance matrix estimators with
       improved finite sample properties", Journal of Econometrics 29, 1985.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((3200, 1))
    >>> labels = (rng.random(3200) < p[:, 0]).astype(int)
    >>> bags = Bags.from_labels(p, labels, np.arange(3200) // 16)
    >>> right = np.hstack([p < 0.5, p >= 0.5]).astype(float)
    >>> print(CountRegression(bags, np.hstack([1 - p, p])).mean(right).as_share())
    0.774 (0.733 to 0.815)
    """

    def __init__(self, bags: Bags, probabilities: Array) -> None:
        self.bags = bags
        self.n_rows = len(probabilities)
        self._roots = np.sqrt(bags.sizes.astype(np.float64))[:, None]
        # on average over random divisions of the rows into bags, products are smaller than those of rows by this
        self._factor = (1 - 1 / self.n_rows) * bags.n_bags / (bags.n_bags - 1)
        self._prior = np.average(bags.proportions, axis=0, weights=bags.sizes)
        self._counts = self._roots * (bags.proportions - self._prior)
        self.centred = probabilities - probabilities.mean(axis=0)
        self._sums = self._roots * bags.means(self.centred)
        spread_of_counts = self._excess(self._counts, self._counts, (self._prior - self._prior**2).sum())
        spread_of_sums = self._excess(self._sums, self._sums, (self.centred**2).sum() / self.n_rows)
        self._fixed_terms = [spread_of_counts, spread_of_sums]

    def mean(self, figures: Array) -> CountMean:
        """Estimate the mean of Σ_k 1[y = k] g_k(x).

        Parameters
        ----------
        figures : ndarray of shape (n_samples, n_classes)
            The figures g_k of each row.

        Returns
        -------
        CountMean
            The estimate.
        """
        mean = figures.mean(axis=0)
        spread = ((figures - mean) ** 2).sum() / self.n_rows
        product = (figures * self.centred).sum() / self.n_rows
        is_share = bool(figures.min() >= 0 and figures.max() <= 1)
        return self.mean_of_sums(self.bags.means(figures), mean, spread, product, is_share=is_share)

    def mean_of_sums(
        self, bag_means: Array, mean: Array, spread: float, product: float, *, is_share: bool
    ) -> CountMean:
        """Estimate the mean from what is needed of the figures.

        Parameters
        ----------
        bag_means : ndarray of shape (n_bags, n_classes)
            The means of the figures over each bag.
        mean : ndarray of shape (n_classes,)
            Their means over all rows.
        spread : float
            The sum over classes of their variances over rows.
        product : float
            The sum over classes of their covariances with the predicted probabilities.
        is_share : bool
            Whether all figures lie between 0 and 1.

        Returns
        -------
        CountMean
            The estimate.
        """
        sums = self._roots * (bag_means - mean)
        terms = [*self._fixed_terms, self._excess(sums, sums, spread), self._excess(sums, self._sums, product)]
        value, influences = _intercept(self._factor * (self._counts * sums).sum(axis=1), terms)
        value += float(self._prior @ mean)
        least = np.sqrt(max(value * (1 - value), 0) / self.n_rows) if is_share and spread > 1e-12 else 0.0
        return CountMean(value, influences, float(least))

    def _excess(self, left: Array, right: Array, expected: float) -> Array:
        """By how much the product of two sums exceeds its known mean, bag by bag."""
        return np.asarray(self._factor * (left * right).sum(axis=1) - expected)


def _intercept(values: Array, terms: list[Array]) -> tuple[float, NDArray[np.float64]]:
    """Regress values on terms: the intercept, and the influence of each bag on it."""
    design = np.column_stack([np.ones(len(values)), *terms])
    scale = np.sqrt((design**2).mean(axis=0))
    design = design / np.where(scale > 1e-12, scale, 1)
    inverse = np.linalg.inv(design.T @ design + 1e-9 * len(values) * np.eye(design.shape[1]))
    weights = design @ inverse[0]
    residuals = values - design @ (inverse @ (design.T @ values))
    leverage = np.einsum("bi,ij,bj->b", design, inverse, design)
    return float(weights @ values), weights * residuals / (1 - np.minimum(leverage, 0.99))


def quantile(n_bags: int, probability: float = 0.975) -> float:
    """The quantile of Student's t for an estimate from so many bags."""
    return float(stdtrit(max(1, n_bags - _N_TERMS), probability))


def check_random_bags(
    bags: Bags, probabilities: Array, purpose: str, random_state: int = 0, otherwise: str = ""
) -> None:
    """Refuse bags that are weighted, partly known, or differ by more than chance allows.

    Bags must be alike in what the model predicts, so predictions are tested as columns too.
    """
    if are_weighted(bags):
        raise NotRandomError(
            f"{purpose} cannot be estimated from rows or bags with weights: they are no random sample"
            f"{'; use rows without weights, ' + otherwise if otherwise else ''}"
        )
    if bags.share_constraints is not None:
        raise NotRandomError(f"{purpose} cannot be estimated from bags whose proportions are only partly known")
    columns = probabilities[:, 1:]
    if bags.instances.ndim == 2 and bags.instances.shape[1] + columns.shape[1] <= _MOST_COLUMNS:
        columns = np.hstack([np.asarray(bags.instances, dtype=np.float64), columns])
        names = list(bags.features or [f"column {j}" for j in range(bags.instances.shape[1])])
    else:
        names = []
    features = [*names, *(f"predicted probability of {name}" for name in bags.classes[1:].tolist())]
    test = randomness_test(
        replace(bags, instances=columns, features=features, encoder=None), random_state=random_state
    )
    if test.p_value < LEVEL_OF_REFUSAL:
        ending = f"; use random bags{', ' + otherwise if otherwise else ''}"
        raise NotRandomError(
            f"{purpose} needs bags that were drawn at random. {test.describe().rstrip('.')}{ending}"
        )
