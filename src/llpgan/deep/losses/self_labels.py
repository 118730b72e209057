"""Pseudo-labels that match the bags: by optimal transport (ROT) and by assignment (LLP-DC)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from llpgan.deep.losses.bag_losses import (
    BagLoss,
    bag_sizes,
    log_bag_means,
    proportion_loss,
    whole_counts,
)
from llpgan.utils.arrays import (
    is_finite_number,
    require,
    require_share,
    require_truth,
    require_weight,
    require_whole,
)

TOLERANCE = 1e-5  # of the log scales of classes, below which Sinkhorn's iteration ends


@dataclass(frozen=True)
class TransportLoss(BagLoss):
    """(1 − w) · proportion loss + w · :func:`self_training_loss` with the plan of :func:`transport_plan`.

    Parameters
    ----------
    weight : float
        w, from 0 to 1.
    hard : bool
        Whether instances get the class of the largest share of their mass, instead of all shares.
    epsilon, relaxation, n_iterations
        As in :func:`transport_plan`.
    """

    weight: float = 0.4
    hard: bool = False
    epsilon: float = 1.0
    relaxation: float = 1.0
    n_iterations: int = 50

    def __post_init__(self) -> None:
        require_share("weight", self.weight)
        require_truth("hard", self.hard)
        require(is_finite_number(self.epsilon) and self.epsilon > 0, "epsilon", self.epsilon, "a number above 0")
        prices = self.relaxation == torch.inf or (is_finite_number(self.relaxation) and self.relaxation > 0)
        require(prices, "relaxation", self.relaxation, "a number above 0, or inf")
        require_whole("n_iterations", self.n_iterations)

    def __call__(
        self, logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor | None = None
    ) -> Tensor:
        """The weighted sum of both losses."""
        exact = proportion_loss(logits, bag_index, proportions, full_sizes=full_sizes)
        if self.weight == 0:
            return exact
        plan = transport_plan(logits, bag_index, proportions, self.epsilon, self.relaxation, self.n_iterations)
        targets = harden_plan(plan) if self.hard else plan
        return (1 - self.weight) * exact + self.weight * self_training_loss(logits, targets)


@torch.no_grad()
def transport_plan(
    logits: Tensor,
    bag_index: Tensor,
    proportions: Tensor,
    epsilon: float = 1.0,
    relaxation: float = 1.0,
    n_iterations: int = 50,
) -> Tensor:
    """How each instance's mass is shared among classes, given the bag's proportions.

    In each bag the plan Q minimises

        Σ_jk Q_jk · (−log f_k(x_j)) + ε Σ_jk Q_jk (log Q_jk − 1) + τ · KL(Σ_j Q_j· ‖ p)

    over plans whose rows have mass 1/m each; by Sinkhorn's iteration in log space, a scale for each class and a
    scale for each instance in turn.

    Parameters
    ----------
    logits, bag_index, proportions
        As in :class:`~llpgan.deep.losses.bag_losses.BagLoss`.
    epsilon : float
        ε, the weight of the plan's entropy. With 1 and no relaxation the plan is the posterior, with the odds of
        classes changed alike for all members so that they match the proportions.
    relaxation : float
        τ, the price of missing the proportions; ``inf`` to match them.
    n_iterations : int
        At most so many; fewer if the scales come to rest.

    Returns
    -------
    Tensor of shape (n_instances, n_classes)
        m·Q: rows sum to one. No gradient flows through it.

    Examples
    --------
    One of the two is of the first class; the first is more likely to be it:

    >>> logits, bag = torch.tensor([[2.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 0])
    >>> transport_plan(logits, bag, torch.tensor([[0.5, 0.5]]), relaxation=torch.inf)
    tensor([[0.6225, 0.3775],
            [0.3775, 0.6225]])
    """
    n_bags = len(proportions)
    kernel = logits.log_softmax(1) / epsilon
    log_shares = proportions.to(kernel.dtype).log()
    damping = 1.0 if relaxation == torch.inf else relaxation / (relaxation + epsilon)
    scales = torch.zeros_like(log_shares).masked_fill(proportions == 0, -torch.inf)
    for _ in range(n_iterations):
        by_row = kernel - (kernel + scales[bag_index]).logsumexp(1, keepdim=True)
        following = damping * (log_shares - log_bag_means(by_row, bag_index, n_bags))
        change = (following - scales).nan_to_num(0.0).abs().max()  # −inf stays −inf
        scales = following
        if change < TOLERANCE:
            break
    return (kernel + scales[bag_index]).softmax(1)


def harden_plan(plan: Tensor) -> Tensor:
    """All mass of each instance on the class that has most of it: ``(n_instances, n_classes)`` to the same."""
    return torch.nn.functional.one_hot(plan.argmax(1), plan.shape[1]).to(plan.dtype)


def self_training_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """−mean_j q_j · log f(x_j): the cross-entropy of targets that were made from predictions.

    Parameters
    ----------
    logits, targets : Tensor of shape (n_instances, n_classes)
        Rows of targets sum to one, or to zero for an instance that is left out.

    Returns
    -------
    Tensor without dimensions
    """
    return -(targets * logits.log_softmax(1)).sum(1).mean()


LARGEST_BAG = 4096  # its table of costs takes 128 MB


@dataclass(frozen=True)
class AssignmentLoss(BagLoss):
    """Proportion loss + w · cross-entropy of the assigned labels that the network is sure of.

    Parameters
    ----------
    weight : float
        w.
    confidence : float
        Only instances whose assigned class has this posterior or more are learned from.
    """

    weight: float = 0.5
    confidence: float = 0.6

    def __post_init__(self) -> None:
        require_weight(self.weight)
        require_share("confidence", self.confidence)

    def largest_bag(self, n_classes: int) -> int:
        """See :class:`BagLoss`."""
        return LARGEST_BAG

    def __call__(
        self, logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor | None = None
    ) -> Tensor:
        """The weighted sum of both losses."""
        exact = proportion_loss(logits, bag_index, proportions, full_sizes=full_sizes)
        if self.weight == 0:
            return exact
        labels = assign_labels(logits, bag_index, proportions)
        targets = confident_targets(logits, labels, self.confidence)
        return exact + self.weight * self_training_loss(logits, targets)


@torch.no_grad()
def assign_labels(logits: Tensor, bag_index: Tensor, proportions: Tensor) -> Tensor:
    """The labels with the bags' class counts that minimise −Σ_j log f_label(j)(x_j).

    A minimum-cost flow from members to classes, whose capacities are the bag's counts m·p (whole by largest
    remainder); solved as an assignment of members to places, of which each class has as many as its count.

    Parameters
    ----------
    logits, bag_index, proportions
        As in :class:`~llpgan.deep.losses.bag_losses.BagLoss`.

    Returns
    -------
    Tensor of shape (n_instances,), whole numbers

    Examples
    --------
    >>> logits, bag = torch.tensor([[3.0, 0.0], [2.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 0, 0])
    >>> assign_labels(logits, bag, torch.tensor([[2 / 3, 1 / 3]]))
    tensor([0, 0, 1])
    """
    sizes = bag_sizes(bag_index, len(proportions))
    if int(sizes.max()) > LARGEST_BAG:
        raise ValueError(
            f"bag {int(sizes.argmax())} of the step has {int(sizes.max())} instances; assignments are for bags of "
            f"up to {LARGEST_BAG}: set mini_bag_size"
        )
    costs = -logits.log_softmax(1).cpu().double().numpy()
    counts = whole_counts(proportions, sizes).cpu().numpy()
    bags = bag_index.cpu().numpy()
    labels = np.empty(len(costs), dtype=np.int64)
    for bag, count in enumerate(counts):
        members = np.flatnonzero(bags == bag)
        places = np.repeat(np.arange(len(count)), count)
        rows, chosen = linear_sum_assignment(costs[members][:, places])
        labels[members[rows]] = places[chosen]
    return torch.from_numpy(labels).to(logits.device)


@torch.no_grad()
def confident_targets(logits: Tensor, labels: Tensor, confidence: float) -> Tensor:
    """One-hot targets; a row of zeros where the label's posterior is below ``confidence``.

    Parameters
    ----------
    logits : Tensor of shape (n_instances, n_classes)
        Of the network.
    labels : Tensor of shape (n_instances,)
        Class numbers.
    confidence : float
        The least posterior of a label that counts.

    Returns
    -------
    Tensor of shape (n_instances, n_classes)
    """
    targets = torch.nn.functional.one_hot(labels, logits.shape[1]).to(logits.dtype)
    assigned = (logits.softmax(1) * targets).sum(1, keepdim=True)
    return targets * (assigned >= confidence)
