"""Shares of outcomes by group: from counts of units (ecological inference), or from a model's predictions."""

from llpgan.ecological.cells import CellFit, fit_cells, match_probabilities, rake_cells
from llpgan.ecological.counts import (
    GroupCounts,
    cell_bounds,
    clipped_rates,
    cross_entropy_rates,
    goodman_rates,
    share_bounds,
)
from llpgan.ecological.shares import GroupShares, shares_by, shares_from_counts
from llpgan.utils.old_names import getattr_of_old_names

__all__ = [
    "CellFit",
    "GroupCounts",
    "GroupShares",
    "cell_bounds",
    "clipped_rates",
    "cross_entropy_rates",
    "fit_cells",
    "goodman_rates",
    "match_probabilities",
    "rake_cells",
    "share_bounds",
    "shares_by",
    "shares_from_counts",
]

__getattr__ = getattr_of_old_names(
    "llpgan.ecological",
    {"matched_probabilities": "llpgan.ecological:match_probabilities", "raked": "llpgan.ecological:rake_cells"},
)
