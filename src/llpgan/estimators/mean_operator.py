"""Class means and the mean operator: what a logistic regression needs of the labels, found from bags alone."""

import numpy as np
from scipy.special import softmax

from llpgan.bags import Bags
from llpgan.estimators.linear_scores import Features, Linear, fit_linear
from llpgan.utils.arrays import Array

_HOPELESS = 1e8


def mixing_condition(bags: Bags) -> float:
    """The condition number of ΠᵀDΠ, proportions weighted by size: how much the bags tell the classes apart.

    It is near the bags' size for bags drawn at random, and infinite for bags that all have the same proportions;
    those are refused.
    """
    weighted = bags.proportions * np.sqrt(bags.totals)[:, None]
    singular = np.linalg.svd(weighted, compute_uv=False)
    lacking = bags.n_bags < bags.n_classes or singular[-1] == 0
    condition = np.inf if lacking else float((singular[0] / singular[-1]) ** 2)
    if condition > _HOPELESS:
        raise ValueError(_why_hopeless(bags, condition))
    return condition


def class_means(bag_means: Array, proportions: Array, sizes: Array) -> Array:
    """(K, d): the least squares solution of bag mean = Σ_k p_k · class mean, bags weighted by size.

    That is (ΠᵀDΠ)⁻¹ΠᵀD·B̄ (Quadrianto et al., 2009).

    >>> class_means(np.array([[1.0], [3.0]]), np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([2, 1])).round(6)
    array([[-1.],
           [ 3.]])
    """
    weights = np.sqrt(sizes)[:, None]
    return np.linalg.lstsq(weights * proportions, weights * bag_means, rcond=None)[0]


def fit_log_partition(
    features: Features,
    operator: Array,
    prior: Array,
    C: float,
    tol: float,
    start: Linear | None = None,
    weights: Array | None = None,
) -> Linear:
    """Logistic regression from the mean operator instead of labels.

    Minimises mean_j log Σ_k exp(θ_k·x_j + b_k) − Σ_k (θ_k·μ_k + b_k π_k) + ‖θ‖² / (2CN). With μ of true labels
    that is scikit-learn's ``LogisticRegression(C=C)``: two classes have one vector θ, K > 2 have K.

    Parameters
    ----------
    features : Features
        Of all instances.
    operator : ndarray
        The mean operator, (K, d): the mean over all instances of x·1[y = k].
    prior : ndarray
        The share of each class.
    C : float
        Inverse strength of the penalty.
    tol : float
        The largest slope that counts as zero.
    start : Linear, default=None
        The first guess.
    weights : ndarray, default=None
        Of the instances. None means that all count the same.
    """
    n_rows = len(features)
    total = n_rows if weights is None else float(weights.sum())
    times = np.ones(n_rows) if weights is None else weights * (n_rows / total)
    to_classes = outputs_to_classes(len(prior))

    def log_partition(scores: Array) -> tuple[float, Array]:
        logits = to_classes.T @ scores
        highest = logits.max(axis=0)
        odds = np.exp(logits - highest)
        sums = odds.sum(axis=0)
        value = float(np.mean(times * (np.log(sums) + highest)))
        return value, to_classes @ (odds / sums * times) / n_rows

    # Operators from bags need not add up to the mean instance, as those from labels do; K > 2 outputs would drift.
    mean = features.sums(times[None] / n_rows)
    consistent = operator - (operator.sum(axis=0) - mean) / len(prior)
    pull = Linear(to_classes @ consistent, to_classes @ prior)
    first = start or Linear.zero(len(to_classes), features.n_columns)
    return fit_linear(log_partition, features, 1 / (C * total), first, pull=pull, tol=tol)


def class_scores(model: Linear, features: Features) -> Array:
    """(N, K): log-probabilities, up to a constant a row."""
    n_classes = max(2, len(model.intercept))
    return (outputs_to_classes(n_classes).T @ features.scores(model)).T


def class_probabilities(model: Linear, features: Features) -> Array:
    """(N, K): the softmax of the scores."""
    return np.asarray(softmax(class_scores(model, features), axis=1))


def outputs_to_classes(n_classes: int) -> Array:
    """Two classes share one output, their log-odds; more have one each."""
    return np.array([[-0.5, 0.5]]) if n_classes == 2 else np.eye(n_classes)


def _why_hopeless(bags: Bags, condition: float) -> str:
    spread = float(np.ptp(bags.proportions, axis=0).max())
    return (
        f"the bags cannot tell the classes apart: their proportions' system has condition number {condition:.3g}, "
        f"beyond {_HOPELESS:.0e}. There must be at least as many bags as classes (here {bags.n_bags} bags, "
        f"{bags.n_classes} classes), whose proportions differ (here by {spread:.3g} at most), for every class "
        f"apart from the others"
    )
