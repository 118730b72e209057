"""Calibration of probabilities from held-out random bags: measured, and corrected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, isotonic_regression, minimize
from scipy.special import log_softmax, softmax

from llpgan.bags.bags import Bags, keep_counted_rows, refuse_other_than_bags
from llpgan.bags.checks import check_probabilities
from llpgan.evaluation.count_regression import CountMean, CountRegression, NotRandomError, check_random_bags
from llpgan.evaluation.intervals import Estimate
from llpgan.utils.arrays import Array

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
    estimate (:class:`~llpgan.evaluation.count_regression.CountRegression`). Because absolute values of noisy
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
        return _fit_isotonic(regression, table)
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


def _fit_isotonic(regression: CountRegression, table: Array) -> Calibrator:
    knots, values = zip(*(_isotonic_knots(regression, table, k) for k in range(table.shape[1])), strict=True)
    n_classes = table.shape[1]
    return Calibrator("isotonic", np.ones(n_classes), np.zeros(n_classes), np.array(knots), np.array(values))


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
