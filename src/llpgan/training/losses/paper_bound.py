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
    """The paper's bound in Ṽ (eq. 6), log and mean swapped: −mean_i p_i · mean_j log f(x_ij).

    By Jensen it is never below :func:`~llpgan.training.losses.proportion_loss`. Its minimiser is not a classifier
    but the prior with a 1/m part of signal: see :func:`undo_bound`.
    """
    mean_logs = bag_means(logits.log_softmax(1), bag_index, len(proportions))
    return -(proportions * mean_logs).sum(1).mean()


def bound_optimum(posterior: Table, bag_size: float, prior: Table) -> Table:
    """η/m + (1 − 1/m)·π: what minimises the bound on random bags of m instances, where η is the posterior.

    An instance's own class is one of the m that its bag's proportions tell of; the rest tell only the prior.
    """
    return posterior / bag_size + (1 - 1 / bag_size) * prior


def undo_bound(probabilities: Table, bag_size: float, prior: Table) -> Table:
    """m·f − (m−1)·π, the inverse of :func:`bound_optimum`; clipped and renormalised where f is not exact.

    >>> undo_bound(np.array([[0.55, 0.45]]), bag_size=10, prior=np.array([0.5, 0.5])).round(2)
    array([[1., 0.]])
    """
    posterior = np.clip(bag_size * probabilities - (bag_size - 1) * prior, 0, 1)
    return posterior / posterior.sum(axis=1, keepdims=True)
