"""The paper's equations, one pure function each, in log space.

A batch of instances comes as logits ``(N, K)`` of the K real classes. A discriminator's (K+1)-th logit, "fake",
is fixed at zero, so with z = logsumexp(logits): P(real | x) = σ(z) and P(fake | x) = σ(−z), and the softmax
over the K logits is the paper's normalised posterior. Bags may differ in size: ``bag_index`` names each
instance's bag, and ``proportions`` ``(n, K)`` has one row per bag.

>>> import torch
>>> logits, bag_index = torch.tensor([[4.0, 0.0], [0.0, 4.0]]), torch.tensor([0, 0])
>>> proportion_loss(logits, bag_index, torch.tensor([[0.5, 0.5]])).item()  # log 2: as good as it can get
0.6931...
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

#: Type of a loss of bags: from the logits of instances, the bag of each, and the proportions of bags to a scalar.
ProportionLoss = Callable[[Tensor, Tensor, Tensor], Tensor]


def log_bag_means(log_values: Tensor, bag_index: Tensor, n_bags: int) -> Tensor:
    """Compute the log of the mean of exp(log_values) over each bag.

    Parameters
    ----------
    log_values : Tensor of shape (n_samples, n_columns)
        The logarithms of the values.
    bag_index : Tensor of shape (n_samples,)
        The bag of each row. Bags may differ in size.
    n_bags : int
        The number of bags.

    Returns
    -------
    Tensor of shape (n_bags, n_columns)
        The logarithms of the means.
    """
    index = bag_index[:, None].expand_as(log_values)
    empty = log_values.new_full((n_bags, log_values.shape[1]), -torch.inf)
    peak = empty.scatter_reduce(0, index, log_values.detach(), "amax")
    total = torch.zeros_like(empty).index_add(0, bag_index, (log_values - peak[bag_index]).exp())
    return total.log() + peak - _sizes(bag_index, log_values, n_bags).log()


def bag_means(values: Tensor, bag_index: Tensor, n_bags: int) -> Tensor:
    """Compute the mean of the rows of each bag.

    Parameters
    ----------
    values : Tensor of shape (n_samples, n_columns)
        The values.
    bag_index : Tensor of shape (n_samples,)
        The bag of each row. Bags may differ in size.
    n_bags : int
        The number of bags.

    Returns
    -------
    Tensor of shape (n_bags, n_columns)
        The means.
    """
    total = values.new_zeros(n_bags, values.shape[1]).index_add(0, bag_index, values)
    return total / _sizes(bag_index, values, n_bags)


def proportion_loss(
    logits: Tensor,
    bag_index: Tensor,
    proportions: Tensor,
    log_weights: Tensor | None = None,
    bag_weights: Tensor | None = None,
) -> Tensor:
    """Compute the exact cross-entropy of bags, −mean_i p_i · log p̄_i, where p̄_i is the mean posterior of bag i.

    Parameters
    ----------
    logits : Tensor of shape (n_samples, n_classes)
        The logits of the classes.
    bag_index : Tensor of shape (n_samples,)
        The bag of each instance.
    proportions : Tensor of shape (n_bags, n_classes)
        The proportions of each bag.
    log_weights : Tensor of shape (n_samples,), default=None
        The logarithms of the weights of the instances, whose mean in each bag is one. None means equal weights.
    bag_weights : Tensor of shape (n_bags,), default=None
        The weight of each bag in the mean. None means equal weights.

    Returns
    -------
    Tensor of shape ()
        The loss.
    """
    log_posterior = logits.log_softmax(1)
    if log_weights is not None:
        log_posterior = log_posterior + log_weights[:, None]
    log_means = log_bag_means(log_posterior, bag_index, len(proportions))
    losses = -(proportions * log_means).sum(1)
    return losses.mean() if bag_weights is None else (losses * bag_weights).mean()


def sampling_correction(logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor) -> Tensor:
    """Compute the bias of :func:`proportion_loss` on samples from bags, to second order.

    The log of the mean p̄ of a sample lies below that of the bag on average, because log is concave: by σ²(1 −
    s/m) / (2 s p̄²) for a sample of s of m instances without replacement. Without correction, this pulls each
    sample, and so each instance, to the proportions of the bag. :func:`~llpgan.training.losses.proportion_bound`
    is the extreme case, a sample of one.

    Parameters
    ----------
    logits : Tensor of shape (n_samples, n_classes)
        The logits of the classes.
    bag_index : Tensor of shape (n_samples,)
        The bag of each instance.
    proportions : Tensor of shape (n_bags, n_classes)
        The proportions of each bag.
    full_sizes : Tensor of shape (n_bags,)
        The number of instances of the bags from which the samples were drawn.

    Returns
    -------
    Tensor of shape ()
        The expected difference of the losses, which is subtracted from the loss of the samples.
    """
    n_bags = len(proportions)
    log_posterior = logits.log_softmax(1)
    relative = (log_posterior - log_bag_means(log_posterior, bag_index, n_bags)[bag_index]).exp()
    sizes = _sizes(bag_index, logits, n_bags)
    unbiased = sizes / (sizes - 1).clamp(min=1)
    variance = (bag_means(relative.square(), bag_index, n_bags) - 1) * unbiased
    bias = variance * (1 - sizes / full_sizes[:, None]) / (2 * sizes)
    return (proportions * bias).sum(1).mean()


def instance_entropy(logits: Tensor) -> Tensor:
    """Compute the mean entropy of the posteriors of the instances, E_in (eq. 3).

    Parameters
    ----------
    logits : Tensor of shape (n_samples, n_classes)
        The logits of the classes.

    Returns
    -------
    Tensor of shape ()
        The mean entropy, in nats.
    """
    log_posterior = logits.log_softmax(1)
    return -(log_posterior.exp() * log_posterior).sum(1).mean()


def real_loss(logits: Tensor) -> Tensor:
    """Compute −mean log P(y ≤ K | x), the loss of the discriminator on real instances.

    Parameters
    ----------
    logits : Tensor of shape (n_samples, n_classes)
        The logits of the K real classes.

    Returns
    -------
    Tensor of shape ()
        The loss.
    """
    return F.softplus(-logits.logsumexp(1)).mean()


def fake_loss(logits: Tensor) -> Tensor:
    """Compute −mean log P(K+1 | x), the loss of the discriminator on generated instances.

    Parameters
    ----------
    logits : Tensor of shape (n_samples, n_classes)
        The logits of the K real classes.

    Returns
    -------
    Tensor of shape ()
        The loss.
    """
    return F.softplus(logits.logsumexp(1)).mean()


def saturating_loss(fake_logits: Tensor) -> Tensor:
    """Compute mean log P(K+1 | G(z)), the objective of the generator in the paper (eq. 12).

    Parameters
    ----------
    fake_logits : Tensor of shape (n_samples, n_classes)
        The logits of the generated instances.

    Returns
    -------
    Tensor of shape ()
        The loss.
    """
    return -fake_loss(fake_logits)


def nonsaturating_loss(fake_logits: Tensor) -> Tensor:
    """Compute −mean log P(y ≤ K | G(z)), which has a gradient even if the discriminator is confident.

    Parameters
    ----------
    fake_logits : Tensor of shape (n_samples, n_classes)
        The logits of the generated instances.

    Returns
    -------
    Tensor of shape ()
        The loss.
    """
    return real_loss(fake_logits)


def feature_matching(real_features: Tensor, fake_features: Tensor) -> Tensor:
    """Compute the squared distance of mean features, L(G), as a mean over features.

    Parameters
    ----------
    real_features : Tensor of shape (n_samples, n_features)
        The features of real instances.
    fake_features : Tensor of shape (n_fakes, n_features)
        The features of generated instances.

    Returns
    -------
    Tensor of shape ()
        The loss.
    """
    return (real_features.mean(0) - fake_features.mean(0)).square().mean()


def pull_away(features: Tensor) -> Tensor:
    """Compute the mean squared cosine between features of different instances.

    Parameters
    ----------
    features : Tensor of shape (n_samples, n_features)
        The features of generated instances.

    Returns
    -------
    Tensor of shape ()
        The loss.
    """
    n = len(features)
    directions = F.normalize(features, dim=1)
    cosines = directions @ directions.T
    others = cosines - torch.diag_embed(cosines.diagonal())
    return others.square().sum() / (n * (n - 1))


def _sizes(bag_index: Tensor, like: Tensor, n_bags: int) -> Tensor:
    return torch.bincount(bag_index, minlength=n_bags).to(like.dtype)[:, None]
