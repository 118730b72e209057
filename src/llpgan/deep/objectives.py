"""What one step of training minimizes, with terms on single instances. The loop knows only :class:`Objective`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from math import exp, prod, sqrt
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from llpgan.deep.batches import BagBatch, Player, apply_chunked, minimise
from llpgan.deep.images import AUGMENTATIONS, Augment, Scaling, named_augmentation
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
from llpgan.deep.losses.self_labels import (
    LARGEST_BAG,
    assign_labels,
    confident_targets,
    self_training_loss,
    transport_plan,
)
from llpgan.deep.networks import Output
from llpgan.deep.networks.parts import describe_factory
from llpgan.utils.arrays import is_finite_number, require, require_share, require_truth, require_weight

_RAMP = 5.0

__all__ = ["INSTANCE_TERMS", "Entropy", "InstanceTerm", "SelfTraining", "Smoothness"]


@dataclass(frozen=True, kw_only=True, repr=False)
class InstanceTerm(ABC):
    """Base class of terms on single instances, for the parameter ``instance_terms`` of a deep method.

    Subclasses are frozen dataclasses: equal settings make equal terms, and their ``repr`` names the settings.

    Parameters
    ----------
    weight : float
        The weight of the term relative to the loss of a bag. With 0 it is left out. With losses that grow with the
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
        settings = (f"{field.name}={describe_factory(getattr(self, field.name))}" for field in fields(self))
        return f"{type(self).__name__}({', '.join(settings)})"

    @property
    def sees_instances_again(self) -> bool:
        """Whether it shows changed instances to the classifier, in addition to those of the logits."""
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


@contextmanager
def keep_statistics(network: nn.Module) -> Iterator[None]:
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
def disable_dropout(network: nn.Module) -> Iterator[None]:
    """The network as a function of each instance alone: without dropout, with the statistics that it has."""
    was_training = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(was_training)


@dataclass(frozen=True, kw_only=True, repr=False)
class Entropy(InstanceTerm):
    """The mean entropy of the predictions for single instances, which makes them more confident.

    Parameters
    ----------
    weight : float, default=0.1
        The weight of the term. With losses that grow with the bag, it is multiplied by the mean size of the bags.
    ramp_until : float, default=0.0
        The part of the training after which the weight is full.
    """

    weight: float = 0.1

    column: ClassVar[str] = "entropy"

    def __call__(self, classifier: Player, batch: BagBatch, logits: Tensor) -> Tensor:
        """See :class:`InstanceTerm`."""
        return instance_entropy(logits)


@dataclass(frozen=True, kw_only=True, repr=False)
class SelfTraining(InstanceTerm):
    """The cross-entropy of labels that the network gave to its instances itself, with the counts of their bags.

    Parameters
    ----------
    weight : float, default=0.5
        The weight of the term. With losses that grow with the bag, it is multiplied by the mean size of the bags.
    ramp_until : float, default=0.0
        The part of the training after which the weight is full.
    soft : bool, default=False
        Whether labels are probabilities whose mean matches the proportions of the bag, instead of one class for
        each instance.
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
        return self_training_loss(self._view_logits(classifier, batch, logits), targets)

    def targets(self, logits: Tensor, bag_index: Tensor, proportions: Tensor) -> Tensor:
        """Make labels from predictions and the proportions of bags.

        Soft ones are posteriors, with the odds of classes changed so that their mean matches the proportions.

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
        return confident_targets(logits, assign_labels(logits, bag_index, proportions), self.confidence)

    def check(self, instances: Tensor) -> None:
        """Refuse a view that does not suit the instances.

        Parameters
        ----------
        instances : Tensor
            Some of the instances.
        """
        named_augmentation("view", self.view, instances)

    def _view_logits(self, classifier: Player, batch: BagBatch, logits: Tensor) -> Tensor:
        """What the classifier says of the changed instances; batch norm keeps the statistics of the others."""
        if self.view is None:
            return logits
        view = AUGMENTATIONS[self.view] if isinstance(self.view, str) else self.view
        with keep_statistics(classifier.bare):
            return classifier.outputs(apply_chunked(batch.instances, view), len(logits))[0]


def divergence(logits: Tensor, changed: Tensor) -> Tensor:
    """mean_j KL(f(x_j) ‖ f(x_j + r_j)), from the logits at both.

    Parameters
    ----------
    logits, changed : Tensor of shape (n_instances, n_classes)
        Gradients flow through both; the caller detaches the first, whose predictions are the target.

    Returns
    -------
    Tensor without dimensions
    """
    log_here, log_there = logits.log_softmax(1), changed.log_softmax(1)
    return (log_here.exp() * (log_here - log_there)).sum(1).mean()


