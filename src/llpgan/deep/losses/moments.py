"""Moment matching."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import comb

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
    proportion_loss,
    whole_counts,
)
from llpgan.utils.arrays import require, require_whole

FORMS = ("one_vs_rest", "joint")
MOST_TERMS = 200_000  # of a sum over pairs of count vectors, for each pair of members
Counts = tuple[int, ...]


@dataclass(frozen=True)
class MomentLoss(BagLoss):
    """:func:`moment_loss` with its settings.

    Parameters
    ----------
    order : int
        R, up to how many members are drawn.
    form : {"one_vs_rest", "joint"}
        Whether the count of each class is compared by itself, or all counts together.

    Examples
    --------
    >>> sure, unsure = torch.tensor([[9.0, -9.0], [-9.0, 9.0]]), torch.zeros(2, 2)
    >>> bag, half = torch.tensor([0, 0]), torch.tensor([[0.5, 0.5]])
    >>> [round(MomentLoss(order=1)(logits, bag, half).item(), 4) for logits in (sure, unsure)]
    [0.6931, 0.6931]
    >>> [round(MomentLoss(order=2)(logits, bag, half).item(), 4) for logits in (sure, unsure)]
    [0.3466, 0.6931]
    """

    order: int = 8
    form: str = "one_vs_rest"

    def __post_init__(self) -> None:
        require_whole("order", self.order)
        require(self.form in FORMS, "form", self.form, f"one of {', '.join(FORMS)}")

    def largest_bag(self, n_classes: int) -> int | None:
        """See :class:`BagLoss`: a bag has no more orders than members, so that small ones allow any order."""
        highest = highest_order(_n_colours(n_classes, self.form))
        return None if self.order <= highest else highest

    def __call__(
        self, logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor | None = None
    ) -> Tensor:
        """See :func:`moment_loss`."""
        return moment_loss(logits, bag_index, proportions, self.order, self.form, full_sizes)


def moment_loss(
    logits: Tensor,
    bag_index: Tensor,
    proportions: Tensor,
    order: int,
    form: str = "one_vs_rest",
    full_sizes: Tensor | None = None,
) -> Tensor:
    """Mean over r = 1..R of −Σ_c H_r(c) · log P_r(c), and over bags.

    P_r is the predicted law of the class counts c among r members of the bag drawn without replacement: the mean
    over subsets of the law of independent members with the network's posteriors. H_r is the multivariate
    hypergeometric law of the bag's own counts. Order 1 is :func:`~llpgan.deep.losses.proportion_loss`. Orders
    above a bag's size are left out.

    Parameters
    ----------
    logits, bag_index, proportions
        As in :class:`~llpgan.deep.losses.bag_losses.BagLoss`.
    order : int
        R.
    form : {"one_vs_rest", "joint"}
        "joint" compares the laws of all counts together, whose number grows as R to the number of classes.
        "one_vs_rest" compares, from r = 2 on, the law of each class's count alone: Σ_k over classes, times
        (K − 1) / K, which for two classes is the joint form.
    full_sizes : Tensor of shape (n_bags,), optional
        Where the instances are samples, H_r is of the whole bags, and order 1 is freed of the sampling bias; that
        of higher orders stays.

    Returns
    -------
    Tensor without dimensions

    Notes
    -----
    P_r is a coefficient of Π_j (1 + Σ_k f_jk z_k), computed as a balanced tree of products of polynomials cut at
    degree R, in log space. All terms are positive, so nothing cancels, and single precision is enough.
    """
    sizes = bag_sizes(bag_index, len(proportions))
    order = min(order, int(sizes.max()))
    n_orders = sizes.clamp(max=order)[:, None]
    shares = proportions / n_orders  # the first order is one of so many
    first = proportion_loss(logits, bag_index, shares, full_sizes=full_sizes)
    if order == 1:
        return first
    counts = whole_counts(proportions, sizes if full_sizes is None else full_sizes)
    members = torch.argsort(bag_index, stable=True)
    colours, marks, weight = _count_colours(logits[members], counts, order, form)
    laws = log_count_laws(colours, sizes, order)
    by_order = _cross_entropies(laws, marks, order) * (torch.arange(order + 1, device=sizes.device) <= n_orders)
    return first + weight * (by_order[:, 2:].sum(1, keepdim=True) / n_orders).mean()


def log_count_laws(colours: Tensor, sizes: Tensor, order: int) -> Tensor:
    """log P_r(c) for every count vector c of up to ``order`` members of a bag, drawn without replacement, r = Σ c.

    Parameters
    ----------
    colours : Tensor of shape (n_instances, n_problems, n_colours)
        The log probability of each member's colour, in several problems at once; members are sorted by bag.
    sizes : Tensor of shape (n_bags,)
        How many members each bag has.
    order : int
        The largest number drawn.

    Returns
    -------
    Tensor of shape (n_bags, n_problems, n_vectors)
        In the order of :func:`count_vectors`. Of more members than the bag has,
        :data:`~llpgan.deep.losses.bag_losses.NEVER` or less.
    """
    n_colours = colours.shape[2]
    by_state = colours.movedim(2, 0)  # states first, so that they are picked as whole rows
    nodes = torch.cat([torch.zeros_like(by_state[:1]), by_state])
    reached = 1
    for left, right, _ in merges(sizes):
        further = min(2 * reached, order)
        one, other = _count_vector_pairs(n_colours, reached, further, colours.device)
        # behind the last, a state for vectors with fewer pairs, and a node for members without partner
        nodes = F.pad(nodes, (0, 0, 0, 1, 0, 1), value=NEVER)
        nodes[0, -1] = 0.0
        nodes = log_sum(_select_states(nodes, left, one) + _select_states(nodes, right, other), 1)
        reached = further
    wanted = len(count_vectors(n_colours, order))
    nodes = F.pad(nodes, (0, 0, 0, 0, 0, wanted - len(nodes)), value=NEVER).movedim(0, 2)
    drawn = torch.tensor([sum(vector) for vector in count_vectors(n_colours, order)])
    return nodes - _log_binomial(sizes.cpu()[:, None], drawn).clamp(min=0).to(nodes)[:, None, :]


def _select_states(nodes: Tensor, which: Tensor, states: Tensor) -> Tensor:
    """Some nodes, and of each some states: (states, nodes, problems) to (*states, which, problems)."""
    chosen = nodes.index_select(1, which).index_select(0, states.flatten())
    return chosen.view(*states.shape, *chosen.shape[1:])


@lru_cache
def count_vectors(n_colours: int, order: int) -> list[Counts]:
    """All vectors of counts with a sum up to ``order``, by their sum, so that those of a lower order come first.

    Examples
    --------
    >>> count_vectors(2, 2)
    [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    """
    return [vector for drawn in range(order + 1) for vector in _list_counts(n_colours, drawn)]


def _list_counts(n_colours: int, total: int) -> list[Counts]:
    if n_colours == 1:
        return [(total,)]
    return [(n, *rest) for n in range(total, -1, -1) for rest in _list_counts(n_colours - 1, total - n)]


@lru_cache
def _count_vector_pairs(n_colours: int, reached: int, order: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """For each count vector up to ``order``, the places of all pairs of vectors up to ``reached`` that make it.

    Both of shape (vectors, most pairs); where a vector has fewer, the place behind the last vector fills up.
    """
    parts = count_vectors(n_colours, reached)
    place = {vector: i for i, vector in enumerate(parts)}
    pairs = []
    for vector in count_vectors(n_colours, order):
        halves = product(*(range(n + 1) for n in vector))
        both = ((half, tuple(n - a for n, a in zip(vector, half, strict=True))) for half in halves)
        pairs.append([(place[a], place[b]) for a, b in both if a in place and b in place])
    most = max(map(len, pairs))
    filled = torch.full((len(pairs), most, 2), len(parts))
    for i, found in enumerate(pairs):
        filled[i, : len(found)] = torch.tensor(found)
    return filled[..., 0].to(device), filled[..., 1].to(device)


def _count_colours(logits: Tensor, counts: Tensor, order: int, form: str) -> tuple[Tensor, Tensor, float]:
    """Log posteriors as colours, the bags' counts of the colours (n_bags, n_problems, n_colours), and a weight."""
    n_classes = logits.shape[1]
    n_colours = _n_colours(n_classes, form)
    _refuse_many_terms(n_colours, order)
    log_posterior = logits.log_softmax(1)
    if n_colours == n_classes:
        return log_posterior[:, None, :], counts[:, None, :], 1.0
    others = counts.sum(1, keepdim=True) - counts
    both = torch.stack([log_posterior, log_of_rest(logits)], 2)
    return both, torch.stack([counts, others], 2), n_classes - 1.0


def _n_colours(n_classes: int, form: str) -> int:
    """How many counts are compared together: those of all classes, or of one class and the rest."""
    return n_classes if form == "joint" else 2


@lru_cache
def highest_order(n_colours: int) -> int:
    """The highest order at which so many counts can be compared together.

    Examples
    --------
    >>> highest_order(2), highest_order(10)
    (44, 5)
    """
    order = 1
    while _n_terms(n_colours, order + 1) <= MOST_TERMS:
        order += 1
    return order


def _n_terms(n_colours: int, order: int) -> int:
    """How many pairs of count vectors have a sum up to ``order``."""
    return comb(order + 2 * n_colours, order)


def _refuse_many_terms(n_colours: int, order: int) -> None:
    if order > (highest := highest_order(n_colours)):
        instead = "" if n_colours == 2 else ", or set form='one_vs_rest'"
        raise ValueError(
            f"the law of {n_colours} counts at order {order} is a sum of {_n_terms(n_colours, order):,} terms for "
            f"each pair of members, more than {MOST_TERMS:,}: lower the order to {highest}{instead}"
        )


def _cross_entropies(log_laws: Tensor, counts: Tensor, order: int) -> Tensor:
    """−mean over problems of Σ_c H_r(c) log P_r(c): (n_bags, order + 1), by r."""
    counts = counts.cpu()  # some devices have no double precision
    vectors = torch.tensor(count_vectors(counts.shape[2], order))
    drawn = vectors.sum(1)
    log_target = _log_binomial(counts[:, :, None, :], vectors).sum(3)
    log_target = log_target - _log_binomial(counts.sum(2)[:, :, None], drawn)
    possible = (drawn <= counts.sum(2)[:, :, None]) & (vectors <= counts[:, :, None, :]).all(3)
    target = torch.where(possible, log_target, -torch.inf).exp().to(log_laws)
    terms = -(target * log_laws).mean(1)
    return terms.new_zeros(len(terms), order + 1).index_add(1, drawn.to(terms.device), terms)


def _log_binomial(n: Tensor, k: Tensor) -> Tensor:
    """log C(n, k) in double precision; a finite number of no meaning where k > n."""
    n, k = n.double(), k.double()
    return torch.lgamma(n + 1) - torch.lgamma(k + 1) - torch.lgamma((n - k).clamp(min=0) + 1)
