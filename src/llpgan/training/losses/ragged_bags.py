"""Bags of different sizes in one tensor: sizes, whole class counts, and members merged in pairs."""

from collections.abc import Iterator

import torch
from torch import Tensor

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
    """Members that stand bag after bag, merged in pairs, level by level, without padding small bags to large ones.

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
