"""Bags of instances with known class proportions, and what must hold of them."""

from llpgan.bags.bags import Bags
from llpgan.bags.fit_warnings import TrainingError, TrainingWarning, UninformativeBagsWarning

__all__ = ["Bags", "TrainingError", "TrainingWarning", "UninformativeBagsWarning"]
