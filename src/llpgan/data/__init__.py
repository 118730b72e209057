"""Data inside the package, and ways to make bags of labelled data."""

from llpgan.data.datasets import Election, Split, load_digits, load_election

__all__ = ["Election", "Split", "load_digits", "load_election"]
