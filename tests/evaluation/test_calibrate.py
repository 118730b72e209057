"""Calibration from bags: the temperature, class slopes and shapes that labels would give, and honest errors."""

import numpy as np
import pytest
from scipy.special import softmax

from llpgan import Bags
from llpgan.evaluation import label_scores
from llpgan.evaluation.calibrate import estimate_calibration, fit_calibrator


def draw(n, rng, bend=lambda z: z, n_classes=3):
    logits = 1.5 * rng.normal(size=(n, n_classes))
    true = softmax(logits, axis=1)
    labels = (true.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return Bags.from_labels(logits, labels, np.arange(n) // 16), softmax(bend(logits), axis=1), labels


def losses(labels, *tables):
    return [label_scores(labels, table, np.arange(table.shape[1])).log_loss.value for table in tables]


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_the_temperature_is_found_without_labels(factor):
    bags, probabilities, _ = draw(8000, np.random.default_rng(0), lambda z: factor * z)
    calibrator = fit_calibrator(bags, probabilities)
    assert 1 / calibrator.slopes == pytest.approx([factor] * 3, rel=0.1)
    assert (calibrator.apply(probabilities).argmax(axis=1) == probabilities.argmax(axis=1)).all()


def test_vector_scaling_corrects_what_a_temperature_cannot():
    rng = np.random.default_rng(1)
    bend = lambda z: 2 * z + np.array([0, 1.5, -1])  # noqa: E731
    bags, probabilities, _ = draw(8000, rng, bend)
    _, new, labels = draw(8000, rng, bend)
    tables = [fit_calibrator(bags, probabilities, kind=kind).apply(new) for kind in ("temperature", "vector")]
    best = softmax((np.log(new) - [0, 1.5, -1]) / 2, axis=1)
    raw, temperature, vector, least = losses(labels, new, *tables, best)
    assert vector < temperature < raw
    assert vector - least < 0.01


def test_isotonic_regression_corrects_a_bent_scale():
    rng = np.random.default_rng(2)
    bend = lambda z: 3 * np.tanh(z)  # noqa: E731
    bags, probabilities, _ = draw(8000, rng, bend, n_classes=2)
    _, new, labels = draw(8000, rng, bend, n_classes=2)
    calibrator = fit_calibrator(bags, probabilities, kind="isotonic")
    assert (np.diff(calibrator.values, axis=1) >= 0).all()
    raw, fixed = losses(labels, new, calibrator.apply(new))
    assert fixed < raw
    assert calibrator.apply(new).sum(axis=1) == pytest.approx(1)


def test_the_calibration_error_has_an_interval_that_holds():
    bags, probabilities, labels = draw(8000, np.random.default_rng(3), lambda z: 2.5 * z)
    found = estimate_calibration(bags, probabilities)
    truth = label_scores(labels, probabilities, [0, 1, 2])
    assert found.error.low < truth.calibration_error.value < found.error.high
    assert found.error.value == pytest.approx(truth.calibration_error.value, abs=0.03)
    sure = probabilities.max(axis=1).mean() - truth.accuracy.value
    assert found.overconfidence.low < sure < found.overconfidence.high
    assert found.log_loss.low < truth.log_loss.value < found.log_loss.high
    good = estimate_calibration(*draw(8000, np.random.default_rng(4))[:2])
    assert good.error.low == 0
    assert good.error.value < 0.03


def test_few_bags_and_unknown_kinds_are_refused():
    bags, probabilities, _ = draw(800, np.random.default_rng(5))
    with pytest.raises(ValueError, match="a calibrator needs 20 bags or more, got 10"):
        fit_calibrator(bags.take_bags(range(10)), probabilities[:160])
    with pytest.raises(ValueError, match="kind must be one of temperature, vector, isotonic, got 'platt'"):
        fit_calibrator(bags, probabilities, kind="platt")


def test_a_reliability_diagram_needs_no_labels():
    from matplotlib.figure import Figure

    from llpgan import MeanMap
    from llpgan.report import ReliabilityDisplay

    train, held_out = draw(1600, np.random.default_rng(6))[0], draw(4800, np.random.default_rng(7))[0]
    display = ReliabilityDisplay.from_bags(MeanMap().fit_bags(train), held_out, ax=Figure().add_subplot())
    assert len(display.errors) == len(display.bins) > 3
    assert sum(group.n for group in display.bins) == 4800
