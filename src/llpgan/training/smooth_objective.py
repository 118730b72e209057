"""LLP-VAT's step: the proportions are met, and predictions stay as they are where instances change a little."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from llpgan.training.batches import BagBatch
from llpgan.training.chunked_gradients import changed
from llpgan.training.input_scaling import Scaling
from llpgan.training.losses.smoothness import adversarial_changes, divergence
from llpgan.training.objectives import InstanceTermObjective


@dataclass(kw_only=True, eq=False)
class SmoothObjective(InstanceTermObjective):
    """DLLP's step with the divergence of predictions on adversarially changed instances.

    Parameters
    ----------
    length, probe : float
        As in :func:`~llpgan.training.losses.smoothness.adversarial_changes`.
    scaling : Scaling
        Tells the units of the instances.
    """

    length: float
    probe: float
    scaling: Scaling
    term_name: ClassVar[str] = "smoothness"

    def instance_term(self, batch: BagBatch, logits: Tensor) -> Tensor:
        """The divergence of predictions on changed instances from those on the instances themselves."""
        with statistics_kept(self.classifier.bare):
            there, _ = self.classifier.outputs(changed(batch.instances, self._changed), len(logits))
        return divergence(logits.detach(), there)

    def _changed(self, instances: Tensor) -> Tensor:
        """Instances as an adversary would change them; of a chunk when it is read, alike in both passes.

        In single precision, also where training is in bfloat16, which does not tell so small changes apart.
        """
        network = self.classifier.bare
        as_floats = instances if instances.is_floating_point() else instances.float()
        with without_chance(network):
            changes = adversarial_changes(
                lambda x: network(x)[0], as_floats, self.length, self.probe, self.scaling.spread
            )
        return as_floats + changes.detach()


@contextmanager
def statistics_kept(network: nn.Module) -> Iterator[None]:
    """Batch norm does not take notice of what the network sees."""
    modules = (module for module in network.modules() if isinstance(module, _BatchNorm))
    norms = [norm for norm in modules if norm.track_running_stats]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True


@contextmanager
def without_chance(network: nn.Module) -> Iterator[None]:
    """The network as a function of each instance alone: without dropout, with the statistics that it has."""
    was_training = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(was_training)
