"""How good predictions are where the labels of instances are known."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import validation
from llpgan.evaluation import interval_estimate
from llpgan.evaluation.calibration_table import CalibrationBin, CalibrationTable
from llpgan.evaluation.interval_estimate import Estimate
from llpgan.utils.arrays import Array

_BINS = 10
_LEAST = np.finfo(np.float64).eps  # a probability of zero would make one mistake count for ever


@dataclass(frozen=True, eq=False)
class LabelScores:
    """How predictions compare with labels. Intervals are of 95 %, as if instances were independent.

    Attributes:
        n: the number of instances.
        accuracy: the share whose most probable class is right; Wilson's interval.
        log_loss: the mean of −log (probability of the true class), natural logarithm; Student's t interval.
        auc: two classes: the area under the ROC curve of the second, with DeLong's interval; more: the plain mean
            of each present class against the rest, without interval; None where only one class is present.
        calibration_error: instances are sorted into ten equally wide bins by the probability of their most
            probable class; the mean over instances of their bin's |accuracy − mean probability|. It has no
            interval, since resampling raises it.
        confusion: ``(K, K)`` counts, true classes in rows, predicted ones in columns.
        calibration: the bins that are not empty, from unsure to sure.
    """

    n: int
    accuracy: Estimate
    log_loss: Estimate
    auc: Estimate | None
    calibration_error: Estimate
    confusion: NDArray[np.int64]
    calibration: CalibrationTable


def label_scores(labels: ArrayLike, probabilities: ArrayLike, classes: ArrayLike) -> LabelScores:
    """Compare the labels of instances with the predicted probabilities of the classes.

    >>> scores = label_scores(["no", "yes", "yes"], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], ["no", "yes"])
    >>> scores.confusion
    array([[1, 0],
           [1, 1]])
    >>> print(scores.accuracy)
    0.667 (0.208 to 0.939)
    """
    table = np.asarray(probabilities, dtype=np.float64)
    truth = _positions(np.asarray(labels), np.asarray(classes))
    validation.same_length("labels", truth, "rows of probabilities", table)
    n_classes, predicted = table.shape[1], table.argmax(axis=1)
    bins = _calibration(table.max(axis=1), predicted == truth)
    return LabelScores(
        n=len(truth),
        accuracy=interval_estimate.share(int((predicted == truth).sum()), len(truth)),
        log_loss=interval_estimate.mean(-np.log(np.clip(table[np.arange(len(truth)), truth], _LEAST, 1))),
        auc=_auc(table, truth),
        calibration_error=Estimate(sum(b.n * abs(b.accuracy - b.confidence) for b in bins) / len(truth)),
        confusion=np.bincount(truth * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, -1),
        calibration=bins,
    )


def _positions(labels: Array, classes: Array) -> NDArray[np.int64]:
    """The place of each label among the classes."""
    places = {name: place for place, name in enumerate(classes.tolist())}
    found = np.array([places.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    for row in np.flatnonzero(found < 0).tolist():
        raise ValueError(f"row {row}: label {labels[row].item()!r} is not one of the classes {classes.tolist()}")
    return found


def _auc(table: Array, truth: NDArray[np.int64]) -> Estimate | None:
    present = np.unique(truth)
    if len(present) < 2:
        return None
    if table.shape[1] == 2:
        return interval_estimate.auc(table[:, 1], truth == 1)
    return Estimate(float(np.mean([interval_estimate.auc(table[:, k], truth == k).value for k in present])))


def _calibration(confidence: Array, right: Array) -> CalibrationTable:
    bin_of_row = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    members = [bin_of_row == b for b in np.unique(bin_of_row)]
    return CalibrationTable(
        CalibrationBin(float(confidence[rows].mean()), float(right[rows].mean()), int(rows.sum()))
        for rows in members
    )
