from itertools import groupby, pairwise, product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from llpgan import AlterSVM, Bags
from llpgan.methods.linear import Features, KernelMap, Linear
from llpgan.methods.svm import Problem, fit_svm, hinge


@st.composite
def one_bag(draw):
    """Scores of up to ten instances, the share that their bag should have, and the settings."""
    scores = draw(arrays(float, st.integers(1, 10), elements=st.floats(-3, 3, width=16)))
    share = draw(st.floats(0, 1))
    return scores, share, draw(st.floats(0.1, 10)), draw(st.floats(0.1, 20)), draw(st.sampled_from([0.0, 0.1]))


def costs_of(scores, signs, share, C, proportion_weight, epsilon):
    missed = max(0, abs(np.mean(signs > 0) - share) - epsilon)
    return C * hinge(signs * scores)[0].sum() + proportion_weight * len(signs) * missed


@given(one_bag())
def test_the_label_step_is_the_best_of_all_labelings(case):
    scores, share, C, proportion_weight, epsilon = case
    bags = Bags.from_arrays(np.zeros((len(scores), 1)), [0] * len(scores), np.array([[1 - share, share]]))
    problem = Problem(
        Features.from_rows(bags.instances), bags, bags.proportions[:, 1], C, proportion_weight, epsilon
    )
    found = problem.best_signs(scores, C)
    settings = share, C, proportion_weight, epsilon
    least = min(costs_of(scores, np.array(signs), *settings) for signs in product([-1, 1], repeat=len(scores)))
    np.testing.assert_allclose(costs_of(scores, found, *settings), least, atol=1e-9)


@given(st.lists(one_bag(), min_size=2, max_size=4), st.randoms())
def test_the_label_step_takes_each_bag_for_itself(cases, random):
    """Bags whose rows are mixed: as each alone."""
    groups = np.repeat(np.arange(len(cases)), [len(scores) for scores, *_ in cases])
    scores, order = np.concatenate([scores for scores, *_ in cases]), list(range(len(groups)))
    random.shuffle(order)
    shares = np.array([share for _, share, *_ in cases])
    bags = Bags.from_arrays(np.zeros((len(order), 1)), groups[order], np.column_stack([1 - shares, shares]))
    found = Problem(Features.from_rows(bags.instances), bags, shares, 1.0, 3.0, 0.0).best_signs(scores[order], 1.0)
    for bag, share in enumerate(shares):
        alone = Bags.from_arrays(
            np.zeros((bags.sizes[bag], 1)), [0] * bags.sizes[bag], np.array([[1 - share, share]])
        )
        own = scores[order][bags.rows_of(bag)]
        expected = Problem(
            Features.from_rows(alone.instances), alone, shares[bag, None], 1.0, 3.0, 0.0
        ).best_signs(own, 1.0)
        one, other = (costs_of(own, signs, share, 1.0, 3.0, 0.0) for signs in (found[bags.rows_of(bag)], expected))
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.fixture
def problem(rng):
    labels = rng.integers(2, size=200)
    bags = Bags.from_labels(rng.normal(size=(200, 4)) + 1.5 * labels[:, None], labels, np.arange(200) // 10)
    return Problem(Features.from_rows(bags.instances), bags, bags.proportions[:, 1], 1.0, 10.0, 0.0)


def test_the_objective_never_rises_within_a_stage(problem, rng):
    for seed in range(3):
        turns = list(problem.turns(problem.random_signs(np.random.RandomState(seed)), 1e-4))
        stages = [list(stage) for _, stage in groupby(turns, key=lambda turn: turn.C)]
        assert len(stages) == 24
        assert any(len(stage) > 1 for stage in stages)
        for stage in stages:
            assert all(after.objective <= before.objective + 1e-9 for before, after in pairwise(stage))


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_machine_of_given_labels_equals_cvxpy(problem, C):
    """With the hinge rounded within 0.1, as a Huber function."""
    features, signs = problem.bags.instances, problem.random_signs(np.random.RandomState(0))
    weights, intercept = cp.Variable(4), cp.Variable()
    slack = 1.1 - cp.multiply(signs, features @ weights + intercept)
    curved, straight = (
        cp.Variable(200),
        cp.Variable(200),
    )  # the rounded hinge is the least of a²/0.4 + b over a + b
    cost = cp.sum(cp.square(curved) / 0.4 + straight)
    exact = cp.Problem(
        cp.Minimize(cp.sum_squares(weights) / 2 + C * cost),
        [curved + straight >= slack, curved >= 0, straight >= 0],
    )
    exact.solve(solver=cp.CLARABEL)
    model = fit_svm(problem.features, signs, C, Linear.zero(1, 4))
    found = np.sum(model.weights**2) / 2 + C * hinge(signs * problem.features.scores(model)[0])[0].sum()
    np.testing.assert_allclose(found, exact.value, rtol=1e-4)


def test_the_machine_is_nearly_that_of_the_hinge_as_it_is(problem, rng):
    signs = problem.random_signs(np.random.RandomState(0))
    plain = SVC(kernel="linear", C=0.1).fit(problem.bags.instances, signs)
    model = fit_svm(problem.features, signs, 0.1, Linear.zero(1, 4))
    np.testing.assert_allclose(model.weights, plain.coef_, atol=0.05)


def test_features_of_all_rows_are_the_kernel(rng):
    rows, others = rng.normal(size=(30, 3)), rng.normal(size=(8, 3))
    exact = KernelMap.from_kernel(rbf_kernel, rows, None, np.random.RandomState(0))
    np.testing.assert_allclose(exact(rows) @ exact(rows).T, rbf_kernel(rows), atol=1e-6)
    np.testing.assert_allclose(exact(others) @ exact(rows).T, rbf_kernel(others, rows), atol=1e-6)


def circles(rng):
    """One class around the other, in bags of eight."""
    labels = rng.integers(2, size=240)
    angles, radii = rng.uniform(0, 2 * np.pi, 240), 1 + 2 * labels + 0.2 * rng.normal(size=240)
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]), labels, np.arange(240) // 8


