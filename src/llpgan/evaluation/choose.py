"""Choices that bags allow without labels: the default method, the weight of labels, and the rows to label next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.bags.checks import check_labelled_rows
from llpgan.bags.fit_warnings import collect_trial_warnings
from llpgan.bags.on_disk import column_moments, is_stored
from llpgan.evaluation.compare import OVERALL, Comparison, Result, compare, set_seed
from llpgan.methods import estimator_class
from llpgan.methods.base import LLPClassifier
from llpgan.methods.refinement import FEATURE_CANDIDATES
from llpgan.tables.embedding import FeatureEncoder
from llpgan.tables.streams import ImageEncoder
from llpgan.utils.arrays import Array

FEW_IMAGES = 5_000
SMALL_IMAGE = 3 * 32 * 32  # pixels in all channels, up to which a linear model and a small network are quick
SMALLEST_PHOTO = 24  # pixels of a side, from which colour images are taken for photographs
_FOLDS = 3
_FEWEST_BAGS = 2 * _FOLDS
_TRIED = 256  # rows, to measure how long a network will take


@dataclass(frozen=True, eq=False)
class DefaultMethod:
    """An untrained method, why it was taken, the seconds training will take, and its score on held-out bags."""

    method: LLPClassifier
    reason: str
    seconds: float | None = None
    score: float | None = None


def default_method(bags: Bags, random_state: int = 0, time_limit: float | None = None) -> DefaultMethod:
    """The method for these bags: by held-out bags where images are few and small, else by a rule.

    A linear model, a small network and one that plays against a generator differ by much on images, and which
    is best depends on the images; on 5,000 small ones all three can be tried. A large data set takes its network
    too long for that, and there LLPGAN and DLLP come out alike (``docs/reproduction.md``): the quicker is used.
    """
    if isinstance(bags.encoder, FeatureEncoder):
        why = "features of a pretrained network need no more than a linear model"
        return DefaultMethod(feature_method(), why)
    if bags.instances.ndim == 2:
        why = "the default for tables; it combines boosted trees and logistic regression"
        limit = {} if time_limit is None else {"time_limit": time_limit}
        return DefaultMethod(estimator_class("AutoLLP")(**limit), why, time_limit)
    if chooses_by_held_out_bags(bags):
        return _best_on_held_out_bags(bags, random_state)
    too_few = f"with fewer than {_FEWEST_BAGS} bags none can be held out to choose by, and"
    why = too_few if bags.n_bags < _FEWEST_BAGS else "for many or large images"
    return _estimate_time(estimator_class("DLLP")(), bags, random_state, f"{why} it is the quickest network")


def feature_method() -> LLPClassifier:
    """The method for features of a pretrained network.

    They have hundreds of columns, of which a few directions matter: their principal components are not
    brought to one scale, so that the penalty keeps the classifier to the strong ones. Classes are often clusters
    of such features, so that a refinement is tried on held-out bags.
    """
    method: LLPClassifier = estimator_class("BagLogistic")(
        C=10.0, standardize=False, n_components=256, n_resamples=0, refine=FEATURE_CANDIDATES
    )
    return method


def are_photographs(bags: Bags) -> bool:
    """Whether instances are colour images of some size, for which networks are pretrained."""
    shape = bags.instances.shape[1:]
    return isinstance(bags.encoder, ImageEncoder) and shape[0] == 3 and min(shape[1:]) >= SMALLEST_PHOTO


def default_with_features(
    bags: Bags, features: Bags, random_state: int = 0, time_limit: float | None = None
) -> tuple[DefaultMethod, bool]:
    """The default method for images, and whether it learns from features of a pretrained network.

    Features are used if a linear model on them predicts held-out bags better than the methods that are tried on
    pixels. If training on pixels takes too long to be tried, they must predict better than the overall shares.

    Parameters
    ----------
    bags : Bags
        The bags, with pixels as instances.
    features : Bags
        The same bags, with features as instances.
    random_state : int, default=0
        The seed of the folds.
    time_limit : float, default=None
        See :func:`default_method`.
    """
    if bags.n_bags < _FEWEST_BAGS:
        return default_method(features, random_state), True
    quick = feature_method().set_params(refine=False)
    found = compare(features, [quick], cv=_FOLDS, random_state=random_state)
    scores = {_short_name(result): result.score for result in found.results}
    of_features, overall = scores["BagLogistic"], scores[OVERALL]
    if of_features is None or overall is None:
        return default_method(bags, random_state, time_limit), False
    said = f"cross-entropy of held-out bags {of_features:.3f} with features"
    if not chooses_by_held_out_bags(bags):
        if of_features < overall:
            return DefaultMethod(feature_method(), f"{said}, {overall:.3f} by the overall shares"), True
        return default_method(bags, random_state, time_limit), False
    on_pixels = _best_on_held_out_bags(bags, random_state)
    best = on_pixels.score
    if best is None or of_features < best:
        why = said if best is None else f"{said}, {best:.3f} with pixels at best"
        return DefaultMethod(feature_method(), why), True
    return replace(on_pixels, reason=f"{on_pixels.reason}; {said}"), False


def chooses_by_held_out_bags(bags: Bags) -> bool:
    """Whether images are few and small enough to try several methods on them."""
    shape = bags.instances.shape[1:]
    few = len(bags.bag_index) <= FEW_IMAGES and bags.n_bags >= _FEWEST_BAGS
    return len(shape) == 3 and few and prod(shape) <= SMALL_IMAGE and not is_stored(bags.instances)


def _best_on_held_out_bags(bags: Bags, random_state: int) -> DefaultMethod:
    from llpgan.deep.networks import mnist_classifier, mnist_generator

    methods = [
        estimator_class("BagLogistic")(),
        estimator_class("DLLP")(classifier=mnist_classifier),
        estimator_class("LLPGAN")(classifier=mnist_classifier, generator=mnist_generator),
    ]
    found = compare(bags, methods, cv=_FOLDS, random_state=random_state)
    chosen = next(result for result in found.results if result.name == found.chosen)
    seconds = None if chosen.seconds is None else chosen.seconds * _FOLDS / (_FOLDS - 1)
    return DefaultMethod(found.methods[found.chosen], _describe_scores(found), seconds, chosen.score)


def _describe_scores(found: Comparison) -> str:
    """The scores of the methods, and why some have none."""
    scores = {_short_name(result): result.score for result in found.results if result.score is not None}
    listed = ", ".join(f"{name} {score:.3f}" for name, score in scores.items() if name != OVERALL)
    failed = "".join(
        f"; {_short_name(result)} failed: {result.failed}" for result in found.results if result.failed
    )
    return f"it matches held-out bags best: cross-entropy {listed}, overall shares {scores[OVERALL]:.3f}{failed}"


def _short_name(result: Result) -> str:
    return result.name.split("(")[0]


def _estimate_time(method: LLPClassifier, bags: Bags, random_state: int, reason: str) -> DefaultMethod:
    """With the time of all epochs, from that of one epoch, with images of full size, on a few bags."""
    from llpgan.deep.images import work_share
    from llpgan.methods.deep import count_epochs, find_recipe

    order = np.random.default_rng(random_state).permutation(bags.n_bags)
    n_bags = max(1, int(np.searchsorted(np.cumsum(bags.sizes[order]), _TRIED)))
    few = bags.take_bags(np.sort(order[:n_bags]))
    tried = set_seed(clone(method), random_state).set_params(epochs=1)
    with collect_trial_warnings():
        tried.fit_bags(few)
    each = tried.history_[0]["seconds"] / len(few.bag_index)
    tried.set_params(epochs=None)
    recipe = find_recipe(tried)
    full_size = each * len(bags.bag_index) * count_epochs(tried, recipe, bags)
    return DefaultMethod(method, reason, full_size * work_share(recipe.coarse_until, recipe.coarsest))


_LEAST = np.finfo(np.float64).eps  # a probability of zero would make one mistake count for ever
WEIGHTS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class LabelWeight:
    """How much a labelled row should count relative to a bag, and how the weights compared.

    Attributes
    ----------
    weight : float
        The smallest weight whose log loss is within one standard error of the lowest.
    log_losses : dict
        From each weight to the mean log loss of the labels that were held out.
    """

    weight: float
    log_losses: dict[float, float]


def choose_label_weight(
    method: LLPClassifier,
    bags: Bags,
    rows: ArrayLike,
    labels: ArrayLike,
    *,
    weights: Sequence[float] = WEIGHTS,
    cv: int = 5,
    random_state: int = 0,
) -> LabelWeight:
    """Choose how much labelled rows should count relative to bags, by cross-validation on the labels.

    The proportions of a bag of a thousand rows tell more than one label, but how much more depends on how well the
    bags' proportions hold for the rows that are there. Each fold of the labels is held out once: a copy of the
    method learns from all bags and the other labels, and is judged by the log loss of those held out. A few labels
    judge with much chance, and a large weight means to learn from few of them: of the weights that are within one
    standard error of the best, label by label, the smallest is chosen.

    Parameters
    ----------
    method : LLPClassifier
        An estimator that can weigh bags; copies of it are fitted.
    bags : Bags
        The bags.
    rows : array-like of shape (n_labelled,)
        The positions of the labelled rows, as in :meth:`llpgan.Bags.add_labels`.
    labels : array-like of shape (n_labelled,)
        Their classes.
    weights : sequence of float, default=(0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
        The weights to choose from.
    cv : int, default=5
        The number of folds.
    random_state : int, default=0
        The seed of the folds.

    Returns
    -------
    LabelWeight
        The weight for ``bags.add_labels(rows, labels, weight=...)``, and the log loss of each.

    Raises
    ------
    ValueError
        If there are fewer labels than folds, or no weight to choose from.

    Examples
    --------
    >>> from llpgan import BagLogistic
    >>> X = np.arange(40.0)[:, None]
    >>> y = (X[:, 0] >= 20).astype(int)
    >>> bags = Bags.from_labels(X, y, groups=np.arange(40) % 5)
    >>> rows = np.arange(0, 40, 4)
    >>> choose_label_weight(BagLogistic(n_resamples=0), bags, rows, y[rows], weights=[0.01, 1.0]).weight
    1.0
    """
    if not len(weights):
        raise ValueError("weights: there must be at least one to choose from")
    chosen, given = check_labelled_rows(rows, labels, len(bags.bag_index))
    if not 2 <= cv <= len(chosen):
        raise ValueError(f"cv must be from 2 to the number of labels, which is {len(chosen)}, got {cv!r}")
    splits = list(KFold(cv, shuffle=True, random_state=random_state).split(chosen))
    losses = {
        float(weight): np.concatenate(
            [_bag_losses(method, bags, chosen, given, weight, *split) for split in splits]
        )
        for weight in sorted(weights)
    }
    best = min(losses.values(), key=np.mean)
    more = {weight: of_labels - best for weight, of_labels in losses.items()}
    within = [w for w, each in more.items() if each.mean() <= each.std(ddof=1) / np.sqrt(len(each))]  # one error
    return LabelWeight(within[0], {weight: float(of_labels.mean()) for weight, of_labels in losses.items()})


def _bag_losses(
    method: LLPClassifier, bags: Bags, rows: Array, labels: Array, weight: float, train: Array, test: Array
) -> Array:
    """The log loss of each held-out label of one fold."""
    with collect_trial_warnings():
        model = clone(method).fit_bags(bags.add_labels(rows[train], labels[train], weight=weight))
    probabilities = model.predict_encoded(bags.instances[rows[test]])
    of_label = probabilities[labels[test][:, None] == bags.classes]
    return np.asarray(-np.log(np.maximum(of_label, _LEAST)))


STRATEGIES = ("variance", "uncertainty", "random")
_MOST_CANDIDATES = 20_000
_MOST_FEATURES = 100
_FARTHEST = 3.0  # standard deviations from the mean of a column, so that no outlier decides alone
_LEAST_INFORMATION = 1e-3  # of a label; a row whose label is certain has little to say


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Rows to label, in the order in which they help.

    Attributes
    ----------
    rows : ndarray of shape (budget,)
        The positions of the rows.
    bag_of_row : ndarray of shape (budget,)
        The positions of their bags.
    variances : ndarray of shape (budget,)
        The mean variance of the predicted probabilities that is expected to remain after each label, relative to
        that before the first. NaN for other strategies than ``"variance"``.
    """

    rows: NDArray[np.int64]
    bag_of_row: NDArray[np.int64]
    variances: NDArray[np.float64]


def suggest_labels(
    model: LLPClassifier,
    bags: Bags,
    budget: int,
    *,
    strategy: Literal["variance", "uncertainty", "random"] = "variance",
    labelled: ArrayLike = (),
    random_state: int = 0,
) -> Suggestion:
    """Select the rows whose labels, in addition to the bags, help most.

    Bags say little about single directions of the features, while each label says something about one. Labels are
    chosen by ``"variance"`` as in Bayesian experimental design for a logistic regression whose weights have
    covariance Σ = I before, on standardized columns: a label of row x with predicted probability p carries the
    information p (1 − p) x xᵀ, and the row is selected that reduces the mean variance of all predictions most,

        xᵀ Σ M Σ x / (xᵀ Σ x + 1 / (p (1 − p))),  M = mean over rows of p (1 − p) x xᵀ

    (V-optimality [1]_ [2]_). Then Σ is updated, so that the next row differs from those before. With more than two
    classes, the reductions of all classes are added.

    Parameters
    ----------
    model : LLPClassifier
        The fitted model. Its probabilities say which labels are uncertain.
    bags : Bags
        The bags that the labels will be added to, with the encoding of the training bags.
    budget : int
        The number of rows to label.
    strategy : {"variance", "uncertainty", "random"}, default="variance"
        ``"uncertainty"`` selects rows whose most probable class is least probable; ``"variance"`` reduces the
        expected variance of all predictions most; ``"random"`` selects any rows.
    labelled : array-like of shape (n_labelled,), default=()
        The positions of rows whose labels are known already. They are not suggested, and neither are rows from
        ``bags.add_labels`` or rows of bags that have one class alone.
    random_state : int, default=0
        The seed of the candidates, of which there are at most 20,000.

    Returns
    -------
    Suggestion
        The rows, the most helpful first. Label them, and pass them to ``bags.add_labels``.

    References
    ----------
    .. [1] D. Cohn, Z. Ghahramani and M. Jordan, "Active learning with statistical models", JAIR 4, 1996.
    .. [2] K. Chaloner and I. Verdinelli, "Bayesian experimental design: a review", Statistical Science 10, 1995.

    Examples
    --------
    >>> from llpgan import MeanMap
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(640, 3))
    >>> bags = Bags.from_labels(X, (X[:, 0] + X[:, 1] > 0).astype(int), np.arange(640) // 32)
    >>> found = suggest_labels(MeanMap().fit_bags(bags), bags, 5, strategy="variance")
    >>> len(found.rows), bool((np.diff(found.variances) < 0).all())
    (5, True)
    """
    refuse_other_than_bags(bags, "bags")
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
    candidates = _find_unlabelled(bags, labelled)
    n_rows = len(candidates)
    if n_rows == 0:
        raise ValueError("the class of every row is known already: there is nothing to label")
    if not 1 <= budget <= n_rows or budget != int(budget):
        rows = "rows" if n_rows == len(bags.instances) else "rows without a known label"
        raise ValueError(f"budget must be a number of {rows} from 1 to {n_rows:,}, got {budget!r}")
    rng = np.random.default_rng(random_state)
    if n_rows > max(_MOST_CANDIDATES, budget):
        candidates = candidates[np.sort(rng.choice(n_rows, max(_MOST_CANDIDATES, budget), replace=False))]
    variances = np.full(budget, np.nan)
    if strategy == "random":
        chosen = rng.choice(candidates, budget, replace=False)
    else:
        probabilities = model.predict_encoded(bags.instances[candidates])
        if strategy == "uncertainty":
            chosen = candidates[np.argsort(probabilities.max(axis=1), kind="stable")[:budget]]
        else:
            weights = bags.row_weights[candidates]
            features = _standardize(np.asarray(bags.instances[candidates]), weights)
            places, variances = _select_rows(features, probabilities, weights / weights.sum(), budget)
            chosen = candidates[places]
    return Suggestion(chosen, bags.bag_index[chosen], variances)


def _find_unlabelled(bags: Bags, labelled: ArrayLike) -> NDArray[np.int64]:
    """The positions of rows whose class neither the caller nor their bag knows."""
    n_rows = len(bags.instances)
    known = ~bags.is_counted  # whose labels would not count either
    given = np.asarray(labelled, dtype=np.int64 if np.size(labelled) == 0 else None)
    if given.dtype.kind not in "iu" or ((given < 0) | (given >= n_rows)).any():
        raise ValueError(f"labelled: give the positions of rows, whole numbers from 0 to {n_rows - 1:,}")
    known[given] = True
    if bags.share_constraints is None:
        known |= (bags.proportions.max(axis=1) == 1)[bags.bag_index]
    for place, name in enumerate(bags.bag_ids):
        if isinstance(name, tuple) and name[0] == "label" and isinstance(name[1], int):  # from add_labels
            copied, row = bags.rows_of(place)[0], name[1]
            known[copied] = True
            if row < n_rows and np.array_equal(bags.instances[row], bags.instances[copied]):
                known[row] = True
    return np.flatnonzero(~known)


def _standardize(instances: Array, weights: Array) -> Array:
    """Columns of mean 0 and variance 1 with a constant; if there are many, the first principal components."""
    table = instances.reshape(len(instances), -1).astype(np.float64)
    means, deviations = column_moments(table, weights)
    table = np.clip((table - means) / np.where(deviations > 0, deviations, 1), -_FARTHEST, _FARTHEST)
    if table.shape[1] > _MOST_FEATURES:
        _, directions = np.linalg.eigh((table * weights[:, None]).T @ table / weights.sum())
        table = table @ directions[:, -_MOST_FEATURES:]
    return np.hstack([table, np.ones((len(table), 1))])


def _select_rows(features: Array, probabilities: Array, shares: Array, budget: int) -> tuple[Array, Array]:
    """Select rows one after another, each with the largest expected reduction of variance over all rows."""
    p = probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities
    information = np.maximum(p * (1 - p), _LEAST_INFORMATION).T
    wanted = [(features * (shares * each)[:, None]).T @ features for each in information]
    covariances = [np.eye(features.shape[1]) for _ in information]
    selected: list[int] = []
    before, left = sum(np.trace(each) for each in wanted), []
    for _ in range(budget):
        gains = np.zeros(len(features))
        for of_label, weights, covariance in zip(information, wanted, covariances, strict=True):
            moved = features @ covariance
            gains += ((moved @ weights) * moved).sum(axis=1) / ((moved * features).sum(axis=1) + 1 / of_label)
        gains[selected] = -1
        row = int(gains.argmax())
        selected.append(row)
        for k, covariance in enumerate(covariances):
            moved_row = covariance @ features[row]
            total = features[row] @ moved_row + 1 / information[k, row]
            covariances[k] = covariance - np.outer(moved_row, moved_row) / total
        variance = sum((w * c).sum() for w, c in zip(wanted, covariances, strict=True))
        left.append(variance / before)
    return np.array(selected), np.array(left)
