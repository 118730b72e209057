"""The paper's theorems on discrete toys, computed with the losses that training uses.

A distribution on a few points is a bag in which each point stands as often as its probability says, so the losses'
means over instances are expectations; the best discriminator is found by numerical optimisation of its logits.
"""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from llpgan import DLLP, Bags
from llpgan.deep.images import Scaling
from llpgan.deep.losses import bound_optimum, fake_loss, proportion_bound, proportion_loss, real_loss, undo_bound
from tests.plain import plain_mlp

# How often each of four points stands in each of three bags (the bags' p_d^i), and in the fakes (p_g): of ten.
BAG_COUNTS = np.array([[5, 3, 1, 1], [1, 4, 4, 1], [2, 0, 3, 5]])
FAKE_COUNTS = np.array([3, 3, 1, 3])
PROPORTIONS = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
N_BAGS, N_POINTS, N_CLASSES = *BAG_COUNTS.shape, PROPORTIONS.shape[1]

BAG_DENSITIES = BAG_COUNTS / 10
FAKE_DENSITY = FAKE_COUNTS / 10


def points_of(counts):
    return torch.as_tensor(np.repeat(np.arange(N_POINTS), counts))


REAL = torch.cat([points_of(counts) for counts in BAG_COUNTS])
BAG_INDEX = torch.repeat_interleave(torch.arange(N_BAGS), 10)


def discriminator_loss(logits, weight, fakes):
    """−Ṽ(G, D): the paper sums over bags where the losses take means, so the bags' terms count n times."""
    proportions = torch.as_tensor(PROPORTIONS)
    bags = real_loss(logits[REAL]) + weight * proportion_bound(logits[REAL], BAG_INDEX, proportions)
    return N_BAGS * bags + fake_loss(logits[fakes])


def best_logits(loss, shape):
    """The table of logits that minimises a smooth loss."""

    def value_and_gradient(flat):
        logits = torch.tensor(flat.reshape(shape), requires_grad=True)
        value = loss(logits)
        value.backward()
        return value.item(), logits.grad.numpy().ravel()

    found = minimize(value_and_gradient, np.zeros(np.prod(shape)), jac=True, method="BFGS", options={"gtol": 1e-9})
    return torch.tensor(found.x.reshape(shape))


def best_discriminator(weight, fake_counts=FAKE_COUNTS):
    fakes = points_of(fake_counts)
    return best_logits(lambda logits: discriminator_loss(logits, weight, fakes), (N_POINTS, N_CLASSES))


def with_fake_class(logits):
    """P_D over K+1 classes: the logit of "fake" is zero."""
    return torch.cat([logits, torch.zeros(len(logits), 1)], 1).softmax(1).numpy()


@pytest.mark.parametrize("weight", [0.1, 1, 5])
def test_theorem_1_the_optimal_discriminator(weight):
    found = with_fake_class(best_discriminator(weight))
    mass = BAG_DENSITIES.sum(0) + FAKE_DENSITY
    np.testing.assert_allclose(found[:, :-1], (BAG_DENSITIES.T @ PROPORTIONS) / mass[:, None], atol=1e-5)
    np.testing.assert_allclose(found[:, -1], FAKE_DENSITY / mass, atol=1e-5)


@pytest.mark.parametrize("fake_counts", [FAKE_COUNTS, np.array([0, 1, 8, 1])])
def test_aggregation_weights_do_not_depend_on_the_generator(fake_counts):
    classifier = best_discriminator(1, fake_counts).softmax(1)
    weights = BAG_DENSITIES / BAG_DENSITIES.sum(0)
    np.testing.assert_allclose(classifier, weights.T @ PROPORTIONS, atol=1e-5)


def test_lemma_1_on_one_bag_the_bound_learns_the_prior_everywhere():
    points, proportions = points_of(BAG_COUNTS[0]), torch.as_tensor(PROPORTIONS[:1])
    one_bag = torch.zeros(len(points), dtype=torch.long)
    logits = best_logits(lambda x: proportion_bound(x[points], one_bag, proportions), (N_POINTS, N_CLASSES))
    np.testing.assert_allclose(logits.softmax(1), np.tile(PROPORTIONS[0], (N_POINTS, 1)), atol=1e-5)


def value_of_generator(fake_counts):
    """C(G) = max_D Ṽ(G, D), by optimisation."""
    return -discriminator_loss(best_discriminator(1, fake_counts), 1, points_of(fake_counts)).item()


def third_term():
    """−Σ_i E CE(p_i, f*): the part of C(G) that no generator changes."""
    weights = BAG_DENSITIES / BAG_DENSITIES.sum(0)
    cross_entropies = -PROPORTIONS @ np.log(weights.T @ PROPORTIONS).T
    return -(BAG_DENSITIES * cross_entropies).sum()


def weighted_jensen_shannon(a, b, share):
    middle = share * a + (1 - share) * b
    divergence = [np.sum(p[p > 0] * np.log(p[p > 0] / middle[p > 0])) for p in (a, b)]
    return share * divergence[0] + (1 - share) * divergence[1]