def adversarial_changes(
    logits_of: Callable[[Tensor], Tensor],
    instances: Tensor,
    length: float,
    probe: float,
    scale: Tensor | float = 1.0,
) -> Tensor:
    """For each instance the change of a given length that changes its prediction most, to second order.

    r = ε g / ‖g‖, g the gradient of KL(f(x) ‖ f(x + ξ d)) by ξ d, where d is a random direction: one step of the
    power iteration for the leading eigenvector of the divergence's Hessian.

    Parameters
    ----------
    logits_of : callable
        The network, as a function without chance in it.
    instances : Tensor
        One row per instance.
    length : float
        ε, in units of the networks' range.
    probe : float
        ξ. In single precision 1e-6 would be lost to rounding.
    scale : Tensor or float
        One unit of the networks' range in units of the instances.

    Returns
    -------
    Tensor
        Of the instances' shape, to be added to them. No gradient flows through it.

    References
    ----------
    Miyato, Maeda, Koyama and Ishii, "Virtual adversarial training", 2018; Tsai and Lin, "Learning from label
    proportions with consistency regularization", 2020.
    """
    with torch.no_grad():
        here = logits_of(instances)
    probed = (probe * _unit(torch.randn_like(instances))).requires_grad_()
    with torch.enable_grad():
        there = logits_of(instances + scale * probed)
        (slope,) = torch.autograd.grad(divergence(here, there), probed)
    return scale * length * _unit(slope)


def ramp(progress: float, until: float) -> float:
    """exp(−5 (1 − t/T)²), and 1 from T on: the weight of a term that would mislead an untrained network.

    Examples
    --------
    >>> round(ramp(0.0, 0.4), 4), ramp(0.4, 0.4), ramp(0.9, 0.4)
    (0.0067, 1.0, 1.0)
    """
    return 1.0 if progress >= until else exp(-_RAMP * (1 - progress / until) ** 2)


def _unit(rows: Tensor) -> Tensor:
    """Rows of length one; a row of zeros stays so."""
    flat = rows.flatten(1)
    peak = flat.abs().amax(1, keepdim=True)
    flat = flat / torch.where(peak > 0, peak, 1.0)  # squares of a sure network's slopes would vanish
    length = flat.norm(dim=1, keepdim=True)
    return (flat / torch.where(length > 0, length, 1.0)).view_as(rows)


_SHARE = 0.1  # of each feature's unit: of 3,072 that makes a length of 5.5, where the authors have 6


@dataclass(frozen=True, kw_only=True, repr=False)
class Smoothness(InstanceTerm):
    """The divergence of predictions on instances that an adversary changed from those on the instances.

    Parameters
    ----------
    weight : float, default=0.05
        The weight of the term. With losses that grow with the bag, it is multiplied by the mean size of the bags.
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
        is_length = self.length is None or (is_finite_number(self.length) and self.length > 0)
        require(is_length, "length", self.length, "a number above 0, or None")
        require(is_finite_number(self.probe) and self.probe > 0, "probe", self.probe, "a number above 0")

    @property
    def sees_instances_again(self) -> bool:
        """As an adversary changes them."""
        return True

    def __call__(self, classifier: Player, batch: BagBatch, logits: Tensor) -> Tensor:
        """See :class:`InstanceTerm`."""

        def adversary(instances: Tensor) -> Tensor:
            return self.adversarial(classifier.bare, instances)

        with keep_statistics(classifier.bare):
            there, _ = classifier.outputs(apply_chunked(batch.instances, adversary), len(logits))
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
        with disable_dropout(network):
            changes = adversarial_changes(lambda x: network(x)[0], as_floats, length, self.probe, scaling.spread)
        return as_floats + changes.detach()


#: The terms that can be named in the parameter ``instance_terms`` of deep methods, with their default settings.
INSTANCE_TERMS: dict[str, InstanceTerm] = {
    "entropy": Entropy(),
    "smoothness": Smoothness(),
    "self_training": SelfTraining(),
}
Terms = Sequence[str | InstanceTerm] | str | InstanceTerm


def resolve_terms(given: Terms) -> list[InstanceTerm]:
    """The terms that a user named or made.

    >>> resolve_terms("smoothness")
    [Smoothness(weight=0.05, ramp_until=0.4, length=None, probe=0.01)]
    """
    parts = [given] if isinstance(given, str | InstanceTerm) else list(given)
    return [_term(part) for part in parts]


def _term(given: str | InstanceTerm) -> InstanceTerm:
    if isinstance(given, InstanceTerm):
        return given
    if given not in list(INSTANCE_TERMS):
        raise ValueError(
            f"instance_terms: there is no term {given!r}; give one of {', '.join(INSTANCE_TERMS)}, or a term with "
            "settings such as llpgan.deep.objectives.Smoothness(weight=0.3)"
        )
    return INSTANCE_TERMS[given]


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
