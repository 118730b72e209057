import numpy as np
import pytest
from sklearn import metrics

from llpgan.evaluation import label_scores


@pytest.fixture(params=[2, 4])
def predictions(request, rng):
    probabilities = rng.dirichlet(np.ones(request.param), size=300)
    labels = np.array([rng.choice(request.param, p=row) for row in probabilities])
    return labels, probabilities, np.arange(request.param)


def test_figures_are_scikit_learns(predictions):
    labels, probabilities, classes = predictions
    scores = label_scores(labels, probabilities, classes)
    best = probabilities.argmax(1)
    assert scores.n == 300
    assert scores.accuracy.value == pytest.approx(metrics.accuracy_score(labels, best))
    assert scores.log_loss.value == pytest.approx(metrics.log_loss(labels, probabilities))
    np.testing.assert_array_equal(scores.confusion, metrics.confusion_matrix(labels, best))
    one = probabilities[:, 1] if len(classes) == 2 else probabilities
    assert scores.auc.value == pytest.approx(metrics.roc_auc_score(labels, one, multi_class="ovr"))


def test_calibration_by_a_plain_loop(predictions):
    labels, probabilities, classes = predictions
    scores = label_scores(labels, probabilities, classes)
    bins = {}
    for label, row in zip(labels, probabilities, strict=True):
        bins.setdefault(int(row.max() * 10), []).append((row.max(), label == row.argmax()))
    expected = [(*np.mean(bins[b], axis=0), len(bins[b])) for b in sorted(bins)]
    np.testing.assert_allclose(scores.calibration, expected)
    error = sum(n / 300 * abs(right - sure) for sure, right, n in expected)
    assert scores.calibration_error.value == pytest.approx(error)


def test_classes_are_matched_by_name():
    scores = label_scores(["yes", "no"], [[0.9, 0.1], [0.9, 0.1]], ["yes", "no"])
    np.testing.assert_array_equal(scores.confusion, [[1, 0], [1, 0]])


def test_a_class_that_no_row_has_is_left_out_of_the_auc(rng):
    labels, probabilities = rng.integers(2, size=50), rng.dirichlet(np.ones(3), size=50)
    each = [metrics.roc_auc_score(labels == k, probabilities[:, k]) for k in (0, 1)]
    assert label_scores(labels, probabilities, [0, 1, 2]).auc.value == pytest.approx(np.mean(each))


def test_one_class_alone_has_no_auc():
    assert label_scores([1, 1], [[0.5, 0.5], [0.2, 0.8]], [0, 1]).auc is None


def test_a_sure_mistake_is_finite():
    scores = label_scores([0, 1], [[0.0, 1.0], [0.0, 1.0]], [0, 1])
    assert np.isfinite(scores.log_loss.value)
    assert scores.calibration_error.value == 0.5


def test_a_label_that_is_no_class_is_named():
    with pytest.raises(ValueError, match=r"row 1: label 'maybe' is not one of the classes \['no', 'yes'\]"):
        label_scores(["no", "maybe"], [[1, 0], [1, 0]], ["no", "yes"])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="1 labels, but 2 rows of probabilities"):
        label_scores([0], [[1, 0], [1, 0]], [0, 1])
