"""The report on a trained model, as one HTML page.

>>> from llpgan import Bags, MeanMap
>>> bags = Bags.from_labels([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"], groups=[0, 0, 1, 1])
>>> page = render(collect_content(MeanMap().fit_bags(bags), bags, title="Four rows"))
>>> page.startswith("<!doctype html>")
True
"""

from llpgan.report.content import ReportContent, collect_content
from llpgan.report.displays import (
    ComparisonDisplay,
    ConfusionDisplay,
    LearningCurveDisplay,
    ProportionDisplay,
    ReliabilityDisplay,
)
from llpgan.report.effects import EffectDisplay, GroupSharesDisplay, ImportanceDisplay
from llpgan.report.group_counts import BoundsDisplay, DifferencesDisplay, SensitivityDisplay
from llpgan.report.monitoring import MonitorDisplay, monitor_page
from llpgan.report.page import InspectionPage, comparison_page, evaluation_page, render, shares_page, write_report
from llpgan.utils.old_names import getattr_of_old_names

__all__ = [
    "BoundsDisplay",
    "ComparisonDisplay",
    "ConfusionDisplay",
    "DifferencesDisplay",
    "EffectDisplay",
    "GroupSharesDisplay",
    "ImportanceDisplay",
    "InspectionPage",
    "LearningCurveDisplay",
    "MonitorDisplay",
    "ProportionDisplay",
    "ReliabilityDisplay",
    "ReportContent",
    "SensitivityDisplay",
    "collect_content",
    "comparison_page",
    "evaluation_page",
    "monitor_page",
    "render",
    "shares_page",
    "write_report",
]

__getattr__ = getattr_of_old_names(
    "llpgan.report", {"Story": "llpgan.report:ReportContent", "tell": "llpgan.report:collect_content"}
)
