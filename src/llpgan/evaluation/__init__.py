"""Evaluation of predictions by labels and by bags, and inspection of bags before training.

>>> from llpgan.evaluation import label_scores
>>> label_scores(["no", "yes"], [[0.9, 0.1], [0.2, 0.8]], ["no", "yes"]).accuracy.value
1.0
"""

from llpgan.evaluation.calibrate import BagCalibration, Calibrator, estimate_calibration, fit_calibrator
from llpgan.evaluation.choose import LabelWeight, Suggestion, choose_label_weight, suggest_labels
from llpgan.evaluation.compare import QUICK, SIMPLEST_FIRST, Comparison, Result, compare
from llpgan.evaluation.explain import PartialDependence, importance, partial_dependence
from llpgan.evaluation.inspect import Inspection, LearningCurve, inspect_bags, learning_curve
from llpgan.evaluation.monitor import MonitorReport, Snapshot, monitor, read_history
from llpgan.evaluation.scores import (
    BagScores,
    CalibrationTable,
    Estimate,
    LabelScores,
    bag_scorer,
    bag_scores,
    label_scores,
)
from llpgan.evaluation.sets import PredictionSets, SetScores, conformalize, set_scores
from llpgan.evaluation.splitters import BagKFold, BagShuffleSplit, Fold, WithinBagKFold, bag_folds
from llpgan.evaluation.without_labels import (
    LabelFreeScores,
    RandomnessTest,
    Verdict,
    estimate_accuracy,
    judge_without_labels,
    randomness_test,
    worst_case,
)
from llpgan.utils.old_names import getattr_of_old_names

__all__ = [
    "QUICK",
    "SIMPLEST_FIRST",
    "BagCalibration",
    "BagKFold",
    "BagScores",
    "BagShuffleSplit",
    "CalibrationTable",
    "Calibrator",
    "Comparison",
    "Estimate",
    "Fold",
    "Inspection",
    "LabelFreeScores",
    "LabelScores",
    "LabelWeight",
    "LearningCurve",
    "MonitorReport",
    "PartialDependence",
    "PredictionSets",
    "RandomnessTest",
    "Result",
    "SetScores",
    "Snapshot",
    "Suggestion",
    "Verdict",
    "WithinBagKFold",
    "bag_folds",
    "bag_scorer",
    "bag_scores",
    "choose_label_weight",
    "compare",
    "conformalize",
    "estimate_accuracy",
    "estimate_calibration",
    "fit_calibrator",
    "importance",
    "inspect_bags",
    "judge_without_labels",
    "label_scores",
    "learning_curve",
    "monitor",
    "partial_dependence",
    "randomness_test",
    "read_history",
    "set_scores",
    "suggest_labels",
    "worst_case",
]

_HERE, _GROUPS = "llpgan.evaluation", "llpgan.ecological"
__getattr__ = getattr_of_old_names(
    _HERE,
    {
        "CalibrationBin": f"{_HERE}.by_labels:CalibrationBin",
        "GroupCounts": f"{_GROUPS}:GroupCounts",
        "GroupShares": f"{_GROUPS}:GroupShares",
        "Rise": f"{_HERE}.explain:Rise",
        "WorstCase": f"{_HERE}.without_labels:WorstCase",
        "hoeffding": f"{_HERE}.without_labels:hoeffding",
        "shares_by": f"{_GROUPS}:shares_by",
        "shares_from_counts": f"{_GROUPS}:shares_from_counts",
    },
)
