"""Scores that are linear in features, and the one solver of all methods that have them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from llpgan.bags import Bags
from llpgan.utils.arrays import Array

# From scores (outputs, N) to the loss's value and its slope in each score.
Loss = Callable[[Array], tuple[float, Array]]
_MAX_ITERATIONS = 2000
_FAR = 1e4  # scales from zero: columns whose mean is further off are centred first, or sums would cancel


@dataclass(frozen=True)
class Linear:
    """Scores that are linear in the features: a row of weights and an intercept for each output."""

    weights: Array
    intercept: Array

    @classmethod
    def zero(cls, n_outputs: int, n_features: int) -> "Linear":
        """All weights and intercepts zero, from which a search can start."""
        return cls(np.zeros((n_outputs, n_features)), np.zeros(n_outputs))


@dataclass(frozen=True)
class Features:
    """Rows in one scale, (x − shift) / scale, without a copy of them: the scale goes into the weights.

    Rows are copied and centred only where a column lies so far from zero that its digits would cancel.

    >>> features = Features.of(np.array([[0.0, 1.0], [4.0, 1.0]]), shift=np.array([2.0, 1.0]), scale=2.0)
    >>> features.array()
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> features.scores(Linear(np.array([[3.0, 1.0]]), np.array([0.5])))
    array([[-2.5,  3.5]])
    """

    rows: Array
    shift: Array
    scale: Array

    @classmethod
    def of(cls, rows: Array, shift: Array | float = 0.0, scale: Array | float = 1.0) -> "Features":
        """Rows in double precision, and the same shift and scale for all columns where one number is given."""
        rows = np.asarray(rows, np.float64)
        shift, scale = np.broadcast_to(shift, rows.shape[1]), np.broadcast_to(scale, rows.shape[1])
        if np.any(np.abs(shift) > _FAR * scale):
            rows, shift = rows - shift, np.zeros_like(shift)
        return cls(rows, shift, scale)

    def __len__(self) -> int:
        return int(self.rows.shape[0])  # a sparse matrix has no length

    @property
    def n_columns(self) -> int:
        """The number of features of a row."""
        return self.rows.shape[1]

    def array(self) -> Array:
        """The features themselves, a row each."""
        centred = self.rows - self.shift
        centred /= self.scale  # in its place: a second copy of a table takes as long as the division
        return centred

    def scores(self, model: Linear) -> Array:
        """(outputs, N): the score of each row, by output."""
        weights = model.weights / self.scale
        scores = weights @ self.rows.T
        scores += (model.intercept - weights @ self.shift)[:, None]
        return scores

    def sums(self, row_weights: Array) -> Array:
        """(outputs, d): the sum of all rows of features, weighted by (outputs, N)."""
        return (row_weights @ self.rows - row_weights.sum(axis=1, keepdims=True) * self.shift) / self.scale

    def bag_means(self, bags: Bags) -> Array:
        """(n, d): the mean features of each bag."""
        return (bags.means(self.rows) - self.shift) / self.scale


def one_blas_thread() -> AbstractContextManager[object]:
    """Within it, numpy and scipy use one thread for linear algebra.

    They come with a library each, whose threads wait for each other in the many small steps of a search: on two
    cores that takes ten times as long.
    """
    return threadpool_limits(1, user_api="blas")


def fit_linear(
    loss: Loss,
    features: Features,
    penalty: float,
    start: Linear,
    *,
    pull: Linear | None = None,
    intercept: bool = True,
    tol: float = 1e-6,
) -> Linear:
    """The minimum of loss(W x + b) − ⟨pull, (W, b)⟩ + (penalty / 2) ‖W‖², found by L-BFGS.

    Parameters
    ----------
    loss : Loss
        Of the scores of all rows; convex and smooth.
    features : Features
        A row an instance.
    penalty : float
        Of the weights; the intercept has none.
    start : Linear
        The first guess. The minimum found is never above it.
    pull : Linear, default=None
        A linear reward, such as the mean operator of logistic regression.
    intercept : bool, default=True
        False keeps the start's intercept.
    tol : float, default=1e-06
        The largest slope that counts as zero.
    """
    shape, n_weights = start.weights.shape, start.weights.size

    def unpack(flat: Array) -> Linear:
        return Linear(flat[:n_weights].reshape(shape), flat[n_weights:])

    def objective(flat: Array) -> tuple[float, Array]:
        at = unpack(flat)
        value, slope = loss(features.scores(at))
        weight_slope = features.sums(slope) + penalty * at.weights
        intercept_slope = slope.sum(axis=1) * intercept
        value += penalty / 2 * float(np.sum(at.weights**2))
        if pull is not None:
            value -= float(np.sum(pull.weights * at.weights) + pull.intercept @ at.intercept)
            weight_slope -= pull.weights
            intercept_slope -= pull.intercept
        return value, np.append(weight_slope, intercept_slope)

    options = {"gtol": tol, "ftol": 0.0, "maxiter": _MAX_ITERATIONS, "maxfun": 2 * _MAX_ITERATIONS}
    first = np.append(start.weights, start.intercept)
    return unpack(minimize(objective, first, jac=True, method="L-BFGS-B", options=options).x)
