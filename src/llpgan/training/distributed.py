"""Several processes that train as one: each sees a share of every step's instances.

A step's instances are dealt to the ranks in equal shares, so that all have the same work, and a bag may lie on
several. Each rank computes the logits of its share; all logits are gathered, so that every rank has the loss of
the whole step; gradients flow into the rank's own share, and their sum over ranks is the gradient of one process.
So the number of processes changes nothing but the time, and a run may go on with another number.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from lightning_fabric import Fabric
from lightning_fabric.strategies.ddp import DDPStrategy
from torch import Tensor, nn

T = TypeVar("T")


class SharedSteps(DDPStrategy):
    """Processes as Fabric starts and connects them, with networks as they are: gradients are summed here."""

    def setup_module(self, module: nn.Module) -> nn.Module:  # type: ignore[override]
        """The module itself: DDP would average gradients while they come, and wait for those that never do."""
        return module


class Ranks:
    """One process among those that train together; where it is the only one, nothing here costs anything.

    The players of a game share one: it counts the steps of an epoch, from which dropout's random numbers follow.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.count, self.rank = fabric.world_size, fabric.global_rank
        self._seed = self._turn = 0

    @property
    def is_first(self) -> bool:
        """Whether this rank writes files and tells what happens."""
        return self.rank == 0

    def share(self, n: int) -> slice:
        """The part of n instances that this rank takes."""
        bounds = self._bounds(n)
        return slice(bounds[self.rank], bounds[self.rank + 1])

    def gathered(self, mine: Tensor, n: int, every: int = 1) -> Tensor:
        """Of all n instances, or of every so many, the rows of which this rank has its share's.

        Gradients flow into its own.
        """
        if self.count == 1:
            return mine
        sizes = np.diff([-(-bound // every) for bound in self._bounds(n)])
        padded = mine.new_zeros(int(sizes.max()), *mine.shape[1:])
        padded[: len(mine)] = mine.detach()
        parts = [torch.empty_like(padded) for _ in range(self.count)]
        dist.all_gather(parts, padded)
        parts = [part[:size] for part, size in zip(parts, sizes.tolist(), strict=True)]
        parts[self.rank] = mine
        return torch.cat(parts)

    def sum_gradients(self, parameters: list[nn.Parameter]) -> None:
        """Replace each gradient by the sum over ranks, in one message."""
        if self.count == 1:
            return
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        totals = torch.split(flat, [gradient.numel() for gradient in gradients])
        for gradient, total in zip(gradients, totals, strict=True):
            gradient.copy_(total.view_as(gradient))

    def from_first(self, make: Callable[[], T]) -> T:
        """What the first rank makes, on every rank."""
        if self.count == 1:
            return make()
        return self.fabric.broadcast(make() if self.is_first else None)  # type: ignore[return-value]

    def begin_epoch(self, seed: int) -> None:
        """Random numbers from here on are a function of the seed."""
        torch.manual_seed(seed)
        self._seed, self._turn = seed, 0

    @contextmanager
    def own_random(self) -> Iterator[None]:
        """Random numbers of this rank alone, such as dropout's; outside, all ranks draw the same ones."""
        if self.count == 1:
            yield
            return
        self._turn += 1
        own = np.random.SeedSequence([self._seed, self._turn, self.rank]).generate_state(1, np.uint64)[0]
        with torch.random.fork_rng(devices=cuda_devices(self.fabric)):
            torch.manual_seed(int(own))
            yield

    def _bounds(self, n: int) -> list[int]:
        return [n * rank // self.count for rank in range(self.count + 1)]


@contextmanager
def lost_ranks_in_words(ranks: Ranks, advice: str) -> Iterator[None]:
    """A broken connection means that another rank is gone: say so, and what to do."""
    try:
        yield
    except RuntimeError as error:
        if ranks.count == 1 or not _is_connection(error):
            raise
        raise ConnectionError(
            f"process {ranks.rank} of {ranks.count} lost another, which was killed or failed: {advice}"
        ) from error


def _is_connection(error: RuntimeError) -> bool:
    words = ("gloo", "nccl", "connection", "peer", "socket", "timed out")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)


def cuda_devices(fabric: Fabric) -> list[torch.device]:
    """The device whose random numbers are to be kept, if it has its own."""
    return [fabric.device] if fabric.device.type == "cuda" else []
