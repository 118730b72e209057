"""How good predictions are: by labels, where there are any, and by bags, which there always are.

>>> from llpgan.evaluation import label_scores
>>> label_scores(["no", "yes"], [[0.9, 0.1], [0.2, 0.8]], ["no", "yes"]).accuracy.value
1.0
"""

from llpgan.evaluation.accuracy import LabelFreeScores, estimate_accuracy
from llpgan.evaluation.bags import BagScores, bag_scores
from llpgan.evaluation.estimates import Estimate
from llpgan.evaluation.importance import Rise, importance
from llpgan.evaluation.labels import CalibrationBin, LabelScores, label_scores

__all__ = [
    "BagScores",
    "CalibrationBin",
    "Estimate",
    "LabelFreeScores",
    "LabelScores",
    "Rise",
    "bag_scores",
    "estimate_accuracy",
    "importance",
    "label_scores",
]
