"""Scores of predictions, by bags and by labels, with their intervals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, stdtrit
from sklearn.utils.metadata_routing import MetadataRequest

from llpgan.bags import grouping
from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.bags.checks import check_probabilities, check_same_length, check_weights, match_columns, match_labels
from llpgan.bags.known_shares import KnownShares
from llpgan.utils.arrays import Array, choose_classes, refuse_masked, to_frame
from llpgan.utils.messages import html_table, is_called_by_scikit_learn

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


_LEAST = np.finfo(np.float64).eps  # a probability of zero would make one mistake count for ever


@dataclass(frozen=True, eq=False)
class BagScores:
    """Comparison of the predictions of each bag with its proportions.

    The proportions of a bag are p, and its mean prediction is p̄. Means over bags have a 95 % interval by
    Student's t. Each bag counts the same, or by its weight.

    Attributes
    ----------
    predicted : ndarray of shape (n_bags, n_classes)
        The mean prediction p̄ of each bag.
    cross_entropy : ndarray of shape (n_bags,)
        The cross-entropy −Σ_k p_k log p̄_k of each bag, which training minimizes.
    kl : ndarray of shape (n_bags,)
        The cross-entropy minus the entropy of p. It is zero if the mean prediction equals the proportions.
    total_variation : ndarray of shape (n_bags,)
        The distance ``½ Σ_k |p_k − p̄_k|``: the share of the bag that is assigned to the wrong class.
    hard_total_variation : ndarray of shape (n_bags,)
        The same distance, with each instance counted for its most probable class alone.
    weights : ndarray of shape (n_bags,) or None
        The weights of the bags in means. None if each bag counts the same.
    given : ndarray of shape (n_bags, n_classes)
        The proportions p of the bags.
    sizes : ndarray of shape (n_bags,)
        The number of instances of each bag, or the sum of their weights.
    bag_ids : tuple of hashable
        The names of the bags.
    classes : tuple of hashable
        The names of the classes.
    """

    predicted: NDArray[np.float64]
    cross_entropy: NDArray[np.float64]
    kl: NDArray[np.float64]
    total_variation: NDArray[np.float64]
    hard_total_variation: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None
    given: NDArray[np.float64] = field(kw_only=True)
    sizes: NDArray[Any] = field(kw_only=True)
    bag_ids: tuple[Hashable, ...] = field(kw_only=True)
    classes: tuple[Hashable, ...] = field(kw_only=True)

    @property
    def mean_cross_entropy(self) -> Estimate:
        """The mean of ``cross_entropy`` over bags."""
        return mean(self.cross_entropy, self.weights)

    @property
    def mean_kl(self) -> Estimate:
        """The mean of ``kl`` over bags."""
        return mean(self.kl, self.weights)

    @property
    def mean_total_variation(self) -> Estimate:
        """The mean of ``total_variation`` over bags."""
        return mean(self.total_variation, self.weights)

    @property
    def mean_hard_total_variation(self) -> Estimate:
        """The mean of ``hard_total_variation`` over bags."""
        return mean(self.hard_total_variation, self.weights)

    def to_frame(self) -> Any:
        """The scores as a pandas frame, with one row per bag.

        Returns
        -------
        pandas.DataFrame
            The columns ``bag``, ``instances``, the four scores, and for each class ``given`` and ``predicted``.
        """
        named = ("total_variation", "hard_total_variation", "cross_entropy", "kl")
        shares: dict[str, Any] = {}
        for k, name in enumerate(self.classes):
            shares |= {f"given {name}": self.given[:, k], f"predicted {name}": self.predicted[:, k]}
        scores: dict[str, Any] = {name: getattr(self, name) for name in named}
        return to_frame({"bag": list(self.bag_ids), "instances": self.sizes.tolist(), **scores, **shares})

    def __repr__(self) -> str:
        return f"BagScores({len(self.kl)} bags, mean bag error {self.mean_total_variation})"

    def _repr_html_(self) -> str:
        worst = (-self.total_variation).argsort(kind="stable")
        k = len(self.classes) - 1
        return html_table(
            {
                "bag": [self.bag_ids[bag] for bag in worst],
                "instances": [f"{self.sizes[bag]:,.0f}" for bag in worst],
                "bag error": [f"{self.total_variation[bag]:.1%}" for bag in worst],
                f"given {self.classes[k]}": [f"{self.given[bag, k]:.1%}" for bag in worst],
                f"predicted {self.classes[k]}": [f"{self.predicted[bag, k]:.1%}" for bag in worst],
            },
            f"Bag error {self.mean_total_variation} over {len(worst):,} bags, the worst first",
        )


def bag_scores(bags: Bags, probabilities: ArrayLike, *, by_size: bool = False) -> BagScores:
    """Compare the proportions of bags with the predicted probabilities of their instances.

    If less is known of a bag than all its shares, the nearest possible shares count, and the divergence and the
    cross-entropy are the loss that training minimizes. If only shares within a subset of the classes are known,
    distances are those within the subset, whatever its mass.

    Parameters
    ----------
    bags : Bags
        The bags.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities of the instances of the bags.
    by_size : bool, default=False
        Whether bags are weighted by their number of instances in means.

    Returns
    -------
    BagScores
        The scores of each bag, and their means.

    Examples
    --------
    >>> bags = Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "a", "b"])
    >>> scores = bag_scores(bags, [[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]])
    >>> scores.total_variation.round(3), scores.hard_total_variation
    (array([0.1, 0.1]), array([0., 0.]))
    """
    refuse_other_than_bags(bags, "bags")
    table = check_probabilities(probabilities, len(bags.instances), bags.n_classes)
    predicted = bags.means(table)
    hard = bags.means(np.eye(bags.n_classes)[table.argmax(axis=1)])
    return BagScores(
        predicted=predicted,
        **(
            _errors_by_bag(bags.proportions, predicted, hard)
            if bags.share_constraints is None
            else _nearest(bags.share_constraints, predicted, hard)
        ),
        weights=bags.totals if by_size else None,
        given=bags.nearest_shares(predicted),
        sizes=bags.shown_sizes,
        bag_ids=bags.bag_ids,
        classes=tuple(bags.classes.tolist()),
    )


def _errors_by_bag(given: Array, predicted: Array, hard: Array) -> dict[str, Array]:
    """Of each bag whose shares are known."""
    cross_entropy = -(given * _log(predicted)).sum(axis=1)
    return {
        "cross_entropy": cross_entropy,
        "kl": np.maximum(cross_entropy + (given * _log(given)).sum(axis=1), 0),
        "total_variation": np.abs(given - predicted).sum(axis=1) / 2,
        "hard_total_variation": np.abs(given - hard).sum(axis=1) / 2,
    }


def _nearest(known: KnownShares, predicted: Array, hard: Array) -> dict[str, Array]:
    """Of each bag of which less is known: how far predictions are from what is possible."""
    losses = np.maximum(known.losses(predicted), 0)
    return {
        "cross_entropy": losses,
        "kl": losses,
        "total_variation": known.distances(predicted),
        "hard_total_variation": known.distances(hard),
    }


def _log(shares: Array) -> Array:
    return np.log(np.maximum(shares, _LEAST))


def bag_cross_entropies(bags: Bags, probabilities: Array) -> Array:
    """The cross-entropy of each bag, as :func:`bag_scores` has it, of predictions that a model just made."""
    predicted = bags.means(probabilities)
    if bags.share_constraints is not None:
        return np.maximum(bags.share_constraints.losses(predicted), 0)
    return np.asarray(-(bags.proportions * _log(predicted)).sum(axis=1))


_SCORES = ("total_variation", "hard_total_variation", "cross_entropy", "kl")
_NEEDS_GROUPS = (
    "a bag scorer needs the bag of each row: call sklearn.set_config(enable_metadata_routing=True), and pass "
    "params={'groups': ...} to cross_val_score, or groups=... to GridSearchCV.fit"
)


@dataclass(frozen=True)
class BagScorer:
    """See :func:`bag_scorer`."""

    score: str
    by_size: bool

    def get_metadata_routing(self) -> MetadataRequest:
        """Scikit-learn asks for this: the scorer wants ``groups``."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="groups", alias=True)
        return request

    def __call__(self, estimator: Any, X: Any, y: Any, groups: Any = None) -> float:
        """Minus the mean of the score over the bags of these rows: greater is better."""
        if groups is None and is_called_by_scikit_learn():
            return cast(float, _NoScore())
        if groups is None:
            raise ValueError(_NEEDS_GROUPS)
        bags = _make_bags(y, groups, estimator.classes_)
        scores = bag_scores(bags, estimator.predict_proba(X), by_size=self.by_size)
        return -float(getattr(scores, f"mean_{self.score}").value)


