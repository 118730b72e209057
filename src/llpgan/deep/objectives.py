"""What one step of training minimizes. The loop knows only :class:`Objective`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from llpgan.deep.batches import BagBatch
from llpgan.deep.chunks import Player, minimise
from llpgan.deep.images import Scaling
from llpgan.deep.losses import (
    PROPORTION_LOSSES,
    fake_loss,
    feature_matching,
    instance_entropy,
    nonsaturating_loss,
    pull_away,
    real_loss,
    saturating_loss,
)
from llpgan.deep.networks import Output
from llpgan.deep.terms import INSTANCE_TERMS, InstanceTerm, keep_statistics

Losses = dict[str, Tensor]
GeneratorLoss = Callable[[Output, Output], Tensor]  # of what the classifier says of real and of fake instances
Noise = Callable[[int, int, torch.device], Tensor]  # how many, of which size, where
MOST_FAKES = 1024  # of a step: beyond that their mean features change little


class Objective(Protocol):
    """Players, and what they do with a batch of bags."""

    @property
    def players(self) -> Mapping[str, Player]:
        """By name, all that training changes; among them "classifier"."""

    def set_progress(self, progress: float) -> None:
        """Note before a step which part of the training is done, from 0 to below 1."""

    def step(self, batch: BagBatch) -> Losses:
        """Improve every player by one step, and say what the losses were."""


@dataclass(kw_only=True, eq=False)
class BagObjective:
    """What all objectives have in common: a classifier, and terms on single instances.

    Parameters
    ----------
    classifier : Player
        The network that classifies instances.
    terms : sequence of InstanceTerm
        Added to the loss of bags.
    term_scale : float
        How many times as large as the cross-entropy of a bag its loss is; terms are multiplied by it.
    """

    classifier: Player
    terms: Sequence[InstanceTerm] = ()
    term_scale: float = 1.0
    _progress: float = 0.0

    @property
    def players(self) -> Mapping[str, Player]:
        """All that training changes."""
        return {"classifier": self.classifier}

    def set_progress(self, progress: float) -> None:
        """Note which part of the training is done; the weights of terms rise with it."""
        self._progress = progress

    def fit_to_bags(self, batch: BagBatch, logits: Tensor) -> tuple[Tensor, Losses]:
        """The loss of bags with all terms, and each of them by name."""
        total = batch.loss(logits, batch.bag_index, batch.proportions)
        losses = {"proportion_loss": total}
        for term in self.terms:
            losses[term.column] = term(self.classifier, batch, logits)
            total = total + self.term_scale * term.weight_at(self._progress) * losses[term.column]
        return total, losses


@dataclass(kw_only=True, eq=False)
class ProportionObjective(BagObjective):
    """DLLP: the loss of bags, with terms on single instances such as the entropy (eq. 3)."""

    def step(self, batch: BagBatch) -> Losses:
        """One step of the classifier."""
        with self.classifier.ranks.own_random():
            logits, _ = self.classifier.outputs(batch.instances, len(batch.bag_index))
            total, losses = self.fit_to_bags(batch, logits)
            losses.setdefault("entropy", instance_entropy(logits.detach()))  # if no term, it is only watched
            minimise(total, self.classifier)
        return losses


@dataclass(kw_only=True, eq=False)
class Game(BagObjective):
    """What a classifier and a generator that play against each other have in common."""

    generator: Player
    proportion_weight: float
    noise: Noise
    noise_size: int
    fakes_per_instance: float = 1.0

    @property
    def players(self) -> Mapping[str, Player]:
        """All that training changes."""
        return {**super().players, "generator": self.generator}

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
        serves both. The order of the two updates does not matter.
        """
        fakes, ranks = self.fakes(batch), self.classifier.ranks
        with ranks.own_random():
            real = self.classifier.outputs(batch.instances, len(batch.bag_index))
            with keep_statistics(self.classifier.bare):  # predictions are of real instances
                fake = self.classifier.outputs(fakes[ranks.share(len(fakes))], len(fakes))
            return self._generator_step(real, fake) | self._classifier_step(batch, real, fake)

    def _generator_step(self, real: Output, fake: Output) -> Losses:
        loss = self.generator_loss(Output(*(tensor.detach() for tensor in real)), fake)
        minimise(loss, self.generator, keep=True)
        return {"generator_loss": loss}

    def _classifier_step(self, batch: BagBatch, real: Output, fake: Output) -> Losses:
        """Eq. 4: distinguish real from fake, and match the proportions; λ multiplies the terms too."""
        game = {"real_loss": real_loss(real.logits), "fake_loss": fake_loss(fake.logits)}
        total, losses = self.fit_to_bags(batch, real.logits)
        minimise(game["real_loss"] + game["fake_loss"] + self.proportion_weight * total, self.classifier)
        return losses | game


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


