"""Real data that needs no download."""

from llpgan.datasets.digits import Split, load_digits

__all__ = ["Split", "load_digits"]
