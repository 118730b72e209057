"""MixBag's loss: a mixed bag's proportions are known up to a confidence interval, inside which all is well."""

from statistics import NormalDist

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llpgan.training.losses.paper_losses import log_bag_means

Array = NDArray[np.float64]


def interval_loss(logits: Tensor, bag_index: Tensor, proportions: Tensor, margins: Tensor) -> Tensor:
    """−mean_i Σ_k 1[|p̄_ik − p_ik| ≥ h_ik] · p_ik log p̄_ik.

    The proportion loss without the classes whose mean prediction lies within the margin. With margins of zero it
    is the proportion loss.

    Parameters
    ----------
    logits, bag_index, proportions
        As in :class:`~llpgan.training.losses.bag_loss.BagLoss`.
    margins : Tensor of shape (n_bags, n_classes)
        h, half the width of the interval around each proportion.

    Returns
    -------
    Tensor without dimensions

    References
    ----------
    Asanomi, Matsuo, Suehiro and Bise, "MixBag: bag-level data augmentation for learning from label proportions",
    2023.
    """
    log_means = log_bag_means(logits.log_softmax(1), bag_index, len(proportions))
    missed = (log_means.detach().exp() - proportions).abs() >= margins
    return -(torch.where(missed, proportions, 0.0) * log_means).sum(1).mean()


def mixed_proportions(
    proportions: tuple[Array, Array], taken: tuple[int, int], sizes: tuple[int, int], confidence: float
) -> tuple[Array, Array]:
    """What is known of a bag mixed from samples of two: its expected proportions, and their margins.

    A sample of g of m without replacement has class shares with the mean p and the variance p(1 − p)/g · (m −
    g)/(m − 1).

    Parameters
    ----------
    proportions : pair of arrays of shape (n_classes,)
        Of both bags.
    taken, sizes : pair of int
        How many instances each gives, of how many it has.
    confidence : float
        Of the interval, by the normal law: 0.99 for ± 2.58 standard deviations.

    Returns
    -------
    expected, margins : array of shape (n_classes,)

    Examples
    --------
    All of one bag and nothing of the other leave no doubt:

    >>> known, none = np.array([0.25, 0.75]), np.array([1.0, 0.0])
    >>> mixed_proportions((known, none), taken=(4, 0), sizes=(4, 4), confidence=0.99)
    (array([0.25, 0.75]), array([0., 0.]))
    """
    total = sum(taken)
    given, full = np.array(taken)[:, None], np.array(sizes)[:, None]
    shares = np.stack(proportions)
    variances = given * shares * (1 - shares) * (full - given) / np.maximum(full - 1, 1)
    deviations = np.sqrt(variances.sum(0)) / total
    return (given * shares).sum(0) / total, NormalDist().inv_cdf((1 + confidence) / 2) * deviations
