"""LLP-VAT's step: the proportions are met, and predictions stay as they are where instances change a little."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from llpgan.training.batches import BagBatch
from llpgan.training.chunked_gradients import changed
from llpgan.training.input_scaling import Scaling
from llpgan.training.losses import instance_entropy
from llpgan.training.losses.smoothness import adversarial_changes, divergence, ramp
from llpgan.training.objectives import Losses, ProportionObjective, bag_loss, minimise


@dataclass(kw_only=True, eq=False)
class SmoothObjective(ProportionObjective):
    """DLLP's step with the divergence of predictions on adversarially changed instances.

    Parameters
    ----------
    weight : float
        Of the divergence, when the ramp is over.
    ramp_until : float
        The part of the training over which the weight rises.
    length, probe : float
        As in :func:`~llpgan.training.losses.smoothness.adversarial_changes`.
    scaling : Scaling
        Tells the units of the instances.
    """

    weight: float
    ramp_until: float
    length: float
    probe: float
    scaling: Scaling
    _progress: float = 0.0

    def pace(self, progress: float) -> None:
        """Note which part of the training is done."""
        self._progress = progress

    def step(self, batch: BagBatch) -> Losses:
        """One step of the classifier."""
        if self.weight == 0:
            return super().step(batch)
        player, n = self.classifier, len(batch.bag_index)
        with player.ranks.own_random():
            logits, _ = player.outputs(batch.instances, n)
            proportion, entropy = bag_loss(self.proportion_loss, logits, batch), instance_entropy(logits)
            with statistics_kept(player.bare):
                there, _ = player.outputs(changed(batch.instances, self._changed), n)
            smoothness = divergence(logits.detach(), there)
            weight = self.weight * ramp(self._progress, self.ramp_until)
            minimise(proportion + self.entropy_weight * entropy + weight * smoothness, player)
        return {"proportion_loss": proportion, "entropy": entropy, "smoothness": smoothness}

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
