"""Bags of instances with known class proportions, and what must hold of them."""

from llpgan.bags.bags import Bags

__all__ = ["Bags"]
