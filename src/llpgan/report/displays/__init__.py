"""Plots in scikit-learn's way: a result and an ``ax`` in, a display out, with ``ax_`` and ``figure_``."""

from llpgan.report.displays.comparison_display import ComparisonDisplay
from llpgan.report.displays.group_shares_display import GroupSharesDisplay
from llpgan.report.displays.learning_curve_display import LearningCurveDisplay
from llpgan.report.displays.proportion_display import ProportionDisplay
from llpgan.report.displays.reliability_display import ReliabilityDisplay

__all__ = [
    "ComparisonDisplay",
    "GroupSharesDisplay",
    "LearningCurveDisplay",
    "ProportionDisplay",
    "ReliabilityDisplay",
]
