"""The default method, and the weight of labelled rows, chosen on held-out bags."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import KFold

from llpgan.bags import Bags
from llpgan.bags.checks import check_labelled_rows
from llpgan.bags.fit_warnings import collect_trial_warnings
from llpgan.bags.on_disk import is_stored
from llpgan.evaluation.compare import OVERALL, Comparison, Result, compare, seeded
from llpgan.methods import estimator_class
from llpgan.methods.base import LLPClassifier
from llpgan.utils.arrays import Array

FEW_IMAGES = 5_000
SMALL_IMAGE = 3 * 32 * 32  # pixels in all channels, up to which a linear model and a small network are quick
_FOLDS = 3
_FEWEST_BAGS = 2 * _FOLDS
_TRIED = 256  # rows, to measure how long a network will take


@dataclass(frozen=True, eq=False)
class DefaultMethod:
    """An untrained method, why it was taken, and about how many seconds its training will take, if known."""

    method: LLPClassifier
    reason: str
    seconds: float | None = None


def default_method(bags: Bags, random_state: int = 0, time_limit: float | None = None) -> DefaultMethod:
    """The method for these bags: by held-out bags where images are few and small, else by a rule.

    A linear model, a small network and one that plays against a generator differ by much on images, and which
    is best depends on the images; on 5,000 small ones all three can be tried. A large data set takes its network
    too long for that, and there LLPGAN and DLLP come out alike (``docs/reproduction.md``): the quicker is taken.
    """
    if bags.instances.ndim == 2:
        why = "for tables it weighs trees and a linear model by held-out bags"
        return DefaultMethod(estimator_class("AutoLLP")(time_limit=time_limit), why, time_limit)
    if chooses_by_held_out_bags(bags):
        return _best_on_held_out_bags(bags, random_state)
    too_few = f"with fewer than {_FEWEST_BAGS} bags none can be held out to choose by, and"
    why = too_few if bags.n_bags < _FEWEST_BAGS else "for many or large images"
    return _timed(estimator_class("DLLP")(), bags, random_state, f"{why} it is the quickest network")


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
    seconds = next(result.seconds for result in found.results if result.name == found.chosen)
    part = (_FOLDS - 1) / _FOLDS
    return DefaultMethod(
        found.methods[found.chosen], _in_words(found), None if seconds is None else seconds / part
    )


def _in_words(found: Comparison) -> str:
    """The scores of the methods, and why some have none."""
    scores = {_short(result): result.score for result in found.results if result.score is not None}
    told = ", ".join(f"{name} {score:.3f}" for name, score in scores.items() if name != OVERALL)
    failed = "".join(f"; {_short(result)} failed: {result.failed}" for result in found.results if result.failed)
    return f"it meets held-out bags best: cross-entropy {told}, overall shares {scores[OVERALL]:.3f}{failed}"


def _short(result: Result) -> str:
    return result.name.split("(")[0]


def _timed(method: LLPClassifier, bags: Bags, random_state: int, reason: str) -> DefaultMethod:
    """With the time of all epochs, from that of one epoch, with images of full size, on a few bags."""
    from llpgan.deep.images import work_share
    from llpgan.methods.deep import choose_coarse_until, count_epochs, recipe_of

    order = np.random.default_rng(random_state).permutation(bags.n_bags)
    n_bags = max(1, int(np.searchsorted(np.cumsum(bags.sizes[order]), _TRIED)))
    few = bags.subset(np.sort(order[:n_bags]))
    tried = seeded(clone(method), random_state).set_params(epochs=1)
    with collect_trial_warnings():
        tried.fit_bags(few)
    each = tried.history_[0]["seconds"] / len(few.bag_index)
    tried.set_params(epochs=None)
    full_size = each * len(bags.bag_index) * count_epochs(tried, bags)
    share = work_share(choose_coarse_until(tried), recipe_of(tried).coarsest)
    return DefaultMethod(method, reason, full_size * share)


_LEAST = np.finfo(np.float64).eps  # a probability of zero would make one mistake count for ever
WEIGHTS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class LabelWeight:
    """How much a labelled row should count beside a bag, and how the weights compared.

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
    """Choose how much labelled rows should count beside bags, by cross-validation on the labels.

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
        The positions of the labelled rows, as in :meth:`llpgan.Bags.with_labels`.
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
        The weight for ``bags.with_labels(rows, labels, weight=...)``, and the log loss of each.

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
        float(weight): np.concatenate([_losses(method, bags, chosen, given, weight, *split) for split in splits])
        for weight in sorted(weights)
    }
    best = min(losses.values(), key=np.mean)
    within = [weight for weight, of_labels in losses.items() if _is_as_good(of_labels - best)]
    return LabelWeight(within[0], {weight: float(of_labels.mean()) for weight, of_labels in losses.items()})


def _is_as_good(more: Array) -> bool:
    """Whether losses that are this much higher are so by no more than one standard error."""
    return bool(more.mean() <= more.std(ddof=1) / np.sqrt(len(more)))


def _losses(
    method: LLPClassifier, bags: Bags, rows: Array, labels: Array, weight: float, train: Array, test: Array
) -> Array:
    """The log loss of each held-out label of one fold."""
    with collect_trial_warnings():
        model = clone(method).fit_bags(bags.with_labels(rows[train], labels[train], weight=weight))
    probabilities = model.predict_encoded(bags.instances[rows[test]])
    of_label = probabilities[labels[test][:, None] == bags.classes]
    return np.asarray(-np.log(np.maximum(of_label, _LEAST)))
