"""The lower bound of the paper's analysis, what it learns, and the way back from it to a classifier.

It is here to be studied. No method offers it by name, because its minimiser is not a classifier; as
``proportion_loss=proportion_bound`` it can be trained with, and :func:`undo_bound` corrects the predictions.
"""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from llpgan.training.losses.paper_losses import bag_means

Table = NDArray[np.float64]


def proportion_bound(logits: Tensor, bag_index: Tensor, proportions: Tensor) -> Tensor:
    """Compute the lower bound of the paper (eq. 6), −mean_i p_i · mean_j log f(x_ij).

    Compared with :func:`~llpgan.training.losses.proportion_loss`, log and mean are exchanged. By Jensen's
    inequality it is never below that loss. Its minimizer is not a classifier, but the prior with a 1/m part of the
    posterior: see :func:`undo_bound`.

    Parameters
    ----------
    logits : Tensor of shape (n_samples, n_classes)
        The logits of the classes.
    bag_index : Tensor of shape (n_samples,)
        The bag of each instance.
    proportions : Tensor of shape (n_bags, n_classes)
        The proportions of each bag.

    Returns
    -------
    Tensor of shape ()
        The loss.
    """
    mean_logs = bag_means(logits.log_softmax(1), bag_index, len(proportions))
    return -(proportions * mean_logs).sum(1).mean()


def bound_optimum(posterior: Table, bag_size: float, prior: Table) -> Table:
    """Compute the minimizer of the bound on random bags, η/m + (1 − 1/m)·π.

    The class of an instance is one of the m that determine the proportions of its bag; the others depend only on
    the prior.

    Parameters
    ----------
    posterior : ndarray of shape (n_samples, n_classes)
        The posterior η of each instance.
    bag_size : float
        The number m of instances of a bag.
    prior : ndarray of shape (n_classes,)
        The proportion π of each class among all instances.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The minimizer.
    """
    return posterior / bag_size + (1 - 1 / bag_size) * prior


def undo_bound(probabilities: Table, bag_size: float, prior: Table) -> Table:
    """Compute the posterior from the minimizer of the bound, m·f − (m−1)·π.

    This inverts :func:`bound_optimum`. If f is not exact, the result is clipped and normalized.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        The predictions f of a network that was trained with the bound.
    bag_size : float
        The number m of instances of a bag.
    prior : ndarray of shape (n_classes,)
        The proportion π of each class among all instances.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The posterior of each instance.

    Examples
    --------
    >>> undo_bound(np.array([[0.55, 0.45]]), bag_size=10, prior=np.array([0.5, 0.5])).round(2)
    array([[1., 0.]])
    """
    posterior = np.clip(bag_size * probabilities - (bag_size - 1) * prior, 0, 1)
    return posterior / posterior.sum(axis=1, keepdims=True)
