"""Bags of instances with known class proportions, and the warnings and errors about them."""

from llpgan.bags.bags import Bags
from llpgan.bags.fit_warnings import TrainingError, TrainingWarning, UninformativeBagsWarning

__all__ = ["Bags", "TrainingError", "TrainingWarning", "UninformativeBagsWarning"]
