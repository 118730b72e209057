"""What one step of training minimises. The training loop knows only :class:`Objective`."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import Optimizer

from llpgan.training.batches import BagBatch
from llpgan.training.chunked_gradients import Instances, outputs, stride_of_features
from llpgan.training.distributed import Ranks
from llpgan.training.losses import (
    BagLoss,
    ProportionLoss,
    fake_loss,
    feature_matching,
    instance_entropy,
    log_bag_means,
    nonsaturating_loss,
    proportion_loss,
    pull_away,
    real_loss,
    sampling_correction,
    saturating_loss,
)
from llpgan.training.losses.intervals import interval_loss
from llpgan.training.losses.label_noise import forward_corrected_loss
from llpgan.training.losses.smoothness import ramp
from llpgan.training.losses.subset_shares import subset_losses
from llpgan.training.networks import Output

Losses = dict[str, Tensor]
MakeOptimiser = Callable[[list[nn.Parameter]], Optimizer]
GeneratorLoss = Callable[[Output, Output], Tensor]  # of what the classifier says of real and of fake instances
Noise = Callable[[int, int, torch.device], Tensor]  # how many, of which size, where
MOST_FAKES = 1024  # of a step: beyond that their mean features change little


class Player:
    """A network and the optimiser that trains it; what is frozen when it comes stays so.

    Parameters
    ----------
    network : Module
        To be trained.
    make_optimiser : MakeOptimiser
        From what is not frozen in it.
    fabric : Fabric
        Of the device, precision and processes.
    at_once : int, default=None
        How many instances the network sees at once; more are taken in chunks, with the same gradient.
    """

    def __init__(
        self, network: nn.Module, make_optimiser: MakeOptimiser, fabric: Fabric, at_once: int | None = None
    ) -> None:
        self.bare = network
        self.fabric = fabric
        self.ranks = Ranks(fabric)
        self.at_once = at_once
        self.trained = [p for p in network.parameters() if p.requires_grad]
        optimiser = make_optimiser(self.trained)
        self.network, self.optimiser = fabric.setup(network, optimiser)
        self.rates = [group["lr"] for group in optimiser.param_groups]

    def outputs(self, instances: Instances, n: int) -> Output:
        """What a classifier says of n instances, of which these are this process's share."""
        every, start = stride_of_features(n), self.ranks.share(n).start
        found = outputs(self.network, instances, self.at_once, every, first=-start % every)
        return Output(self.ranks.gathered(found.logits, n), self.ranks.gathered(found.features, n, every))

    def slow_to(self, share: float) -> None:
        """Learn at this share of the first learning rate from now on."""
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * share


def minimise(loss: Tensor, *players: Player, keep: bool = False) -> None:
    """These players take one step down the loss; gradients flow through the others, not into them.

    With ``keep``, others can still go down another loss of the same outputs.
    """
    for player in players:
        player.optimiser.zero_grad()
    trained = [parameter for player in players for parameter in player.trained]
    players[0].fabric.backward(loss, inputs=trained, retain_graph=keep)
    players[0].ranks.sum_gradients(trained)
    for player in players:
        player.optimiser.step()


class Objective(Protocol):
    """Players, and what they do with a batch of bags."""

    @property
    def players(self) -> Mapping[str, Player]:
        """By name, all that training changes; among them "classifier"."""

    def step(self, batch: BagBatch) -> Losses:
        """Improve every player by one step, and say what the losses were."""


@runtime_checkable
class Paced(Protocol):
    """An objective that changes as the training goes on."""

    def pace(self, progress: float) -> None:
        """Note before a step which part of the training is done, from 0 to below 1."""


