"""Networks with their optimizers, and exact gradients of steps larger than memory, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from llpgan.deep.devices import Ranks
from llpgan.deep.networks import Output
from llpgan.utils.prefetch import prefetch

T = TypeVar("T")


def read_ahead(items: Iterable[T], source: object) -> Iterable[T]:
    """The items prefetched, if they are read from a file; what is in memory is there at once."""
    in_memory = isinstance(source, np.ndarray) and not isinstance(source, np.memmap)
    return items if in_memory else prefetch(items)


MOST_FEATURES = 1024  # instances of a step whose features are kept: enough for their mean


@dataclass(frozen=True)
class ChunkedInstances:
    """Rows that are read a chunk at a time, when a network asks for them, and never all together.

    >>> rows = ChunkedInstances(np.arange(10.0)[:, None], np.array([7, 8, 9]), at_once=2)
    >>> [part.ravel().tolist() for part in rows.parts()]
    [[7.0, 8.0], [9.0]]
    """

    source: NDArray[Any]
    rows: NDArray[np.int64]
    at_once: int
    device: torch.device | str = "cpu"
    change: Callable[[Tensor], Tensor] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def to(self, device: torch.device) -> ChunkedInstances:
        """The same rows, to be read onto a device."""
        return replace(self, device=device)

    def parts(self) -> Iterator[Tensor]:
        """The chunks; from a file, the next is read while the present one is worked on."""
        chunks = (self.rows[start : start + self.at_once] for start in range(0, len(self), self.at_once))
        for part in read_ahead((as_tensor(self.source[rows]) for rows in chunks), self.source):
            placed = part.to(self.device)
            yield placed if self.change is None else self.change(placed)


Instances = Tensor | ChunkedInstances


def apply_chunked(instances: Instances, change: Callable[[Tensor], Tensor]) -> Instances:
    """Instances as a function changes them: of chunks each when it is read, alike in both passes over them.

    The function may write into what it is given, which is a copy.
    """
    return change(instances.clone()) if isinstance(instances, Tensor) else replace(instances, change=change)


def chunked_outputs(
    network: nn.Module, instances: Instances, at_once: int | None = None, every: int = 1, first: int = 0
) -> Output:
    """What a network says of a step's instances: all logits; features of ``first`` and of ``every`` n-th after it.

    More than ``at_once`` instances are processed in chunks.
    """
    if isinstance(instances, Tensor) and (at_once is None or len(instances) <= at_once):
        logits, features = network(instances)
        return Output(logits, features[first::every])
    given = instances if isinstance(instances, Tensor) else None

    def split() -> Iterator[Tensor]:
        size = at_once or len(instances)
        for start in range(0, len(instances), size):
            yield given.detach()[start : start + size].requires_grad_(given.requires_grad)  # type: ignore[union-attr]

    parts = instances.parts if isinstance(instances, ChunkedInstances) else split
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    pass_ = _Pass(network, parts, len(instances), every, first, trained)
    return Output(*_InChunks.apply(pass_, given, *trained))  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class _Pass:
    """A network's way through the chunks of a step."""

    network: nn.Module
    parts: Callable[[], Iterator[Tensor]]
    n: int
    every: int
    first: int
    trained: Sequence[nn.Parameter]

    def outputs(self) -> Iterator[tuple[Tensor, Output]]:
        """Each chunk and what the network says of it; features of every so many of the step."""
        first = self.first
        for instances in self.parts():
            logits, features = self.network(instances)
            yield instances, Output(logits, features[first :: self.every])
            first = (first - len(logits)) % self.every


class _Filled:
    """Rows of which the number is known, filled chunk by chunk, so that nothing small is left on the heap."""

    def __init__(self, n: int) -> None:
        self.n, self.filled = n, 0
        self.rows: Tensor

    def add(self, chunk: Tensor) -> None:
        """Add a chunk's rows."""
        if self.filled == 0:
            self.rows = chunk.new_empty(self.n, *chunk.shape[1:])
        self.rows[self.filled : self.filled + len(chunk)] = chunk
        self.filled += len(chunk)


