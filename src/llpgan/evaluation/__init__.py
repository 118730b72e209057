"""Evaluation of predictions by labels and by bags, and inspection of bags before training.

>>> from llpgan.evaluation import label_scores
>>> label_scores(["no", "yes"], [[0.9, 0.1], [0.2, 0.8]], ["no", "yes"]).accuracy.value
1.0
"""

from llpgan.evaluation.accuracy_bounds import WorstCase, hoeffding, worst_case
from llpgan.evaluation.bag_scores import BagScores, bag_scores
from llpgan.evaluation.calibration_table import CalibrationBin, CalibrationTable
from llpgan.evaluation.groups import GroupCounts, GroupShares, shares_by, shares_from_counts
from llpgan.evaluation.importance import Rise, importance
from llpgan.evaluation.inspection import Inspection, inspect_bags
from llpgan.evaluation.interval_estimate import Estimate
from llpgan.evaluation.label_free_accuracy import LabelFreeScores, estimate_accuracy
from llpgan.evaluation.label_scores import LabelScores, label_scores
from llpgan.evaluation.learning_curve import LearningCurve, learning_curve
from llpgan.evaluation.partial_dependence import PartialDependence, partial_dependence
from llpgan.evaluation.randomness import RandomnessTest, randomness_test
from llpgan.evaluation.scorers import bag_scorer
from llpgan.evaluation.without_labels import Verdict, judge_without_labels

__all__ = [
    "BagScores",
    "CalibrationBin",
    "CalibrationTable",
    "Estimate",
    "GroupCounts",
    "GroupShares",
    "Inspection",
    "LabelFreeScores",
    "LabelScores",
    "LearningCurve",
    "PartialDependence",
    "RandomnessTest",
    "Rise",
    "Verdict",
    "WorstCase",
    "bag_scorer",
    "bag_scores",
    "estimate_accuracy",
    "hoeffding",
    "importance",
    "inspect_bags",
    "judge_without_labels",
    "label_scores",
    "learning_curve",
    "partial_dependence",
    "randomness_test",
    "shares_by",
    "shares_from_counts",
    "worst_case",
]
