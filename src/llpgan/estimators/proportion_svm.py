"""What alter-∝SVM and conv-∝SVM share: features of a kernel, the SVM of given labels, and probabilities."""

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from numpy.random import RandomState
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit, xlogy
from sklearn.utils import check_random_state

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import SAME_SHARE
from llpgan.estimators.kernels import KernelMap
from llpgan.estimators.linear_scores import Features, Linear, fit_linear
from llpgan.estimators.one_vs_rest import BinaryClassifier, ProbabilityOf, Sigmoid
from llpgan.estimators.smooth_hinge import positive_part
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval

_WIDTH = 0.1  # of the hinge's rounded corner
_TOL = 1e-4
_STEEPNESS = (np.log(1e-2), np.log(1e2))


@dataclass(kw_only=True, eq=False, repr=False)
class ProportionSVM(BinaryClassifier):
    """Base class of the proportion SVMs: support vector machines whose labels are known only through the bags.

    The hinge loss is that of Chapelle (2007), with its corner rounded within 0.1 of the margin. Probabilities are
    σ(a·f(x)), with the a for which the mean probabilities of the bags match their proportions best.

    Parameters
    ----------
    epsilon : float, default=0.0
        The deviation ε from the proportion of a bag that costs nothing.
    n_components : int, default=None
        The number of rows, drawn at random, for a Nyström approximation of the kernel. None means the exact
        kernel, whose memory grows with the square of the number of rows; it is logged, and refused above 4 GB.
    {random_state: the rows of the Nyström approximation and, in :class:`AlterSVM`, the initial labels}
    {inherited}

    Attributes
    ----------
    kernel_map_ : KernelMap or None
        The map to features whose inner products are the kernel. None for the linear kernel.
    {inherited}
    """

    epsilon: float = 0.0
    n_components: int | None = None
    random_state: int | RandomState | None = None

    _parameter_constraints: ClassVar = {
        **BinaryClassifier._parameter_constraints,
        "epsilon": [Interval(Real, 0, 1, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def _learn_features(self, bags: Bags) -> Features:
        self.kernel_map_ = None
        features = super()._learn_features(bags)
        if self.kernel == "linear":
            return features
        rows = features.array()
        random = check_random_state(self.random_state)
        self.kernel_map_ = KernelMap.of(self._kernel(rows), rows, self.n_components, random)
        return Features.of(self.kernel_map_(rows))

    def _fit_binary(self, features: Features, bags: Bags, shares: Array) -> ProbabilityOf:
        """A class with the same share in every bag gets that share as its probability: the bags tell no more."""
        if np.ptp(shares) > SAME_SHARE:
            return self._separate(features, bags, shares)
        nearest = 1 / len(features)
        log_odds = logit(np.clip(shares[:1], nearest, 1 - nearest))
        return Sigmoid(Linear(np.zeros((1, features.n_columns)), log_odds))

    @abstractmethod
    def _separate(self, features: Features, bags: Bags, shares: Array) -> ProbabilityOf:
        """Learn the class of which each bag has this share, where shares differ."""

    def _features(self, instances: Array) -> Features:
        features = super()._features(instances)
        return features if self.kernel_map_ is None else Features.of(self.kernel_map_(features.array()))


def hinge(margins: Array) -> tuple[Array, Array]:
    """The rounded hinge of y·f(x), and its slope."""
    loss, slope = positive_part(1 - margins, _WIDTH)
    return loss, -slope


def fit_svm(features: Features, signs: Array, C: float, start: Linear) -> Linear:
    """The minimum of ½‖w‖² + C Σ_j hinge(y_j (w·x_j + b)), from a start that it is never above."""

    def loss(scores: Array) -> tuple[float, Array]:
        losses, slopes = hinge(signs * scores)
        return float(losses.mean()), signs * slopes / len(signs)

    return fit_linear(loss, features, 1 / (C * len(signs)), start, tol=_TOL)


def with_probabilities(model: Linear, features: Features, bags: Bags, shares: Array) -> Sigmoid:
    """The classifier with the steepness whose bag means have the least cross-entropy to the bags' shares."""
    scores = features.scores(model).T

    def cross_entropy(log_steepness: float) -> float:
        means = np.clip(bags.means(expit(np.exp(log_steepness) * scores))[:, 0], 1e-12, 1 - 1e-12)
        return float(-np.sum(xlogy(shares, means) + xlogy(1 - shares, 1 - means)))

    return Sigmoid(model, float(np.exp(minimize_scalar(cross_entropy, bounds=_STEEPNESS, method="bounded").x)))
