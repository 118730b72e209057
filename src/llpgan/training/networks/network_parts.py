"""What networks are made of: the classifier's contract, activations, and shapes."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from llpgan.training.networks.first_weights import he_weights

Shape = tuple[int, ...]
Activation = Callable[[], nn.Module]


class Output(NamedTuple):
    """The output of a classifier for a batch of instances.

    Attributes
    ----------
    logits : Tensor of shape (n_samples, n_classes)
        The logits of the classes.
    features : Tensor of shape (n_samples, n_features)
        The features from which the logits are computed.
    """

    logits: Tensor
    features: Tensor


class Classifier(nn.Module):
    """A classifier of a body, which computes features, and a head, which computes logits from them.

    Parameters
    ----------
    body : torch.nn.Module
        The network from instances to features.
    head : torch.nn.Module
        The network from features to logits.
    settles : bool, default=False
        Whether an estimator that makes this network scales its first weights on the training instances
        (:func:`~llpgan.training.networks.settle`), as deep networks need.
    """

    def __init__(self, body: nn.Module, head: nn.Module, *, settles: bool = False) -> None:
        super().__init__()
        self.body = body
        self.head = head
        self.settles = settles
        if settles:
            he_weights(self)

    def forward(self, instances: Tensor) -> Output:
        """Compute the logits and features of a batch of instances.

        Parameters
        ----------
        instances : Tensor of shape (n_samples, ...)
            The instances.

        Returns
        -------
        Output
            The logits of the classes, and the features that feature matching compares.
        """
        features = self.body(instances)
        return Output(self.head(features), features)


class GlobalMean(nn.Module):
    """The mean of each channel over the image."""

    def forward(self, maps: Tensor) -> Tensor:
        """``(N, C, H, W)`` to ``(N, C)``."""
        return maps.mean(dim=(2, 3))


def leaky_relu() -> nn.Module:
    """The activation of the authors' code, for classifier and generator."""
    return nn.LeakyReLU(0.2)


#: The activations that can be named in the parameter ``activation`` of deep methods.
ACTIVATIONS: dict[str, Activation] = {"leaky_relu": leaky_relu, "relu": nn.ReLU, "gelu": nn.GELU}


def image_shape(shape: Shape) -> tuple[int, int, int]:
    """Channels, height and width; refuses what is not an image, and images whose channels come last."""
    if len(shape) != 3:
        raise ValueError(
            f"this network is for images (channels, height, width), got instances of shape {shape}"
            + ("; X[:, None] gives images of one channel their channel" if len(shape) == 2 else "")
        )
    channels, height, width = shape
    if channels > 4 >= width:
        raise ValueError(
            f"images of shape {shape} seem to have their channels last: X.transpose(0, 3, 1, 2) puts them first"
        )
    return channels, height, width


def halved(length: int, times: int = 1) -> int:
    """A side after so many convolutions of stride two with 'same' padding."""
    for _ in range(times):
        length = -(-length // 2)
    return length


class Dropout(nn.Dropout):
    """Dropout that draws one random number for four entries on a CPU: drawing was half of a small network's step.

    The share that is dropped is ``p`` to 1 / 65,536.
    """

    def forward(self, values: Tensor) -> Tensor:
        """The values, some of them zero and the others as much larger."""
        if not (self.training and 0 < self.p < 1 and values.device.type == "cpu"):
            return super().forward(values)
        words = torch.empty(-(-values.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        numbers = words.view(torch.int16)[: values.numel()].view(values.shape)
        dropped = round(self.p * 2**16)
        kept = (numbers >= dropped - 2**15).to(values.dtype)
        return values * kept.mul_(2**16 / (2**16 - dropped))
