"""LLP-VAT's term: predictions stay as they are where instances change a little."""

from dataclasses import dataclass
from math import prod, sqrt
from typing import ClassVar, cast

from torch import Tensor, nn

from llpgan.training.batches import BagBatch
from llpgan.training.chunked_gradients import changed
from llpgan.training.input_scaling import Scaling
from llpgan.training.instance_terms.instance_term import InstanceTerm
from llpgan.training.instance_terms.network_modes import statistics_kept, without_chance
from llpgan.training.losses.smoothness import adversarial_changes, divergence
from llpgan.training.part_settings import is_number, require
from llpgan.training.players import Player

_SHARE = 0.1  # of each feature's unit: of 3,072 that makes a length of 5.5, where the authors have 6


@dataclass(frozen=True, kw_only=True, repr=False)
class Smoothness(InstanceTerm):
    """The divergence of predictions on instances that an adversary changed from those on the instances.

    Parameters
    ----------
    weight : float, default=0.05
        The weight of the term. It is multiplied by the mean size of the bags beside losses that grow with them.
    ramp_until : float, default=0.4
        The part of the training after which the weight is full.
    length : float, default=None
        The length of the change in the range of the networks: pixels in [−1, 1], columns with deviation 1. None
        means a tenth of the square root of the number of features.
    probe : float, default=0.01
        The length of the step by which the change is found.
    """

    weight: float = 0.05
    ramp_until: float = 0.4
    length: float | None = None
    probe: float = 0.01

    column: ClassVar[str] = "smoothness"

    def __post_init__(self) -> None:
        super().__post_init__()
        is_length = self.length is None or (is_number(self.length) and self.length > 0)
        require(is_length, "length", self.length, "a number above 0, or None")
        require(is_number(self.probe) and self.probe > 0, "probe", self.probe, "a number above 0")

    @property
    def sees_instances_again(self) -> bool:
        """As an adversary changes them."""
        return True

    def __call__(self, classifier: Player, batch: BagBatch, logits: Tensor) -> Tensor:
        """See :class:`InstanceTerm`."""

        def adversary(instances: Tensor) -> Tensor:
            return self.adversarial(classifier.bare, instances)

        with statistics_kept(classifier.bare):
            there, _ = classifier.outputs(changed(batch.instances, adversary), len(logits))
        return divergence(logits.detach(), there)

    def adversarial(self, network: nn.Module, instances: Tensor) -> Tensor:
        """Change instances as an adversary would.

        Changes are found in single precision, also where training is in bfloat16, which does not tell so small
        changes apart. Instances in chunks are changed when they are read, alike in both passes.

        Parameters
        ----------
        network : Module
            The classifier, whose first layer scales instances.
        instances : Tensor
            Instances as they come, such as bytes of images.

        Returns
        -------
        Tensor
            The changed instances, as floating-point numbers.
        """
        as_floats = instances if instances.is_floating_point() else instances.float()
        length = self.length or _SHARE * sqrt(prod(instances.shape[1:]))
        scaling = cast(Scaling, cast(nn.Sequential, network)[0])
        with without_chance(network):
            changes = adversarial_changes(lambda x: network(x)[0], as_floats, length, self.probe, scaling.spread)
        return as_floats + changes.detach()