def wasserstein_loss(real: Tensor, fake: Tensor) -> Tensor:
    """mean c(G(z)) − mean c(x) (Arjovsky et al., 2017): minus the critic's estimate of the distance."""
    return fake.mean() - real.mean()


def hinge_loss(real: Tensor, fake: Tensor) -> Tensor:
    """mean max(0, 1 − c(x)) + mean max(0, 1 + c(G(z))) (Lim and Ye, 2017)."""
    return F.relu(1 - real).mean() + F.relu(1 + fake).mean()


def gradient_penalty(score: Callable[[Tensor], Tensor], real: Tensor, fake: Tensor, scale: Tensor) -> Tensor:
    """mean (‖∇c(x̂)‖ − 1)² at points x̂ between real and fake instances (Gulrajani et al., 2017).

    The gradient is by instances in the networks' range: x / scale, up to a shift.
    """
    n = min(len(real), len(fake))
    part = torch.rand(n, *[1] * (real.ndim - 1), device=real.device)
    between = (part * real[:n] + (1 - part) * fake[:n]).requires_grad_(True)
    (slopes,) = torch.autograd.grad(score(between).sum(), between, create_graph=True)
    return ((slopes * scale).flatten(1).norm(dim=1) - 1).square().mean()


class Critic(NamedTuple):
    """A critic's loss of scores on real and fake instances, and the weight of its gradient penalty."""

    loss: Callable[[Tensor, Tensor], Tensor]
    penalty: float


CRITICS = {"wasserstein": Critic(wasserstein_loss, 10.0), "hinge": Critic(hinge_loss, 0.0)}


@dataclass(kw_only=True, eq=False)
class CriticObjective(Game):
    """One step of the generator, whose fakes should score high; then one of classifier and critic together."""

    critic: Player
    kind: Critic
    scaling: Scaling

    @property
    def players(self) -> Mapping[str, Player]:
        """All that training changes."""
        return {**super().players, "critic": self.critic}

    def step(self, batch: BagBatch) -> Losses:
        """The generator's step, then the others' against the same fakes."""
        assert isinstance(batch.instances, Tensor)  # a critic takes a step whole
        fakes = self.fakes(batch)
        with keep_statistics(self.classifier.bare):  # predictions are of real instances
            scores = self.critic.network(self.classifier.network(fakes)[1])
        losses = {"generator_loss": -scores.mean()}
        minimise(losses["generator_loss"], self.generator, keep=True)
        logits, features = self.classifier.network(batch.instances)
        fit, of_bags = self.fit_to_bags(batch, logits)
        losses |= {**of_bags, "critic_loss": self.kind.loss(self.critic.network(features), scores)}
        total = losses["critic_loss"] + self.proportion_weight * fit
        if self.kind.penalty:
            real, fakes = batch.instances.to(fakes.dtype), fakes.detach()  # bytes have no gradient

            def score(instances: Tensor) -> Tensor:
                """In single precision, also if training is in bfloat16, in which slopes are too rough."""
                return self.critic.bare(self.classifier.bare(instances)[1])

            with keep_statistics(self.classifier.bare):
                losses["penalty"] = gradient_penalty(score, real, fakes, self.scaling.spread)
            total = total + self.kind.penalty * losses["penalty"]
        minimise(total, self.classifier, self.critic)
        return losses


def critic_head(classifier: nn.Module, shape: tuple[int, ...]) -> nn.Module:
    """A score of the classifier's features."""
    with torch.no_grad():
        was_training = classifier.training
        n_features = classifier.eval()(torch.zeros(2, *shape))[1].shape[1]
        classifier.train(was_training)
    return nn.Linear(n_features, 1)


#: What a saved model can have as ``proportion_loss`` or among its ``instance_terms``.
OBJECTIVE_PARTS: dict[str, type[Any]] = {
    type(part).__name__: type(part)
    for part in (*PROPORTION_LOSSES.values(), *INSTANCE_TERMS.values())
    if is_dataclass(part)
}
