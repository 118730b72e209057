"""Shares of outcomes by group: from counts of units (ecological inference), or from a model's predictions."""

from llpgan.evaluation.groups.cross_entropy_rates import cross_entropy_rates
from llpgan.evaluation.groups.duncan_davis import cell_bounds, share_bounds
from llpgan.evaluation.groups.goodman import clipped_rates, goodman_rates
from llpgan.evaluation.groups.group_counts import GroupCounts
from llpgan.evaluation.groups.group_shares import GroupShares
from llpgan.evaluation.groups.matched_predictions import matched_probabilities
from llpgan.evaluation.groups.minimum_information import CellFit, fit_cells
from llpgan.evaluation.groups.raking import raked
from llpgan.evaluation.groups.shares_by import shares_by
from llpgan.evaluation.groups.shares_from_counts import shares_from_counts

__all__ = [
    "CellFit",
    "GroupCounts",
    "GroupShares",
    "cell_bounds",
    "clipped_rates",
    "cross_entropy_rates",
    "fit_cells",
    "goodman_rates",
    "matched_probabilities",
    "raked",
    "share_bounds",
    "shares_by",
    "shares_from_counts",
]
