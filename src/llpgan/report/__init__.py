"""The report on a trained model, as one HTML page.

>>> from llpgan import Bags, MeanMap
>>> bags = Bags.from_labels([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"], groups=[0, 0, 1, 1])
>>> page = render(tell(MeanMap().fit_bags(bags), bags, title="Four rows"))
>>> page.startswith("<!doctype html>")
True
"""

from llpgan.report.command_pages import InspectionPage, comparison_page, evaluation_page, shares_page
from llpgan.report.displays import (
    ComparisonDisplay,
    GroupSharesDisplay,
    LearningCurveDisplay,
    ProportionDisplay,
    ReliabilityDisplay,
)
from llpgan.report.page import render
from llpgan.report.story import Story, tell
from llpgan.report.written_report import write_report

__all__ = [
    "ComparisonDisplay",
    "GroupSharesDisplay",
    "InspectionPage",
    "LearningCurveDisplay",
    "ProportionDisplay",
    "ReliabilityDisplay",
    "Story",
    "comparison_page",
    "evaluation_page",
    "render",
    "shares_page",
    "tell",
    "write_report",
]
