"""Scores on bags alone, for scikit-learn's model selection."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import MetadataRequest

from llpgan.bags import Bags, grouping, validation
from llpgan.evaluation.bag_scores import bag_scores
from llpgan.utils import class_names
from llpgan.utils.callers import is_called_by_scikit_learn

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
        bags = _bags_of(y, groups, estimator.classes_)
        scores = bag_scores(bags, estimator.predict_proba(X), by_size=self.by_size)
        return -float(getattr(scores, f"mean_{self.score}").value)


def bag_scorer(score: str = "total_variation", *, by_size: bool = False) -> BagScorer:
    """Make a scorer for ``cross_val_score`` and ``GridSearchCV`` that needs no labels, only the bag of each row.

    ``y`` holds in each row the proportions of its bag, or labels, of which only the proportions of each bag are
    used. Bags must stay whole, so ``cv`` should be a ``GroupKFold`` or a splitter of
    :mod:`llpgan.evaluation.selection`. Scores are negative, because scikit-learn maximizes.

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
    chooses a best setting all the same.
    """

    def __str__(self) -> str:
        return f"nothing, since {_NEEDS_GROUPS}"


def _bags_of(y: Any, groups: Any, classes: NDArray[Any]) -> Bags:
    """Bags of these rows, with all classes that the estimator knows, also where these rows lack one."""
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        rows = class_names.matched_columns(y, classes, "y")
        return Bags.from_row_proportions(np.zeros((len(rows), 1)), rows, groups, classes=classes)
    labels = class_names.matched_labels(np.ravel(y), classes, "y")
    index, ids = grouping.index_of(groups, "groups")
    validation.same_length("entries of y", labels, "groups", index)
    counts = np.zeros((len(ids), len(classes)))
    np.add.at(counts, index, labels[:, None] == classes)
    return Bags(np.zeros((len(labels), 1)), index, counts / np.bincount(index)[:, None], ids, classes)
