"""Data inside the package, and ways to make bags of labelled data."""

from llpgan.data.digits import Split, load_digits
from llpgan.data.election import Election, load_election

__all__ = ["Election", "Split", "load_digits", "load_election"]
