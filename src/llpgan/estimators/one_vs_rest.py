"""Binary methods: their kernel, and how they reach more classes than two."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.metrics.pairwise import KERNEL_PARAMS

from llpgan.bags import Bags
from llpgan.estimators.classical import ClassicalClassifier
from llpgan.estimators.kernels import Kernel, as_kernel
from llpgan.estimators.linear_scores import Features, Linear, one_blas_thread
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval, StrOptions

# From features to the probability of one class against all others.
ProbabilityOf = Callable[[Features], Array]


@dataclass(kw_only=True, eq=False, repr=False)
class BinaryClassifier(ClassicalClassifier):
    """Base class of the methods for two classes.

    With more than two classes, each class is learned against all others, and the probabilities are normalized.

    Parameters
    ----------
    C : float, default=None
        The weight of the loss against ½‖w‖², as in ``SVC``. None means the default of the method.
    kernel : {"linear", "rbf", "poly", "polynomial", "sigmoid", "laplacian", "cosine", "chi2", "additive_chi2"} \
            or callable, default="linear"
        The kernel, one of :func:`sklearn.metrics.pairwise.pairwise_kernels`. A callable takes rows of shape
        ``(a, d)`` and ``(b, d)`` and returns a matrix of shape ``(a, b)``.
    gamma : float or "scale", default="scale"
        The coefficient of the kernels that have one. "scale" means 1 / (n_features · variance of the features), as
        in ``SVC``.
    degree : float, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=0.0
        The constant term of the polynomial and sigmoid kernels.
    {inherited}

    Attributes
    ----------
    binary_ : list of callable
        One function per class, from features to the probability of the class against all others. With two classes,
        there is one function, for the second class.
    {inherited}
    """

    C: float | None = None
    kernel: str | Kernel = "linear"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0

    usual_weights: ClassVar[tuple[float, float]]  # with the linear kernel, and with others

    _parameter_constraints: ClassVar = {
        **ClassicalClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "kernel": [StrOptions(set(KERNEL_PARAMS)), callable],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
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
        positives = [1] if bags.n_classes == 2 else range(bags.n_classes)
        with one_blas_thread():
            self.binary_ = [self._fit_binary(features, bags, bags.proportions[:, k]) for k in positives]
        return self._finish(bags)

    @abstractmethod
    def _fit_binary(self, features: Features, bags: Bags, shares: Array) -> ProbabilityOf:
        """Learn the class of which each bag has this share."""

    def _probabilities(self, instances: Array) -> Array:
        features = self._features(instances)
        return renormalised(np.column_stack([probability(features) for probability in self.binary_]))

    def _weight(self) -> float:
        return self.C or self.usual_weights[self.kernel != "linear"]

    def _kernel(self, features: Array, weights: Array | None = None) -> Kernel:
        return as_kernel(self.kernel, self.gamma, self.degree, self.coef0, features, weights)


def renormalised(positive: Array) -> Array:
    """(N, K): probabilities from one class's (N, 1), or from those of K classes, each against all others.

    >>> renormalised(np.array([[0.25]])), renormalised(np.array([[0.5, 0.5, 1.0]]))
    (array([[0.75, 0.25]]), array([[0.25, 0.25, 0.5 ]]))
    """
    if positive.shape[1] == 1:
        return np.hstack([1 - positive, positive])
    never_all_zero = np.maximum(positive, np.finfo(np.float64).tiny)
    return never_all_zero / never_all_zero.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Sigmoid:
    """σ(steepness · score) of a linear score."""

    model: Linear
    steepness: float = 1.0

    def __call__(self, features: Features) -> Array:
        """The probability of each row."""
        return np.asarray(expit(self.steepness * features.scores(self.model)[0]))
