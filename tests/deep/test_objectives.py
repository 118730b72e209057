"""One step of each player: who moves, who stays, and which way."""

import copy

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from llpgan.deep.batches import BagDataset, Player
from llpgan.deep.losses import (
    fake_loss,
    feature_matching,
    proportion_bound,
    proportion_loss,
    real_loss,
    sampling_correction,
)
from llpgan.deep.networks import mlp_generator
from llpgan.deep.objectives import GENERATOR_LOSSES, NOISES, AdversarialObjective, Entropy, ProportionObjective
from tests.plain import plain_mlp

FABRIC = Fabric(accelerator="cpu", devices=1)


def player(network, rate=0.1):
    return Player(network, lambda parameters: torch.optim.SGD(parameters, rate), FABRIC)


def everything(bags):
    return BagDataset(bags).batch(range(bags.n_bags))


def adversarial(generator_loss="feature_matching", weight=2.0):
    torch.manual_seed(0)
    return AdversarialObjective(
        classifier=player(plain_mlp((3,), 2)),
        generator=player(mlp_generator((3,), 5)),
        proportion_weight=weight,
        generator_loss=GENERATOR_LOSSES[generator_loss],
        noise=NOISES["uniform"],
        noise_size=5,
    )


def outputs_of(objective, batch, noise):
    """Of real instances and of the fakes that the noise becomes."""
    network = objective.classifier.bare
    return network(batch.instances), network(objective.generator.bare(noise))


