"""Prediction sets: a few classes for each row that contain the right one with a chosen probability.

The thresholds of the sets come from bags that were drawn at random; no row's label is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags.bags import Bags, keep_counted_rows, refuse_other_than_bags
from llpgan.bags.checks import check_probabilities, check_same_length
from llpgan.evaluation.calibrate import CountRegression, NotRandomError, check_random_bags, quantile
from llpgan.evaluation.scores import Estimate
from llpgan.utils.arrays import Array, check_between_0_and_1

LEAST_BAGS = 20
LEVELS = (0.8, 0.9, 0.95)  # of the sets that reports show
_N_THRESHOLDS = 128
_FIRST_RANK = 0.002  # additional classes per row at the first threshold above zero
Score = Literal["probability", "cumulative"]


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """Thresholds of prediction sets, with the coverage that bags show at each of them.

    Attributes
    ----------
    score : str
        ``"probability"`` or ``"cumulative"``, see :func:`conformalize`.
    by_class : bool
        Whether each predicted class has a separate threshold.
    worst_case : bool
        Whether coverages are bounds that hold for any bags, instead of estimates from random bags.
    confidence : float
        The confidence of the lower bounds of the coverage.
    n_bags : int
        The number of bags that the coverages come from.
    thresholds : ndarray of shape (n_thresholds,)
        The thresholds of the score, in ascending order. At the last one, sets contain all classes.
    coverages : ndarray of shape (n_thresholds, 1) or (n_thresholds, n_classes)
        The estimated coverage at each threshold; if ``by_class``, that of the rows of each predicted class.
    errors : ndarray of the same shape
        The standard errors of the coverages.
    skews : ndarray of the same shape
        The skewness of the coverages.
    """

    score: str
    by_class: bool
    worst_case: bool
    confidence: float
    n_bags: int
    thresholds: NDArray[np.float64]
    coverages: NDArray[np.float64]
    errors: NDArray[np.float64]
    skews: NDArray[np.float64] = field(default_factory=lambda: np.zeros((1, 1)))  # of models saved without them

    def bounds(self) -> NDArray[np.float64]:
        """Compute the lower confidence bound of the coverage at each threshold and all higher ones.

        Estimates that are too high come with errors that are too small: the coverage is skewed. With the quantile
        q of Student's t and the skewness κ, the bound is q − κ (2 q² + 1) / 6 standard errors below the estimate
        [1]_, if κ is negative.

        Returns
        -------
        ndarray of the shape of ``coverages``
            The bounds, ascending along the thresholds.

        References
        ----------
        .. [1] N. J. Johnson, "Modified t tests and confidence intervals for asymmetrical populations", JASA 73,
           1978.
        """
        q = quantile(self.n_bags, self.confidence)
        lower = self.coverages - (q - np.minimum(self.skews, 0) * (2 * q**2 + 1) / 6) * self.errors
        return np.asarray(np.minimum.accumulate(lower[::-1])[::-1])

    def select_thresholds(self, coverage: float) -> NDArray[np.int64]:
        """Select the lowest threshold from which on the coverage is reached with confidence.

        Parameters
        ----------
        coverage : float
            The probability with which a set must contain the right class.

        Returns
        -------
        ndarray of int
            The position of one threshold; if ``by_class``, of one per predicted class.

        Raises
        ------
        ValueError
            If the bags are too few, so that only sets of all classes would reach the coverage.
        """
        check_between_0_and_1(coverage, "coverage", such_as=0.9)
        bounds = self.bounds()
        positions = (bounds < coverage).sum(axis=0)
        if (positions >= len(self.thresholds) - 1).all():
            highest = float(bounds[:-1].max())
            reached = (
                f"the highest coverage that they support is {highest:.3f}" if highest > 0 else "use more bags"
            )
            raise ValueError(
                f"{self.n_bags} bags are too few for a coverage of {coverage:g}: every set would contain all "
                f"classes; {reached}"
            )
        return positions

    def estimate_coverage(self, coverage: float) -> list[Estimate]:
        """Return the estimated coverage of the sets of a level, with a two-sided interval.

        Parameters
        ----------
        coverage : float
            The level of the sets.

        Returns
        -------
        list of Estimate
            One entry; if ``by_class``, one per predicted class.
        """
        positions = self.select_thresholds(coverage)
        half_width = quantile(self.n_bags)
        columns = np.arange(len(positions))
        values, errors = self.coverages[positions, columns], self.errors[positions, columns]
        return [share_estimate(value, half_width * error) for value, error in zip(values, errors, strict=True)]

    def contain(self, probabilities: Array, coverage: float) -> NDArray[np.bool_]:
        """Form the sets.

        Parameters
        ----------
        probabilities : ndarray of shape (n_samples, n_classes)
            The predicted probabilities.
        coverage : float
            The probability with which a set must contain the right class.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Whether each class is in the set of each row. The most probable class always is.
        """
        positions = self.select_thresholds(coverage)
        thresholds = np.append(self.thresholds[:-1], np.inf)[positions]
        of_row = thresholds[probabilities.argmax(axis=1)] if self.by_class else thresholds[0]
        return order_scores(probabilities, self.score) <= np.reshape(of_row, (-1, 1))


@dataclass(frozen=True, eq=False)
class SetScores:
    """Scores of prediction sets.

    Attributes
    ----------
    coverage : Estimate or None
        The share of rows whose set contains the right class, with a 95 % interval. None if it is unknown, because
        the bags are not random.
    mean_size : float
        The mean number of classes in a set.
    share_single : float
        The share of sets that contain one class.
    sizes : ndarray of shape (n_classes,)
        The share of sets of each size, from 1 to the number of classes.
    """

    coverage: Estimate | None
    mean_size: float
    share_single: float
    sizes: NDArray[np.float64]


def conformalize(
    bags: Bags,
    probabilities: ArrayLike,
    *,
    score: Score = "probability",
    by_class: bool = False,
    worst_case: bool = False,
    confidence: float = 0.95,
    random_state: int = 0,
) -> PredictionSets:
    """Find the thresholds of prediction sets from held-out random bags.

    The set of a row x contains the classes k whose score s_k(x) is at most t. With ``"probability"``, the score is
    1 − p_k(x) [1]_; with ``"cumulative"``, it is the total probability of the classes that are more probable than
    k, as in adaptive prediction sets (APS) [2]_. The most probable class has score 0, so that no set is empty. The
    coverage at t is the mean of Σ_k 1[y = k] 1[s_k(x) ≤ t], which random bags estimate without labels, with a
    standard error (:class:`~llpgan.evaluation.calibrate.CountRegression`). A level is reached at the lowest
    t from which on the lower confidence bound (:meth:`PredictionSets.bounds`) is at least that level: testing
    thresholds in a fixed order, from the highest down, keeps the error probability at 5 % [3]_.

    Parameters
    ----------
    bags : Bags
        Random bags that the model was not trained on.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities of their instances.
    score : {"probability", "cumulative"}, default="probability"
        The score of a class. ``"probability"`` gives the smallest sets; ``"cumulative"`` gives larger sets to rows
        that are hard to classify.
    by_class : bool, default=False
        Whether to reach the coverage for the rows of each predicted class, instead of all rows together.
    worst_case : bool, default=False
        Whether to use a bound on the coverage that holds for any bags: of a bag of m rows, of which c_k have class
        k and s_k have k in their set, at least Σ_k max(0, c_k + s_k − m) sets contain the right class. The sets
        are large, unless bags are nearly pure.
    confidence : float, default=0.95
        The probability, over random draws of the bags, that the coverage is reached.
    random_state : int, default=0
        The seed of the test of randomness.

    Returns
    -------
    PredictionSets
        The thresholds for all levels.

    Raises
    ------
    ValueError
        If there are fewer than 20 bags, or they were not drawn at random and ``worst_case`` is False.

    References
    ----------
    .. [1] M. Sadinle, J. Lei and L. Wasserman, "Least ambiguous set-valued classifiers with bounded error levels",
       JASA 114, 2019.
    .. [2] Y. Romano, M. Sesia and E. Candès, "Classification with valid and adaptive coverage", NeurIPS 2020.
    .. [3] A. Angelopoulos, S. Bates, E. Candès, M. Jordan and L. Lei, "Learn then test: calibrating predictive
       algorithms to achieve risk control", 2021.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=6400)
    >>> p = 1 / (1 + np.exp(-2 * X))
    >>> bags = Bags.from_labels(X[:, None], (rng.random(6400) < p).astype(int), np.arange(6400) // 16)
    >>> sets = conformalize(bags, np.column_stack([1 - p, p]))
    >>> print(sets.estimate_coverage(0.9)[0])
    0.925 (0.902 to 0.948)
    """
    refuse_other_than_bags(bags, "bags")
    table = check_probabilities(probabilities, len(bags.instances), bags.n_classes)
    bags, table = keep_counted_rows(bags, table)
    if score not in ("probability", "cumulative"):
        raise ValueError(f"score must be 'probability' or 'cumulative', got {score!r}")
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be a number from 0.5 to below 1, got {confidence!r}")
    if bags.n_bags < LEAST_BAGS:
        raise ValueError(f"prediction sets need {LEAST_BAGS} bags or more, got {bags.n_bags}")
    if not worst_case:
        check_random_bags(
            bags, table, "a prediction set", random_state, "or larger sets for any bags (worst_case)"
        )
    return fit_thresholds(bags, table, score, by_class, worst_case, confidence)


def fit_thresholds(
    bags: Bags,
    probabilities: Array,
    score: str = "probability",
    by_class: bool = False,
    worst_case: bool = False,
    confidence: float = 0.95,
) -> PredictionSets:
    """Find the thresholds of prediction sets from bags that are known to be random."""
    scores = order_scores(probabilities, score)
    thresholds = _thresholds(scores)
    if worst_case:
        if by_class:
            raise ValueError(
                "sets for the worst case are possible for all rows together only: leave out one of (worst_case) "
                "and (by_class)"
            )
        figures = np.array(list(_worst_coverages(bags, scores, thresholds)))[:, :, None]
    else:
        regression = CountRegression(bags, probabilities)
        best = probabilities.argmax(axis=1)
        groups = [best == k for k in range(bags.n_classes)] if by_class else [np.ones(len(scores), dtype=bool)]
        figures = np.stack([_coverages(regression, scores, thresholds, rows) for rows in groups], axis=2)
    parts = figures.transpose(1, 0, 2)
    return PredictionSets(score, by_class, worst_case, confidence, bags.n_bags, thresholds, *parts)


def set_scores(bags: Bags, probabilities: ArrayLike, sets: ArrayLike, *, random_state: int = 0) -> SetScores:
    """Estimate from held-out bags how often prediction sets contain the right class.

    Parameters
    ----------
    bags : Bags
        Bags that neither the model nor its sets were fitted to.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities of their instances.
    sets : array-like of bool of shape (n_samples, n_classes)
        Whether each class is in the set of each instance.
    random_state : int, default=0
        The seed of the test of randomness.

    Returns
    -------
    SetScores
        The coverage, if the bags are random, and the sizes of the sets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((3200, 1))
    >>> labels = (rng.random(3200) < p[:, 0]).astype(int)
    >>> bags = Bags.from_labels(p, labels, np.arange(3200) // 16)
    >>> sets = np.hstack([p < 0.8, p > 0.2])
    >>> scores = set_scores(bags, np.hstack([1 - p, p]), sets)
    >>> print(scores.coverage, sets[np.arange(3200), labels].mean().round(3))
    0.954 (0.926 to 0.982) 0.952
    """
    refuse_other_than_bags(bags, "bags")
    table = check_probabilities(probabilities, len(bags.instances), bags.n_classes)
    inside = np.asarray(sets, dtype=bool)
    check_same_length("instances", bags.instances, "rows of sets", inside)
    inside, table = inside[bags.is_counted], table[bags.is_counted]
    bags = bags.drop_weightless()
    try:
        check_random_bags(bags, table, "coverage", random_state)
        coverage = CountRegression(bags, table).mean(inside.astype(np.float64)).as_share()
    except NotRandomError:
        coverage = None
    return summarize_sets(inside, coverage, bags.weights)


@dataclass(frozen=True, eq=False)
class SetLevel:
    """The prediction sets of one level, on some rows.

    Attributes
    ----------
    level : float
        The coverage that was asked for.
    estimated : Estimate or None
        The coverage that the bags of :func:`conformalize` show; if sets are ``by_class``, the lowest of the
        predicted classes. None if these bags are too few for the level.
    scores : SetScores or None
        The sizes of the sets of these rows, and their coverage if it could be measured there. None if the bags of
        :func:`conformalize` are too few for the level.
    """

    level: float
    estimated: Estimate | None = None
    scores: SetScores | None = None


def score_levels(
    sets: PredictionSets,
    probabilities: Array,
    bags: Bags | None = None,
    *,
    weights: Array | None = None,
    random_state: int = 0,
) -> tuple[SetLevel, ...]:
    """Score the sets of 80, 90 and 95 % on some rows.

    Parameters
    ----------
    sets : PredictionSets
        The thresholds.
    probabilities : ndarray of shape (n_samples, n_classes)
        The predicted probabilities of the rows.
    bags : Bags, default=None
        The bags of these rows, which neither the model nor its sets were fitted to. If they are random, they
        measure the coverage again.
    weights : ndarray of shape (n_samples,), default=None
        The weights of the rows; those of the bags by default.
    random_state : int, default=0
        The seed of the test of randomness.

    Returns
    -------
    tuple of SetLevel
        One for each level.
    """
    regression = None
    weights = weights if bags is None else bags.weights
    if bags is not None and bags.n_bags >= LEAST_BAGS:
        with suppress(NotRandomError):
            check_random_bags(bags, probabilities, "coverage", random_state)
            regression = CountRegression(bags, probabilities)
    found = []
    for level in LEVELS:
        try:
            inside = sets.contain(probabilities, level)
        except ValueError:  # more bags are needed
            found.append(SetLevel(level))
            continue
        coverage = None if regression is None else regression.mean(inside.astype(np.float64)).as_share()
        lowest = min(sets.estimate_coverage(level), key=lambda estimate: estimate.value)
        found.append(SetLevel(level, lowest, summarize_sets(inside, coverage, weights)))
    return tuple(found)


def summarize_sets(sets: NDArray[np.bool_], coverage: Estimate | None, weights: Array | None = None) -> SetScores:
    """Count the classes in each set; rows have weights or not."""
    sizes, weights = sets.sum(axis=1), np.ones(len(sets)) if weights is None else weights
    shares = np.bincount(sizes, weights, minlength=sets.shape[1] + 1)[1:] / weights.sum()
    return SetScores(coverage, float(np.average(sizes, weights=weights)), float(shares[0]), shares)


def order_scores(probabilities: Array, score: str) -> NDArray[np.float64]:
    """Compute the score of each class: low for the classes that enter a set first."""
    top = probabilities.argmax(axis=1)
    if score == "probability":
        scores = 1 - probabilities
    else:
        order = np.argsort(-probabilities, axis=1, kind="stable")
        mass = np.cumsum(np.take_along_axis(probabilities, order, axis=1), axis=1)
        before = np.hstack([np.zeros((len(mass), 1)), mass[:, :-1]])
        scores = np.empty_like(mass)
        np.put_along_axis(scores, order, before, axis=1)
    scores[np.arange(len(scores)), top] = 0
    return np.asarray(scores, dtype=np.float64)


def share_estimate(value: float, half: float) -> Estimate:
    """Clip the interval of a share to 0 and 1."""
    return Estimate(float(value), float(np.clip(value - half, 0, 1)), float(np.clip(value + half, 0, 1)))


def _thresholds(scores: Array) -> NDArray[np.float64]:
    """Take thresholds at which the mean size of sets grows by equal factors, from 1.002 classes to all."""
    others = np.sort(scores, axis=None)[len(scores) :]  # the most probable classes have score 0
    ranks = np.geomspace(max(1, _FIRST_RANK * len(scores)), len(others), _N_THRESHOLDS - 1).astype(np.int64)
    return np.unique(np.append(others[ranks - 1], [0.0, others[-1]]))


def _coverages(
    regression: CountRegression, scores: Array, thresholds: Array, rows: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Estimate the coverage of some rows at each threshold, with its standard error and skewness.

    Sums over bags grow from one threshold to the next by the classes that enter sets there. The standard error is
    that of the products of bags, plus that of the rows if all labels were known.
    """
    bags, n_classes = regression.bags, scores.shape[1]
    share = rows.mean()
    if share == 0:  # of a class that is never predicted there is nothing to cover
        return np.tile([1.0, 0.0, 0.0], (len(thresholds), 1))
    entries = (bags.bag_index[rows, None] * n_classes + np.arange(n_classes)).ravel()
    centred = regression.centred[rows].ravel()
    first = np.searchsorted(thresholds, scores[rows].ravel())  # the first threshold at which a class is in the set
    order = np.argsort(first, kind="stable")
    ends = np.searchsorted(first[order], np.arange(len(thresholds)), side="right")
    counts, product, start = np.zeros(bags.n_bags * n_classes), 0.0, 0
    figures = []
    for end in ends:
        entering = order[start:end]
        counts += np.bincount(entries[entering], minlength=len(counts))
        product += centred[entering].sum()
        table = counts.reshape(bags.n_bags, n_classes)
        mean = table.sum(axis=0) / regression.n_rows
        found = regression.mean_of_sums(
            table / bags.sizes[:, None],
            mean,
            float((mean - mean**2).sum()),
            float(product / regression.n_rows),
            is_share=True,
        )
        error = np.hypot(np.sqrt(np.sum(found.influences**2)), found.least_error)
        figures.append((found.value / share, error / share, found.skewness))
        start = end
    return np.array(figures)


def _worst_coverages(bags: Bags, scores: Array, thresholds: Array) -> Iterator[tuple[float, float, float]]:
    """Bound the coverage at each threshold, with the standard error of its mean over bags."""
    weights = bags.totals / bags.totals.sum()
    for threshold in thresholds:
        inside = bags.means((scores <= threshold).astype(np.float64))
        covered = np.maximum(bags.proportions + inside - 1, 0).sum(axis=1)
        mean = float(weights @ covered)
        error = np.sqrt(bags.n_bags / (bags.n_bags - 1) * np.sum((weights * (covered - mean)) ** 2))
        yield mean, float(error), 0.0


def sets_as_text(sets: NDArray[np.bool_], classes: Array) -> list[str]:
    """Write each set as its classes, separated by |."""
    names = np.array([str(name) for name in classes.tolist()], dtype=object)
    written: dict[Any, str] = {}
    found = []
    for row in sets:
        key = row.tobytes()
        if key not in written:
            written[key] = "|".join(names[row])
        found.append(written[key])
    return found
