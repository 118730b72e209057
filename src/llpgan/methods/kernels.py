"""Kernels, exact or by Nyström features."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy.linalg import eigh
from sklearn.metrics.pairwise import pairwise_kernels

from llpgan.utils.arrays import Array

# From rows (a, d) and (b, d) to inner products (a, b).
Kernel = Callable[[Array, Array], Array]
_MEMORY_LIMIT = 2**32
_NULL = 1e-10
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NamedKernel:
    """One of scikit-learn's kernels by its name, with its settings; those it does not have are not used.

    >>> NamedKernel("rbf", gamma=0.5, degree=3, coef0=0.0)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(3)
    array([[1.   , 0.135]])
    """

    name: str
    gamma: float
    degree: float
    coef0: float

    def __call__(self, rows: Array, others: Array) -> Array:
        """The kernel of each row and each of the others."""
        settings = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return np.asarray(pairwise_kernels(rows, others, metric=self.name, filter_params=True, **settings))


@dataclass(frozen=True)
class OwnKernel:
    """A kernel of the user's own, whose matrices are checked."""

    function: Kernel

    def __call__(self, rows: Array, others: Array) -> Array:
        """The kernel of each row and each of the others."""
        values = np.asarray(self.function(rows, others))
        wanted = len(rows), len(others)
        if values.dtype.kind not in "biuf" or values.shape != wanted:
            raise ValueError(
                f"of {len(rows)} and {len(others)} rows the kernel gave an array of shape {values.shape} and type "
                f"{values.dtype}, not numbers of shape {wanted}"
            )
        if not np.isfinite(values).all():
            row, other = np.argwhere(~np.isfinite(values))[0].tolist()
            raise ValueError(f"the kernel of rows {row} and {other} is {values[row, other]}: it must be finite")
        return values.astype(np.float64, copy=False)


def scale_gamma(features: Array, weights: Array | None = None) -> float:
    """What "scale" means to scikit-learn: 1 / (number of features · their variance), of weighted rows too."""
    if weights is None:
        return float(1 / (features.shape[1] * (features.var() or 1.0)))
    mean = np.average(features, axis=0, weights=weights).mean()
    variance = np.average((features - mean) ** 2, axis=0, weights=weights).mean()
    return float(1 / (features.shape[1] * (variance or 1.0)))


@dataclass(frozen=True)
class KernelMap:
    """Features whose inner products are the kernel: exactly, if every row is a landmark; else Nyström's."""

    kernel: Kernel
    landmarks: Array
    whitening: Array

    @classmethod
    def from_kernel(
        cls, kernel: Kernel, features: Array, n_landmarks: int | None, random_state: RandomState
    ) -> KernelMap:
        """The map of so many rows, drawn at random, as landmarks; None for all rows."""
        landmarks = features
        if n_landmarks is not None and n_landmarks < len(features):
            landmarks = features[random_state.permutation(len(features))[:n_landmarks]]
        _state_memory(len(features), len(landmarks))
        values, vectors = eigh(kernel(landmarks, landmarks))
        kept = values > _NULL * values[-1]
        return cls(kernel, landmarks, vectors[:, kept] / np.sqrt(values[kept]))

    def __call__(self, features: Array) -> Array:
        """Rows of features, one for each independent landmark."""
        return self.kernel(features, self.landmarks) @ self.whitening


def _state_memory(n_rows: int, n_landmarks: int) -> None:
    """Of the features, and of the landmarks' kernel, its eigenvectors and the solver's workspace."""
    needed = 8 * (n_rows * n_landmarks + 3 * n_landmarks**2)
    said = f"the kernel of {n_rows} rows with {n_landmarks} landmarks takes about {needed / 2**20:,.0f} MB"
    _log.info(said)
    if needed > _MEMORY_LIMIT:
        raise MemoryError(
            f"{said}, beyond {_MEMORY_LIMIT / 2**20:,.0f} MB: give n_components={_landmarks_within(n_rows)} or "
            f'less, for Nyström features of so many rows, or kernel="linear"'
        )


def _landmarks_within(n_rows: int) -> int:
    """A round number of landmarks that stays within the limit."""
    return max(10, min(1000, _MEMORY_LIMIT // (16 * n_rows) // 10 * 10))


def as_kernel(
    kernel: Any, gamma: float | str, degree: float, coef0: float, features: Array, weights: Array | None = None
) -> Kernel:
    """The kernel of an estimator's settings, by its name or as a function."""
    if callable(kernel):
        return OwnKernel(kernel)
    found = scale_gamma(features, weights) if gamma == "scale" else float(gamma)
    return NamedKernel(kernel, found, degree, coef0)
