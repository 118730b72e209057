"""Whether a network keeps its contract: asked before training, with an answer in words."""

import torch
from torch import Tensor, nn

from llpgan.training.networks.network_parts import Shape


def check_classifier(network: nn.Module, shape: Shape, n_classes: int) -> None:
    """Check that a classifier returns logits and features for instances of a shape.

    Parameters
    ----------
    network : torch.nn.Module
        The classifier.
    shape : tuple of int
        The shape of an instance.
    n_classes : int
        The number of classes.

    Raises
    ------
    TypeError
        If it does not return a pair.
    ValueError
        If it does not take such instances, or returns tensors of another shape.
    """
    output = _tried(network, torch.zeros(2, *shape), f"instances of shape {shape}")
    if not (isinstance(output, tuple) and len(output) == 2 and all(isinstance(part, Tensor) for part in output)):
        raise TypeError(
            f"the classifier must return a pair of tensors, logits and features, not {_in_words(output)}"
        )
    logits, features = output
    if logits.shape != (2, n_classes):
        raise ValueError(f"of 2 instances the classifier gave logits {tuple(logits.shape)}, not {(2, n_classes)}")
    if features.ndim != 2 or len(features) != 2:
        raise ValueError(f"of 2 instances the classifier gave features {tuple(features.shape)}, not (2, any)")


def check_generator(network: nn.Module, shape: Shape, noise_size: int) -> None:
    """Check that a generator turns noise into instances of a shape.

    Parameters
    ----------
    network : torch.nn.Module
        The generator.
    shape : tuple of int
        The shape of an instance.
    noise_size : int
        The number of dimensions of the noise.

    Raises
    ------
    ValueError
        If it does not take such noise, or returns something else.
    """
    fakes = _tried(network, torch.zeros(2, noise_size), f"noise of size {noise_size}")
    if not isinstance(fakes, Tensor) or fakes.shape != (2, *shape):
        given = tuple(fakes.shape) if isinstance(fakes, Tensor) else type(fakes).__name__
        raise ValueError(f"of 2 rows of noise the generator made {given}, not instances {(2, *shape)}")


def _in_words(output: object) -> str:
    """The type of an output, and what is in it.

    >>> _in_words((1, "a"))
    'a tuple (int, str)'
    """
    parts = f" ({', '.join(type(part).__name__ for part in output)})" if isinstance(output, tuple) else ""
    return f"a {type(output).__name__}{parts}"


@torch.no_grad()
def _tried(network: nn.Module, inputs: Tensor, what: str) -> object:
    was_training = network.training
    try:
        return network.eval()(inputs)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"this {type(network).__name__} does not take {what}: {error}") from error
    finally:
        network.train(was_training)
