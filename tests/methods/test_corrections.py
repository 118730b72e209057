"""What a model adds to its predictions from held-out bags: prediction sets and corrected probabilities."""

import numpy as np
import pytest

from llpgan import DLLP, BagLogistic, Bags, MeanMap, load, save
from llpgan.bags.bags import count_shared_bags, fingerprint_bags


def draw(seed, n=3200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return Bags.from_labels(X, np.digitize(X[:, 0] + rng.normal(size=n), [-0.5, 0.5]), np.arange(n) // 16)


@pytest.fixture
def model():
    return BagLogistic(n_resamples=0, random_state=0).fit_bags(draw(0))


@pytest.mark.parametrize("kind", ["temperature", "vector", "isotonic"])
def test_corrections_are_saved_and_exported(model, tmp_path, kind):
    raw = model.predict_proba(draw(3))
    model.recalibrate(draw(1), kind=kind).conformalize(draw(2))
    rows = draw(3).instances
    corrected = model.predict_proba(rows)
    assert np.abs(corrected - raw).max() > 1e-3
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(rows), corrected)
    np.testing.assert_array_equal(loaded.predict_set(rows, 0.8), model.predict_set(rows, 0.8))
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    from llpgan.persistence.onnx import to_onnx

    session = runtime.InferenceSession(to_onnx(loaded).SerializeToString())
    np.testing.assert_allclose(session.run(None, {"instances": rows})[0], corrected, atol=1e-12)


def test_training_bags_are_known_and_refused(model):
    bags = draw(0)
    assert count_shared_bags(fingerprint_bags(bags), fingerprint_bags(draw(1))) == 0
    assert count_shared_bags(fingerprint_bags(bags), fingerprint_bags(bags.take_bags([3, 50]))) == 2
    with pytest.raises(ValueError, match="30 of these 30 bags are among those that the model was trained on"):
        model.conformalize(bags.take_bags(range(30)))
    with pytest.raises(ValueError, match="200 of these 200 bags"):
        model.recalibrate(bags)


def test_other_bags_of_few_values_are_not_mistaken_for_those_of_the_training():
    def draw_answers(seed):
        answers = np.random.default_rng(seed).integers(2, size=(6400, 2))
        return Bags.from_labels(answers.astype(float), answers[:, 0], np.arange(6400) // 16)

    MeanMap().fit_bags(draw_answers(0)).refuse_training_bags(draw_answers(1))


def test_fitting_again_forgets_sets_and_corrections(model):
    model.recalibrate(draw(1)).conformalize(draw(2))
    model.fit_bags(draw(4))
    assert not hasattr(model, "calibrator_")
    with pytest.raises(ValueError, match="this BagLogistic has no prediction sets: call conformalize"):
        model.predict_set(draw(5))


def test_new_probabilities_make_old_sets_invalid(model):
    assert not hasattr(model.conformalize(draw(1)).recalibrate(draw(2)), "sets_")


def test_a_failed_correction_leaves_the_model_as_it_was(model):
    model.recalibrate(draw(1)).conformalize(draw(2))
    before, sets, rows = model.calibrator_, model.sets_, draw(3)
    predicted = model.predict_proba(rows)
    with pytest.raises(ValueError, match="needs 20 bags or more"):
        model.recalibrate(draw(4).take_bags(range(19)))
    assert model.calibrator_ is before
    assert model.sets_ is sets
    np.testing.assert_array_equal(model.predict_proba(rows), predicted)


def test_a_second_correction_replaces_the_first(model):
    once = model.recalibrate(draw(1)).calibrator_
    again = model.recalibrate(draw(2)).recalibrate(draw(1)).calibrator_
    np.testing.assert_array_equal(again.slopes, once.slopes)


def test_a_network_keeps_its_correction(tmp_path):
    network = DLLP(epochs=2, calibrate=False, random_state=0).fit_bags(draw(0, 960))
    raw = network.predict_proba(draw(3, 320))
    network.recalibrate(draw(1), kind="vector").conformalize(draw(2))
    rows = draw(3, 320).instances
    corrected = network.predict_proba(rows)
    assert np.abs(corrected - raw).max() > 1e-3
    save(network, tmp_path / "network")
    loaded = load(tmp_path / "network")
    np.testing.assert_array_equal(loaded.predict_proba(rows), corrected)
    np.testing.assert_array_equal(loaded.predict_set(rows, 0.8), network.predict_set(rows, 0.8))
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    from llpgan.persistence.onnx import to_onnx

    session = runtime.InferenceSession(to_onnx(loaded).SerializeToString())
    np.testing.assert_allclose(session.run(None, {"instances": rows})[0], corrected, atol=1e-5)


def test_other_bags_allow_only_a_temperature():
    rng = np.random.default_rng(0)

    def by_value(n=3200):
        X = rng.normal(size=(n, 2))
        y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
        return Bags.from_labels(X, y, np.argsort(np.argsort(X[:, 0] + rng.normal(size=n))) // 32)

    model = MeanMap().fit_bags(by_value())
    held_out = by_value()
    with pytest.raises(ValueError, match="needs bags that were drawn at random"):
        model.recalibrate(held_out, kind="isotonic")
    with pytest.raises(ValueError, match=r"or larger sets for any bags \(worst_case\)"):
        model.conformalize(held_out)
    assert model.recalibrate(held_out).calibrator_.slopes.shape == (2,)
