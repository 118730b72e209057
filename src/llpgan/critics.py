"""LLP-GAN with a critic beside the classifier's head: Wasserstein with gradient penalty, and hinge.

The classifier's K logits then only meet the proportions. Whether an instance is real is said by a score
c(x) = w·φ(x) + b of the same features φ, and so still shapes them.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from llpgan.loading import BagBatch
from llpgan.losses import ProportionLoss
from llpgan.objectives import Losses, Noise, Player
from llpgan.scaling import Scaling


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


class CriticObjective:
    """One step of the generator, whose fakes should score high; then one of classifier and critic together."""

    def __init__(
        self,
        classifier: Player,
        critic: Player,
        generator: Player,
        proportion_loss: ProportionLoss,
        proportion_weight: float,
        kind: Critic,
        scaling: Scaling,
        noise: Noise,
        noise_size: int,
    ) -> None:
        self.classifier = classifier
        self.critic = critic
        self.generator = generator
        self.proportion_loss = proportion_loss
        self.proportion_weight = proportion_weight
        self.kind = kind
        self.scaling = scaling
        self.noise = noise
        self.noise_size = noise_size
        self.players = {"classifier": classifier, "critic": critic, "generator": generator}

    def step(self, batch: BagBatch) -> Losses:
        """The generator's step, then the others' against the same fakes."""
        n_fakes = max(2, len(batch.instances))  # batch norm needs two
        fakes = self.generator.network(self.noise(n_fakes, self.noise_size, batch.instances.device))
        return self._generator_step(fakes) | self._classifier_step(batch, fakes.detach())

    def _generator_step(self, fakes: Tensor) -> Losses:
        with self.classifier.frozen() as classifier, self.critic.frozen() as critic:
            loss = -critic(classifier(fakes)[1]).float().mean()
        self.generator.minimise(loss)
        return {"generator_loss": loss}

    def _classifier_step(self, batch: BagBatch, fakes: Tensor) -> Losses:
        logits, features = self.classifier.network(batch.instances)
        losses = {
            "proportion_loss": self.proportion_loss(logits, batch.bag_index, batch.proportions),
            "critic_loss": self.kind.loss(self.critic.network(features), self._score(fakes)),
        }
        total = losses["critic_loss"] + self.proportion_weight * losses["proportion_loss"]
        if self.kind.penalty:
            real = batch.instances.to(fakes.dtype)  # bytes have no gradient
            losses["penalty"] = gradient_penalty(self._score, real, fakes, self.scaling.scale)
            total = total + self.kind.penalty * losses["penalty"]
        self.critic.optimiser.zero_grad()
        self.classifier.minimise(total)  # its backward pass reaches the critic too
        self.critic.optimiser.step()
        return losses

    def _score(self, instances: Tensor) -> Tensor:
        return self.critic.network(self.classifier.network(instances)[1])


def critic_head(classifier: nn.Module, shape: tuple[int, ...]) -> nn.Module:
    """A score of the classifier's features."""
    with torch.no_grad():
        was_training = classifier.training
        n_features = classifier.eval()(torch.zeros(2, *shape))[1].shape[1]
        classifier.train(was_training)
    return nn.Linear(n_features, 1)
