"""The entropy of single predictions (eq. 3 of the paper)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from llpgan.training.batches import BagBatch
from llpgan.training.instance_terms.instance_term import InstanceTerm
from llpgan.training.losses import instance_entropy
from llpgan.training.players import Player


@dataclass(frozen=True, kw_only=True, repr=False)
class Entropy(InstanceTerm):
    """The mean entropy of the predictions for single instances, which makes them surer.

    Parameters
    ----------
    weight : float, default=0.1
        The weight of the term. It is multiplied by the mean size of the bags beside losses that grow with them.
    ramp_until : float, default=0.0
        The part of the training after which the weight is full.
    """

    weight: float = 0.1

    column: ClassVar[str] = "entropy"

    def __call__(self, classifier: Player, batch: BagBatch, logits: Tensor) -> Tensor:
        """See :class:`InstanceTerm`."""
        return instance_entropy(logits)
