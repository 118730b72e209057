"""What the methods without a network share: instances as rows of features in one scale."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llpgan import columns
from llpgan.bags import Bags
from llpgan.estimators.base import Array, LLPClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class ClassicalClassifier(LLPClassifier):
    """A method that learns from rows of features; images are taken as the row of their pixels.

    Args:
        standardize: bring instances to one scale first, as the deep methods do, so that units do not matter. The
            columns of a table get mean 0 and standard deviation 1 each; the pixels of images, which have one unit,
            mean 0 each and standard deviation 1 together. False takes the instances as they are, as scikit-learn's
            linear models and kernels do.
    """

    standardize: bool = True

    _parameter_constraints: ClassVar = {"standardize": ["boolean"]}

    def _learn_features(self, bags: Bags) -> Array:
        """The features of the training instances; learns what :meth:`_features` needs."""
        if self.standardize:
            self.shift_, self.scale_ = _one_scale(bags.instances)
        return self._features(bags.instances)

    def _features(self, instances: Array) -> Array:
        """The features of any instances, a row each, in double precision."""
        rows = _as_rows(instances)
        if not self.standardize:
            return np.asarray(rows, dtype=np.float64)
        features = rows.astype(np.float64)
        features -= self.shift_
        features /= self.scale_
        return features


def _one_scale(instances: Array) -> tuple[Array, Array]:
    if instances.ndim == 2:
        return columns.standard(instances)
    mean, deviation = columns.moments(_as_rows(instances))
    return mean, np.sqrt(np.mean(deviation**2)) or np.array(1.0)


def _as_rows(instances: Array) -> Array:
    return instances.reshape(len(instances), -1)