def bag_scorer(score: str = "total_variation", *, by_size: bool = False) -> BagScorer:
    """Make a scorer for ``cross_val_score`` and ``GridSearchCV`` that needs no labels, only the bag of each row.

    ``y`` holds in each row the proportions of its bag, or labels, of which only the proportions of each bag are
    used. Bags must stay whole, so ``cv`` should be a ``GroupKFold`` or a splitter of
    :mod:`llpgan.evaluation`. Scores are negative, because scikit-learn maximizes.

    Parameters
    ----------
    score : {"total_variation", "hard_total_variation", "cross_entropy", "kl"}, default="total_variation"
        The score, see :class:`BagScores`.
    by_size : bool, default=False
        Whether bags are weighted by their number of instances.

    Returns
    -------
    callable
        The scorer.

    Examples
    --------
    >>> import numpy as np, sklearn
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> from llpgan import MeanMap
    >>> X, bag = np.arange(80.0)[:, None] % 20, np.arange(80) // 8
    >>> y = np.where(X[:, 0] >= 10, "late", "early")
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     options = dict(cv=GroupKFold(5), scoring=bag_scorer(), params={"groups": bag})
    ...     scores = cross_val_score(MeanMap(), X, y, **options)
    >>> scores.shape, bool((scores <= 0).all())
    ((5,), True)
    """
    if score not in _SCORES:
        raise ValueError(f"score must be one of {', '.join(map(repr, _SCORES))}, got {score!r}")
    return BagScorer(score, by_size)


