"""Losses: one equation, one pure function."""

from llpgan.training.losses.paper_losses import (
    PROPORTION_LOSSES,
    ProportionLoss,
    bag_means,
    fake_loss,
    feature_matching,
    instance_entropy,
    log_bag_means,
    nonsaturating_loss,
    proportion_bound,
    proportion_loss,
    pull_away,
    real_loss,
    sampling_correction,
    saturating_loss,
)

__all__ = [
    "PROPORTION_LOSSES",
    "ProportionLoss",
    "bag_means",
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
]
