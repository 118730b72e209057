"""Losses of bags: of their mean predictions, of the counts of their classes, and of squared differences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log
from typing import ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from llpgan.bags.known_shares import KnownShares
from llpgan.utils.arrays import is_finite_number, require

_NEGLIGIBLE = 80.0
NEVER = -1e30  # the log of a probability of zero; finite, so that it has a gradient, which is zero


def bag_sizes(bag_index: Tensor, n_bags: int) -> Tensor:
    """The number of instances in each bag.

    Parameters
    ----------
    bag_index : Tensor of shape (n_instances,)
        The bag of each instance.
    n_bags : int
        How many bags there are.

    Returns
    -------
    Tensor of shape (n_bags,), whole numbers
    """
    return torch.bincount(bag_index, minlength=n_bags)


def whole_counts(proportions: Tensor, sizes: Tensor) -> Tensor:
    """The number of members of each class, m·p, rounded by largest remainder where it is not whole.

    Parameters
    ----------
    proportions : Tensor of shape (n_bags, n_classes)
        The rows sum to one.
    sizes : Tensor of shape (n_bags,)
        How many members each bag has.

    Returns
    -------
    Tensor of shape (n_bags, n_classes)
        Whole numbers; each row sums to the bag's size. Of equal remainders the first class's is rounded up.

    Examples
    --------
    >>> whole_counts(torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([4]))
    tensor([[2, 1, 1]])
    """
    device = sizes.device
    proportions, sizes = proportions.detach().cpu(), sizes.cpu()  # some devices have no double precision
    exact = proportions.double() * sizes[:, None]
    below = (exact + 1e-6).floor()  # single precision puts some whole numbers a little below themselves
    missing = sizes - below.sum(1).long()
    by_remainder = torch.argsort(exact - below, dim=1, descending=True, stable=True)
    place = torch.argsort(by_remainder, dim=1)
    return (below.long() + (place < missing[:, None]).long()).to(device)


def log_sum(terms: Tensor, dim: int) -> Tensor:
    """log Σ exp over one dimension, where many terms are :data:`NEVER`.

    Terms below the largest by more than 80 count as exp(−80) of it, 2e-35: they change no digit. Exponentials of
    still smaller numbers take ten times as long, and most terms of a product would be that small.

    Parameters
    ----------
    terms : Tensor
        All finite.
    dim : int
        The dimension that is summed over.

    Returns
    -------
    Tensor
        Without that dimension.
    """
    peak = terms.detach().amax(dim, keepdim=True)
    return (terms - peak).clamp(min=-_NEGLIGIBLE).exp().sum(dim).log() + peak.squeeze(dim)


def log_of_rest(logits: Tensor) -> Tensor:
    """log(1 − f_k) of each class's posterior f = softmax(logits), without cancellation where f_k is nearly one.

    Parameters
    ----------
    logits : Tensor of shape (n_instances, n_classes)
        Of the network.

    Returns
    -------
    Tensor of shape (n_instances, n_classes)
    """
    own = torch.eye(logits.shape[1], dtype=torch.bool, device=logits.device)
    others = logits[:, None, :].masked_fill(own, -torch.inf)
    return others.logsumexp(2) - logits.logsumexp(1, keepdim=True)


def merges(sizes: Tensor, until: int = 1) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Members sorted by bag, merged in pairs, level by level, without padding small bags to large ones.

    Parameters
    ----------
    sizes : Tensor of shape (n_bags,)
        How many members each bag has, at least one.
    until : int
        Merging ends when no bag has more nodes than this.

    Yields
    ------
    left, right : Tensor
        Places of the nodes that become one. In a bag with an odd number the last has no partner: its ``right`` is
        the place behind the last node, where the caller puts a node that changes nothing.
    sizes : Tensor of shape (n_bags,)
        How many nodes each bag has after this level.

    Examples
    --------
    >>> [(left.tolist(), right.tolist()) for left, right, _ in merges(torch.tensor([3, 1]))]
    [([0, 2, 3], [1, 4, 4]), ([0, 2], [1, 3])]
    """
    while int(sizes.max()) > until:
        halved = (sizes + 1) // 2
        bag = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), halved)
        place = torch.arange(len(bag), device=sizes.device) - (halved.cumsum(0) - halved)[bag]
        start = (sizes.cumsum(0) - sizes)[bag]
        left = start + 2 * place
        right = torch.where(2 * place + 1 < sizes[bag], left + 1, int(sizes.sum()))
        yield left, right, halved
        sizes = halved


