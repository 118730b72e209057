"""Laplacian MeanMap: class means of each bag, alike where bags are alike."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg import inv, solve
from scipy.sparse.linalg import splu

from llpgan.bags import Bags
from llpgan.estimators.bag_similarity import SIMILARITIES, Similarity
from llpgan.estimators.mean_map import MeanMap
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval, StrOptions

_RIDGE = 1e-6  # ε: the Laplacian alone is singular, and a class that no bag has would have no mean


@dataclass(kw_only=True, eq=False, repr=False)
class LaplacianMeanMap(MeanMap):
    """Laplacian mean map: class means that may differ from bag to bag.

    :class:`MeanMap` estimates one mean per class. This method estimates one mean b_ik per class and bag, and asks
    similar bags to have similar means. It minimizes

        Σ_i m_i ‖(mean of bag i) − Σ_k p_ik b_ik‖² + γ Σ_k Σ_{i<j} v_ij ‖b_ik − b_jk‖² + ε Σ ‖b_ik‖²

    and passes μ_k = Σ_i (m_i / N) p_ik b_ik to the same logistic regression. γ → ∞ gives :class:`MeanMap`. Sizes
    and similarities are divided by their means (so that the similarities of a bag sum to one on average) and
    features are centred, so that γ means the same for any data.

    Parameters
    ----------
    gamma : float, default=10.0
        The strength γ with which similar bags share their class means. Use a smaller value if bags differ in more
        than their proportions.
    similarity : {"exponential", "nearest"} or callable, default="exponential"
        The similarity v of two bags. "exponential" compares all pairs of bags and suits some thousand bags at
        most. "nearest" builds a sparse graph of the five nearest bags. A callable takes the bag means and returns
        a matrix; an example is ``functools.partial(llpgan.estimators.bag_similarity.nearest, n_neighbors=9)``.
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    MeanMap : One mean per class for all bags.
    AlternatingMeanMap : Can start from this method.

    References
    ----------
    .. [1] G. Patrini, R. Nock, P. Rivera and T. Caetano, "(Almost) No Label No Cry", Advances in Neural
       Information Processing Systems 27, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import LaplacianMeanMap
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = LaplacianMeanMap(similarity="nearest").fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    gamma: float = 10.0
    similarity: str | Similarity = "exponential"

    _parameter_constraints: ClassVar = {
        **MeanMap._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "similarity": [StrOptions(set(SIMILARITIES)), callable],
    }

    def _operator(self, bags: Bags, bag_means: Array) -> Array:
        similarity = self.similarity if callable(self.similarity) else SIMILARITIES[self.similarity]
        center = bags.totals @ bag_means / bags.totals.sum()
        roughness = self.gamma * laplacian(similarity(bag_means))
        means = bag_class_means(bag_means - center, bags.proportions, bags.totals, roughness)
        shares = bags.proportions * (bags.totals / bags.totals.sum())[:, None]
        return np.einsum("ik,ikd->kd", shares, means) + bags.prior[:, None] * center


def laplacian(similarity: Any) -> Any:
    """The graph Laplacian of a similarity, in units of a bag's mean similarity to all others; sparse if that is.

    >>> laplacian(np.array([[9.0, 2.0], [2.0, 9.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    diagonal = similarity.diagonal()
    degrees = np.asarray(similarity.sum(axis=1)).ravel() - diagonal
    unit = degrees.mean() or 1.0
    if sparse.issparse(similarity):
        return (sparse.diags_array(degrees + diagonal) - similarity) / unit
    return (np.diag(degrees + diagonal) - similarity) / unit


def bag_class_means(bag_means: Array, proportions: Array, sizes: Array, roughness: Any) -> Array:
    """(n, K, d): (ΠᵀDΠ + γL + εI)⁻¹ΠᵀD·B̄, the mean of each class in each bag (Patrini et al., 2014)."""
    weights = sizes / sizes.mean()
    if sparse.issparse(roughness):
        return _sparse_means(bag_means, proportions, weights, roughness)
    return _dense_means(bag_means, proportions, weights, roughness)


def _sparse_means(bag_means: Array, proportions: Array, weights: Array, roughness: Any) -> Array:
    """As it is written: one sparse system of n·K unknowns."""
    n_bags, n_classes = proportions.shape
    mixing = sparse.hstack([sparse.diags_array(p) for p in proportions.T])
    weighted = mixing.T @ sparse.diags_array(weights)
    smooth = sparse.block_diag([roughness + _RIDGE * sparse.eye_array(n_bags)] * n_classes)
    solution = splu((weighted @ mixing + smooth).tocsc()).solve(weighted @ bag_means)
    return solution.reshape(n_classes, n_bags, -1).swapaxes(0, 1)


def _dense_means(bag_means: Array, proportions: Array, weights: Array, roughness: Array) -> Array:
    """Through two systems of n unknowns instead of one of n·K.

    With G = (γL + εI)⁻¹ the solution is b_k = G diag(p_k) (D⁻¹ + G∘PPᵀ)⁻¹ B̄, since Π (I⊗G) Πᵀ = G∘PPᵀ.
    """
    shared = inv(roughness + _RIDGE * np.eye(len(roughness)))
    system = np.diag(1 / weights) + shared * (proportions @ proportions.T)
    dual = solve(system, bag_means, assume_a="pos")
    return np.stack([shared @ (p[:, None] * dual) for p in proportions.T], axis=1)
