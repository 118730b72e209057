"""The range that networks like: images in [−1, 1], as the generators' tanh; table columns with mean 0, sd 1."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Array = NDArray[Any]
_CHUNK_ROWS = 4096


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
        return cls(*(_standard(instances) if instances.ndim == 2 else _range(instances)))

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


def _standard(table: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column; a constant column becomes zero."""
    total, squares = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    for chunk in _chunks(table):
        total += chunk.sum(axis=0)
    mean = total / len(table)
    for chunk in _chunks(table):
        squares += np.square(chunk - mean).sum(axis=0)
    deviation = np.sqrt(squares / len(table))
    constant = deviation <= 1e-6 * np.abs(mean)  # float32 would see nothing but rounding
    return mean, np.where(constant, 1.0, deviation)


def _range(images: Array) -> tuple[Array, Array]:
    """Middle and half width of the pixels' range: of bytes by their type, else as seen."""
    if images.dtype == np.uint8:
        return np.array(127.5), np.array(127.5)
    low = min(float(chunk.min()) for chunk in _chunks(images))
    high = max(float(chunk.max()) for chunk in _chunks(images))
    return np.array((high + low) / 2), np.array((high - low) / 2 or 1.0)


def _chunks(instances: Array) -> Iterator[Array]:
    return (
        np.asarray(instances[start : start + _CHUNK_ROWS], dtype=np.float64)
        for start in range(0, len(instances), _CHUNK_ROWS)
    )
