import numpy as np
import pytest

from llpgan import AutoLLP, BagLogistic, Bags, load, save
from llpgan.methods import auto_llp
from llpgan.methods.refinement import mixture_weights
from llpgan.persistence.onnx import to_onnx

LINEAR = ["BagLogistic", "BagLogistic, steps"]
ALL_PARTS = ["BagBoosting, all features", "BagBoosting", *LINEAR]


@pytest.fixture(scope="module")
def random_bags():
    """Two classes that no line parts, in bags of ten."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1200, 2))
    return Bags.from_labels(rows, (np.hypot(*rows.T) < 1).astype(int), np.arange(1200) // 10)


@pytest.fixture(scope="module")
def label_shift():
    rng = np.random.default_rng(1)
    groups = np.repeat(range(4), 500)
    labels = (rng.random(2000) < np.array([0.2, 0.4, 0.6, 0.8])[groups]).astype(int)
    return Bags.from_labels(rng.normal(size=(2000, 2)) + labels[:, None], labels, groups)


@pytest.fixture(scope="module")
def of_label_shift(label_shift):
    return AutoLLP(random_state=0).fit_bags(label_shift)


@pytest.fixture(scope="module")
def of_natural_bags():
    return AutoLLP(random_state=0).fit_bags(natural_bags(30))


def test_trees_count_for_more_where_they_match_held_out_bags_better(random_bags):
    model = AutoLLP(random_state=0).fit_bags(random_bags)
    assert [row["method"] for row in model.tried_] == ["BagBoosting", *LINEAR]
    assert model.tried_[0]["held_out_loss"] < model.tried_[1]["held_out_loss"]
    assert model.weights_[1] < 0.1
    assert model.weights_.sum() == pytest.approx(1)
    each = [part.predict_proba(random_bags.instances) for part in model.models_]
    np.testing.assert_allclose(
        model.predict_proba(random_bags.instances), np.einsum("m,mik->ik", model.weights_, each)
    )


def test_under_label_shift_trees_count_for_two_thirds(label_shift, of_label_shift):
    model = of_label_shift
    assert model.models_[0].bag_shift_ == "label"
    np.testing.assert_allclose(model.weights_, [2 / 3, 1 / 3])
    each = [part.predict_proba(label_shift.instances) for part in model.models_]
    expected = 2 / 3 * each[0] + 1 / 3 * each[1]
    np.testing.assert_allclose(model.predict_proba(label_shift.instances), expected)


def test_few_bags_by_a_feature_are_learned_by_the_linear_model_alone(rng):
    groups = np.repeat(range(5), 100)
    rows = rng.normal(size=(500, 2)) + groups[:, None]
    labels = (rng.random(500) < 0.15 * groups + 0.1).astype(int)
    model = AutoLLP(random_state=0).fit(rows, labels, groups=groups)
    assert [row["method"] for row in model.tried_] == ["BagLogistic"]


def test_the_linear_model_gets_the_time_that_is_left(label_shift, monkeypatch):
    """By a clock that says that everything takes so long."""
    now = iter(np.arange(0, 1e6, 10.0))
    monkeypatch.setattr(auto_llp.time, "perf_counter", lambda: float(next(now)))
    little = AutoLLP(random_state=0, time_limit=1.0).fit_bags(label_shift)
    assert [row["method"] for row in little.tried_] == ["BagBoosting"]
    bags = natural_bags(30)
    short, enough = (AutoLLP(random_state=0, time_limit=limit).fit_bags(bags) for limit in (2000.0, 4000.0))
    assert [row["method"] for row in short.tried_] == ALL_PARTS[:-1]
    assert [row["method"] for row in enough.tried_] == ALL_PARTS
    linear, additive = enough.models_[2:]
    assert 10 < linear.n_resamples < 100
    assert 10 < additive.n_resamples < 50
    assert little.chosen_.endswith("BagLogistic left out, for which there was no time")
    assert "stopped growing by the time limit" in short.chosen_
    assert short.chosen_.endswith("BagLogistic, steps left out, for which there was no time")
    assert f"{linear.n_resamples} of 100 resamples and no refinement by the time limit" in enough.chosen_
    assert f"{additive.n_resamples} of 50 resamples and no refinement by the time limit" in enough.chosen_


@pytest.mark.parametrize("with_steps", [False, True])
def test_saved_and_exported_models_predict_the_same(with_steps, tmp_path, request):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = request.getfixturevalue("of_natural_bags" if with_steps else "of_label_shift")
    assert any(getattr(part, "n_steps", 0) for part in model.models_) == with_steps
    rows = natural_bags(30).instances[:, : model.n_features_in_]
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    assert loaded.chosen_ == model.chosen_
    session = onnxruntime.InferenceSession(to_onnx(loaded).SerializeToString())
    found = session.run(["probabilities"], {"instances": rows})[0]
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-5)


def test_an_impossible_time_limit_is_refused(bags):
    with pytest.raises(ValueError, match="time_limit"):
        AutoLLP(time_limit=0.0).fit_bags(bags)


def natural_bags(n_bags):
    """Bags that differ by a feature, in which a line tells the classes apart."""
    rng = np.random.default_rng(2)
    groups = np.repeat(range(n_bags), 40)
    rows = rng.normal(size=(len(groups), 3)) + rng.normal(size=(n_bags, 3))[groups]
    labels = (rng.random(len(groups)) < 1 / (1 + np.exp(-2 * rows[:, 0]))).astype(int)
    return Bags.from_labels(rows, labels, groups)


def test_the_linear_model_is_refined_under_covariate_shift(of_natural_bags):
    model = of_natural_bags
    all_features, few_features, linear, additive = model.models_
    assert all_features.max_features == 1.0
    assert few_features.max_features is None
    assert all_features.bag_shift_ == few_features.bag_shift_ == "covariate"
    given = {"random_state": linear.random_state, "time_limit": linear.time_limit, "refine": True}
    assert linear.get_params() == BagLogistic(**given).get_params()
    given |= {"n_steps": 3, "n_resamples": 50, "time_limit": additive.time_limit}
    assert additive.get_params() == BagLogistic(**given).get_params()
    means = np.array([part.held_out_means_ for part in model.models_])
    np.testing.assert_allclose(model.weights_, mixture_weights(natural_bags(30), means, np.full(4, 0.25)))


def test_trees_count_for_a_fifth_where_few_random_bags_cannot_tell_methods_apart(rng):
    rows = rng.normal(size=(2000, 3))
    labels = (rng.random(2000) < 1 / (1 + np.exp(-rows[:, 0]))).astype(int)
    bags = Bags.from_labels(rows, labels, np.arange(2000) // 100)
    model = AutoLLP(random_state=0).fit_bags(bags)
    means = np.array([part.held_out_means_ for part in model.models_])
    np.testing.assert_allclose(model.weights_, mixture_weights(bags, means, np.array([0.2, 0.4, 0.4])))


def test_few_bags_and_columns_of_two_values_have_no_steps(quick_parts):
    bags = natural_bags(30)
    binary = Bags.from_arrays((bags.instances > 0).astype(float), bags.bag_index, bags.proportions)
    for without in (natural_bags(15), binary):  # three columns and nine steps need sixteen bags
        assert [row["method"] for row in AutoLLP(random_state=0).fit_bags(without).tried_] == ALL_PARTS[:-1]


def test_a_short_time_limit_leaves_refinement_out(monkeypatch):
    """By a clock that says that everything takes ten seconds."""
    now = iter(np.arange(0, 1e6, 10.0))
    monkeypatch.setattr(auto_llp.time, "perf_counter", lambda: float(next(now)))
    bags = natural_bags(30)
    short, long = (AutoLLP(random_state=0, time_limit=limit).fit_bags(bags) for limit in (6000.0, 1e5))
    assert not short.models_[2].refine
    assert "no refinement by the time limit" in short.chosen_
    assert long.models_[2].refine is True
    assert "time limit" not in long.chosen_


@pytest.mark.parametrize("limit", [800.0, 1600.0, 3000.0, 6000.0, 8000.0])
def test_training_ends_before_the_time_limit(monkeypatch, limit):
    """By a clock of which every look takes ten seconds; the last few steps are known to take less."""
    now = iter(np.arange(0, 1e6, 10.0))
    monkeypatch.setattr(auto_llp.time, "perf_counter", lambda: float(next(now)))
    AutoLLP(random_state=0, time_limit=limit).fit_bags(natural_bags(30))
    assert next(now) <= 1.1 * limit


def test_the_linear_model_is_refined_and_counts_for_a_third_under_label_shift(rng):
    shares = np.linspace(0.1, 0.9, 12)
    groups = np.repeat(range(12), 100)
    labels = (rng.random(1200) < shares[groups]).astype(int)
    model = AutoLLP(random_state=0).fit(rng.normal(size=(1200, 2)) + labels[:, None], labels, groups=groups)
    assert model.models_[0].bag_shift_ == "label"
    assert model.models_[1].refine is True
    np.testing.assert_allclose(model.weights_, [2 / 3, 1 / 3])
