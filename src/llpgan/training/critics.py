"""LLP-GAN with a critic beside the classifier's head: Wasserstein with gradient penalty, and hinge.

The classifier's K logits then only meet the proportions. Whether an instance is real is said by a score
c(x) = w·φ(x) + b of the same features φ, and so still shapes them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from llpgan.training.batches import BagBatch
from llpgan.training.input_scaling import Scaling
from llpgan.training.instance_terms.network_modes import statistics_kept
from llpgan.training.objectives import Game, Losses
from llpgan.training.players import Player, minimise


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
        fakes = self.fakes(batch)
        with statistics_kept(self.classifier.bare):  # predictions are of real instances
            scores = self._score(fakes)
        return self._generator_step(scores) | self._classifier_step(batch, fakes.detach(), scores)

    def _generator_step(self, scores: Tensor) -> Losses:
        loss = -scores.mean()
        minimise(loss, self.generator, keep=True)
        return {"generator_loss": loss}

    def _classifier_step(self, batch: BagBatch, fakes: Tensor, scores: Tensor) -> Losses:
        assert isinstance(batch.instances, Tensor)  # a critic takes a step whole
        logits, features = self.classifier.network(batch.instances)
        fit, losses = self.fit_to_bags(batch, logits)
        losses["critic_loss"] = self.kind.loss(self.critic.network(features), scores)
        total = losses["critic_loss"] + self.proportion_weight * fit
        if self.kind.penalty:
            real = batch.instances.to(fakes.dtype)  # bytes have no gradient
            with statistics_kept(self.classifier.bare):
                losses["penalty"] = gradient_penalty(self._bare_score, real, fakes, self.scaling.spread)
            total = total + self.kind.penalty * losses["penalty"]
        minimise(total, self.classifier, self.critic)
        return losses

    def _score(self, instances: Tensor) -> Tensor:
        return self.critic.network(self.classifier.network(instances)[1])

    def _bare_score(self, instances: Tensor) -> Tensor:
        """The score in single precision, also where training is in bfloat16, in which slopes are too rough."""
        return self.critic.bare(self.classifier.bare(instances)[1])


def critic_head(classifier: nn.Module, shape: tuple[int, ...]) -> nn.Module:
    """A score of the classifier's features."""
    with torch.no_grad():
        was_training = classifier.training
        n_features = classifier.eval()(torch.zeros(2, *shape))[1].shape[1]
        classifier.train(was_training)
    return nn.Linear(n_features, 1)
