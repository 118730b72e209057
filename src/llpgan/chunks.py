"""Exact gradients of a step of any size, in bounded memory.

A proportion loss couples all instances of a bag, but only through the logits, which are small. So a large step is
taken in chunks: forward without keeping what the layers computed, then the loss of all logits, and for its
gradient forward and backward again, chunk by chunk (``torch.utils.checkpoint``, which also gives dropout the same
random numbers both times). The gradient is the whole step's, up to rounding; the time a third more.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from llpgan.networks import Output

MOST_FEATURES = 1024  # instances of a step whose features are kept: enough for their mean

_Part = Callable[[], Tensor]


@dataclass(frozen=True)
class ChunkedInstances:
    """Rows that are read a chunk at a time, when a network asks for them, and never all together.

    >>> rows = ChunkedInstances(np.arange(10.0)[:, None], np.array([7, 8, 9]), at_once=2)
    >>> [part().ravel().tolist() for part in rows.parts()]
    [[7.0, 8.0], [9.0]]
    """

    source: NDArray[Any]
    rows: NDArray[np.int64]
    at_once: int
    device: torch.device | str = "cpu"

    def __len__(self) -> int:
        return len(self.rows)

    def to(self, device: torch.device) -> "ChunkedInstances":
        """The same rows, to be read onto a device."""
        return replace(self, device=device)

    def parts(self) -> Iterator[_Part]:
        """A function for each chunk that reads it."""
        for start in range(0, len(self), self.at_once):
            yield partial(self._read, self.rows[start : start + self.at_once])

    def _read(self, rows: NDArray[np.int64]) -> Tensor:
        return as_tensor(self.source[rows]).to(self.device)


Instances = Tensor | ChunkedInstances


def outputs(
    network: nn.Module, instances: Instances, at_once: int | None = None, every: int = 1, first: int = 0
) -> Output:
    """What a network says of a step's instances: all logits; features of ``first`` and of ``every`` n-th after it.

    More than ``at_once`` instances are taken in chunks.
    """
    if isinstance(instances, Tensor) and (at_once is None or len(instances) <= at_once):
        logits, features = network(instances)
        return Output(logits, features[first::every])
    logits, features = [], []
    for part in _parts(instances, at_once):
        part_logits, part_features = checkpoint(_output, network, part, first, every, use_reentrant=False)
        first = (first - len(part_logits)) % every
        logits.append(part_logits)
        features.append(part_features)
    return Output(torch.cat(logits), torch.cat(features))


def stride_of_features(n: int) -> int:
    """Features of every n-th instance are kept of so large a step."""
    return -(-n // MOST_FEATURES) or 1


def refuse_batch_norm(network: nn.Module, what: str) -> None:
    """Batch norm mixes what a network sees at once, so that the gradient would depend on the cut."""
    if mixes_instances(network):
        raise ValueError(
            f"{what} would change what batch norm computes: use a classifier with another norm (such as GroupNorm)"
        )


def mixes_instances(network: nn.Module) -> bool:
    """Whether the network's answer on an instance depends on the others of its batch."""
    return any(isinstance(module, _BatchNorm) for module in network.modules())


def as_tensor(instances: NDArray[Any]) -> Tensor:
    """A tensor of the rows: bytes stay bytes, for networks to scale on their device; the rest is float32."""
    dtype = instances.dtype if instances.dtype == np.uint8 else np.dtype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(instances, dtype))


def _parts(instances: Instances, at_once: int | None) -> Iterator[_Part]:
    if isinstance(instances, ChunkedInstances):
        return instances.parts()
    size = at_once or len(instances)
    return (partial(_itself, instances[start : start + size]) for start in range(0, len(instances), size))


def _itself(part: Tensor) -> Tensor:
    return part


def _output(network: nn.Module, part: _Part, first: int, every: int) -> tuple[Tensor, Tensor]:
    logits, features = network(part())
    return logits, features[first::every].clone()  # not a view, which would keep the others
