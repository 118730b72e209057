"""Training loops as they are usually written: one bag a step, everything computed where it is needed."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from llpgan import Bags

PlainBag = tuple[Tensor, Tensor]  # instances, proportions
Step = Callable[[Tensor, Tensor], object]
NOISE_SIZE = 100


def plain_bags(bags: Bags) -> list[PlainBag]:
    """Every bag as two tensors, made before any clock runs."""
    instances = torch.from_numpy(bags.instances).float()
    proportions = torch.from_numpy(bags.proportions).float()
    return [(instances[bags.rows_of(bag)], proportions[bag]) for bag in range(bags.n_bags)]


def plain_epoch(step: Step, bags: list[PlainBag]) -> None:
    for instances, proportions in bags:
        step(instances, proportions)


def plain_dllp_step(classifier: nn.Module, rate: float) -> Step:
    """One bag's proportion loss, and Adam."""
    optimiser = torch.optim.Adam(classifier.parameters(), rate, betas=(0.5, 0.999))

    def step(instances: Tensor, proportions: Tensor) -> None:
        optimiser.zero_grad()
        proportion_loss(classifier(instances)[0], proportions).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def plain_llpgan_step(classifier: nn.Module, generator: nn.Module, spare: bool) -> Step:
    """A step of the discriminator, then one of the generator with the same noise and all else computed again.

    ``spare`` leaves out the gradients of the discriminator's weights in the generator's step, which nobody uses.
    """
    of_classifier = torch.optim.Adam(classifier.parameters(), 3e-4, betas=(0.5, 0.999))
    of_generator = torch.optim.Adam(generator.parameters(), 3e-4, betas=(0.5, 0.999))

    def step(instances: Tensor, proportions: Tensor) -> None:
        noise = torch.rand(len(instances), NOISE_SIZE) * 2 - 1
        of_classifier.zero_grad()
        real, _ = classifier(instances)
        fake, _ = classifier(generator(noise).detach())
        loss = proportion_loss(real, proportions) + adversarial_loss(real, fake)
        loss.backward()  # type: ignore[no-untyped-call]
        of_classifier.step()

        of_generator.zero_grad()
        classifier.requires_grad_(not spare)
        _, real_features = classifier(instances)
        _, fake_features = classifier(generator(noise))
        matching = (real_features.mean(0) - fake_features.mean(0)).square().mean()
        matching.backward()
        of_generator.step()
        classifier.requires_grad_(True)

    return step


def proportion_loss(logits: Tensor, proportions: Tensor) -> Tensor:
    return -(proportions * (logits.softmax(1).mean(0) + 1e-7).log()).sum()


def adversarial_loss(real: Tensor, fake: Tensor) -> Tensor:
    return softplus(-real.logsumexp(1)).mean() + softplus(fake.logsumexp(1)).mean()