class BagLoss(ABC):
    """Base class of losses of bags with settings of their own, for the parameter ``proportion_loss`` of a method.

    Subclasses are frozen dataclasses: equal settings make equal losses, and their ``repr`` names the settings.
    """

    fewest_bags: ClassVar[int] = 1
    """How many bags a step needs to be dealt, so that none is left with too few to compare."""

    grows_with_bags: ClassVar[bool] = False
    """Whether it is about m times the cross-entropy of the mean prediction, for bags of m instances."""

    needs_whole_bags: ClassVar[bool] = False
    """Whether samples from bags (``mini_bag_size``) are not enough."""

    def largest_bag(self, n_classes: int) -> int | None:
        """Return the size of the largest bag that the loss can take.

        Parameters
        ----------
        n_classes : int
            The number of classes.

        Returns
        -------
        int or None
            The number of instances; None if there is no limit.
        """
        return None

    @abstractmethod
    def __call__(
        self, logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor | None = None
    ) -> Tensor:
        """The mean loss of the bags.

        Parameters
        ----------
        logits : Tensor of shape (n_instances, n_classes)
            Of the network.
        bag_index : Tensor of shape (n_instances,)
            The bag of each instance.
        proportions : Tensor of shape (n_bags, n_classes)
            The known class shares of each bag.
        full_sizes : Tensor of shape (n_bags,), optional
            The sizes of the bags of which the instances are samples; None if they are whole bags.

        Returns
        -------
        Tensor without dimensions
        """

    def knowing(self, prior: tuple[float, ...]) -> Self:
        """Return the loss for data with known overall proportions.

        Parameters
        ----------
        prior : tuple of float
            The proportion of each class among all instances.

        Returns
        -------
        Self
            A loss with this prior, or the same loss if it does not need one.
        """
        return self


def refuse_samples(full_sizes: Tensor | None, what: str) -> None:
    """Refuse samples from bags where a loss needs all members."""
    if full_sizes is not None:
        raise ValueError(f"{what} needs whole bags: leave mini_bag_size at None, or use another proportion_loss")


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
    return total.log() + peak - bag_sizes(bag_index, n_bags).to(total.dtype)[:, None].log()


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
    return total / bag_sizes(bag_index, n_bags).to(values.dtype)[:, None]


