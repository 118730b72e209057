"""MeanMap: logistic regression, with class means that are solved for from bag means."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Self

from llpgan.bags import Bags
from llpgan.estimators.classical import ClassicalClassifier
from llpgan.estimators.linear_scores import one_blas_thread
from llpgan.estimators.mean_operator import class_means, class_probabilities, fit_log_partition, mixing_condition
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval


@dataclass(kw_only=True, eq=False, repr=False)
class MeanMap(ClassicalClassifier):
    """The mean map (Quadrianto et al., 2009): two classes or more, with an intercept.

    Logistic regression needs the labels only through the mean of x·1[y = k], the mean operator μ_k. Where bags
    differ only in their proportions, a bag's mean is Σ_k p_k · (mean of class k), a linear system in the K class
    means; its least squares solution, bags weighted by their size, gives μ_k = π_k · (mean of class k). Minimises

        Σ_j log Σ_k exp(θ_k·x_j) − N Σ_k θ_k·μ_k + ‖θ‖² / 2C

    Bags of size one (``fit`` without ``groups``) make this scikit-learn's ``LogisticRegression(C=C)``, up to the
    scale of the columns (``standardize=False`` takes them as they are).

    Args:
        C: inverse strength of the penalty, as in ``LogisticRegression``; None for 1 / ``condition_``², since the
            less the bags tell the classes apart, the noisier are the means that are solved for.
        tol: the largest slope of the mean loss that counts as zero.
        others: see :class:`~llpgan.estimators.classical.ClassicalClassifier`.

    Attributes:
        condition_: the condition number of the system: near the bags' size for bags drawn at random. A system
            that tells nothing (all bags with the same proportions, fewer bags than classes) is refused.
        model_: weights and intercepts on the features.

    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = MeanMap().fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    C: float | None = None
    tol: float = 1e-6

    takes_weights: ClassVar = True

    _parameter_constraints: ClassVar = {
        **ClassicalClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def fit_bags(self, bags: Bags) -> Self:
        """Learn from bags."""
        self._start(bags)
        self.condition_ = mixing_condition(bags)
        features = self._learn_features(bags)
        operator = self._operator(bags, features.bag_means(bags))
        with one_blas_thread():
            C = self.C or self.condition_**-2
            self.model_ = fit_log_partition(features, operator, bags.prior, C, self.tol, weights=bags.weights)
        return self._finish(bags)

    def _operator(self, bags: Bags, bag_means: Array) -> Array:
        """μ, a row a class."""
        return bags.prior[:, None] * class_means(bag_means, bags.proportions, bags.totals)

    def _probabilities(self, instances: Array) -> Array:
        return class_probabilities(self.model_, self._features(instances))