LEAST = N_BAGS * np.log(N_BAGS) - (N_BAGS + 1) * np.log(N_BAGS + 1)


@pytest.mark.parametrize("fake_counts", [FAKE_COUNTS, np.array([1, 1, 1, 7]), np.array([4, 0, 4, 2])])
def test_theorem_2_the_line_in_the_middle_as_corrected(fake_counts):
    """Not 2·JSD − 2 log 2, but the divergence with weights n : 1 between the bags' mean and the fakes."""
    mean = BAG_DENSITIES.mean(0)
    share = N_BAGS / (N_BAGS + 1)
    divergence = (N_BAGS + 1) * weighted_jensen_shannon(mean, fake_counts / 10, share)
    assert value_of_generator(fake_counts) == pytest.approx(LEAST + divergence + third_term(), abs=1e-5)


def test_theorem_2_the_minimum_is_where_fakes_are_the_bags_mean():
    bags_mean = BAG_COUNTS.sum(0)  # of thirty
    assert value_of_generator(bags_mean) == pytest.approx(LEAST + third_term(), abs=1e-5)
    found = with_fake_class(best_discriminator(1, bags_mean))
    np.testing.assert_allclose(found[:, -1], 1 / (N_BAGS + 1), atol=1e-5)


def test_jensen_the_bound_is_never_below_the_exact_loss():
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        logits = torch.randn(30, N_CLASSES, generator=generator, dtype=torch.float64) * 3
        proportions = torch.as_tensor(PROPORTIONS)
        exact = proportion_loss(logits, BAG_INDEX, proportions)
        assert proportion_bound(logits, BAG_INDEX, proportions) >= exact


@pytest.mark.parametrize("certainty", [5.0, 50.0, 500.0])
def test_the_bound_punishes_a_perfect_classifier(certainty):
    labels, proportions = torch.tensor([0, 1, 1, 1]), torch.tensor([[0.25, 0.75]])
    logits = certainty * torch.nn.functional.one_hot(labels).double()
    bag = torch.zeros(4, dtype=torch.long)
    assert proportion_loss(logits, bag, proportions).item() == pytest.approx(0.5623, abs=2e-3)
    assert proportion_bound(logits, bag, proportions).item() > certainty * 0.3


# Six equally likely (point, class) pairs: the posterior is (1, 0), (1/3, 2/3), (0, 1); the prior is (1/2, 1/2)
# with the first list of classes and (2/3, 1/3) with the second.
PAIR_POINTS = np.array([0, 0, 1, 1, 1, 2])


@pytest.mark.parametrize("classes", [[0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1]], ids=["balanced", "unbalanced"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_bound_on_random_bags_learns_the_prior_and_a_little_more(classes, size):
    """All bags that can be drawn, each once: the optimum is η/m + (1 − 1/m)π, and the correction gives η."""
    classes = np.array(classes)
    posterior = np.stack([np.bincount(classes[x == PAIR_POINTS], minlength=2) for x in range(3)]).astype(float)
    posterior /= posterior.sum(1, keepdims=True)
    prior = np.bincount(classes) / 6
    draws = np.array(list(itertools.product(range(6), repeat=size)))
    points = torch.as_tensor(PAIR_POINTS[draws].ravel())
    bag_index = torch.repeat_interleave(torch.arange(len(draws)), size)
    proportions = torch.as_tensor(np.eye(2)[classes[draws]].mean(1))
    found = best_logits(lambda x: proportion_bound(x[points], bag_index, proportions), (3, 2)).softmax(1).numpy()
    np.testing.assert_allclose(found, bound_optimum(posterior, size, prior), atol=1e-4)
    np.testing.assert_allclose(undo_bound(found, size, prior), posterior, atol=1e-3)


def test_bags_of_one_are_supervised_training(blobs):
    """The same weights, bit for bit, as a plain loop of cross-entropy over the same steps."""
    instances, labels, _ = blobs
    steps, epochs, rate = 4, 3, 1e-2
    network = plain_mlp((3,), 2)
    model = DLLP(
        classifier=network,
        epochs=epochs,
        bags_per_step=20,
        learning_rate=rate,
        decay_from=1,
        average=0,
        random_state=0,
    ).fit(instances, labels)

    seed = int(np.random.RandomState(0).randint(2**31))
    scaling = Scaling.from_instances(instances)
    optimiser = torch.optim.AdamW(network.parameters(), rate, betas=(0.5, 0.999), weight_decay=0, fused=True)
    for epoch in range(epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(instances))
        for rows in np.array_split(order, steps):
            logits, _ = network(scaling(torch.tensor(instances[rows], dtype=torch.float32)))
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(logits, torch.tensor(labels[rows])).backward()
            optimiser.step()
    expected = network.state_dict()
    for name, weights in model.classifier_[1].state_dict().items():
        torch.testing.assert_close(weights, expected[name], rtol=1e-5, atol=1e-6)
    assert Bags.from_labels(instances, labels).sizes.max() == 1
