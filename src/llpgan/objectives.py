"""What one step of training minimises. The loop in :mod:`llpgan.training` knows only :class:`Objective`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from llpgan.loading import BagBatch
from llpgan.losses import (
    ProportionLoss,
    fake_loss,
    feature_matching,
    instance_entropy,
    nonsaturating_loss,
    pull_away,
    real_loss,
    saturating_loss,
)
from llpgan.networks import Output

Losses = dict[str, Tensor]
MakeOptimiser = Callable[[list[nn.Parameter]], Optimizer]
GeneratorLoss = Callable[[Output, Output], Tensor]  # of what the classifier says of real and of fake instances
Noise = Callable[[int, int, torch.device], Tensor]  # how many, of which size, where


class Player:
    """A network and the optimiser that trains it; what is frozen when it comes stays so."""

    def __init__(self, network: nn.Module, make_optimiser: MakeOptimiser, fabric: Fabric) -> None:
        self.bare = network
        self.fabric = fabric
        self.trained = [p for p in network.parameters() if p.requires_grad]
        optimiser = make_optimiser(self.trained)
        self.network, self.optimiser = fabric.setup(network, optimiser)
        self.rates = [group["lr"] for group in optimiser.param_groups]

    def minimise(self, loss: Tensor) -> None:
        """Take one step down the loss."""
        self.optimiser.zero_grad()
        self.fabric.backward(loss)
        self.optimiser.step()

    def slow_to(self, share: float) -> None:
        """Learn at this share of the first learning rate from now on."""
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * share

    @contextmanager
    def frozen(self) -> Iterator[nn.Module]:
        """The bare network with its parameters fixed: gradients flow through it, not into it.

        Bare, because a wrapper for several processes would wait for gradients that never come.
        """
        for parameter in self.trained:
            parameter.requires_grad_(False)
        try:
            with self.fabric.autocast():
                yield self.bare
        finally:
            for parameter in self.trained:
                parameter.requires_grad_(True)


class Objective(Protocol):
    """Players, and what they do with a batch of bags."""

    @property
    def players(self) -> Mapping[str, Player]:
        """By name, all that training changes; among them "classifier"."""

    def step(self, batch: BagBatch) -> Losses:
        """Improve every player by one step, and say what the losses were."""


class ProportionObjective:
    """DLLP: the proportion loss alone, or (eq. 3) with the instances' entropy."""

    def __init__(self, classifier: Player, proportion_loss: ProportionLoss, entropy_weight: float = 0.0) -> None:
        self.classifier = classifier
        self.proportion_loss = proportion_loss
        self.entropy_weight = entropy_weight
        self.players = {"classifier": classifier}

    def step(self, batch: BagBatch) -> Losses:
        """One step of the classifier."""
        logits, _ = self.classifier.network(batch.instances)
        proportion = self.proportion_loss(logits, batch.bag_index, batch.proportions)
        with torch.set_grad_enabled(self.entropy_weight > 0):  # else it is only watched
            entropy = instance_entropy(logits)
        self.classifier.minimise(proportion + self.entropy_weight * entropy)
        return {"proportion_loss": proportion, "entropy": entropy}


class AdversarialObjective:
    """LLP-GAN: the classifier is also the discriminator, and a generator plays against it (Algorithm 1)."""

    def __init__(
        self,
        classifier: Player,
        generator: Player,
        proportion_loss: ProportionLoss,
        proportion_weight: float,
        generator_loss: GeneratorLoss,
        noise: Noise,
        noise_size: int,
    ) -> None:
        self.classifier = classifier
        self.generator = generator
        self.proportion_loss = proportion_loss
        self.proportion_weight = proportion_weight
        self.generator_loss = generator_loss
        self.noise = noise
        self.noise_size = noise_size
        self.players = {"classifier": classifier, "generator": generator}
        self.mixes_instances = any(isinstance(m, _BatchNorm) for m in classifier.bare.modules())

    def step(self, batch: BagBatch) -> Losses:
        """One step of the generator, then one of the classifier with the same fakes.

        The generator goes first, against the classifier as it is, so that one pass over the real instances serves
        both; who begins makes no difference to players that take turns.
        """
        n_fakes = max(2, len(batch.instances))  # batch norm needs two
        fakes = self.generator.network(self.noise(n_fakes, self.noise_size, batch.instances.device))
        real, fake = self._outputs(batch.instances, fakes.detach())
        generator_losses = self._generator_step(real, fakes)
        return self._classifier_step(batch, real, fake) | generator_losses

    def _outputs(self, instances: Tensor, fakes: Tensor) -> tuple[Output, Output]:
        """Of real and of fake instances: in one pass, which is quicker, unless batch norm would mix the two."""
        if self.mixes_instances:
            return Output(*self.classifier.network(instances)), Output(*self.classifier.network(fakes))
        logits, features = self.classifier.network(torch.cat([instances, fakes]))
        n = len(instances)
        return Output(logits[:n], features[:n]), Output(logits[n:], features[n:])

    def _generator_step(self, real: Output, fakes: Tensor) -> Losses:
        with self.classifier.frozen() as classifier:
            fake = _in_full(classifier(fakes))
        loss = self.generator_loss(Output(*(tensor.detach() for tensor in real)), fake)
        self.generator.minimise(loss)
        return {"generator_loss": loss}

    def _classifier_step(self, batch: BagBatch, real: Output, fake: Output) -> Losses:
        """Eq. 4: tell real from fake, and meet the proportions."""
        losses = {
            "proportion_loss": self.proportion_loss(real.logits, batch.bag_index, batch.proportions),
            "real_loss": real_loss(real.logits),
            "fake_loss": fake_loss(fake.logits),
        }
        adversarial = losses["real_loss"] + losses["fake_loss"]
        self.classifier.minimise(adversarial + self.proportion_weight * losses["proportion_loss"])
        return losses


def _in_full(output: Output) -> Output:
    """Half precision made single, as the wrapper of a network does with what it returns."""
    return Output(*(t.float() if t.dtype in (torch.float16, torch.bfloat16) else t for t in output))


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
