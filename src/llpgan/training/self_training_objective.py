"""LLP-DC's step: the proportions are met, and labels that have the bags' counts are learned on another view."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor

from llpgan.training.augmentation import Augment
from llpgan.training.batches import BagBatch
from llpgan.training.chunked_gradients import changed
from llpgan.training.losses.assignment import assigned_labels, confident_targets
from llpgan.training.losses.transport import self_training_loss, transport_plan
from llpgan.training.objectives import InstanceTermObjective
from llpgan.training.smooth_objective import statistics_kept

MakeTargets = Callable[[Tensor, Tensor, Tensor], Tensor]  # from logits, bag index and proportions


@dataclass(kw_only=True, eq=False)
class SelfTrainingObjective(InstanceTermObjective):
    """DLLP's step with the cross-entropy of labels that the network gave to its instances itself.

    Parameters
    ----------
    targets : MakeTargets
        Makes the labels of the step's instances, from predictions for them as they are.
    view : Augment, optional
        Changes the instances on which the labels are learned; None if they are learned on the same instances.
    """

    targets: MakeTargets
    view: Augment | None = None
    term_name: ClassVar[str] = "self_training_loss"

    def instance_term(self, batch: BagBatch, logits: Tensor) -> Tensor:
        """The cross-entropy of the labels."""
        targets = self.targets(logits.detach(), batch.bag_index, batch.proportions)
        return self_training_loss(self._on_view(batch, logits), targets)

    def _on_view(self, batch: BagBatch, logits: Tensor) -> Tensor:
        """What the classifier says of the changed instances; batch norm keeps the statistics of the others."""
        if self.view is None:
            return logits
        with statistics_kept(self.classifier.bare):
            return self.classifier.outputs(changed(batch.instances, self.view), len(logits))[0]


def assigned_targets(confidence: float) -> MakeTargets:
    """LLP-DC's labels: the cheapest assignment with the bags' counts, where the network is this sure of it."""

    def targets(logits: Tensor, bag_index: Tensor, proportions: Tensor) -> Tensor:
        return confident_targets(logits, assigned_labels(logits, bag_index, proportions), confidence)

    return targets


def transported_targets() -> MakeTargets:
    """Soft labels: posteriors, with the odds of classes changed so that their mean meets the proportions."""
    return partial(transport_plan, relaxation=float("inf"))
