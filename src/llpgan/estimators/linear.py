"""The one solver of the linear methods: a smooth convex loss of scores that are linear in the features."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from llpgan.estimators.base import Array

# From scores (outputs, N) to the loss's value and its slope in each score.
Loss = Callable[[Array], tuple[float, Array]]
_MAX_ITERATIONS = 2000


@dataclass(frozen=True)
class Linear:
    """Scores that are linear in the features: a row of weights and an intercept for each output.

    >>> Linear(np.array([[1.0, 2.0]]), np.array([0.5])).scores(np.array([[1.0, 1.0], [0.0, 1.0]]))
    array([[3.5, 2.5]])
    """

    weights: Array
    intercept: Array

    @classmethod
    def zero(cls, n_outputs: int, n_features: int) -> "Linear":
        """Where a search starts that knows nothing."""
        return cls(np.zeros((n_outputs, n_features)), np.zeros(n_outputs))

    def scores(self, features: Array) -> Array:
        """(outputs, N): the score of each row, by output."""
        return self.weights @ features.T + self.intercept[:, None]


def fit_linear(
    loss: Loss,
    features: Array,
    penalty: float,
    start: Linear,
    *,
    pull: Linear | None = None,
    intercept: bool = True,
    tol: float = 1e-6,
) -> Linear:
    """The minimum of loss(W x + b) − ⟨pull, (W, b)⟩ + (penalty / 2) ‖W‖², found by L-BFGS.

    Args:
        loss: of the scores of all rows; convex and smooth.
        features: a row an instance.
        penalty: of the weights; the intercept has none.
        start: the first guess. The minimum found is never above it.
        pull: a linear reward, such as the mean operator of logistic regression.
        intercept: False keeps the start's intercept.
        tol: the largest slope that counts as zero.
    """
    shape = start.weights.shape

    def unpack(flat: Array) -> Linear:
        weights, bias = np.split(flat, [start.weights.size])
        return Linear(weights.reshape(shape), bias)

    def objective(flat: Array) -> tuple[float, Array]:
        at = unpack(flat)
        value, slope = loss(at.scores(features))
        weight_slope = slope @ features + penalty * at.weights
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
