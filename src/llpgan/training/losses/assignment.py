"""LLP-DC: labels of a bag's members by the cheapest assignment that has the bag's counts."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from llpgan.training.losses.bag_loss import BagLoss
from llpgan.training.losses.paper_losses import proportion_loss, sampling_correction
from llpgan.training.losses.ragged_bags import bag_sizes, whole_counts
from llpgan.training.losses.transport import self_training_loss
from llpgan.training.part_settings import require_share, require_weight

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
        exact = proportion_loss(logits, bag_index, proportions)
        if full_sizes is not None:
            exact = exact - sampling_correction(logits, bag_index, proportions, full_sizes)
        if self.weight == 0:
            return exact
        labels = assigned_labels(logits, bag_index, proportions)
        targets = confident_targets(logits, labels, self.confidence)
        return exact + self.weight * self_training_loss(logits, targets)


@torch.no_grad()
def assigned_labels(logits: Tensor, bag_index: Tensor, proportions: Tensor) -> Tensor:
    """The labels with the bags' class counts that minimise −Σ_j log f_label(j)(x_j).

    A minimum-cost flow from members to classes, whose capacities are the bag's counts m·p (whole by largest
    remainder); solved as an assignment of members to places, of which each class has as many as its count.

    Parameters
    ----------
    logits, bag_index, proportions
        As in :class:`~llpgan.training.losses.bag_loss.BagLoss`.

    Returns
    -------
    Tensor of shape (n_instances,), whole numbers

    Examples
    --------
    >>> logits, bag = torch.tensor([[3.0, 0.0], [2.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 0, 0])
    >>> assigned_labels(logits, bag, torch.tensor([[2 / 3, 1 / 3]]))
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
