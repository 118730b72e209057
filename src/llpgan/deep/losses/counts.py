"""The likelihood of class counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from llpgan.deep.losses.bag_losses import (
    NEVER,
    BagLoss,
    bag_sizes,
    log_of_rest,
    log_sum,
    merges,
    refuse_samples,
    whole_counts,
)
from llpgan.utils.arrays import require

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
