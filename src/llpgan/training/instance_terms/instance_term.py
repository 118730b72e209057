"""What a term on single instances has to be to stand beside the loss of bags."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

from torch import Tensor

from llpgan.training.batches import BagBatch
from llpgan.training.losses.smoothness import ramp
from llpgan.training.networks.network_making import in_words
from llpgan.training.part_settings import require_share, require_weight
from llpgan.training.players import Player


@dataclass(frozen=True, kw_only=True, repr=False)
class InstanceTerm(ABC):
    """Base class of terms on single instances, for the parameter ``instance_terms`` of a deep method.

    Subclasses are frozen dataclasses: equal settings make equal terms, and their ``repr`` names the settings.

    Parameters
    ----------
    weight : float
        The weight of the term beside the loss of a bag. With 0 it is left out. Beside losses that grow with the
        bag, such as the likelihood of counts, it is multiplied by the mean size of the bags.
    ramp_until : float, default=0.0
        The part T of the training after which the weight is full. It rises as exp(−5 (1 − t/T)²), and with 0 it is
        full from the start.
    """

    weight: float
    ramp_until: float = 0.0

    column: ClassVar[str]
    """The column of ``history_`` that has the term."""

    needs_proportions: ClassVar[bool] = False
    """Whether it needs all proportions of a bag."""

    def __post_init__(self) -> None:
        require_weight(self.weight)
        require_share("ramp_until", self.ramp_until)

    def __repr__(self) -> str:
        settings = (f"{field.name}={in_words(getattr(self, field.name))}" for field in fields(self))
        return f"{type(self).__name__}({', '.join(settings)})"

    @property
    def sees_instances_again(self) -> bool:
        """Whether it shows changed instances to the classifier, beside those of which the logits are."""
        return False

    @property
    def largest_bag(self) -> int | None:
        """The size of the largest bag that it can take; None if there is no limit."""
        return None

    @abstractmethod
    def __call__(self, classifier: Player, batch: BagBatch, logits: Tensor) -> Tensor:
        """The term of a batch.

        Parameters
        ----------
        classifier : Player
            The network in training.
        batch : BagBatch
            The bags of the step.
        logits : Tensor of shape (n_instances, n_classes)
            What the classifier says of the instances of the batch.

        Returns
        -------
        Tensor without dimensions
        """

    def weight_at(self, progress: float) -> float:
        """Compute the weight at some time of the training.

        Parameters
        ----------
        progress : float
            The part of the training that is done, from 0 to 1.

        Returns
        -------
        float
            The weight, which rises until ``ramp_until``.
        """
        return self.weight * ramp(progress, self.ramp_until)

    def check(self, instances: Tensor) -> None:  # noqa: B027 (most terms suit any instances)
        """Refuse settings that do not suit the instances, before training starts.

        Parameters
        ----------
        instances : Tensor
            Some of the instances.
        """
