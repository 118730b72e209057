"""How a network is shown instances that are not those of the step: without batch norm or dropout taking notice."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


@contextmanager
def statistics_kept(network: nn.Module) -> Iterator[None]:
    """Batch norm does not take notice of what the network sees."""
    modules = (module for module in network.modules() if isinstance(module, _BatchNorm))
    norms = [norm for norm in modules if norm.track_running_stats]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True


@contextmanager
def without_chance(network: nn.Module) -> Iterator[None]:
    """The network as a function of each instance alone: without dropout, with the statistics that it has."""
    was_training = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(was_training)
