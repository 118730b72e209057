"""Alternating mean map: labels that agree with the bags, and the logistic regression of those labels."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import trials
from llpgan.estimators.bag_labels import best_labels
from llpgan.estimators.base import LLPClassifier
from llpgan.estimators.classical import ClassicalClassifier
from llpgan.estimators.linear_scores import Features, Linear, one_blas_thread
from llpgan.estimators.mean_map import MeanMap
from llpgan.estimators.mean_operator import class_probabilities, class_scores, fit_log_partition
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval


@dataclass(kw_only=True, eq=False, repr=False)
class AlternatingMeanMap(ClassicalClassifier):
    """Alternating mean map: labels that agree with the bags, and the logistic regression of these labels.

    The method minimizes the penalized logistic loss over the classifier *and* over all labels that agree with the
    bags,

        min_θ min_y Σ_j [log Σ_k exp(θ_k·x_j) − θ_{y_j}·x_j] + ‖θ‖² / 2C,  each bag with m·p of each class.

    It alternates between two exact steps: an assignment problem in each bag finds the labels (with two classes,
    the m·p highest scores), and a logistic regression finds the classifier. If m·p is not an integer, the largest
    remainders are rounded up; a class whose proportion is zero gets no instance of the bag. The objective never
    increases, so the alternation ends. Two or more classes are supported.

    Parameters
    ----------
    start : LLPClassifier, default=None
        The classifier that provides the first labels, such as ``LaplacianMeanMap()``. None means ``MeanMap()``.
    C : float, default=1.0
        Inverse of the regularization strength, as in ``LogisticRegression``.
    {tol: 1e-6}
    max_turns : int, default=100
        The maximum number of alternations. The fit stops there even if labels still change.
    {inherited}

    Attributes
    ----------
    start_ : LLPClassifier
        The first classifier, fitted. It is not part of a saved model.
    n_turns_ : int
        The number of alternations that were run.
    model_ : Linear
        The weights and intercepts on the standardized features.
    {inherited}

    See Also
    --------
    MeanMap : The usual first classifier.
    LaplacianMeanMap : Another first classifier.
    AlterSVM : Alternates in the same way with a support vector machine.

    References
    ----------
    .. [1] G. Patrini, R. Nock, P. Rivera and T. Caetano, "(Almost) No Label No Cry", Advances in Neural
       Information Processing Systems 27, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import AlternatingMeanMap
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = AlternatingMeanMap().fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    start: LLPClassifier | None = None
    C: float = 1.0
    tol: float = 1e-6
    max_turns: int = 100

    _parameter_constraints: ClassVar = {
        **ClassicalClassifier._parameter_constraints,
        "start": [LLPClassifier, None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_turns": [Interval(Integral, 1, None, closed="left")],
    }

    def fit_bags(self, bags: Bags) -> Self:
        """Learn from bags.

        Parameters
        ----------
        bags : Bags
            The bags to learn from.

        Returns
        -------
        Self
            The fitted estimator.
        """
        self._start(bags)
        with trials():
            self.start_ = clone(self.start or MeanMap()).fit_bags(bags)
        features = self._learn_features(bags)
        with one_blas_thread():
            self.model_, self.n_turns_ = self._take_turns(features, bags)
        return self._finish(bags)

    def _take_turns(self, features: Features, bags: Bags) -> tuple[Linear, int]:
        labels = best_labels(bags, _logarithms(self.start_.predict_proba(bags)))
        model, n_turns = self._refit(features, labels, bags.n_classes), 1
        while n_turns < self.max_turns:
            before, labels = labels, best_labels(bags, class_scores(model, features))
            if np.array_equal(before, labels):
                break
            model, n_turns = self._refit(features, labels, bags.n_classes, model), n_turns + 1
        return model, n_turns

    def _refit(
        self, features: Features, labels: NDArray[np.int64], n_classes: int, start: Linear | None = None
    ) -> Linear:
        operator, shares = operator_of_labels(features, labels, n_classes)
        return fit_log_partition(features, operator, shares, self.C, self.tol, start)

    def _probabilities(self, instances: Array) -> Array:
        return class_probabilities(self.model_, self._features(instances))


def operator_of_labels(features: Features, labels: NDArray[np.int64], n_classes: int) -> tuple[Array, Array]:
    """The mean of x·1[y = k], one row per class, and the share of each class."""
    members = (labels == np.arange(n_classes)[:, None]).astype(np.float64)
    return features.sums(members) / len(features), members.mean(axis=1)


def _logarithms(probabilities: Array) -> Array:
    """Finite also where a probability is rounded to zero."""
    return np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
