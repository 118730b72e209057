"""Scores of predictions by bags."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metadata_routing import MetadataRequest

from llpgan.bags import grouping
from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.bags.checks import check_probabilities, check_same_length
from llpgan.bags.known_shares import KnownShares
from llpgan.evaluation.intervals import Estimate, mean
from llpgan.utils.arrays import Array, to_frame
from llpgan.utils.messages import html_table, is_called_by_scikit_learn, match_columns, match_labels

_LEAST = np.finfo(np.float64).eps


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