class _NoScore:
    """What a scorer without groups returns to scikit-learn, which then fails at once, with this text.

    An exception would be worse: scikit-learn turns it into a score of nan, prints it once for each fold, and
    chooses a best setting anyway.
    """

    def __str__(self) -> str:
        return f"nothing, since {_NEEDS_GROUPS}"


def _make_bags(y: Any, groups: Any, classes: NDArray[Any]) -> Bags:
    """Bags of these rows, with all classes that the estimator knows, also where these rows lack one."""
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        rows = match_columns(y, classes, "y")
        return Bags.from_row_proportions(np.zeros((len(rows), 1)), rows, groups, classes=classes)
    labels = match_labels(np.ravel(y), classes, "y")
    index, ids = grouping.index_ids(groups, "groups")
    check_same_length("entries of y", labels, "groups", index)
    counts = np.zeros((len(ids), len(classes)))
    np.add.at(counts, index, labels[:, None] == classes)
    return Bags(np.zeros((len(labels), 1)), index, counts / np.bincount(index)[:, None], ids, classes)


class CalibrationBin(NamedTuple):
    """Instances with about the same confidence of the classifier.

    Attributes
    ----------
    confidence : float
        The mean probability of the most probable class.
    accuracy : float
        The share of instances whose most probable class is right.
    n : int
        The number of instances.
    """

    confidence: float
    accuracy: float
    n: int


class CalibrationTable(tuple[CalibrationBin, ...]):
    """The groups that are not empty, from unsure to sure.

    Parameters
    ----------
    iterable : iterable of CalibrationBin, default=()
        The groups.

    Examples
    --------
    >>> CalibrationTable([CalibrationBin(0.9, 0.8, 10)]).to_frame().shape
    (1, 3)
    """

    __slots__ = ()

    def to_frame(self) -> Any:
        """The groups as a pandas frame, with one row per group.

        Returns
        -------
        pandas.DataFrame
            One row per entry.
        """
        return to_frame({name: [getattr(row, name) for row in self] for name in CalibrationBin._fields})


_BINS = 10


@dataclass(frozen=True, eq=False)
class LabelScores:
    """Comparison of predictions with labels.

    Intervals have 95 % confidence, and treat instances as independent. If rows have weights, figures are weighted
    means, and the intervals are those of the effective number of rows, (Σ w)² / Σ w².

    Attributes
    ----------
    n : int
        The number of instances.
    accuracy : Estimate
        The share of instances whose most probable class is right, with Wilson's interval.
    log_loss : Estimate
        The mean of −log (probability of the true class), with Student's t interval.
    auc : Estimate or None
        With two classes, the area under the ROC curve of the second one, with DeLong's interval. With more
        classes, the mean over the present classes of the area of each against the rest, without interval. None if
        only one class is present.
    calibration_error : Estimate
        The mean over instances of ``|accuracy − mean probability|`` in their bin, for ten bins of equal width by
        the probability of the most probable class. It has no interval, because resampling raises it.
    confusion : ndarray of shape (n_classes, n_classes)
        The counts, or sums of weights, with true classes in rows and predicted classes in columns.
    calibration : CalibrationTable
        The bins that are not empty, from low to high confidence.
    """

    n: int
    accuracy: Estimate
    log_loss: Estimate
    auc: Estimate | None
    calibration_error: Estimate
    confusion: NDArray[Any]
    calibration: CalibrationTable

    def __repr__(self) -> str:
        return f"LabelScores({self.n:,} instances, accuracy {self.accuracy})"

    def _repr_html_(self) -> str:
        known = {"accuracy": self.accuracy, "AUC": self.auc, "log loss": self.log_loss}
        known |= {"calibration error": self.calibration_error}
        figures = {name: found for name, found in known.items() if found is not None}
        ends = ["" if found.low is None else f"{found.low:.3f} to {found.high:.3f}" for found in figures.values()]
        values = [f"{found.value:.3f}" for found in figures.values()]
        columns = {"": list(figures), "value": values, "95 % interval": ends}
        baseline = self.confusion.sum(axis=1).max() / self.confusion.sum()
        note = f"Always predicting the commonest class would have an accuracy of {baseline:.3f}."
        return html_table(columns, f"Scores by the labels of {self.n:,} instances", note=note)