class _InChunks(torch.autograd.Function):
    """Forward chunk by chunk; and once more for the gradients."""

    @staticmethod
    def forward(ctx: Any, pass_: _Pass, given: Tensor | None, *trained: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and features of all chunks. ``given`` is what the chunks are of, where gradients go into it."""
        ctx.pass_, ctx.has_gradient = pass_, given is not None and given.requires_grad
        ctx.random = _random_state()
        logits, features = _Filled(pass_.n), _Filled(len(range(pass_.first, pass_.n, pass_.every)))
        for _, output in pass_.outputs():
            logits.add(output.logits)
            features.add(output.features)
        return logits.rows, features.rows

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_logits: Tensor, by_features: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by what was given and by the parameters, summed over chunks."""
        trained: Sequence[nn.Parameter] = ctx.pass_.trained
        into_given: list[Tensor] = []
        totals = [torch.zeros_like(parameter) for parameter in trained]
        with torch.random.fork_rng(devices=ctx.random.keys() - {"cpu"}), torch.enable_grad():
            _set_random_state(ctx.random)
            for instances, output in ctx.pass_.outputs():
                by = by_logits[: len(output.logits)], by_features[: len(output.features)]
                by_logits, by_features = by_logits[len(by[0]) :], by_features[len(by[1]) :]
                inputs = [*trained, instances] if ctx.has_gradient else trained
                reached = [i for i, value in enumerate(output) if value.requires_grad]  # not what is frozen
                gradients = torch.autograd.grad(
                    [output[i] for i in reached], inputs, [by[i] for i in reached], allow_unused=True
                )
                for total, gradient in zip(totals, gradients, strict=False):
                    if gradient is not None:
                        total += gradient
                into_given += gradients[len(trained) :]
        return None, torch.cat(into_given) if ctx.has_gradient else None, *totals


def stride_of_features(n: int) -> int:
    """Features of every n-th instance are kept of so large a step."""
    return -(-n // MOST_FEATURES) or 1


def refuse_batch_norm(network: nn.Module, what: str, allowed: tuple[type[nn.Module], ...] = ()) -> None:
    """Batch norm mixes what a network sees at once, so that the gradient would depend on the cut."""
    if any(isinstance(part, _BatchNorm) and not isinstance(part, allowed) for part in network.modules()):
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


def _random_state() -> dict[Any, Tensor]:
    states: dict[Any, Tensor] = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        device = torch.cuda.current_device()
        states[device] = torch.cuda.get_rng_state(device)
    return states


def _set_random_state(states: dict[Any, Tensor]) -> None:
    for device, state in states.items():
        if device == "cpu":
            torch.set_rng_state(state)
        else:
            torch.cuda.set_rng_state(state, device)


MakeOptimiser = Callable[[list[nn.Parameter]], Optimizer]


class Player:
    """A network and the optimiser that trains it; what is frozen when it comes stays so.

    Parameters
    ----------
    network : Module
        To be trained.
    make_optimiser : MakeOptimiser
        From what is not frozen in it.
    fabric : Fabric
        Of the device, precision and processes.
    at_once : int, default=None
        The number of instances that the network sees at once. More are processed in chunks, with the same
        gradient.
    """

    def __init__(
        self, network: nn.Module, make_optimiser: MakeOptimiser, fabric: Fabric, at_once: int | None = None
    ) -> None:
        self.bare = network
        self.fabric = fabric
        self.ranks = Ranks(fabric)
        self.at_once = at_once
        self.trained = [p for p in network.parameters() if p.requires_grad]
        if not self.trained:
            raise ValueError("the network has no weights to train: it has none, or all are frozen (requires_grad)")
        optimiser = make_optimiser(self.trained)
        self.network, self.optimiser = fabric.setup(network, optimiser)
        self.rates = [group["lr"] for group in optimiser.param_groups]

    def outputs(self, instances: Instances, n: int) -> Output:
        """What a classifier says of n instances, of which these are this process's share."""
        every, start = stride_of_features(n), self.ranks.share(n).start
        found = chunked_outputs(self.network, instances, self.at_once, every, first=-start % every)
        return Output(self.ranks.gather(found.logits, n), self.ranks.gather(found.features, n, every))

    def set_lr_factor(self, share: float) -> None:
        """Learn at this share of the first learning rate from now on."""
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * share


def minimise(loss: Tensor, *players: Player, keep: bool = False) -> None:
    """These players take one step down the loss; gradients flow through the others, not into them.

    With ``keep``, others can still go down another loss of the same outputs.
    """
    for player in players:
        player.optimiser.zero_grad()
    trained = [parameter for player in players for parameter in player.trained]
    players[0].fabric.backward(loss, inputs=trained, retain_graph=keep)
    players[0].ranks.sum_gradients(trained)
    for player in players:
        player.optimiser.step()