@dataclass(kw_only=True, eq=False)
class ProportionObjective:
    """DLLP: the proportion loss alone, or (eq. 3) with the instances' entropy."""

    classifier: Player
    proportion_loss: ProportionLoss
    entropy_weight: float = 0.0

    @property
    def players(self) -> Mapping[str, Player]:
        """The classifier alone."""
        return {"classifier": self.classifier}

    def step(self, batch: BagBatch) -> Losses:
        """One step of the classifier."""
        with self.classifier.ranks.own_random():
            logits, _ = self.classifier.outputs(batch.instances, len(batch.bag_index))
            proportion = bag_loss(self.proportion_loss, logits, batch)
            with torch.set_grad_enabled(self.entropy_weight > 0):  # else it is only watched
                entropy = instance_entropy(logits)
            minimise(proportion + self.entropy_weight * entropy, self.classifier)
        return {"proportion_loss": proportion, "entropy": entropy}


@dataclass(kw_only=True, eq=False)
class InstanceTermObjective(ProportionObjective):
    """DLLP's step with a term on single instances, whose weight rises.

    Parameters
    ----------
    weight : float
        Of the term, when the ramp is over; with 0 this is DLLP.
    ramp_until : float
        The part of the training over which the weight rises; with 0 it is full from the start.
    """

    weight: float
    ramp_until: float
    term_name: ClassVar[str]
    _progress: float = 0.0

    def pace(self, progress: float) -> None:
        """Note which part of the training is done."""
        self._progress = progress

    def step(self, batch: BagBatch) -> Losses:
        """One step of the classifier."""
        if self.weight == 0:
            return super().step(batch)
        player = self.classifier
        with player.ranks.own_random():
            logits, _ = player.outputs(batch.instances, len(batch.bag_index))
            proportion, entropy = bag_loss(self.proportion_loss, logits, batch), instance_entropy(logits)
            term = self.instance_term(batch, logits)
            weight = self.weight * ramp(self._progress, self.ramp_until)
            minimise(proportion + self.entropy_weight * entropy + weight * term, player)
        return {"proportion_loss": proportion, "entropy": entropy, self.term_name: term}

    @abstractmethod
    def instance_term(self, batch: BagBatch, logits: Tensor) -> Tensor:
        """The term of a batch, of which the classifier says these logits."""


@dataclass(kw_only=True, eq=False)
class Game:
    """What a classifier and a generator that play against each other have in common."""

    classifier: Player
    generator: Player
    proportion_loss: ProportionLoss
    proportion_weight: float
    noise: Noise
    noise_size: int
    fakes_per_instance: float = 1.0

    @property
    def players(self) -> Mapping[str, Player]:
        """All that training changes."""
        return {"classifier": self.classifier, "generator": self.generator}

    def fakes(self, batch: BagBatch) -> Tensor:
        """So many fakes for each of the step's instances, up to a limit, and two at least, for batch norm.

        Every process makes them all, so that batch norm sees all.
        """
        n = min(max(2, round(self.fakes_per_instance * len(batch.bag_index))), MOST_FAKES)
        return self.generator.network(self.noise(n, self.noise_size, batch.proportions.device))


@dataclass(kw_only=True, eq=False)
class AdversarialObjective(Game):
    """LLP-GAN: the classifier is also the discriminator, and a generator plays against it (Algorithm 1)."""

    generator_loss: GeneratorLoss

    def step(self, batch: BagBatch) -> Losses:
        """One step of the generator, then one of the classifier with the same fakes.

        The generator goes first, against the classifier as it is, so that one pass over real and fake instances
        serves both; who begins makes no difference to players that take turns.
        """
        fakes, ranks = self.fakes(batch), self.classifier.ranks
        with ranks.own_random():
            real = self.classifier.outputs(batch.instances, len(batch.bag_index))
            fake = self.classifier.outputs(fakes[ranks.share(len(fakes))], len(fakes))
            return self._generator_step(real, fake) | self._classifier_step(batch, real, fake)

    def _generator_step(self, real: Output, fake: Output) -> Losses:
        loss = self.generator_loss(Output(*(tensor.detach() for tensor in real)), fake)
        minimise(loss, self.generator, keep=True)
        return {"generator_loss": loss}

    def _classifier_step(self, batch: BagBatch, real: Output, fake: Output) -> Losses:
        """Eq. 4: tell real from fake, and meet the proportions."""
        losses = {
            "proportion_loss": bag_loss(self.proportion_loss, real.logits, batch),
            "real_loss": real_loss(real.logits),
            "fake_loss": fake_loss(fake.logits),
        }
        adversarial = losses["real_loss"] + losses["fake_loss"]
        minimise(adversarial + self.proportion_weight * losses["proportion_loss"], self.classifier)
        return losses