def test_dllp_s_gradient_does_not_depend_on_the_order_of_rows_and_bags(bags):
    torch.manual_seed(0)
    network = plain_mlp((3,), 2).double()
    batch = everything(bags)

    def gradient(rows, order):
        places = torch.argsort(order)
        logits, _ = network(batch.instances[rows].double())
        loss = proportion_loss(logits, places[batch.bag_index][rows], batch.proportions[order].double())
        return torch.autograd.grad(loss, list(network.parameters()))

    expected = gradient(torch.arange(80), torch.arange(10))
    for a, b in zip(gradient(torch.randperm(80), torch.randperm(10)), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_dllp_takes_the_step_of_its_loss(bags):
    """eq. 3, by hand: w − rate · d(L_prop + λ E_in)/dw."""
    torch.manual_seed(0)
    network, batch = plain_mlp((3,), 2), everything(bags)
    logits = network(batch.instances).logits
    posterior = logits.softmax(1)
    bag_means = torch.stack([posterior[batch.bag_index == i].mean(0) for i in range(10)])
    loss = -(batch.proportions * bag_means.log()).sum(1).mean()
    loss = loss - 0.5 * (posterior * posterior.log()).sum(1).mean()
    gradients = torch.autograd.grad(loss, list(network.parameters()))
    expected = [p.detach() - 0.1 * g for p, g in zip(network.parameters(), gradients, strict=True)]
    objective = ProportionObjective(classifier=player(network), terms=[Entropy(weight=0.5)])
    objective.step(batch)
    for parameter, value in zip(network.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.detach(), value)


def test_the_classifier_s_step_improves_what_eq_4_asks_for(bags):
    """Real instances more real, fakes more fake, proportions nearer: the sign of each term."""
    objective, batch = adversarial(), everything(bags)
    fakes = torch.randn(80, 3) - 6

    def losses():
        logits, fake_logits = (objective.classifier.bare(x).logits for x in (batch.instances, fakes))
        proportion = proportion_loss(logits, batch.bag_index, batch.proportions)
        return torch.stack([real_loss(logits), fake_loss(fake_logits), proportion]).detach()

    before = losses()
    for _ in range(30):
        real, fake = (objective.classifier.outputs(x, len(x)) for x in (batch.instances, fakes))
        objective._classifier_step(batch, real, fake)
    assert (losses() < before).all()


def test_batch_norm_never_sees_real_and_fake_together(bags):
    objective, batch = adversarial(), everything(bags)
    seen = []
    norm = torch.nn.BatchNorm1d(256)
    norm.register_forward_hook(lambda module, inputs, output: seen.append(len(inputs[0])))
    objective.classifier = player(plain_mlp((3,), 2, activation=lambda: norm))
    objective.step(batch)
    assert set(seen) == {80}


@pytest.mark.parametrize("generator_loss", GENERATOR_LOSSES)
def test_the_generator_s_step_moves_only_the_generator(generator_loss, bags):
    objective, batch = adversarial(generator_loss), everything(bags)
    classifier = copy.deepcopy(objective.classifier.bare.state_dict())
    generator = copy.deepcopy(objective.generator.bare.state_dict())
    objective._generator_step(*outputs_of(objective, batch, torch.randn(80, 5)))
    for name, value in objective.classifier.bare.state_dict().items():
        assert torch.equal(value, classifier[name])
    assert not torch.equal(objective.generator.bare[0][0].weight, generator["0.0.weight"])
    assert all(p.requires_grad for p in objective.classifier.bare.parameters())


def test_the_generator_comes_nearer_to_the_real_features(bags):
    objective, batch = adversarial(), everything(bags)
    noise = torch.rand(80, 5) * 2 - 1

    def distance():
        network = objective.classifier.bare
        fakes = objective.generator.bare(noise)
        return feature_matching(network(batch.instances).features, network(fakes).features).item()

    before = distance()
    for _ in range(20):
        objective._generator_step(*outputs_of(objective, batch, noise))
    assert distance() < before


@pytest.mark.parametrize("generator_loss", ["saturating", "nonsaturating"])
def test_adversarial_generators_learn_to_pass_for_real(generator_loss, bags):
    objective, batch = adversarial(generator_loss), everything(bags)
    noise = torch.rand(80, 5) * 2 - 1

    def taken_for_fake():
        return -fake_loss(objective.classifier.bare(objective.generator.bare(noise)).logits).item()

    before = taken_for_fake()
    for _ in range(20):
        objective._generator_step(*outputs_of(objective, batch, noise))
    assert taken_for_fake() < before


def test_the_classifier_s_step_leaves_the_generator_alone(bags):
    objective, batch = adversarial(), everything(bags)
    objective._classifier_step(batch, *outputs_of(objective, batch, torch.randn(80, 5)))
    assert all(p.grad is None for p in objective.generator.bare.parameters())


def test_what_comes_frozen_stays_frozen(bags):
    network = plain_mlp((3,), 2)
    network.body.requires_grad_(False)
    before = copy.deepcopy(network.state_dict())
    objective = adversarial()
    objective.classifier = player(network)
    objective.step(everything(bags))
    assert not any(p.requires_grad for p in network.body.parameters())
    assert torch.equal(network.body[3][0].weight, before["body.3.0.weight"])
    assert not torch.equal(network.head.weight, before["head.weight"])


def test_one_real_instance_is_enough_for_a_step():
    from llpgan import Bags

    bags = Bags.from_arrays(np.zeros((1, 3)), [0], [[0.5, 0.5]])
    losses = adversarial().step(everything(bags))
    assert all(loss.isfinite() for loss in losses.values())


def test_noise_fills_its_range():
    uniform = NOISES["uniform"](10_000, 2, torch.device("cpu"))
    assert uniform.abs().max() <= 1
    assert uniform.mean().abs() < 0.05
    assert uniform.std().item() == pytest.approx(3**-0.5, abs=0.02)
    normal = NOISES["normal"](10_000, 2, torch.device("cpu"))
    assert normal.std().item() == pytest.approx(1, abs=0.05)


def test_a_step_is_the_generator_s_and_then_the_classifier_s(bags):
    """The whole iteration by hand: both losses at the weights of before, and plain gradient steps."""
    objective, batch = adversarial(weight=2.0), everything(bags)
    classifier, generator = (copy.deepcopy(objective.players[name].bare) for name in ("classifier", "generator"))
    torch.manual_seed(1)
    fakes = generator(NOISES["uniform"](80, 5, torch.device("cpu")))
    real, fake = classifier(batch.instances), classifier(fakes)
    matching = feature_matching(real.features, fake.features)
    proportion = proportion_loss(real.logits, batch.bag_index, batch.proportions)
    adversarial_loss = real_loss(real.logits) + fake_loss(fake.logits) + 2 * proportion
    for network, loss in ((generator, matching), (classifier, adversarial_loss)):
        gradients = torch.autograd.grad(loss, list(network.parameters()), retain_graph=True)
        with torch.no_grad():
            for parameter, gradient in zip(network.parameters(), gradients, strict=True):
                parameter -= 0.1 * gradient
    torch.manual_seed(1)
    losses = objective.step(batch)
    assert losses["generator_loss"].item() == pytest.approx(matching.item(), rel=1e-5)
    for name, network in (("classifier", classifier), ("generator", generator)):
        for ours, expected in zip(objective.players[name].bare.parameters(), network.parameters(), strict=True):
            torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-6)


def test_samples_from_bags_are_freed_of_their_bias_in_the_exact_loss_alone(bags):
    torch.manual_seed(0)
    sampled = BagDataset(bags, mini_bag_size=4).batch(range(10), np.random.default_rng(0))
    logits = torch.randn(len(sampled.bag_index), 2) * 3
    plain = proportion_loss(logits, sampled.bag_index, sampled.proportions)
    full_sizes = torch.from_numpy(bags.sizes[:10].copy())
    bias = sampling_correction(logits, sampled.bag_index, sampled.proportions, full_sizes)
    assert bias > 0
    torch.testing.assert_close(sampled.loss(logits, sampled.bag_index, sampled.proportions), plain - bias)
    of_users = BagDataset(bags, mini_bag_size=4, loss=proportion_bound).batch(range(10), np.random.default_rng(0))
    assert of_users.loss is proportion_bound
