"""Losses: one equation, one pure function, and a file for each method's; the paper's are in ``paper``."""

from llpgan.training.losses.bag_loss import BagLoss
from llpgan.training.losses.named_losses import PROPORTION_LOSSES
from llpgan.training.losses.paper_bound import bound_optimum, proportion_bound, undo_bound
from llpgan.training.losses.paper_losses import (
    ProportionLoss,
    bag_means,
    fake_loss,
    feature_matching,
    instance_entropy,
    log_bag_means,
    nonsaturating_loss,
    proportion_loss,
    pull_away,
    real_loss,
    sampling_correction,
    saturating_loss,
)

__all__ = [
    "PROPORTION_LOSSES",
    "BagLoss",
    "ProportionLoss",
    "bag_means",
    "bound_optimum",
    "fake_loss",
    "feature_matching",
    "instance_entropy",
    "log_bag_means",
    "nonsaturating_loss",
    "proportion_bound",
    "proportion_loss",
    "pull_away",
    "real_loss",
    "sampling_correction",
    "saturating_loss",
    "undo_bound",
]