def allowed_loss(logits: Tensor, batch: BagBatch) -> Tensor:
    """The loss of bags of which less is known than all shares; see :mod:`llpgan.bags.known_shares`.

    Its gradient is that of the cross-entropy with the nearest allowed shares as targets. Their own entropy, which
    has no gradient, is left out, as it is left out of the cross-entropy of known shares. Bags of which shares
    within a subset of the classes are known have the loss of these.
    """
    assert batch.known is not None
    log_posterior = logits.log_softmax(1)
    if batch.log_weights is not None:
        log_posterior = log_posterior + batch.log_weights[:, None]
    log_means = log_bag_means(log_posterior, batch.bag_index, len(batch.proportions))
    nearest = batch.known.targets(log_means.detach().double().exp().cpu().numpy())
    losses = -(torch.from_numpy(nearest).to(log_means) * log_means).sum(1)
    if batch.known.within is not None:
        within = torch.from_numpy(batch.known.within).to(log_means)
        losses = torch.where(within.isnan().all(1), losses, subset_losses(log_means, within))
    return losses.mean() if batch.bag_weights is None else (losses * batch.bag_weights).mean()


def bag_loss(loss: ProportionLoss, logits: Tensor, batch: BagBatch) -> Tensor:
    """A proportion loss of a batch; where it has samples from bags, the exact one without their bias.

    Batches made for another loss have that loss: mixed bags the interval loss, grouped bags the corrected one.
    """
    if batch.margins is not None:
        return interval_loss(logits, batch.bag_index, batch.proportions, batch.margins)
    if batch.slot_rows is not None and batch.slot_weights is not None:
        return forward_corrected_loss(logits, batch.bag_index, batch.slot_rows, batch.slot_weights)
    if batch.known is not None:
        return allowed_loss(logits, batch)
    if batch.log_weights is not None or batch.bag_weights is not None:
        return proportion_loss(logits, batch.bag_index, batch.proportions, batch.log_weights, batch.bag_weights)
    if isinstance(loss, BagLoss):
        return loss(logits, batch.bag_index, batch.proportions, batch.full_sizes)
    found = loss(logits, batch.bag_index, batch.proportions)
    if loss is not proportion_loss or batch.full_sizes is None:
        return found
    return found - sampling_correction(logits, batch.bag_index, batch.proportions, batch.full_sizes)


def uniform_noise(n: int, size: int, device: torch.device) -> Tensor:
    """Noise from the cube (−1, 1)."""
    return torch.rand(n, size, device=device) * 2 - 1


def normal_noise(n: int, size: int, device: torch.device) -> Tensor:
    """Noise from the standard normal law."""
    return torch.randn(n, size, device=device)


NOISES: dict[str, Noise] = {"uniform": uniform_noise, "normal": normal_noise}

GENERATOR_LOSSES: dict[str, GeneratorLoss] = {
    "feature_matching": lambda real, fake: feature_matching(real.features, fake.features),
    "feature_matching_pull_away": lambda real, fake: (
        feature_matching(real.features, fake.features) + pull_away(fake.features)
    ),
    "saturating": lambda real, fake: saturating_loss(fake.logits),
    "nonsaturating": lambda real, fake: nonsaturating_loss(fake.logits),
}
