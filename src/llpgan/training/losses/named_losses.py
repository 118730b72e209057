"""Losses that can stand in for the proportion loss, by the names that users give."""

from llpgan.training.losses.assignment import AssignmentLoss
from llpgan.training.losses.counts import CountLoss
from llpgan.training.losses.moments import MomentLoss
from llpgan.training.losses.paper_losses import ProportionLoss, proportion_loss
from llpgan.training.losses.squares import DebiasedSquareLoss, EasyLoss
from llpgan.training.losses.transport import TransportLoss

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
