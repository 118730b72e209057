"""Real data that needs no download."""

from llpgan.datasets.digits import Split, load_digits
from llpgan.datasets.election import Election, load_election

__all__ = ["Election", "Split", "load_digits", "load_election"]