def proportion_loss(
    logits: Tensor,
    bag_index: Tensor,
    proportions: Tensor,
    log_weights: Tensor | None = None,
    bag_weights: Tensor | None = None,
    full_sizes: Tensor | None = None,
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
    full_sizes : Tensor of shape (n_bags,), default=None
        The sizes of the bags of which the instances are samples; the loss is then corrected by
        :func:`sampling_correction`. None means whole bags.

    Returns
    -------
    Tensor of shape ()
        The loss.
    """
    losses = -(proportions * _weighted_log_means(logits, bag_index, len(proportions), log_weights)).sum(1)
    loss = losses.mean() if bag_weights is None else (losses * bag_weights).mean()
    return loss if full_sizes is None else loss - sampling_correction(logits, bag_index, proportions, full_sizes)


def _weighted_log_means(logits: Tensor, bag_index: Tensor, n_bags: int, log_weights: Tensor | None) -> Tensor:
    log_posterior = logits.log_softmax(1)
    if log_weights is not None:
        log_posterior = log_posterior + log_weights[:, None]
    return log_bag_means(log_posterior, bag_index, n_bags)


def sampling_correction(logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor) -> Tensor:
    """Compute the bias of :func:`proportion_loss` on samples from bags, to second order.

    The log of the mean p̄ of a sample lies below that of the bag on average, because log is concave: by σ²(1 −
    s/m) / (2 s p̄²) for a sample of s of m instances without replacement. Without correction, this pulls each
    sample, and so each instance, to the proportions of the bag. :func:`~llpgan.deep.losses.proportion_bound`
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
    sizes = bag_sizes(bag_index, n_bags).to(logits.dtype)[:, None]
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


Table = NDArray[np.float64]


def proportion_bound(logits: Tensor, bag_index: Tensor, proportions: Tensor) -> Tensor:
    """Compute the lower bound of the paper (eq. 6), −mean_i p_i · mean_j log f(x_ij).

    Compared with :func:`~llpgan.deep.losses.proportion_loss`, log and mean are exchanged. By Jensen's
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


def allowed_loss(
    logits: Tensor,
    bag_index: Tensor,
    proportions: Tensor,
    share_constraints: KnownShares,
    log_weights: Tensor | None = None,
    bag_weights: Tensor | None = None,
) -> Tensor:
    """The loss of bags of which less is known than all shares; see :mod:`llpgan.bags.known_shares`.

    Its gradient is that of the cross-entropy with the nearest allowed shares as targets. Their own entropy, which
    has no gradient, is left out, as it is left out of the cross-entropy of known shares. Bags of which shares
    within a subset of the classes are known have the loss of these.
    """
    log_means = _weighted_log_means(logits, bag_index, len(proportions), log_weights)
    nearest = share_constraints.targets(log_means.detach().double().exp().cpu().numpy())
    losses = -(torch.from_numpy(nearest).to(log_means) * log_means).sum(1)
    if share_constraints.within is not None:
        within = torch.from_numpy(share_constraints.within).to(log_means)
        losses = torch.where(within.isnan().all(1), losses, subset_losses(log_means, within))
    return losses.mean() if bag_weights is None else (losses * bag_weights).mean()


def subset_losses(log_means: Tensor, within: Tensor) -> Tensor:
    """−Σ_{k in S} r_k log(p̄_k / Σ_{j in S} p̄_j) of each bag; see :mod:`llpgan.bags.known_shares`.

    Parameters
    ----------
    log_means : Tensor of shape (n_bags, n_classes)
        The logarithms of the mean predictions p̄, all finite.
    within : Tensor of shape (n_bags, n_classes)
        The shares r within the subset S, NaN outside it; rows of NaN for other bags, whose loss is zero.

    Returns
    -------
    Tensor of shape (n_bags,)

    Examples
    --------
    >>> means = torch.tensor([[0.25, 0.25, 0.5], [0.1, 0.1, 0.8]])
    >>> subset_losses(means.log(), torch.tensor([[1.0, 0.0, torch.nan]]).expand(2, 3))  # whatever the mass
    tensor([0.6931, 0.6931])
    """
    outside = within.isnan()
    left_out = outside & ~outside.all(1, keepdim=True)
    log_mass = log_means.masked_fill(left_out, -torch.inf).logsumexp(1, keepdim=True)
    return -(within.nan_to_num() * (log_means - log_mass)).sum(1)


HEADS = ("softmax", "sigmoid")
MOST_CELLS = 2e8  # of m² K, for m instances and K classes; they take 200 MB


@dataclass(frozen=True)
class CountLoss(BagLoss):
    """:func:`count_loss` with its settings.

    Parameters
    ----------
    heads : {"softmax", "sigmoid"}
        Whether the classes of an instance exclude each other, or each is predicted by itself, as LLP-PVC does.
    """

    heads: str = "softmax"

    grows_with_bags: ClassVar[bool] = True
    needs_whole_bags: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require(self.heads in HEADS, "heads", self.heads, f"one of {', '.join(HEADS)}")

    def largest_bag(self, n_classes: int) -> int:
        """See :class:`BagLoss`."""
        return largest_bag(n_classes)

    def __call__(
        self, logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor | None = None
    ) -> Tensor:
        """See :func:`count_loss`."""
        refuse_samples(full_sizes, "the count likelihood")
        return count_loss(logits, bag_index, proportions, self.heads)


def count_loss(logits: Tensor, bag_index: Tensor, proportions: Tensor, heads: str = "softmax") -> Tensor:
    """−mean_i Σ_k log P(S_ik = m_i p_ik), where S_ik is the number of members of class k, Poisson–binomial.

    Parameters
    ----------
    logits, bag_index, proportions
        As in :class:`~llpgan.deep.losses.bag_losses.BagLoss`. m·p is rounded by largest remainder where it is
        not whole.
    heads : {"softmax", "sigmoid"}
        f_k = softmax(logits)_k; or σ(logit_k − log(K − 1)), which is 1/K where all logits are zero.

    Returns
    -------
    Tensor without dimensions

    References
    ----------
    Shukla, Zeng, Ahmed and Van den Broeck, "A unified approach to count-based weakly supervised learning", 2023.

    Examples
    --------
    Two members, one of them of the first class: the chance of that is 1/2 if nothing is known of either.

    >>> round(count_loss(torch.zeros(2, 2), torch.tensor([0, 0]), torch.tensor([[0.5, 0.5]])).item(), 4)  # 2 log 2
    1.3863
    """
    sizes = bag_sizes(bag_index, len(proportions))
    _refuse_large(sizes, logits.shape[1])
    members = logits[torch.argsort(bag_index, stable=True)]
    if heads == "softmax":
        log_is, log_is_not = members.log_softmax(1), log_of_rest(members)
    else:
        odds = members - log(max(logits.shape[1] - 1, 1))
        log_is, log_is_not = F.logsigmoid(odds), F.logsigmoid(-odds)
    counts = whole_counts(proportions, sizes)
    return -log_count_probability(log_is, log_is_not, sizes, counts).sum(1).mean()


def log_count_probability(log_is: Tensor, log_is_not: Tensor, sizes: Tensor, counts: Tensor) -> Tensor:
    """log P(S_ik = counts_ik), S_ik the number of successes among a bag's independent members.

    Parameters
    ----------
    log_is, log_is_not : Tensor of shape (n_instances, n_classes)
        Log probabilities that a member is of a class, and that it is not; members are sorted by bag.
    sizes : Tensor of shape (n_bags,)
        How many members each bag has.
    counts : Tensor of shape (n_bags, n_classes)
        Whole numbers.

    Returns
    -------
    Tensor of shape (n_bags, n_classes)

    Notes
    -----
    Laws of single members are convolved in pairs, level by level, in log space: O(m²), without cancellation or
    underflow. The last convolution is computed at the wanted count alone.
    """
    laws = torch.stack([log_is_not, log_is], 2)
    nodes = sizes
    for left, right, halved in merges(sizes, until=2):
        laws, nodes = _convolve(*_both(laws, left, right)), halved
    start = nodes.cumsum(0) - nodes
    second = torch.where(nodes == 2, start + 1, len(laws))
    one, other = _both(laws, start, second)
    rest = counts[:, :, None] - torch.arange(one.shape[2], device=counts.device)
    return log_sum(one + _gather_counts(other, rest), 2)


def largest_bag(n_classes: int) -> int:
    """The size of the largest bag whose likelihood fits in memory."""
    return int((MOST_CELLS / n_classes) ** 0.5)


def _refuse_large(sizes: Tensor, n_classes: int) -> None:
    if (size := int(sizes.max())) > (most := largest_bag(n_classes)):
        raise ValueError(
            f"bag {int(sizes.argmax())} of the step has {size} instances; the count likelihood of {n_classes} "
            f"classes is for bags of up to {most}: use proportion_loss='moments' for larger ones"
        )


def _both(laws: Tensor, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """The laws at two lists of places; after the last comes the law of no members."""
    nobody = torch.full_like(laws[:1], NEVER)
    nobody[..., 0] = 0.0
    known = torch.cat([laws, nobody])
    return known[left], known[right]


def _convolve(one: Tensor, other: Tensor) -> Tensor:
    """The law of the sum: (nodes, classes, n) and the same to (nodes, classes, 2 n − 1)."""
    n = one.shape[2]
    windows = F.pad(other.flip(2), (n - 1, n - 1), value=NEVER).unfold(
        2, n, 1
    )  # the sum's counts from the top down
    return log_sum(one[:, :, None, :] + windows, 3).flip(2)


def _gather_counts(laws: Tensor, counts: Tensor) -> Tensor:
    """log P(S = count) for (nodes, classes, any number) of counts; never where there is no such count."""
    n = laws.shape[2]
    found = laws.gather(2, counts.clamp(0, n - 1))
    return torch.where((counts >= 0) & (counts < n), found, NEVER)


_NEAR_ONE = 0.01  # as near as the sum of shares must be


@dataclass(frozen=True)
class DebiasedSquareLoss(BagLoss):
    """:func:`debiased_square_loss` as a proportion loss; a step needs two bags or more."""

    fewest_bags: ClassVar[int] = 3  # an epoch dealt to steps of up to three leaves none with a single bag
    grows_with_bags: ClassVar[bool] = True
    needs_whole_bags: ClassVar[bool] = True

    def __call__(
        self, logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor | None = None
    ) -> Tensor:
        """See :func:`debiased_square_loss`."""
        refuse_samples(full_sizes, "the debiased square loss")
        return debiased_square_loss(logits, bag_index, proportions)


def debiased_square_loss(logits: Tensor, bag_index: Tensor, proportions: Tensor) -> Tensor:
    """DSQ: mean_i [m_i ‖d_i‖² − (m_i − 1) d_i · d̄_(i)] with d_i = p̄_i − p_i, and d̄_(i) the mean of the others.

    For bags of independent members its expectation is that of ‖f(x) − y‖² of single instances: m ‖d‖² exceeds it
    by (m − 1)‖E f − π‖², which the product of two bags' differences estimates without bias. The published method
    keeps a moving average of E f instead; with the other bags of the step nothing has to be kept.

    Parameters
    ----------
    logits, bag_index, proportions
        As in :class:`~llpgan.deep.losses.bag_losses.BagLoss`; two bags or more.

    Returns
    -------
    Tensor without dimensions
        May be negative, since what is subtracted is an estimate.

    Examples
    --------
    Bags of one are labels, and the loss is the squared error:

    >>> labels = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> debiased_square_loss(torch.zeros(2, 2), torch.tensor([0, 1]), labels).item()
    0.5
    """
    n_bags = len(proportions)
    if n_bags < 2:
        raise ValueError("the debiased square loss compares the bags of a step: set bags_per_step to 3 or more")
    sizes = bag_sizes(bag_index, n_bags).to(logits.dtype)[:, None]
    gaps = bag_means(logits.softmax(1), bag_index, n_bags) - proportions
    of_others = (gaps.sum(0) - gaps) / (n_bags - 1)
    return (sizes * gaps.square() - (sizes - 1) * gaps * of_others).sum(1).mean()


@dataclass(frozen=True)
class EasyLoss(BagLoss):
    """:func:`easy_square_loss` with its settings.

    Parameters
    ----------
    instance_loss : {"square"}
        EasyLLP can be written for any loss of instances. Its weights are negative for some classes, so that a loss
        without an upper bound, as the cross-entropy, has no lower bound once weighted, and training diverges.
    prior : tuple of float, optional
        π, the overall share of each class. None until the estimator fills in that of its bags.
    """

    instance_loss: str = "square"
    prior: tuple[float, ...] | None = None

    grows_with_bags: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.instance_loss != "square":
            raise ValueError(
                f"instance_loss={self.instance_loss!r}: EasyLLP's negative weights make every loss but 'square' "
                "unbounded below, and training diverges: give 'square'"
            )
        if self.prior is not None:
            are_shares = all(is_finite_number(share) and share >= 0 for share in self.prior)
            sum_to_one = are_shares and abs(sum(self.prior) - 1) < _NEAR_ONE
            require(sum_to_one, "prior", self.prior, "shares that sum to 1, or None for those of the bags")

    def knowing(self, prior: tuple[float, ...]) -> Self:
        """The loss with these overall class shares, unless it was given others."""
        if self.prior is None:
            return replace(self, prior=prior)
        n_classes = len(prior)
        require(len(self.prior) == n_classes, "prior", self.prior, f"one share for each of {n_classes} classes")
        return self

    def __call__(
        self, logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor | None = None
    ) -> Tensor:
        """See :func:`easy_square_loss`."""
        if self.prior is None:
            raise ValueError("EasyLLP needs the overall shares of the classes: give prior")
        prior = torch.tensor(self.prior, dtype=logits.dtype, device=logits.device)
        return easy_square_loss(logits, bag_index, proportions, prior, full_sizes)


def easy_square_loss(
    logits: Tensor, bag_index: Tensor, proportions: Tensor, prior: Tensor, full_sizes: Tensor | None = None
) -> Tensor:
    """EasyLLP with the squared loss: the mean over bags and members of Σ_k w_ik ‖f(x) − e_k‖².

    The weights w_i = m_i p_i − (m_i − 1) π sum to one, and are unbiased estimates of a member's label for bags
    drawn at random. As f lies in the simplex, the loss is bounded.

    Parameters
    ----------
    logits, bag_index, proportions, full_sizes
        As in :class:`~llpgan.deep.losses.bag_losses.BagLoss`. A sample keeps the weights of its bag.
    prior : Tensor of shape (n_classes,)
        π.

    Returns
    -------
    Tensor without dimensions
        May be negative, as weights may.

    References
    ----------
    Busa-Fekete, Choi, Dick, Gentile and Munoz Medina, "Easy learning from label proportions", 2023.
    """
    n_bags = len(proportions)
    sizes = bag_sizes(bag_index, n_bags) if full_sizes is None else full_sizes
    sizes = sizes.to(logits.dtype)[:, None]
    weights = sizes * proportions - (sizes - 1) * prior
    posterior = logits.softmax(1)
    lengths = bag_means(posterior.square(), bag_index, n_bags)
    means = bag_means(posterior, bag_index, n_bags)
    return (lengths - 2 * weights * means).sum(1).mean() + weights.sum(1).mean()
