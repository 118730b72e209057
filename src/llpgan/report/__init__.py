"""The report on a trained model, as one HTML page.

>>> from llpgan import Bags, MeanMap
>>> bags = Bags.from_labels([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"], groups=[0, 0, 1, 1])
>>> page = render(tell(MeanMap().fit_bags(bags), bags, title="Four rows"))
>>> page.startswith("<!doctype html>")
True
"""

from llpgan.report.page import render
from llpgan.report.story import Story, tell

__all__ = ["Story", "render", "tell"]
