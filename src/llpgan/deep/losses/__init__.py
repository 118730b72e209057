"""Losses: one pure function per equation; those of the paper, of counts and of squares are in ``bag_losses``."""

from llpgan.deep.losses.bag_losses import (
    BagLoss,
    CountLoss,
    DebiasedSquareLoss,
    EasyLoss,
    ProportionLoss,
    bag_means,
    bound_optimum,
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
    undo_bound,
)
from llpgan.deep.losses.moments import MomentLoss
from llpgan.deep.losses.self_labels import AssignmentLoss, TransportLoss

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

#: The losses that can be named in the parameter ``proportion_loss`` of deep methods, with their default settings.
PROPORTION_LOSSES: dict[str, ProportionLoss] = {
    "exact": proportion_loss,
    "moments": MomentLoss(),
    "counts": CountLoss(),
    "dsq": DebiasedSquareLoss(),
    "easyllp": EasyLoss(),
    "transport": TransportLoss(),
    "assignment": AssignmentLoss(),
}
