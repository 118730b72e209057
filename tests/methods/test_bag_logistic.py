import os
import platform
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from llpgan import BagLogistic, Bags, load, save
from llpgan.bags.on_disk import StoredInstances
from llpgan.methods import linear as linear_methods
from llpgan.methods.bag_logistic import BagCrossEntropies
from llpgan.methods.lbfgs import minimize_side_by_side
from llpgan.methods.linear import Steps, bag_blocks, principal_components
from llpgan.persistence.onnx import to_onnx
from llpgan.tables.store import store_bags


@pytest.fixture
def three_classes(rng):
    labels = rng.integers(3, size=60)
    return Bags.from_labels(
        rng.normal(size=(60, 2)) + np.eye(3)[labels, :2], labels, np.sort(rng.integers(9, size=60))
    )


def plain_loss(bags, weights, class_scores):
    """Bag by bag, row by row."""
    total = 0.0
    for bag in range(bags.n_bags):
        rows = bags.rows_of(bag)
        odds = np.exp(class_scores[:, rows])
        mean = (odds / odds.sum(axis=0)).mean(axis=1)
        total -= weights[bag] * sum(p * np.log(q) for p, q in zip(bags.proportions[bag], mean, strict=True))
    return total


def losses_of(bags, weights, penalty=0.0):
    """Of three classifiers, over blocks of a few rows."""
    blocks = bag_blocks(bags, lambda instances: instances, rows_a_block=10)
    assert len(blocks) > 1
    return BagCrossEntropies(bags, blocks, weights, penalty)


def points_for(bags, rng, n=3):
    outputs = bags.n_classes if bags.n_classes > 2 else 1
    return rng.normal(size=(n, outputs * (bags.instances.shape[1] + 1)))


def test_the_loss_is_the_bags_cross_entropy(three_classes, bags, rng):
    for some in (three_classes, bags):
        weights, points = rng.random((3, some.n_bags)), points_for(some, rng, n=2)
        values, _ = losses_of(some, weights)(points, np.array([2, 0]))
        features = np.column_stack([some.instances, np.ones(len(some.instances))])
        for value, point, of_bags in zip(values, points, weights[[2, 0]], strict=True):
            scores = point.reshape(-1, features.shape[1]) @ features.T
            class_scores = scores if some.n_classes == 3 else np.vstack([-scores / 2, scores / 2])
            assert value == pytest.approx(plain_loss(some, of_bags, class_scores))


def test_the_slope_is_the_losss(three_classes, bags, rng):
    weighted = replace(three_classes, weights=rng.random(60))
    bounded = Bags.from_arrays(
        three_classes.instances,
        three_classes.bag_index,
        lower=three_classes.proportions * 0.9,
        upper=three_classes.proportions * 0.9 + 0.1,
    )
    for some in (three_classes, bags, weighted, bounded):
        losses, (at,) = losses_of(some, rng.random((1, some.n_bags)), penalty=0.1), points_for(some, rng, n=1)
        only = np.array([0])
        error = check_grad(
            lambda x, losses=losses, only=only: losses(x[None], only)[0][0],
            lambda x, losses=losses, only=only: losses(x[None], only)[1][0],
            at,
        )
        assert error < 1e-5


def test_searches_side_by_side_are_those_of_scipy(bags, rng):
    weights = rng.multinomial(bags.n_bags, np.full(bags.n_bags, 1 / bags.n_bags), size=4) / bags.n_bags
    losses = losses_of(bags, weights, penalty=1e-3)
    found = minimize_side_by_side(losses, np.zeros((4, bags.instances.shape[1] + 1)), tol=1e-4).points
    options = {"gtol": 1e-4, "ftol": 0.0}
    for number, alone in enumerate(found):
        only = np.array([number])

        def one(x, only=only):
            value, slope = losses(x[None], only)
            return value[0], slope[0]

        expected = minimize(one, np.zeros_like(alone), jac=True, method="L-BFGS-B", options=options).x
        np.testing.assert_allclose(alone, expected, atol=1e-9)


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("n_steps", [0, 2])
def test_bags_in_a_file_are_learned_as_those_in_memory(n_steps, is_kept, bags, tmp_path, monkeypatch):
    """A file whose features take little memory is read a few times, a larger one in each step of the search."""
    np.save(tmp_path / "rows.npy", bags.instances)
    stored = replace(bags, instances=StoredInstances(tmp_path / "rows.npy"))
    method = BagLogistic(n_resamples=2, n_steps=n_steps, random_state=0)
    one = clone(method).fit_bags(bags)
    bytes_of_features = len(bags.instances) * (one._n_features(bags) + 1) * 8
    monkeypatch.setattr(linear_methods, "_MOST_KEPT", bytes_of_features if is_kept else bytes_of_features - 1)
    n_read, read = [], StoredInstances._read
    monkeypatch.setattr(
        StoredInstances, "_read", lambda self, into, row: n_read.append(len(into)) or read(self, into, row)
    )
    other = clone(method).fit_bags(stored)
    assert (sum(n_read) < 8 * len(bags.instances)) == is_kept
    np.testing.assert_array_equal(one.predict_proba(bags.instances), other.predict_proba(stored))


