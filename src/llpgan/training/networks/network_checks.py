"""Whether a network keeps its contract: asked before training, with an answer in words."""

import torch
from torch import Tensor, nn

from llpgan.training.networks.network_parts import Shape


def check_classifier(network: nn.Module, shape: Shape, n_classes: int) -> None:
    """Refuse a classifier that does not turn instances of this shape into logits and features."""
    output = _tried(network, torch.zeros(2, *shape), f"instances of shape {shape}")
    if not (isinstance(output, tuple) and len(output) == 2):
        raise TypeError(f"the classifier must return a pair, logits and features, not a {type(output).__name__}")
    logits, features = output
    if logits.shape != (2, n_classes):
        raise ValueError(f"of 2 instances the classifier gave logits {tuple(logits.shape)}, not {(2, n_classes)}")
    if features.ndim != 2 or len(features) != 2:
        raise ValueError(f"of 2 instances the classifier gave features {tuple(features.shape)}, not (2, any)")


def check_generator(network: nn.Module, shape: Shape, noise_size: int) -> None:
    """Refuse a generator that does not turn noise of this size into instances of this shape."""
    fakes = _tried(network, torch.zeros(2, noise_size), f"noise of size {noise_size}")
    if not isinstance(fakes, Tensor) or fakes.shape != (2, *shape):
        given = tuple(fakes.shape) if isinstance(fakes, Tensor) else type(fakes).__name__
        raise ValueError(f"of 2 rows of noise the generator made {given}, not instances {(2, *shape)}")


@torch.no_grad()
def _tried(network: nn.Module, inputs: Tensor, what: str) -> object:
    was_training = network.training
    try:
        return network.eval()(inputs)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"this {type(network).__name__} does not take {what}: {error}") from error
    finally:
        network.train(was_training)
