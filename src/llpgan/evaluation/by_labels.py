"""Scores of predictions by labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags.checks import check_same_length, check_weights
from llpgan.evaluation.intervals import Estimate, auc_estimate, mean, share
from llpgan.utils.arrays import Array, choose_classes, refuse_masked, to_frame
from llpgan.utils.messages import html_table


class CalibrationBin(NamedTuple):
    """Instances with about the same confidence of the classifier.

    Attributes
    ----------
    confidence : float
        The mean probability of the most probable class.
    accuracy : float
        The share of instances whose most probable class is right.
    n : int
        The number of instances.
    """

    confidence: float
    accuracy: float
    n: int


class CalibrationTable(tuple[CalibrationBin, ...]):
    """The groups that are not empty, from unsure to sure.

    Parameters
    ----------
    iterable : iterable of CalibrationBin, default=()
        The groups.

    Examples
    --------
    >>> CalibrationTable([CalibrationBin(0.9, 0.8, 10)]).to_frame().shape
    (1, 3)
    """

    __slots__ = ()

    def to_frame(self) -> Any:
        """The groups as a pandas frame, with one row per group.

        Returns
        -------
        pandas.DataFrame
            One row per entry.
        """
        return to_frame({name: [getattr(row, name) for row in self] for name in CalibrationBin._fields})


_BINS = 10
_LEAST = np.finfo(np.float64).eps  # a probability of zero would make one mistake count for ever


@dataclass(frozen=True, eq=False)
class LabelScores:
    """Comparison of predictions with labels.

    Intervals have 95 % confidence, and treat instances as independent. If rows have weights, figures are weighted
    means, and the intervals are those of the effective number of rows, (Σ w)² / Σ w².

    Attributes
    ----------
    n : int
        The number of instances.
    accuracy : Estimate
        The share of instances whose most probable class is right, with Wilson's interval.
    log_loss : Estimate
        The mean of −log (probability of the true class), with Student's t interval.
    auc : Estimate or None
        With two classes, the area under the ROC curve of the second one, with DeLong's interval. With more
        classes, the mean over the present classes of the area of each against the rest, without interval. None if
        only one class is present.
    calibration_error : Estimate
        The mean over instances of ``|accuracy − mean probability|`` in their bin, for ten bins of equal width by
        the probability of the most probable class. It has no interval, because resampling raises it.
    confusion : ndarray of shape (n_classes, n_classes)
        The counts, or sums of weights, with true classes in rows and predicted classes in columns.
    calibration : CalibrationTable
        The bins that are not empty, from low to high confidence.
    """

    n: int
    accuracy: Estimate
    log_loss: Estimate
    auc: Estimate | None
    calibration_error: Estimate
    confusion: NDArray[Any]
    calibration: CalibrationTable

    def __repr__(self) -> str:
        return f"LabelScores({self.n:,} instances, accuracy {self.accuracy})"

    def _repr_html_(self) -> str:
        known = {"accuracy": self.accuracy, "AUC": self.auc, "log loss": self.log_loss}
        known |= {"calibration error": self.calibration_error}
        figures = {name: found for name, found in known.items() if found is not None}
        ends = ["" if found.low is None else f"{found.low:.3f} to {found.high:.3f}" for found in figures.values()]
        values = [f"{found.value:.3f}" for found in figures.values()]
        columns = {"": list(figures), "value": values, "95 % interval": ends}
        baseline = self.confusion.sum(axis=1).max() / self.confusion.sum()
        note = f"Always predicting the commonest class would have an accuracy of {baseline:.3f}."
        return html_table(columns, f"Scores by the labels of {self.n:,} instances", note=note)


def label_scores(
    labels: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    threshold: float | Mapping[Any, float] | None = None,
) -> LabelScores:
    """Compare the labels of instances with the predicted probabilities of the classes.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The true class of each instance.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities.
    classes : array-like of shape (n_classes,)
        The classes, in the order of the columns of ``probabilities``.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts; a row of weight zero is left out. None means that all rows count the same.
    threshold : float or mapping of class to float, default=None
        The probability from which a class is predicted, as in ``predict``. It changes accuracy and confusion.

    Returns
    -------
    LabelScores
        The scores.

    Raises
    ------
    ValueError
        If a label is not one of the classes.

    Examples
    --------
    >>> scores = label_scores(["no", "yes", "yes"], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], ["no", "yes"])
    >>> scores.confusion
    array([[1, 0],
           [1, 1]])
    >>> print(scores.accuracy)
    0.667 (0.208 to 0.939)
    """
    table = refuse_masked(probabilities, "probabilities").astype(np.float64)
    truth = _positions(refuse_masked(labels, "labels"), np.asarray(classes))
    check_same_length("labels", truth, "rows of probabilities", table)
    weights = None if sample_weight is None else check_weights(sample_weight, len(truth))
    if weights is not None:
        kept = weights > 0
        table, truth, weights = table[kept], truth[kept], weights[kept]
        weights = None if (weights == weights[0]).all() else weights
    n_classes, predicted = table.shape[1], choose_classes(table, np.asarray(classes), threshold)
    n_effective = len(truth) if weights is None else float(weights.sum() ** 2 / np.square(weights).sum())
    accuracy = float(np.average(predicted == truth, weights=weights))
    bins, bin_shares = _calibration(table.max(axis=1), table.argmax(axis=1) == truth, weights)
    confusion = np.bincount(truth * n_classes + predicted, weights, minlength=n_classes**2)
    return LabelScores(
        n=len(truth),
        accuracy=share(accuracy * n_effective, n_effective),
        log_loss=mean(-np.log(np.clip(table[np.arange(len(truth)), truth], _LEAST, 1)), weights),
        auc=_auc(table, truth, weights),
        calibration_error=Estimate(
            float(sum(part * abs(b.accuracy - b.confidence) for part, b in zip(bin_shares, bins, strict=True)))
        ),
        confusion=confusion.reshape(n_classes, -1),
        calibration=bins,
    )


def _positions(labels: Array, classes: Array) -> NDArray[np.int64]:
    """The place of each label among the classes."""
    places = {name: place for place, name in enumerate(classes.tolist())}
    found = np.array([places.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    for row in np.flatnonzero(found < 0).tolist():
        raise ValueError(f"row {row}: label {labels[row].item()!r} is not one of the classes {classes.tolist()}")
    return found


def _auc(table: Array, truth: NDArray[np.int64], weights: Array | None) -> Estimate | None:
    present = np.unique(truth)
    if len(present) < 2:
        return None
    if table.shape[1] == 2:
        return auc_estimate(table[:, 1], truth == 1, weights)
    return Estimate(float(np.mean([auc_estimate(table[:, k], truth == k, weights).value for k in present])))


def _calibration(confidence: Array, right: Array, weights: Array | None) -> tuple[CalibrationTable, list[float]]:
    """The bins, and the share of all rows that each has."""
    bin_of_row = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    counts = np.ones(len(right)) if weights is None else weights
    members = [bin_of_row == b for b in np.unique(bin_of_row)]
    bins = CalibrationTable(
        CalibrationBin(
            float(np.average(confidence[rows], weights=counts[rows])),
            float(np.average(right[rows], weights=counts[rows])),
            int(rows.sum()),
        )
        for rows in members
    )
    return bins, [float(counts[rows].sum() / counts.sum()) for rows in members]
