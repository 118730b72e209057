"""The gradient of a step in chunks is that of the step at once."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lightning_fabric import Fabric

from llpgan import DLLP, LLPGAN, Bags
from llpgan.deep.batches import MOST_FEATURES, BagDataset, Player, chunked_outputs, mixes_instances
from llpgan.deep.losses import proportion_bound, proportion_loss
from llpgan.deep.networks import ladder_mnist_classifier, mlp_classifier, mlp_generator
from llpgan.deep.objectives import GENERATOR_LOSSES, NOISES, AdversarialObjective, Entropy, ProportionObjective
from tests.plain import plain_mlp

pytestmark = pytest.mark.slow  # many seconds together

FABRIC = Fabric(accelerator="cpu", devices=1, precision="64-true")


def ragged(sizes, n_classes, rng):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    counts = rng.dirichlet(np.ones(n_classes), len(sizes))
    return Bags.from_arrays(rng.normal(size=(len(groups), 3)), groups, counts)


def objective_of(method, networks, at_once):
    """The method's objective with copies of the networks, whose rate of one makes a step the gradient itself."""
    players = [
        Player(copy.deepcopy(network), lambda p: torch.optim.SGD(p, 1.0), FABRIC, at_once) for network in networks
    ]
    if method is DLLP:
        return ProportionObjective(classifier=players[0], terms=[Entropy(weight=0.1)])
    return AdversarialObjective(
        classifier=players[0],
        generator=players[1],
        proportion_weight=3.0,
        generator_loss=GENERATOR_LOSSES["feature_matching_pull_away"],
        noise=NOISES["normal"],
        noise_size=4,
    )


def gradients(method, bags, networks, at_once, loss=proportion_loss):
    objective = objective_of(method, networks, at_once)
    batch = BagDataset(bags, at_once=at_once, loss=loss).batch(range(bags.n_bags))
    torch.manual_seed(0)
    objective.step(batch)
    return [
        before - after
        for player, network in zip(objective.players.values(), networks, strict=False)
        for before, after in zip(network.parameters(), player.bare.parameters(), strict=True)
    ]


def assert_same_gradients(one, other):
    scale = max(gradient.abs().max().item() for gradient in one)
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6 * scale * 1e-3)


@pytest.mark.parametrize("loss", [proportion_loss, proportion_bound])
@pytest.mark.parametrize("method", [DLLP, LLPGAN])
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    at_once=st.integers(1, 50),
    n_classes=st.integers(2, 5),
    seed=st.integers(0, 99),
)
@settings(max_examples=15, deadline=None)
def test_the_gradient_in_chunks_is_that_of_whole_bags(method, loss, sizes, at_once, n_classes, seed):
    torch.manual_seed(seed)
    networks = [plain_mlp((3,), n_classes).double(), mlp_generator((3,), 4).double()]
    bags = ragged(sizes, n_classes, np.random.default_rng(seed))
    whole, chunked = (gradients(method, bags, networks, size, loss) for size in (None, at_once))
    assert_same_gradients(whole, chunked)


@pytest.mark.parametrize("method", [DLLP, LLPGAN])
def test_also_of_a_bag_with_more_instances_than_features_are_kept_of(method, rng):
    networks = [plain_mlp((3,), 2).double(), mlp_generator((3,), 4).double()]
    bags = ragged([3 * MOST_FEATURES + 7, 50], 2, rng)
    assert_same_gradients(*(gradients(method, bags, networks, size) for size in (None, 100)))


@pytest.mark.parametrize("method", [DLLP, LLPGAN])
def test_also_of_a_network_whose_features_are_frozen(method, rng):
    networks = [plain_mlp((3,), 2).double(), mlp_generator((3,), 4).double()]
    networks[0].body.requires_grad_(False)
    bags = ragged([5, 9, 4], 2, rng)
    assert_same_gradients(*(gradients(method, bags, networks, size) for size in (None, 4)))


def test_dropout_is_the_same_in_both_passes(rng):
    """The gradient at one mask: with another mask in the second pass it could not be the loss's."""
    network = mlp_classifier((3,), 2, dropout=0.5).double()
    bags = ragged([60], 2, rng)
    batch = BagDataset(bags, at_once=16).batch([0])

    def loss():
        torch.manual_seed(5)
        logits, _ = chunked_outputs(network, batch.instances, 16)
        return proportion_loss(logits, batch.bag_index, batch.proportions)

    network.to(torch.float32)
    found = torch.autograd.grad(loss(), network.head.bias)[0]
    step = 1e-3
    with torch.no_grad():
        network.head.bias[0] += step
        above = loss()
        network.head.bias[0] -= 2 * step
        below = loss()
    assert found[0].item() == pytest.approx(((above - below) / (2 * step)).item(), rel=0.02)


def test_features_are_of_every_so_many(rng):
    network, instances = plain_mlp((3,), 2), torch.randn(50, 3)
    logits, features = network(instances)
    for first, every in [(0, 1), (0, 7), (3, 4)]:
        found = chunked_outputs(network, instances, 8, every, first)
        torch.testing.assert_close(found.logits, logits)
        torch.testing.assert_close(found.features, features[first::every])


@pytest.mark.parametrize("method", [DLLP, LLPGAN])
def test_a_training_in_chunks_ends_with_the_same_model(method, bags):
    whole, chunked = (
        method(classifier=plain_mlp, epochs=5, precision="64-true", random_state=0, max_instances_per_step=size)
        .fit_bags(bags)
        .predict_proba(bags.instances)
        for size in (None, 3)
    )
    np.testing.assert_allclose(chunked, whole, rtol=1e-6)


def test_batch_norm_is_refused():
    assert mixes_instances(ladder_mnist_classifier((1, 28, 28), 10))
    images = Bags.from_labels(np.zeros((4, 1, 28, 28)), [0, 1, 0, 1], groups=[0, 0, 1, 1])
    model = DLLP(classifier=ladder_mnist_classifier, activation="relu", max_instances_per_step=2)
    with pytest.raises(ValueError, match="change what batch norm computes"):
        model.fit_bags(images)
