"""Networks on few large bags: as sure as held-out bags allow, the same classes, and all of it saved."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from llpgan import DLLP, LLPFC, Bags, load, save
from llpgan.deep.networks import mlp_classifier
from llpgan.evaluation import label_scores
from llpgan.methods.calibration import (
    HIGHEST,
    apply_temperature,
    choose_by_counts,
    few_large_bags,
    smallest_spread,
    temperature_losses,
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


def counted(rng, n_bags=40):
    """Images whose only pixel is the log-odds of their label, in bags of ten, with the posteriors."""
    logits = 2 * rng.normal(size=10 * n_bags)
    labels = (rng.uniform(size=len(logits)) < expit(logits)).astype(int)
    bags = Bags.from_labels(logits[:, None, None, None], labels, np.arange(len(logits)) // 10)
    return bags, np.column_stack([np.zeros(len(logits)), logits])


@pytest.mark.parametrize("times", [2.0, 3.0])
def test_counts_of_random_bags_find_the_temperature_of_logits_that_are_too_large(times, rng):
    bags, logits = counted(rng, n_bags=400)
    assert choose_by_counts(bags, softmax(times * logits, axis=1)) == pytest.approx(times, rel=0.25)


def test_counts_leave_right_logits_as_they_are_and_never_go_beyond_the_highest_temperature(rng):
    bags, logits = counted(rng)
    assert choose_by_counts(bags, softmax(logits, axis=1)) == 1
    assert 3 < choose_by_counts(bags, softmax(100 * logits, axis=1)) <= HIGHEST


def test_the_likelihood_of_counts_is_that_of_all_labels_with_these_counts(rng):
    """The mean gain of a temperature over bags, by going through all labels of each bag."""
    bags, logits = counted(rng, n_bags=20)

    def plain(temperature):
        members = expit(logits[:, 1] / temperature).reshape(-1, 10)
        law = np.ones((len(members), 1))
        for member in members.T[:, :, None]:
            law = np.pad(law * (1 - member), ((0, 0), (0, 1))) + np.pad(law * member, ((0, 0), (1, 0)))
        return -2 * np.log(law[np.arange(20), np.rint(10 * bags.proportions[:, 1]).astype(int)])

    found = temperature_losses(bags, logits, 1.7)
    np.testing.assert_allclose(found, plain(1.7), rtol=1e-8)


def test_held_out_bags_of_images_choose_the_temperature_without_further_training(rng):
    labels = rng.integers(2, size=320)
    images = rng.normal(size=(320, 1, 4, 4)) + 0.3 * labels[:, None, None, None]
    bags = Bags.from_labels(images.astype(np.float32), labels, np.arange(320) // 8)
    train, held_out = bags.take_bags(range(20)), bags.take_bags(range(20, 40))
    settings = {"epochs": 2, "classifier": mlp_classifier, "learning_rate": 0.2, "average": 0.0, "random_state": 0}
    sure = DLLP(calibrate=False, **settings).fit_bags(train, held_out=held_out)
    calm = DLLP(**settings).fit_bags(train, held_out=held_out)
    assert calm.temperature_ == choose_by_counts(held_out, sure.predict_proba(held_out.instances)) > 1
    np.testing.assert_array_equal(calm.predict(images), sure.predict(images))
    few = DLLP(**settings).fit_bags(train, held_out=held_out.take_bags(range(19)))
    assert few.temperature_ == 1


def test_verbose_names_the_phases_of_a_training(eight, capfd):
    DLLP(epochs=1, verbose=True, random_state=0).fit_bags(eight)
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["DLLP: epoch 1 of 1", *["DLLP: calibrating"] * 3]
    assert "copy 3 of 3, about 0 s left" in lines[-1]
