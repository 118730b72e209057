"""LLP-DC's term: labels that have the counts of the bags are learned, on another view of the instances."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from llpgan.training.augmentation import AUGMENTATIONS, Augment, named_augmentation
from llpgan.training.batches import BagBatch
from llpgan.training.chunked_gradients import changed
from llpgan.training.instance_terms.instance_term import InstanceTerm
from llpgan.training.instance_terms.network_modes import statistics_kept
from llpgan.training.losses.assignment import LARGEST_BAG, assigned_labels, confident_targets
from llpgan.training.losses.transport import self_training_loss, transport_plan
from llpgan.training.part_settings import require, require_share, require_truth
from llpgan.training.players import Player


@dataclass(frozen=True, kw_only=True, repr=False)
class SelfTraining(InstanceTerm):
    """The cross-entropy of labels that the network gave to its instances itself, with the counts of their bags.

    Parameters
    ----------
    weight : float, default=0.5
        The weight of the term. It is multiplied by the mean size of the bags beside losses that grow with them.
    ramp_until : float, default=0.0
        The part of the training after which the weight is full.
    soft : bool, default=False
        Whether labels are probabilities whose mean meets the proportions of the bag, instead of one class for each
        instance.
    confidence : float, default=0.6
        The smallest predicted probability of a label that is learned. Soft labels are all learned.
    view : {"shifts", "shifts_and_flips", "distortions", "distortions_and_flips"} or callable, default=None
        The random change of the instances on which labels are learned. None means the same instances.
    """

    weight: float = 0.5
    soft: bool = False
    confidence: float = 0.6
    view: str | Augment | None = None

    column: ClassVar[str] = "self_training_loss"
    needs_proportions: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_truth("soft", self.soft)
        require_share("confidence", self.confidence)
        known = self.view is None or callable(self.view) or self.view in list(AUGMENTATIONS)
        require(known, "view", self.view, f"a function, or one of {', '.join(AUGMENTATIONS)}")

    @property
    def sees_instances_again(self) -> bool:
        """If there is a view."""
        return self.view is not None

    @property
    def largest_bag(self) -> int | None:
        """Of assignments; soft labels have no limit."""
        return None if self.soft else LARGEST_BAG

    def __call__(self, classifier: Player, batch: BagBatch, logits: Tensor) -> Tensor:
        """See :class:`InstanceTerm`."""
        targets = self.targets(logits.detach(), batch.bag_index, batch.proportions)
        return self_training_loss(self._on_view(classifier, batch, logits), targets)

    def targets(self, logits: Tensor, bag_index: Tensor, proportions: Tensor) -> Tensor:
        """Make labels from predictions and the proportions of bags.

        Soft ones are posteriors, with the odds of classes changed so that their mean meets the proportions.

        Parameters
        ----------
        logits : Tensor of shape (n_instances, n_classes)
            What the classifier says of the instances.
        bag_index : Tensor of shape (n_instances,)
            The bag of each instance.
        proportions : Tensor of shape (n_bags, n_classes)
            The class shares of each bag.

        Returns
        -------
        Tensor of shape (n_instances, n_classes)
            Rows sum to one, or to zero for an instance that is left out.
        """
        if self.soft:
            return transport_plan(logits, bag_index, proportions, relaxation=float("inf"))
        return confident_targets(logits, assigned_labels(logits, bag_index, proportions), self.confidence)

    def check(self, instances: Tensor) -> None:
        """Refuse a view that does not suit the instances.

        Parameters
        ----------
        instances : Tensor
            Some of the instances.
        """
        named_augmentation("view", self.view, instances)

    def _on_view(self, classifier: Player, batch: BagBatch, logits: Tensor) -> Tensor:
        """What the classifier says of the changed instances; batch norm keeps the statistics of the others."""
        if self.view is None:
            return logits
        view = AUGMENTATIONS[self.view] if isinstance(self.view, str) else self.view
        with statistics_kept(classifier.bare):
            return classifier.outputs(changed(batch.instances, view), len(logits))[0]
