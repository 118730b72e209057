"""Shares of outcomes by group: from counts of units (ecological inference), or from a model's predictions."""

from llpgan.ecological.cells import CellFit, fit_cells, rake_cells
from llpgan.ecological.counts import (
    GroupCounts,
    cell_bounds,
    clipped_rates,
    cross_entropy_rates,
    goodman_rates,
    share_bounds,
)
from llpgan.ecological.model_shares import match_probabilities, shares_by
from llpgan.ecological.shares import GroupShares, Sensitivity, shares_from_counts
from llpgan.utils.old_names import getattr_of_old_names

__all__ = [
    "CellFit",
    "GroupCounts",
    "GroupShares",
    "Sensitivity",
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
