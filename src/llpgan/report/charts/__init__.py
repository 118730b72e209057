"""Charts as SVG inside the page: one function per chart, from the story to markup."""

from llpgan.report.charts.column_chart import MOST_COLUMNS, what_matters
from llpgan.report.charts.comparison_chart import compared_methods
from llpgan.report.charts.effect_charts import effect
from llpgan.report.charts.group_chart import group_shares
from llpgan.report.charts.histograms import bag_sizes, class_shares, probabilities
from llpgan.report.charts.label_charts import MOST_CLASSES_CONFUSED, calibration, confusion
from llpgan.report.charts.learning_charts import error_by_bags, kept_epoch, learning_curves
from llpgan.report.charts.share_scatter import (
    MOST_POINTS,
    MOST_SMALL_POINTS,
    predicted_against_given,
    predicted_against_given_small,
)

__all__ = [
    "MOST_CLASSES_CONFUSED",
    "MOST_COLUMNS",
    "MOST_POINTS",
    "MOST_SMALL_POINTS",
    "bag_sizes",
    "calibration",
    "class_shares",
    "compared_methods",
    "confusion",
    "effect",
    "error_by_bags",
    "group_shares",
    "kept_epoch",
    "learning_curves",
    "predicted_against_given",
    "predicted_against_given_small",
    "probabilities",
    "what_matters",
]
