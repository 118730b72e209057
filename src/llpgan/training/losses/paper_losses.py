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

ProportionLoss = Callable[[Tensor, Tensor, Tensor], Tensor]


def log_bag_means(log_values: Tensor, bag_index: Tensor, n_bags: int) -> Tensor:
    """log of the mean of exp(log_values) over each bag: ``(N, K)`` to ``(n_bags, K)``, for ragged bags."""
    index = bag_index[:, None].expand_as(log_values)
    empty = log_values.new_full((n_bags, log_values.shape[1]), -torch.inf)
    peak = empty.scatter_reduce(0, index, log_values.detach(), "amax")
    total = torch.zeros_like(empty).index_add(0, bag_index, (log_values - peak[bag_index]).exp())
    return total.log() + peak - _sizes(bag_index, log_values, n_bags).log()


def bag_means(values: Tensor, bag_index: Tensor, n_bags: int) -> Tensor:
    """The mean of each bag's rows: ``(N, K)`` to ``(n_bags, K)``, for ragged bags."""
    total = values.new_zeros(n_bags, values.shape[1]).index_add(0, bag_index, values)
    return total / _sizes(bag_index, values, n_bags)


def proportion_loss(
    logits: Tensor,
    bag_index: Tensor,
    proportions: Tensor,
    log_weights: Tensor | None = None,
    bag_weights: Tensor | None = None,
) -> Tensor:
    """Exact cross-entropy of bags, L_prop: −mean_i p_i · log p̄_i, where p̄_i is the bag's mean posterior.

    ``log_weights`` are the logarithms of the instances' weights, whose mean in each bag is one; ``bag_weights``
    say how much each bag counts in the mean.
    """
    log_posterior = logits.log_softmax(1)
    if log_weights is not None:
        log_posterior = log_posterior + log_weights[:, None]
    log_means = log_bag_means(log_posterior, bag_index, len(proportions))
    losses = -(proportions * log_means).sum(1)
    return losses.mean() if bag_weights is None else (losses * bag_weights).mean()


def sampling_correction(logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor) -> Tensor:
    """By how much :func:`proportion_loss` of samples from bags is above that of the bags, to second order.

    The log of a sample's mean p̄ lies below that of the bag's, since log is concave: by σ²(1 − s/m) / (2 s p̄²) for
    a sample of s of m without replacement. Left in, that pulls each sample, and so each instance, to the bag's
    proportions: the trap of :func:`~llpgan.training.losses.proportion_bound`, which is a sample of one.
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
    """E_in (eq. 3): the mean entropy of the instances' posteriors."""
    log_posterior = logits.log_softmax(1)
    return -(log_posterior.exp() * log_posterior).sum(1).mean()


def real_loss(logits: Tensor) -> Tensor:
    """−mean log P(y ≤ K | x): how little the discriminator takes these instances for real."""
    return F.softplus(-logits.logsumexp(1)).mean()


def fake_loss(logits: Tensor) -> Tensor:
    """−mean log P(K+1 | x): how little the discriminator takes these instances for fake."""
    return F.softplus(logits.logsumexp(1)).mean()


def saturating_loss(fake_logits: Tensor) -> Tensor:
    """The paper's own objective of the generator (eq. 12), before feature matching: mean log P(K+1 | G(z))."""
    return -fake_loss(fake_logits)


def nonsaturating_loss(fake_logits: Tensor) -> Tensor:
    """−mean log P(y ≤ K | G(z)): the same aim, with a gradient also where the discriminator is sure."""
    return real_loss(fake_logits)


def feature_matching(real_features: Tensor, fake_features: Tensor) -> Tensor:
    """L(G): the squared distance of mean features, as a mean over features so that width does not matter."""
    return (real_features.mean(0) - fake_features.mean(0)).square().mean()


def pull_away(features: Tensor) -> Tensor:
    """The mean squared cosine between features of different instances: it keeps fakes apart."""
    n = len(features)
    directions = F.normalize(features, dim=1)
    cosines = directions @ directions.T
    others = cosines - torch.diag_embed(cosines.diagonal())
    return others.square().sum() / (n * (n - 1))


def _sizes(bag_index: Tensor, like: Tensor, n_bags: int) -> Tensor:
    return torch.bincount(bag_index, minlength=n_bags).to(like.dtype)[:, None]
