"""LLPFC: bags as noisy labels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor

from llpgan.deep.losses.bag_losses import bag_means

Array = NDArray[np.float64]
_SUM_WEIGHT = 1e3  # of Σ α = 1 beside the fit to the prior: what is left of it is taken out by normalising
_RIDGE = 1e-4  # towards equal weights, where bags are alike and the fit leaves them open


def group_weights(proportions: Array, prior: Array) -> Array:
    """α on the simplex that minimises ‖Γᵀα − π‖²: the mixture of a group's bags that is most like all the data.

    Parameters
    ----------
    proportions : array of shape (n_slots, n_classes)
        Γ, the proportions of the group's bags.
    prior : array of shape (n_classes,)
        π.

    Returns
    -------
    array of shape (n_slots,)

    Examples
    --------
    >>> group_weights(np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([0.35, 0.65])).round(3)
    array([0.25, 0.75])
    """
    n = len(proportions)
    rows = np.vstack([proportions.T, np.full((1, n), _SUM_WEIGHT), _RIDGE * np.eye(n)])
    weights, _ = nnls(rows, np.concatenate([prior, [_SUM_WEIGHT], np.full(n, _RIDGE / n)]))
    return weights / weights.sum()


def transitions(proportions: Array, weights: Array) -> Array:
    """T_ij = Γ_ij α_i / (Γᵀα)_j: the chance that an instance of class j in a group is in its i-th bag.

    Parameters
    ----------
    proportions : array of shape (n_slots, n_classes)
        Γ.
    weights : array of shape (n_slots,)
        α.

    Returns
    -------
    array of shape (n_slots, n_classes)
        Columns sum to one; that of a class that the group does not have is zero.
    """
    shares = proportions * weights[:, None]
    total = shares.sum(0)
    return np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)


def grouped_targets(
    proportions: Array, prior: Array, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Every bag's row of T, and its weight K·α, after dealing the bags to groups at random.

    Where bags are left over, the last group is filled up with bags of others, whose own targets stay.

    Parameters
    ----------
    proportions : array of shape (n_bags, n_classes)
        Of at least as many bags as classes.
    prior : array of shape (n_classes,)
        π.
    rng : numpy.random.Generator
        Deals the bags.

    Returns
    -------
    rows : array of shape (n_bags, n_classes)
    weights : array of shape (n_bags,)
    """
    n_bags, n_classes = proportions.shape
    rows, weights = np.zeros((n_bags, n_classes), np.float32), np.zeros(n_bags, np.float32)
    order = rng.permutation(n_bags)
    for group in _cut_groups(order, n_classes):
        alpha = group_weights(proportions[group], prior)
        rows[group] = transitions(proportions[group], alpha)
        weights[group] = n_classes * alpha
    return rows, weights


def forward_corrected_loss(logits: Tensor, bag_index: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    """mean_i w_i · mean_j −log (t_i · f(x_ij)): the cross-entropy of the bag as a noisy label, forward-corrected.

    Parameters
    ----------
    logits : Tensor of shape (n_instances, n_classes)
        Of the network.
    bag_index : Tensor of shape (n_instances,)
        The bag of each instance.
    rows : Tensor of shape (n_bags, n_classes)
        t_i, the bag's row of T.
    weights : Tensor of shape (n_bags,)
        w_i = K·α_i, so that a group's instances count as if its bags had shares α. A bag of weight zero tells
        nothing.

    Returns
    -------
    Tensor without dimensions

    References
    ----------
    Zhang, Wang and Scott, "Learning from label proportions by learning with label noise", 2022.
    """
    counts = weights > 0
    log_rows = rows.masked_fill(~counts[:, None], 1.0).log()[bag_index]
    nll = -(logits.log_softmax(1) + log_rows).logsumexp(1)
    return (weights * bag_means(nll[:, None], bag_index, len(weights))[:, 0]).mean()


def _cut_groups(order: NDArray[np.int64], size: int) -> Sequence[NDArray[np.int64]]:
    """Groups of a size; an incomplete one comes first, filled up from the others, which then overwrite it."""
    n_whole = len(order) // size * size
    whole = list(order[:n_whole].reshape(-1, size))
    if n_whole == len(order):
        return whole
    left = order[n_whole:]
    return [np.concatenate([left, order[: size - len(left)]]), *whole]
