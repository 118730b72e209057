"""Calibration of probabilities from held-out random bags: measured, and corrected.

Both rest on :class:`CountRegression`, which estimates means that need every row's label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, isotonic_regression, minimize
from scipy.special import log_softmax, softmax, stdtrit

from llpgan.bags.bags import Bags, keep_counted_rows, refuse_other_than_bags
from llpgan.bags.checks import check_probabilities
from llpgan.evaluation.scores import Estimate
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


Kind = Literal["temperature", "vector", "isotonic"]
KINDS: tuple[Kind, ...] = ("temperature", "vector", "isotonic")
LEAST_BAGS = 20
LEAST_PROBABILITY = 1e-7  # a smaller one says no more; its logarithm alone would decide the slope
_SLOPES = (0.01, 20.0)
_SPREAD_OF_SLOPES = 0.1  # between classes, relative to the common slope, before anything is known
_SPREAD_OF_LOG_SLOPE = 0.5  # of the common slope around 1, before anything is known
_N_BINS = 10
_N_KNOTS = 12
_N_SIMULATIONS = 4000


@dataclass(frozen=True, eq=False)
class Calibrator:
    """A correction of predicted probabilities.

    Attributes
    ----------
    kind : str
        ``"temperature"``, ``"vector"`` or ``"isotonic"``, see :func:`fit_calibrator`.
    slopes : ndarray of shape (n_classes,)
        What the logarithms of the probabilities are multiplied by: 1 / temperature.
    intercepts : ndarray of shape (n_classes,)
        What is added to them.
    knots : ndarray of shape (n_classes, n_knots)
        The probabilities between which an isotonic correction is linear. Empty for the other kinds.
    values : ndarray of shape (n_classes, n_knots)
        The corrected probabilities at the knots.
    """

    kind: str
    slopes: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    knots: NDArray[np.float64]
    values: NDArray[np.float64]

    def apply(self, probabilities: Array) -> NDArray[np.float64]:
        """Correct probabilities.

        Parameters
        ----------
        probabilities : ndarray of shape (n_samples, n_classes)
            The probabilities as the model predicts them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The corrected probabilities.
        """
        if self.kind != "isotonic":
            return np.asarray(softmax(log_odds(probabilities) * self.slopes + self.intercepts, axis=1))
        columns = [
            np.interp(probabilities[:, k], self.knots[k], self.values[k]) for k in range(probabilities.shape[1])
        ]
        corrected = np.maximum(np.column_stack(columns), LEAST_PROBABILITY)
        return np.asarray(corrected / corrected.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class BagCalibration:
    """How well predicted probabilities agree with the labels, estimated from bags without labels.

    Attributes
    ----------
    error : Estimate
        The expected calibration error: the mean over rows of ``|accuracy − mean probability|`` in their bin, by
        the probability of the most probable class.
    overconfidence : Estimate
        The mean probability of the predicted class minus the accuracy.
    log_loss : Estimate
        The mean of −log (probability of the true class).
    confidences : ndarray of shape (n_bins,)
        The mean probability of the predicted class in each bin that is not empty.
    accuracies : ndarray of shape (n_bins,)
        The estimated accuracy in each bin. Estimates are unbiased and may therefore lie outside 0 and 1.
    errors : ndarray of shape (n_bins,)
        Their standard errors.
    shares : ndarray of shape (n_bins,)
        The share of the rows in each bin.
    """

    error: Estimate
    overconfidence: Estimate
    log_loss: Estimate
    confidences: NDArray[np.float64]
    accuracies: NDArray[np.float64]
    errors: NDArray[np.float64]
    shares: NDArray[np.float64]


def estimate_calibration(bags: Bags, probabilities: ArrayLike, *, random_state: int = 0) -> BagCalibration:
    """Estimate from held-out random bags how well probabilities are calibrated.

    The accuracy within each of ten bins of equal width is the mean of a figure of row and label, which random bags
    estimate (:class:`~llpgan.evaluation.calibrate.CountRegression`). Because absolute values of noisy
    differences are too large on average, the variance of each difference is subtracted from its square, as in
    [1]_. The interval of the error adds and subtracts the 95 % quantile of what noise alone would give, so that
    it holds for any shape of miscalibration.

    Parameters
    ----------
    bags : Bags
        Random bags that the model was not trained on.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities of their instances.
    random_state : int, default=0
        The seed of the test of randomness and of the simulated noise.

    Returns
    -------
    BagCalibration
        The calibration error with its interval, and the bins.

    Raises
    ------
    ValueError
        If there are fewer than 20 bags, or they were not drawn at random.

    References
    ----------
    .. [1] A. Kumar, P. Liang and T. Ma, "Verified uncertainty calibration", NeurIPS 2019.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((6400, 1))
    >>> labels = (rng.random(6400) < p[:, 0]).astype(int)
    >>> bags = Bags.from_labels(p, labels, np.arange(6400) // 8)
    >>> print(estimate_calibration(bags, np.hstack([1 - p, p])).overconfidence)
    -0.000 (-0.024 to 0.023)
    """
    bags, table = _check_table(bags, probabilities, "the calibration error")
    check_random_bags(bags, table, "the calibration error", random_state)
    regression = CountRegression(bags, table)
    confidence = table.max(axis=1)
    right = np.eye(table.shape[1])[table.argmax(axis=1)]
    bin_of_row = np.minimum((confidence * _N_BINS).astype(np.int64), _N_BINS - 1)
    bins = np.unique(bin_of_row)
    members = [bin_of_row == each for each in bins]
    shares = np.array([rows.mean() for rows in members])
    means = [regression.mean(right * rows[:, None]) for rows in members]
    differences = np.array([m.value - (confidence * rows).mean() for m, rows in zip(means, members, strict=True)])
    errors = np.array([m.error for m in means])
    influences = np.array([m.influences for m in means])
    covariance = influences @ influences.T
    noise = np.random.default_rng(random_state).multivariate_normal(
        np.zeros(len(bins)), covariance, size=_N_SIMULATIONS, method="eigh"
    )
    half = float(np.quantile(np.abs(noise).sum(axis=1), 0.95))
    value = float(np.sqrt(np.maximum(differences**2 - errors**2, 0)).sum())
    raw = float(np.abs(differences).sum())
    accuracy = regression.mean(right).as_estimate()
    confident = float(confidence.mean())
    assert accuracy.low is not None and accuracy.high is not None
    losses = -np.log(np.maximum(table, LEAST_PROBABILITY))
    return BagCalibration(
        error=Estimate(value, max(0.0, min(value, raw - half)), min(1.0, raw + half)),
        overconfidence=Estimate(confident - accuracy.value, confident - accuracy.high, confident - accuracy.low),
        log_loss=regression.mean(losses).as_estimate(),
        confidences=np.array([confidence[rows].mean() for rows in members]),
        accuracies=np.array([m.value for m in means]) / shares,
        errors=errors / shares,
        shares=shares,
    )


def fit_calibrator(
    bags: Bags, probabilities: ArrayLike, *, kind: Kind = "temperature", random_state: int = 0
) -> Calibrator:
    """Fit a correction of probabilities to held-out random bags.

    With z_k = log p_k, temperature scaling predicts softmax(z / T) [1]_. Its likelihood is highest where
    E Σ_k q_k z_k, with q the corrected probabilities, equals E z_y; the latter is one figure of row and label,
    which random bags estimate. Vector scaling has a slope and an intercept for each class, and matches E 1[y = k]
    z_k and the class shares; its slopes are shrunk towards one common slope, the more the less the bags determine
    them. Isotonic regression [2]_ estimates the share of each class in bins of its probability, and fits a
    non-decreasing function to them.

    Bags that are not random say little about single probabilities. For them only ``"temperature"`` is possible:
    the highest temperature whose bag cross-entropy is within one standard error of the least.

    Parameters
    ----------
    bags : Bags
        Bags that the model was not trained on.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities of their instances, not corrected yet.
    kind : {"temperature", "vector", "isotonic"}, default="temperature"
        The correction. ``"temperature"`` has one parameter and never changes the predicted class; ``"isotonic"``
        needs many small bags.
    random_state : int, default=0
        The seed of the test of randomness.

    Returns
    -------
    Calibrator
        The correction.

    Raises
    ------
    ValueError
        If there are fewer than 20 bags, or they were not drawn at random and ``kind`` is not ``"temperature"``.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern neural networks", ICML 2017.
    .. [2] B. Zadrozny and C. Elkan, "Transforming classifier scores into accurate multiclass probability
       estimates", KDD 2002.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(6400, 1))
    >>> labels = (rng.random(6400) < 1 / (1 + np.exp(-logits[:, 0]))).astype(int)
    >>> bags = Bags.from_labels(logits, labels, np.arange(6400) // 8)
    >>> too_sure = 1 / (1 + np.exp(-2 * logits))
    >>> calibrator = fit_calibrator(bags, np.hstack([1 - too_sure, too_sure]))
    >>> (1 / calibrator.slopes).round(2)
    array([1.92, 1.92])
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    bags, table = _check_table(bags, probabilities, "a calibrator")
    try:
        check_random_bags(bags, table, "a calibrator", random_state)
    except NotRandomError:
        if kind != "temperature":
            raise
        return temperature_calibrator(_calm_temperature(bags, table), bags.n_classes)
    regression = CountRegression(bags, table)
    if kind == "isotonic":
        n_classes = table.shape[1]
        knots, values = zip(*(_isotonic_knots(regression, table, k) for k in range(n_classes)), strict=True)
        return Calibrator("isotonic", np.ones(n_classes), np.zeros(n_classes), np.array(knots), np.array(values))
    logits = log_odds(table)
    slope = _fit_slope(logits, regression.mean(logits))
    if kind == "temperature":
        return temperature_calibrator(1 / slope, table.shape[1])
    slopes, intercepts = _fit_vector(regression, logits, slope)
    return Calibrator(kind, slopes, intercepts, *_no_knots(table.shape[1]))


def temperature_calibrator(temperature: float, n_classes: int) -> Calibrator:
    """Divide the logarithms of probabilities by a temperature."""
    return Calibrator(
        "temperature", np.full(n_classes, 1 / temperature), np.zeros(n_classes), *_no_knots(n_classes)
    )


def _calm_temperature(bags: Bags, probabilities: Array) -> float:
    """The highest temperature whose bag cross-entropy is within one standard error, bag by bag, of the least."""
    logits = log_odds(probabilities)
    slopes = np.geomspace(0.05, 2, 60)
    means = np.array([bags.means(np.asarray(softmax(slope * logits, axis=1))) for slope in slopes])
    losses = -(bags.nearest_shares(means[-1]) * np.log(np.maximum(means, LEAST_PROBABILITY))).sum(axis=2)
    excess = losses - losses[losses.mean(axis=1).argmin()]
    allowed = excess.mean(axis=1) <= excess.std(axis=1, ddof=1) / np.sqrt(bags.n_bags)
    return float(1 / slopes[allowed.argmax()])


def log_odds(probabilities: Array) -> NDArray[np.float64]:
    """The logarithms of probabilities, of mean zero in each row."""
    logs = np.log(np.maximum(probabilities, LEAST_PROBABILITY))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def _no_knots(n_classes: int) -> tuple[Array, Array]:
    return np.zeros((n_classes, 0)), np.zeros((n_classes, 0))


def _check_table(bags: Bags, probabilities: ArrayLike, purpose: str) -> tuple[Bags, Array]:
    """Enough bags and their probabilities, without rows and bags of weight zero."""
    refuse_other_than_bags(bags, "bags")
    table = check_probabilities(probabilities, len(bags.instances), bags.n_classes)
    bags, table = keep_counted_rows(bags, table)
    if bags.n_bags < LEAST_BAGS:
        raise ValueError(f"{purpose} needs {LEAST_BAGS} bags or more, got {bags.n_bags}")
    return bags, np.asarray(table, dtype=np.float64)


def _fit_slope(logits: Array, mean_of_true: CountMean) -> float:
    """Find the slope at which the expected logit of the class equals that of the true class.

    Its logarithm is shrunk towards 0, by the ratio of its variance to the sum of both variances.
    """

    def gap(slope: float) -> float:
        return float((softmax(slope * logits, axis=1) * logits).sum(axis=1).mean()) - mean_of_true.value

    least, most = _SLOPES
    is_inside = gap(least) < 0 < gap(most)
    slope = float(brentq(gap, least, most, xtol=1e-6)) if is_inside else least if gap(least) >= 0 else most
    steepness = slope * (gap(slope * 1.01) - gap(slope / 1.01)) / (slope * 1.01 - slope / 1.01)
    variance = (mean_of_true.error / max(steepness, 1e-12)) ** 2
    return float(slope ** (1 / (1 + variance / _SPREAD_OF_LOG_SLOPE**2)))


def _fit_vector(regression: CountRegression, logits: Array, slope: float) -> tuple[Array, Array]:
    n_classes = logits.shape[1]
    columns = np.eye(n_classes)
    means = [regression.mean(logits * columns[k]) for k in range(n_classes)]
    targets = np.array([mean.value for mean in means])
    shares = np.average(regression.bags.proportions, axis=0, weights=regression.bags.sizes)
    q = softmax(slope * logits, axis=1)
    curvature = np.maximum((q * (1 - q) * logits**2).mean(axis=0), 1e-12)
    strength = np.array([mean.error for mean in means]) ** 2 / (curvature * (slope * _SPREAD_OF_SLOPES) ** 2)

    def loss(parameters: Array) -> tuple[float, Array]:
        slopes, intercepts = parameters[:n_classes], parameters[n_classes:]
        scores = logits * slopes + intercepts
        log_q = log_softmax(scores, axis=1)
        q = np.exp(log_q)
        apart = slopes - slope
        value = (scores - log_q)[:, 0].mean() - slopes @ targets - intercepts @ shares
        gradient = np.concatenate(
            [(q * logits).mean(axis=0) - targets + strength * apart, q.mean(axis=0) - shares]
        )
        return float(value + (strength * apart**2).sum() / 2), gradient

    start = np.concatenate([np.full(n_classes, slope), np.zeros(n_classes)])
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * n_classes + [(-20, 20)] * n_classes
    )
    return found.x[:n_classes], found.x[n_classes:]


def _isotonic_knots(regression: CountRegression, table: Array, k: int) -> tuple[Array, Array]:
    """The share of a class in bins of its probability, made non-decreasing."""
    p = table[:, k]
    order = np.argsort(p, kind="stable")
    mass = np.cumsum(p[order] * (1 - p[order]) + 1e-3)
    bins = np.minimum((mass / mass[-1] * _N_KNOTS).astype(np.int64), _N_KNOTS - 1)
    column = np.eye(table.shape[1])[k]
    centres, found, weights = [], [], []
    for each in range(_N_KNOTS):
        rows = np.zeros(len(p))
        rows[order[bins == each]] = 1
        share = rows.mean()
        if share == 0:
            continue
        mean = regression.mean(rows[:, None] * column)
        centres.append(p[rows == 1].mean())
        found.append(mean.value / share)
        weights.append((share / max(mean.error, 1e-9)) ** 2)
    steady = np.clip(isotonic_regression(found, weights=weights).x, 0, 1)
    centres_ = np.array(centres)
    filled = np.linspace(0, len(centres_) - 1, _N_KNOTS).round().astype(int)  # the same number for all classes
    return centres_[filled], steady[filled]
