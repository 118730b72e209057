"""Logistic regression on bags: the mean prediction of each bag meets its proportions."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from llpgan.bags import Bags
from llpgan.estimators.base import Array
from llpgan.estimators.classical import ClassicalClassifier
from llpgan.estimators.linear import Features, Linear, Loss, fit_linear, one_blas_thread
from llpgan.estimators.mean_operator import class_probabilities, outputs_to_classes

_LEAST = 1e-12  # of a mean prediction, so that its logarithm is finite


@dataclass(kw_only=True, eq=False, repr=False)
class BagLogistic(ClassicalClassifier):
    """Logistic regression on bags: DLLP's loss with a linear classifier, averaged over resamples of the bags.

    Minimises, over n bags with proportions p_i and mean predictions p̄_i of softmax(θ·x),

        −Σ_i p_i · log p̄_i + ‖θ‖² / 2C

    Few bags leave many such classifiers about equally good. So it is solved again and again on bags drawn with
    replacement, and the probabilities are averaged (Breiman's bagging, here of bags), which rests on none alone.

    Args:
        C: inverse strength of the penalty, against which each bag's loss counts once.
        n_resamples: how many classifiers are averaged; 0 for one, of the bags as they are.
        limit: standardised columns are bent so that none gets further than this from its mean: neither an outlier
            nor a rare category then decides alone. None leaves them straight.
        tol: the largest slope of the mean loss that counts as zero.
        random_state: an integer makes the fit repeatable.
        others: see :class:`~llpgan.estimators.classical.ClassicalClassifier`.

    Attributes:
        models_: weights and intercepts on the features, of each classifier.

    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = BagLogistic(random_state=0).fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    C: float = 100.0
    n_resamples: int = 100
    limit: float | None = 3.0
    tol: float = 1e-4
    random_state: int | np.random.RandomState | None = None

    _parameter_constraints: ClassVar = {
        **ClassicalClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "n_resamples": [Interval(Integral, 0, None, closed="left")],
        "limit": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def fit_bags(self, bags: Bags) -> Self:
        """Learn from bags."""
        self._start(bags)
        features = self._learn_features(bags)
        with one_blas_thread():
            self.models_ = [self._solved(features, bags, times) for times in self._draws(bags.n_bags)]
        return self._finish(bags)

    def _draws(self, n_bags: int) -> Array:
        """(resamples, bags): how often each bag is drawn; without resamples, each once."""
        if self.n_resamples == 0:
            return np.ones((1, n_bags))
        random = check_random_state(self.random_state)
        return random.multinomial(n_bags, np.full(n_bags, 1 / n_bags), size=self.n_resamples)

    def _solved(self, features: Features, bags: Bags, times: Array) -> Linear:
        n_bags = bags.n_bags
        start = Linear.zero(len(outputs_to_classes(bags.n_classes)), features.n_columns)
        loss = bag_cross_entropy(bags, times / n_bags)
        return fit_linear(loss, features, 1 / (self.C * n_bags), start, tol=self.tol)

    def _features(self, instances: Array) -> Features:
        features = super()._features(instances)
        if not self.standardize or self.limit is None:
            return features
        return Features.of(bent(features.array(), self.limit))

    def each_probabilities(self, instances: Array) -> Iterator[Array]:
        """The probabilities that each of the classifiers gives, whose mean is the prediction."""
        features = self._features(instances)
        return (class_probabilities(model, features) for model in self.models_)

    def _probabilities(self, instances: Array) -> Array:
        return np.asarray(sum(self.each_probabilities(instances)) / len(self.models_))


def bent(values: Array, limit: float) -> Array:
    """x / sqrt(1 + (x / limit)²): near zero it changes nothing, and nothing gets beyond the limit.

    >>> bent(np.array([0.1, 4.0, -1e300]), limit=3.0).round(2)
    array([ 0.1,  2.4, -3. ])
    """
    return values / np.hypot(1, values / limit)


def bag_cross_entropy(bags: Bags, weights: Array) -> Loss:
    """Σ_i w_i · (−p_i · log p̄_i) of the outputs' scores, p̄_i the bag's mean of their softmax; and its slope."""
    to_classes = outputs_to_classes(bags.n_classes)
    target = weights * bags.proportions.T

    def loss(scores: Array) -> tuple[float, Array]:
        probabilities = softmax(to_classes.T @ scores, axis=0)
        sums = np.add.reduceat(probabilities[:, bags.row_order], bags.starts, axis=1)
        means = np.maximum(sums / bags.sizes, _LEAST)
        slope = (-target / means / bags.sizes)[:, bags.bag_index]
        slope = probabilities * (slope - np.sum(slope * probabilities, axis=0))
        return -float(np.sum(target * np.log(means))), to_classes @ slope

    return loss
