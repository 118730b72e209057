"""Logistic regression on bags: the mean prediction of each bag meets its proportions."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state

from llpgan.bags import Bags
from llpgan.estimators.classical import ClassicalClassifier
from llpgan.estimators.linear_scores import Features, Linear, Loss, fit_linear, one_blas_thread
from llpgan.estimators.mean_operator import class_probabilities, outputs_to_classes
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval

_LEAST = 1e-12  # of a mean prediction, so that its logarithm is finite


@dataclass(kw_only=True, eq=False, repr=False)
class BagLogistic(ClassicalClassifier):
    """Logistic regression on bags: the mean prediction of each bag is fitted to its proportions.

    The loss is that of :class:`DLLP` with a linear classifier. With proportions p_i of bag i and mean predictions
    p̄_i of softmax(θ·x), the method minimizes

        −Σ_i p_i · log p̄_i + ‖θ‖² / 2C

    Few bags leave many such classifiers about equally good. The problem is therefore solved for many bootstrap
    samples of the bags, and the predicted probabilities are averaged (bagging [1]_), so that the result does not
    depend on any single one of them.

    Parameters
    ----------
    C : float, default=100.0
        Inverse of the regularization strength. The loss of each bag counts once against the penalty.
    n_resamples : int, default=100
        The number of bootstrap samples whose classifiers are averaged. 0 means a single classifier, fitted to the
        bags as they are.
    limit : float, default=3.0
        Standardized columns are squashed so that no value is further than this from the mean. An outlier or a rare
        category then cannot decide alone. None leaves the columns as they are.
    {tol: 1e-4}
    {random_state: the bootstrap samples of the bags}
    {inherited}

    Attributes
    ----------
    models_ : list of Linear
        The weights and intercepts of each classifier on the features.
    {inherited}

    See Also
    --------
    DLLP : The same loss with a network.
    MeanMap : Logistic regression on estimated class means.

    References
    ----------
    .. [1] L. Breiman, "Bagging predictors", Machine Learning 24, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import BagLogistic
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

    takes_weights: ClassVar = True
    takes_partial: ClassVar = True
    takes_bag_weights: ClassVar = True

    _parameter_constraints: ClassVar = {
        **ClassicalClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "n_resamples": [Interval(Integral, 0, None, closed="left")],
        "limit": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
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
        total = bags.n_bags if bags.bag_weights is None else bags.bag_weights.sum()
        counts = times if bags.bag_weights is None else times * bags.bag_weights
        start = Linear.zero(len(outputs_to_classes(bags.n_classes)), features.n_columns)
        loss = bag_cross_entropy(bags, counts / total)
        return fit_linear(loss, features, 1 / (self.C * total), start, tol=self.tol)

    def _features(self, instances: Array) -> Features:
        features = super()._features(instances)
        if not self.standardize or self.limit is None:
            return features
        return Features.of(bent(features.array(), self.limit))

    def each_probabilities(self, instances: Array) -> Iterator[Array]:
        """Compute the probabilities of each of the classifiers, whose mean is the prediction.

        Parameters
        ----------
        instances : ndarray of shape (n_samples, n_features)
            The encoded instances.

        Returns
        -------
        iterator of ndarray
            One array of shape (n_samples, n_classes) per classifier.
        """
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
    target, shares = weights * bags.proportions.T, _shares_of_bags(bags)

    def loss(scores: Array) -> tuple[float, Array]:
        probabilities = softmax(to_classes.T @ scores, axis=0)
        weighted = probabilities if shares is None else probabilities * shares
        sums = np.add.reduceat(weighted[:, bags.row_order], bags.starts, axis=1)
        means = np.maximum(sums / bags.sizes, _LEAST)
        if bags.known is None:
            wanted, value = target, -np.sum(target * np.log(means))
        else:
            nearest, losses = bags.known.targets_and_losses(means.T)
            wanted, value = weights * nearest.T, np.sum(weights * losses)
        slope = (-wanted / means / bags.sizes)[:, bags.bag_index]
        slope = weighted * (slope - np.sum(slope * probabilities, axis=0))
        return float(value), to_classes @ slope

    return loss


def _shares_of_bags(bags: Bags) -> Array | None:
    """How much each row counts in its bag, on average one; None where all count the same."""
    if bags.weights is None:
        return None
    return bags.weights * (bags.sizes / bags.totals)[bags.bag_index]