def label_scores(
    labels: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    threshold: float | Mapping[Any, float] | None = None,
) -> LabelScores:
    """Compare the labels of instances with the predicted probabilities of the classes.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The true class of each instance.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities.
    classes : array-like of shape (n_classes,)
        The classes, in the order of the columns of ``probabilities``.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts; a row of weight zero is left out. None means that all rows count the same.
    threshold : float or mapping of class to float, default=None
        The probability from which a class is predicted, as in ``predict``. It changes accuracy and confusion.

    Returns
    -------
    LabelScores
        The scores.

    Raises
    ------
    ValueError
        If a label is not one of the classes.

    Examples
    --------
    >>> scores = label_scores(["no", "yes", "yes"], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], ["no", "yes"])
    >>> scores.confusion
    array([[1, 0],
           [1, 1]])
    >>> print(scores.accuracy)
    0.667 (0.208 to 0.939)
    """
    table = refuse_masked(probabilities, "probabilities").astype(np.float64)
    truth = _positions(refuse_masked(labels, "labels"), np.asarray(classes))
    check_same_length("labels", truth, "rows of probabilities", table)
    weights = None if sample_weight is None else check_weights(sample_weight, len(truth))
    if weights is not None:
        kept = weights > 0
        table, truth, weights = table[kept], truth[kept], weights[kept]
        weights = None if (weights == weights[0]).all() else weights
    n_classes, predicted = table.shape[1], choose_classes(table, np.asarray(classes), threshold)
    n_effective = len(truth) if weights is None else float(weights.sum() ** 2 / np.square(weights).sum())
    accuracy = float(np.average(predicted == truth, weights=weights))
    bins, bin_shares = _calibration(table.max(axis=1), table.argmax(axis=1) == truth, weights)
    confusion = np.bincount(truth * n_classes + predicted, weights, minlength=n_classes**2)
    return LabelScores(
        n=len(truth),
        accuracy=share(accuracy * n_effective, n_effective),
        log_loss=mean(-np.log(np.clip(table[np.arange(len(truth)), truth], _LEAST, 1)), weights),
        auc=_auc(table, truth, weights),
        calibration_error=Estimate(
            float(sum(part * abs(b.accuracy - b.confidence) for part, b in zip(bin_shares, bins, strict=True)))
        ),
        confusion=confusion.reshape(n_classes, -1),
        calibration=bins,
    )


def _positions(labels: Array, classes: Array) -> NDArray[np.int64]:
    """The place of each label among the classes."""
    places = {name: place for place, name in enumerate(classes.tolist())}
    found = np.array([places.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    for row in np.flatnonzero(found < 0).tolist():
        raise ValueError(f"row {row}: label {labels[row].item()!r} is not one of the classes {classes.tolist()}")
    return found


def _auc(table: Array, truth: NDArray[np.int64], weights: Array | None) -> Estimate | None:
    present = np.unique(truth)
    if len(present) < 2:
        return None
    if table.shape[1] == 2:
        return auc_estimate(table[:, 1], truth == 1, weights)
    return Estimate(float(np.mean([auc_estimate(table[:, k], truth == k, weights).value for k in present])))


def _calibration(confidence: Array, right: Array, weights: Array | None) -> tuple[CalibrationTable, list[float]]:
    """The bins, and the share of all rows that each has."""
    bin_of_row = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    counts = np.ones(len(right)) if weights is None else weights
    members = [bin_of_row == b for b in np.unique(bin_of_row)]
    bins = CalibrationTable(
        CalibrationBin(
            float(np.average(confidence[rows], weights=counts[rows])),
            float(np.average(right[rows], weights=counts[rows])),
            int(rows.sum()),
        )
        for rows in members
    )
    return bins, [float(counts[rows].sum() / counts.sum()) for rows in members]