SEARCH = """
import resource, sys
from llpgan import BagLogistic
from llpgan.methods import linear
from llpgan.tables.store import open_store
linear._MOST_KEPT, bags = 0, open_store(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
BagLogistic(n_resamples=3, random_state=0).fit_bags(bags)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators keep memory in their own ways")
def test_a_search_does_not_ask_the_system_for_memory_again_and_again(tmp_path, rng):
    groups = np.arange(40_000) // 400
    rows = rng.normal(size=(40_000, 20)) + rng.normal(size=(100, 20))[groups]
    store_bags(Bags.from_labels(rows, rows[:, 0] > rng.normal(size=40_000), groups), tmp_path / "store")
    command = [sys.executable, "-c", SEARCH, str(tmp_path / "store")]
    found = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, text=True)
    assert int(found.stdout) < 30_000  # page faults: ten times as many if freed arrays go back to the system


def test_held_out_means_are_those_of_the_resamples_without_a_bag(bags):
    model = BagLogistic(n_resamples=5, refine=False, random_state=0).fit_bags(bags)
    each = []
    for linear in model.models_:
        alone = BagLogistic(n_resamples=0, refine=False).fit_bags(bags)
        alone.models_ = [linear]
        each.append(bags.means(alone.predict_proba(bags.instances)))
    draws = np.random.RandomState(0).multinomial(bags.n_bags, np.full(bags.n_bags, 1 / bags.n_bags), size=5)
    for bag, found in enumerate(model.held_out_means_):
        without = [means[bag] for means, count in zip(each, draws[:, bag], strict=True) if count == 0]
        expected = np.mean(without, axis=0) if without else np.full(2, np.nan)
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bags_of_one_are_logistic_regression(n_classes, rng):
    labels = rng.integers(n_classes, size=90)
    instances = rng.normal(size=(90, 3)) + np.eye(3)[labels]
    model = BagLogistic(C=0.7, n_resamples=0, refine=False, standardize=False, tol=1e-8).fit(instances, labels)
    expected = LogisticRegression(C=0.7, tol=1e-8).fit(instances, labels)
    np.testing.assert_allclose(model.predict_proba(instances), expected.predict_proba(instances), atol=1e-5)


def test_outliers_are_bent(bags):
    far = np.array(bags.instances)
    far[0] = 1e6
    straight, limited = (
        BagLogistic(n_resamples=0, refine=False, limit=limit).fit_bags(bags) for limit in (None, 3.0)
    )
    assert np.abs(straight._rows(far)).max() > 1e5
    assert np.abs(limited._rows(far)).max() <= 3


def test_resamples_are_averaged(bags):
    model = BagLogistic(n_resamples=3, refine=False, random_state=0).fit_bags(bags)
    assert len(model.models_) == 3
    each = []
    for linear in model.models_:
        alone = BagLogistic(n_resamples=0, refine=False).fit_bags(bags)
        alone.models_ = [linear]
        each.append(alone.predict_proba(bags.instances))
    np.testing.assert_allclose(model.predict_proba(bags.instances), np.mean(each, axis=0))


def test_the_seed_draws_the_resamples(bags):
    one, same, other = (
        BagLogistic(random_state=seed, n_resamples=3).fit_bags(bags).predict_proba(bags.instances)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_the_number_of_threads_changes_nothing(bags, monkeypatch):
    found = []
    for n_cores in (1, 3):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=n_cores: set(range(n)), raising=False)
        losses = losses_of(bags, np.full((2, bags.n_bags), 0.1))
        found.append(losses(np.ones((2, bags.instances.shape[1] + 1)), np.arange(2)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_principal_components_are_written_in_terms_of_all_columns(rng):
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 12)) + 5
    y = (X[:, 0] > 5).astype(int)
    model = BagLogistic(standardize=False, n_components=3, n_resamples=2, random_state=0)
    model.fit(X, y, groups=np.arange(200) // 10)
    assert model.models_[0].weights.shape == (1, 12)
    assert (model.predict(X) == y).mean() > 0.9
    off = rng.normal(size=12)
    spread = np.linalg.svd(X - X.mean(axis=0))[2][:3]
    off -= spread.T @ (spread @ off)  # a direction without variance
    np.testing.assert_allclose(model.predict_proba(X + off), model.predict_proba(X), atol=1e-6)


def test_principal_components_in_one_scale(rng):
    X = rng.normal(size=(500, 4)) * [9, 3, 1, 0.1] + 7
    mean, directions = principal_components(X, lambda instances: instances, 2)
    found = (X - mean) @ directions
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(found.var(axis=0).mean(), 1)
    np.testing.assert_allclose(np.corrcoef(found.T)[0, 1], 0, atol=1e-9)
    assert found.var(axis=0)[0] > 5 * found.var(axis=0)[1]


@pytest.fixture
def humps(rng):
    """The second class is in the middle of the first column; the second column has two values."""
    rows = np.column_stack([rng.normal(size=1500), rng.integers(2, size=1500)])
    return rows, (np.abs(rows[:, 0]) < 0.7).astype(int), np.arange(1500) // 5


def test_scores_with_steps_rise_and_fall(humps):
    rows, labels, groups = humps
    without, with_steps = (
        BagLogistic(n_steps=n, n_resamples=5, random_state=0).fit(rows, labels, groups=groups) for n in (0, 5)
    )
    assert without.score(rows, labels) < 0.7
    assert with_steps.score(rows, labels) > 0.85
    assert without.steps_ is None
    assert with_steps.steps_.columns.tolist() == [0] * 5


@pytest.mark.parametrize("limit", [3.0, None])
def test_models_with_steps_are_saved_and_exported(humps, tmp_path, limit):
    onnxruntime = pytest.importorskip("onnxruntime")
    rows, labels, groups = humps
    model = BagLogistic(n_steps=3, n_resamples=2, limit=limit, random_state=0).fit(rows, labels, groups=groups)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    session = onnxruntime.InferenceSession(to_onnx(loaded).SerializeToString())
    found = session.run(["probabilities"], {"instances": rows})[0]
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-6)


def test_steps_stand_at_quantiles_of_columns_with_more_than_two_values(rng):
    rows = np.column_stack([np.arange(100.0), np.arange(100) % 2, np.arange(100) % 3, np.ones(100)])
    steps = Steps.from_rows(rows, n_steps=3)
    assert steps.columns.tolist() == [0, 0, 0, 2, 2]
    assert steps.thresholds.tolist() == [24.5, 49.5, 74.5, 0.5, 1.5]
    found = steps(rows)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(found.std(axis=0), 1)


def test_steps_of_weighted_rows_are_those_of_repeated_rows(rng):
    rows, counts = rng.integers(8, size=(200, 3)).astype(float), rng.integers(1, 5, size=200)
    weighted, repeated = Steps.from_rows(rows, 3, counts.astype(float)), Steps.from_rows(rows.repeat(counts, 0), 3)
    np.testing.assert_array_equal(weighted.columns, repeated.columns)
    np.testing.assert_array_equal(weighted.thresholds, repeated.thresholds)
    np.testing.assert_allclose(weighted.shares, repeated.shares)


def test_a_value_that_is_rare_has_no_step():
    column = np.concatenate([np.zeros(995), np.ones(2), np.full(3, 2.0)])
    assert len(Steps.from_rows(column[:, None], n_steps=3).columns) == 0
