"""The range that networks like: images in [−1, 1], as the generators' tanh; table columns with mean 0, sd 1."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from llpgan.columns import chunks, standard

Array = NDArray[Any]


class Scaling(nn.Module):
    """x ↦ (x − shift) / scale, learned from the training instances and kept with the network.

    >>> Scaling.of(np.array([[0.0], [4.0]]))(torch.tensor([[2.0], [4.0]]))
    tensor([[0.],
            [1.]])
    """

    shift: Tensor
    scale: Tensor

    def __init__(self, shift: Array, scale: Array) -> None:
        super().__init__()
        self.register_buffer("shift", torch.as_tensor(shift, dtype=torch.float32))
        self.register_buffer("scale", torch.as_tensor(scale, dtype=torch.float32))

    @classmethod
    def of(cls, instances: Array) -> "Scaling":
        """What these instances need, by their shape: rows of a table, or images."""
        return cls(*(standard(instances) if instances.ndim == 2 else _range(instances)))

    def forward(self, instances: Tensor) -> Tensor:
        """Instances as the networks see them."""
        return (instances.to(self.shift.dtype) - self.shift) / self.scale


class Unscaling(nn.Module):
    """The way back: from what a generator makes to instances as the user has them."""

    def __init__(self, scaling: Scaling) -> None:
        super().__init__()
        self.scaling = scaling

    def forward(self, scaled: Tensor) -> Tensor:
        """Instances as the user sees them."""
        return scaled * self.scaling.scale + self.scaling.shift


def _range(images: Array) -> tuple[Array, Array]:
    """Middle and half width of the pixels' range: of bytes by their type, else as seen."""
    if images.dtype == np.uint8:
        return np.array(127.5), np.array(127.5)
    low = min(float(chunk.min()) for chunk in chunks(images))
    high = max(float(chunk.max()) for chunk in chunks(images))
    return np.array((high + low) / 2), np.array((high - low) / 2 or 1.0)