@pytest.mark.parametrize("n_components", [None, 60])
def test_a_kernel_bends_the_boundary(rng, n_components):
    instances, labels, groups = circles(rng)
    model = AlterSVM(kernel="rbf", n_components=n_components, n_restarts=2, random_state=0)
    assert model.fit(instances, labels, groups=groups).score(instances, labels) > 0.95


def test_a_kernel_too_large_for_memory_is_refused_before_it_starts(rng):
    bags = Bags.from_labels(np.zeros((20_000, 1)), np.arange(20_000) % 2, np.arange(20_000) // 3)
    said = "20000 rows with 20000 landmarks takes about 12,207 MB, beyond 4,096 MB: give n_components=1000 or less"
    with pytest.raises(MemoryError, match=said):
        AlterSVM(kernel="rbf").fit_bags(bags)


def test_a_kernel_says_what_it_takes(bags, caplog):
    with caplog.at_level("INFO", logger="llpgan"):
        AlterSVM(kernel="rbf", n_restarts=0).fit_bags(bags)
    assert "the kernel of 80 rows with 80 landmarks takes about" in caplog.text


def test_one_class_for_all_is_said(rng):
    bags = Bags.from_labels(rng.normal(size=(100, 2)), np.arange(100) == 50, np.arange(100) // 10)
    with pytest.warns(ConvergenceWarning, match="proportion_weight is 0.01, and should be larger than C"):
        AlterSVM(proportion_weight=0.01, random_state=0, n_restarts=1).fit_bags(bags)


def test_starts_at_once_are_the_same_starts(bags):
    one, two = (AlterSVM(random_state=0, n_jobs=n).fit_bags(bags).predict_proba(bags.instances) for n in (None, 2))
    np.testing.assert_array_equal(one, two)
