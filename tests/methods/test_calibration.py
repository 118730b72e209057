"""Networks on few large bags: as sure as held-out bags allow, the same classes, and all of it saved."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from llpgan import DLLP, LLPFC, Bags, load, save
from llpgan.evaluation import label_scores
from llpgan.methods.calibration import (
    apply_temperature,
    few_large_bags,
    smallest_spread,
)
from llpgan.persistence.onnx import to_onnx


@pytest.fixture
def noisy(rng):
    """Labels that one column tells only by chance, in 24 bags of 40 whose shares differ."""
    centres = np.repeat(rng.normal(size=24), 40)
    instances = np.column_stack([centres + rng.normal(size=960), rng.normal(size=(960, 4))])
    labels = (rng.uniform(size=960) < expit(instances[:, 0])).astype(int)
    return Bags.from_labels(instances, labels, np.arange(960) // 40), labels


def test_temperature_is_that_of_logits(rng):
    logits = rng.normal(size=(5, 3))
    np.testing.assert_allclose(apply_temperature(softmax(logits, axis=1), 4.0), softmax(logits / 4, axis=1))


def test_tempered_certainty_is_no_nan():
    assert apply_temperature(np.array([[0.0, 1.0]]), 9.0).tolist() == [[0.0, 1.0]]


def test_logits_that_are_right_keep_about_their_spread(rng):
    """Bags of many instances, whose shares are what the logits say."""
    logits = np.repeat(3 * rng.normal(size=100), 50) + rng.normal(size=5000)
    table = np.column_stack([-logits, logits]) / 2
    spread = float(np.sqrt(np.mean(table**2)))
    labels = (rng.uniform(size=5000) < expit(logits)).astype(int)
    bags = Bags.from_labels(np.zeros((5000, 1)), labels, np.arange(5000) // 50)
    for most in (spread, 30 * spread):
        assert smallest_spread(bags, table / spread, most) == pytest.approx(spread, rel=0.35)


@pytest.mark.parametrize(
    ("shape", "n_bags", "wanted"),
    [
        ((40, 2), 24, True),
        ((8, 2), 24, False),
        ((40, 2), 5, False),
        ((40, 2), 201, False),
        ((40, 1, 2, 2), 24, False),
    ],
)
def test_it_is_for_tables_of_few_large_bags(shape, n_bags, wanted):
    size, *row = shape
    n = n_bags * size
    bags = Bags.from_labels(np.zeros((n, *row)), np.arange(n) % 3, np.arange(n) // size)
    assert few_large_bags(bags) == wanted


@pytest.mark.slow
def test_it_makes_probabilities_better_and_leaves_classes_as_they_are(noisy):
    bags, labels = noisy
    sure, calm = (DLLP(epochs=60, calibrate=on, random_state=0).fit_bags(bags) for on in (False, None))
    assert sure.temperature_ == 1
    assert calm.temperature_ > 1
    np.testing.assert_array_equal(calm.predict(bags.instances), sure.predict(bags.instances))
    before, after = (label_scores(labels, m.predict_proba(bags.instances), bags.classes) for m in (sure, calm))
    assert after.log_loss.value < before.log_loss.value
    assert after.calibration_error.value < before.calibration_error.value


def test_temperature_is_saved_and_exported(noisy, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    bags, _ = noisy
    model = DLLP(epochs=5, learning_rate=0.02, random_state=0).fit_bags(bags)
    assert model.temperature_ > 1
    expected = model.predict_proba(bags.instances)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(bags.instances), expected)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    probabilities = session.run(["probabilities"], {"instances": bags.instances})[0]
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)


def refused(model, bags, message):
    """Whether a model is refused before any epoch of its training."""
    seen = []
    with pytest.raises(ValueError, match=message):
        model.fit_bags(bags, monitor=lambda _: seen.append(1) or {})
    return not seen


def test_it_cannot_be_asked_of_a_handful_of_bags(bags):
    few = bags.take_bags([0, 1, 2])
    assert refused(DLLP(epochs=1, calibrate=True), few, "calibrate=True needs 6 bags at least, here are 3")


@pytest.fixture
def eight(rng):
    """Large bags of five classes."""
    labels = rng.integers(5, size=320)
    return Bags.from_labels(rng.normal(size=(320, 2)) + labels[:, None], labels, np.arange(320) // 40)


def test_held_out_bags_judge_the_copies_as_they_judged_the_network(eight):
    model = DLLP(epochs=3, patience=2, random_state=0)
    assert model.fit_bags(eight.take_bags(range(7)), held_out=eight.take_bags([7])).temperature_ > 1
    assert model.set_params(validation_fraction=0.1).fit_bags(eight).temperature_ > 1


def test_too_few_bags_for_a_method_in_parts_are_not_calibrated(eight):
    six = eight.take_bags(range(6))
    assert LLPFC(epochs=1, random_state=0).fit_bags(six).temperature_ == 1
    assert refused(LLPFC(epochs=1, calibrate=True), six, "calibrate=True needs 8 bags at least, here are 6")
