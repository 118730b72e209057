"""What the methods without a network share: instances as rows of features in one scale."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llpgan.bags import Bags, column_scales
from llpgan.estimators.base import LLPClassifier
from llpgan.estimators.linear_scores import Features
from llpgan.utils.arrays import Array


@dataclass(kw_only=True, eq=False, repr=False)
class ClassicalClassifier(LLPClassifier):
    """Base class of the methods without a network, which learn from rows of features.

    Images are taken as rows of their pixels.

    Parameters
    ----------
    standardize : bool, default=True
        Whether to standardize the instances first, so that their units do not matter. Each column of a table is
        scaled to mean 0 and standard deviation 1, or less if rare values lie far out (see
        :func:`llpgan.bags.column_scales.steady`). The pixels of images, which share one unit, get mean 0 each and
        standard deviation 1 together. If False, the instances are used as they are, as in scikit-learn's linear
        models and kernels.

    Attributes
    ----------
    {inherited}
    shift_ : ndarray of shape (n_features,) or float
        What is subtracted from each feature.
    scale_ : ndarray of shape (n_features,) or float
        What each feature is then divided by.
    """

    standardize: bool = True

    _parameter_constraints: ClassVar = {"standardize": ["boolean"]}

    def _learn_features(self, bags: Bags) -> Features:
        """The features of the training instances; learns what :meth:`_features` needs."""
        self._learn_scales(bags)
        return self._features(bags.instances)

    def _learn_scales(self, bags: Bags) -> None:
        """What :meth:`_features` needs, without reading instances that stay in their file all at once."""
        shift, scale = _one_scale(bags.instances, bags.weights) if self.standardize else (0.0, 1.0)
        self.shift_, self.scale_ = shift, scale

    def _features(self, instances: Array) -> Features:
        """The features of any instances."""
        return Features.of(_as_rows(instances), self.shift_, self.scale_)


def _one_scale(instances: Array, weights: Array | None) -> tuple[Array, Array | float]:
    if instances.ndim == 2:
        return column_scales.steady(instances, weights)
    mean, deviation = column_scales.moments(_as_rows(instances), weights)
    return mean, float(np.sqrt(np.mean(deviation**2))) or 1.0


def _as_rows(instances: Array) -> Array:
    return np.asanyarray(instances).reshape(len(instances), -1)  # what stays in a file is read: they need all
