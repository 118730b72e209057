from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from llpgan import BagLogistic, Bags
from llpgan.methods import refinement
from llpgan.methods.lbfgs import Searches, minimize_side_by_side
from llpgan.methods.linear import BagBlock, bag_blocks
from llpgan.methods.refinement import (
    Refinement,
    TiltedCrossEntropies,
    choose_refined,
    count_losses,
    mixture_weights,
    refine_linear,
    tilt,
    tilt_binary,
)
from llpgan.persistence import load, save
from llpgan.persistence.onnx import to_onnx


def draw_bags(rng, n_classes, n_rows=120, size=12, distance=1.0):
    labels = rng.integers(n_classes, size=n_rows)
    rows = rng.normal(size=(n_rows, 3)) + distance * np.eye(3)[labels]
    return Bags.from_labels(rows, labels, np.arange(n_rows) // size)


def whole_blocks(bags, rows_a_block=50):
    return bag_blocks(bags, lambda instances: instances, rows_a_block=rows_a_block)


def losses_for(bags, power=1.5, penalty=0.1):
    return TiltedCrossEntropies(
        bags,
        whole_blocks(bags),
        bags.proportions,
        np.ones((1, bags.n_bags)),
        np.array([power]),
        np.array([penalty]),
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_have_the_proportions_of_their_bags(n_classes, rng):
    bags = draw_bags(rng, n_classes)
    bags = replace(
        bags, proportions=np.vstack([np.eye(n_classes)[0], bags.proportions[1:]])
    )  # one without the others
    (block,) = whole_blocks(bags, rows_a_block=1000)
    scores = 5 * rng.normal(size=(120, n_classes))
    if n_classes == 2:
        inside = (bags.proportions[:, 1:] > 0) & (bags.proportions[:, 1:] < 1)
        tilts = tilt_binary(block, scores[:, 1:], bags.proportions[:, 1:], np.zeros((bags.n_bags, 1)))
        means = block.sums(1 / (1 + np.exp(-scores[:, 1:] - block.repeat_rows(tilts)))) / block.sizes[:, None]
        np.testing.assert_allclose(means[inside], bags.proportions[:, 1:][inside], atol=1e-5)
        return
    labels, _, _ = tilt(block, scores, bags.proportions, np.zeros_like(bags.proportions))
    np.testing.assert_allclose(labels.sum(axis=1), 1)
    np.testing.assert_allclose(block.sums(labels) / block.sizes[:, None], bags.proportions, atol=1e-5)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_loss_is_the_smallest_over_labels_with_the_proportions(power, rng):
    """Against a search over the labels themselves, of one bag of six rows."""
    rows, target = rng.normal(size=(6, 3)), np.array([0.2, 0.3, 0.5])
    bags = Bags.from_arrays(rows, np.zeros(6, int), [target])
    point = rng.normal(size=(1, 12))
    scores = np.column_stack([rows, np.ones(6)]) @ point.reshape(3, 4).T
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    def value(flat):
        labels = flat.reshape(6, 3)
        return (labels * (np.log(labels) / power - logs)).sum() / 6

    rules = [
        {"type": "eq", "fun": lambda flat: flat.reshape(6, 3).sum(axis=1) - 1},
        {"type": "eq", "fun": lambda flat: flat.reshape(6, 3).mean(axis=0)[:2] - target[:2]},
    ]
    start = np.tile(target, (6, 1)).ravel()
    found = minimize(value, start, bounds=[(1e-9, 1)] * 18, constraints=rules, options={"ftol": 1e-12})
    values, _ = losses_for(bags, power, penalty=0.0)(point, np.array([0]))
    assert values[0] == pytest.approx(found.fun, abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("power", [1.0, 1.5])
def test_slope_is_that_of_the_loss(n_classes, power, rng):
    some = draw_bags(rng, n_classes)
    weighted = replace(some, weights=rng.random(120) + 0.1)
    for bags in (some, weighted):
        loss, which = losses_for(bags, power), np.array([0])
        point = rng.normal(size=4 if n_classes == 2 else 12)
        for _ in range(3):  # tilts are searched for from those found before
            loss(point[None], which)
        error = check_grad(
            lambda x, loss=loss: loss(x[None], np.array([0]))[0][0],
            lambda x, loss=loss: loss(x[None], np.array([0]))[1][0],
            point,
        )
        assert error < 1e-4


def test_bags_of_one_at_power_one_are_logistic_regression(rng):
    """Labels are then known, and cost their cross-entropy."""
    labels = rng.integers(2, size=40)
    bags = Bags.from_labels(rng.normal(size=(40, 3)), labels, np.arange(40))
    point = rng.normal(size=4)
    values, _ = losses_for(bags, power=1.0, penalty=0.0)(point[None], np.array([0]))
    signs = 2 * labels - 1
    expected = np.log1p(np.exp(-signs * (np.column_stack([bags.instances, np.ones(40)]) @ point)))
    assert values[0] == pytest.approx(expected.mean())


def test_searches_stop_and_go_on_as_in_one_go(rng):
    centres = rng.normal(size=(2, 3))

    def bowls(points, which):
        away = points - centres[which]
        return (away**4).sum(axis=1), 4 * away**3

    searches = Searches(bowls, np.zeros((2, 3)), 1e-9)
    for most in (2, 5, 30):
        searches.run(most)
    np.testing.assert_allclose(
        searches.points, minimize_side_by_side(bowls, np.zeros((2, 3)), tol=1e-9).points, atol=1e-2
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_small_steps_never_raise_the_loss_and_end_at_its_minimum(n_classes, rng):
    bags = draw_bags(rng, n_classes)
    bags = replace(bags, weights=rng.random(120) + 0.1, bag_weights=rng.random(10) + 0.1)
    start = rng.normal(size=(1, 1 if n_classes == 2 else 3, 4))
    weights = bags.bag_weights[None]
    loss = TiltedCrossEntropies(
        bags, whole_blocks(bags), bags.proportions, weights, np.array([1.0]), np.array([0.1])
    )
    values = []
    for rounds in (1, 2, 4, 8, 16, 400):
        settings = Refinement(1.0, rounds=rounds, penalty=0.1, small_steps=True)
        (points,) = refine_linear(bags, whole_blocks(bags), start, [], [settings])
        values.append(loss(points.reshape(1, -1), np.array([0]))[0][0])
    assert np.all(np.diff(values) < 1e-6)
    (searched,) = refine_linear(bags, whole_blocks(bags), start, [], [Refinement(1.0, 400, 0.1)])
    assert values[-1] == pytest.approx(loss(searched.reshape(1, -1), np.array([0]))[0][0], abs=1e-4)


def test_held_out_bags_choose_from_given_refinements(rng, tmp_path):
    bags = draw_bags(rng, 3, n_rows=240, distance=4.0)
    given = (Refinement(1.0, penalty=10.0), Refinement(1.5, penalty=0.01, small_steps=True))
    model = BagLogistic(refine=given, n_resamples=5, random_state=0).fit_bags(bags)
    assert model.refinement_ == given[1]
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").refine == given
    with pytest.raises(ValueError, match="refine must be True, False, a Refinement or several"):
        BagLogistic(refine=[1.5]).fit_bags(bags)


def test_clusters_are_found_from_few_bags(rng):
    """Two clouds far apart, in six bags: the refined classifier separates rows that plain fits confuse."""
    labels = rng.integers(2, size=600)
    rows = np.column_stack([6.0 * labels, 3 * rng.normal(size=(600, 8))]) + rng.normal(size=(600, 9))
    bags = Bags.from_labels(rows, labels, np.arange(600) // 100)
    plain = BagLogistic(refine=False, random_state=0).fit_bags(bags)
    refined = BagLogistic(refine=Refinement(1.5), random_state=0).fit_bags(bags)
    assert refined.score(rows, labels) > max(0.95, plain.score(rows, labels))
    assert refined.refinement_ == Refinement(1.5)


def test_held_out_bags_choose_of_several_refinements(rng):
    """A penalty of 100 leaves no weights, so that the overall shares are predicted."""
    bags = draw_bags(rng, 2, n_rows=200, size=20, distance=4.0)
    several = [Refinement(1.5, penalty=100.0), Refinement(1.5)]
    model = BagLogistic(refine=several, n_resamples=5, random_state=0).fit_bags(bags)
    assert model.refinement_ == Refinement(1.5)
    assert np.isfinite(model.held_out_means_).all()
    assert len(model.models_) == 6  # a classifier without each part, and one of all bags
    useless = BagLogistic(refine=[several[0], Refinement(1.0, penalty=100.0)], n_resamples=5, random_state=0)
    assert useless.fit_bags(bags).refinement_ is None


def test_refined_model_survives_saving(rng, tmp_path):
    bags = draw_bags(rng, 2)
    model = BagLogistic(refine=Refinement(1.0, rounds=3), n_resamples=5, random_state=0).fit_bags(bags)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.refine == loaded.refinement_ == Refinement(1.0, rounds=3)
    np.testing.assert_array_equal(loaded.predict_proba(bags), model.predict_proba(bags))


def test_unknown_shares_are_refined_within_their_bounds(rng):
    bags = draw_bags(rng, 3, n_rows=120, distance=4.0)
    bounded = Bags.from_arrays(
        bags.instances, bags.bag_index, lower=bags.proportions * 0.9, upper=bags.proportions * 0.9 + 0.1
    )
    model = BagLogistic(refine=Refinement(1.5), n_resamples=5, random_state=0).fit_bags(bounded)
    means = bags.means(model.predict_proba(bags.instances))
    assert np.abs(means - bags.proportions).max() < 0.15


def test_bag_weights_of_zero_leave_bags_out(rng):
    bags = draw_bags(rng, 2)
    start = np.zeros((1, 1, 4))
    weighted = replace(bags, bag_weights=np.r_[np.zeros(3), np.ones(7)])
    (with_all,) = refine_linear(weighted, whole_blocks(bags), start, [], [Refinement(1.0)])
    some = bags.take_bags(np.arange(3, 10))
    (without,) = refine_linear(some, whole_blocks(some), start, [], [Refinement(1.0)])
    np.testing.assert_allclose(with_all, without, atol=1e-3)


def test_count_losses_allow_for_bags_that_differ_beyond_chance(rng):
    bags = draw_bags(rng, 2, n_rows=1200)
    exact = np.array(bags.proportions)
    off = np.clip(exact + np.where(np.arange(bags.n_bags) % 2, 0.1, -0.1)[:, None] * [1, -1], 0, 1)
    variances = np.full_like(exact, 1e-4)
    assert count_losses(bags, exact, variances).mean() < count_losses(bags, off, variances).mean()
    assert count_losses(bags, off, variances).mean() < 0  # ten standard deviations would cost fifty


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"power": 0}, "power must be"), ({"rounds": 0}, "rounds must be"), ({"penalty": -1.0}, "penalty must be")],
)
def test_wrong_settings_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        Refinement(**settings)


def test_one_candidate_is_used_in_any_case(rng):
    bags = draw_bags(rng, 2)
    parts = np.array_split(np.arange(10), 5)
    starts = 0.1 * rng.normal(size=(5, 2, 1, 4))
    refined = choose_refined(bags, whole_blocks(bags), starts, parts, Refinement(1.0, rounds=5))
    assert refined.refinement == Refinement(1.0, rounds=5)
    assert refined.points.shape == (6, 1, 4)


def test_mixture_weights_are_the_best_of_all(rng):
    """Against a search over a fine grid of weights."""
    bags = draw_bags(rng, 3)
    means = rng.dirichlet(np.ones(3), size=(2, bags.n_bags))
    means[0] = (means[0] + 2 * bags.proportions) / 3
    counts = bags.sizes / (1 + 0.1 * (bags.sizes - 1))

    def value(first):
        mean = first * means[0] + (1 - first) * means[1]
        return counts @ (bags.proportions * np.log(mean)).sum(axis=1) + (np.log(first) + np.log(1 - first)) / 2

    grid = np.linspace(0.001, 0.999, 999)
    best = grid[np.argmax([value(first) for first in grid])]
    weights = mixture_weights(bags, means)
    np.testing.assert_allclose(weights, [best, 1 - best], atol=2e-3)
    gone = means.copy()
    gone[:, 3] = np.nan  # a bag that no prediction is known of
    without = mixture_weights(bags.take_bags(np.delete(np.arange(10), 3)), np.delete(means, 3, axis=1))
    np.testing.assert_allclose(mixture_weights(bags, gone), without)


def test_predictions_that_match_equally_well_count_the_same(rng):
    bags = draw_bags(rng, 2)
    np.testing.assert_allclose(mixture_weights(bags, np.full((4, bags.n_bags, 2), 0.5)), 0.25)


@pytest.mark.parametrize(("n_classes", "distance"), [(2, 0.7), (3, 0.3)])
def test_classifiers_with_and_without_refinement_are_averaged(n_classes, distance, rng, tmp_path):
    """Predictions are the mean of those without refinement and with each, also saved and exported."""
    onnxruntime = pytest.importorskip("onnxruntime")
    bags = draw_bags(rng, n_classes, n_rows=240, size=12, distance=distance)
    model = BagLogistic(refine=True, n_resamples=5, random_state=0).fit_bags(bags)
    assert isinstance(model.refinement_, tuple)
    assert len(model.models_) == len(model.weights_) == 3 * (5 + 6 + 6)
    assert model.weights_.sum() == pytest.approx(1)
    one, expected = BagLogistic(refine=False, n_resamples=0).fit_bags(bags), 0.0
    one.weights_ = None
    for linear, weight in zip(model.models_, model.weights_, strict=True):
        one.models_ = [linear]
        expected = expected + weight * one.predict_proba(bags)
    np.testing.assert_allclose(model.predict_proba(bags), expected)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.refinement_ == model.refinement_
    np.testing.assert_array_equal(loaded.predict_proba(bags), model.predict_proba(bags))
    session = onnxruntime.InferenceSession(to_onnx(loaded).SerializeToString())
    found = session.run(["probabilities"], {"instances": bags.instances})[0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_refinements_that_match_held_out_bags_worse_are_left_out(rng, monkeypatch):
    """A penalty that leaves no weights predicts the overall shares."""
    monkeypatch.setattr(refinement, "AVERAGED", (Refinement(1.0, penalty=1e4),))
    bags = draw_bags(rng, 2, n_rows=600, distance=3.0)
    model = BagLogistic(refine=True, n_resamples=5, random_state=0).fit_bags(bags)
    assert model.refinement_ is model.weights_ is None
    assert len(model.models_) == 3 * 5


def test_of_many_bags_two_parts_choose_the_same_as_all(rng, monkeypatch):
    bags = draw_bags(rng, 3, n_rows=480, size=8, distance=2.0)
    parts = np.array_split(rng.permutation(bags.n_bags), 5)
    starts = 0.3 * rng.normal(size=(5, 2, 3, 4))
    candidates = [Refinement(1.5, penalty=100.0), Refinement(1.5)]
    by_all = choose_refined(bags, whole_blocks(bags), starts, parts, candidates)
    monkeypatch.setattr(refinement, "MANY_BAGS", bags.n_bags)
    n_refined = []
    refine = refinement.refine_linear
    monkeypatch.setattr(
        refinement, "refine_linear", lambda *a: n_refined.append(len(a[2]) * len(a[4])) or refine(*a)
    )
    by_two = choose_refined(bags, whole_blocks(bags), starts, parts, candidates)
    assert by_two.refinement == by_all.refinement == candidates[1]
    assert n_refined == [4, 4]
    np.testing.assert_allclose(by_two.points, by_all.points, atol=1e-6)
    np.testing.assert_allclose(by_two.held_out_means, by_all.held_out_means, atol=1e-6)


def test_products_of_columns_are_summed_by_bag(rng):
    sizes = np.array([1, 5, 4, 9, 16, 2])
    starts, shares = np.cumsum(sizes) - sizes, rng.uniform(0.5, 1.5, size=sizes.sum())
    block = BagBlock(slice(0, 6), sizes, starts, shares, lambda: None)
    labels = rng.normal(size=(sizes.sum(), 3))
    found = refinement._product_means(block, labels)
    for bag, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        rows = slice(start, start + size)
        np.testing.assert_allclose(found[bag], (labels[rows].T * shares[rows]) @ labels[rows] / size)


def test_confident_labels_have_the_proportions_too(rng):
    labels = rng.integers(10, size=(256, 16))
    scores = rng.normal(size=(256, 16, 10)) + 3 * np.eye(10)[labels]
    logs = 3 * scores.reshape(-1, 10)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    shares = np.eye(10)[labels].mean(axis=1)
    block = BagBlock(slice(0, 256), np.full(256, 16), np.arange(256) * 16, None, lambda: None)
    _, _, tilts = tilt(block, logs, shares, np.zeros_like(shares))
    found, normalizers, tilts = tilt(block, 1.02 * logs, shares, tilts)  # from those of almost the same
    np.testing.assert_allclose(found.reshape(256, 16, 10).mean(axis=1), shares, atol=1e-5)
    tilted = 1.02 * logs + np.where(shares > 0, tilts, -np.inf).repeat(16, axis=0)
    np.testing.assert_allclose(normalizers, np.log(np.exp(tilted).sum(axis=1)), atol=1e-9)
