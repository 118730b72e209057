"""Batches of whole bags, each with its loss, and gradients of large bags, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from llpgan.bags import Bags
from llpgan.bags.grouping import rows_of_bags
from llpgan.deep.devices import Ranks
from llpgan.deep.losses import BagLoss, ProportionLoss, proportion_loss
from llpgan.deep.losses.bag_losses import allowed_loss
from llpgan.deep.networks import Output
from llpgan.utils.workers import prefetch

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


INSTANCES_A_STEP = 64
_PHOTOS_A_STEP, _FEWEST_BAGS_OF_PHOTOS = (64, 256, 1024), 8
Rows = NDArray[np.int64]
Share = Callable[[int], slice]


class BagBatch(NamedTuple):
    """The instances of some bags, the bag of each, the bags' proportions ``(bags, classes)``, and their loss.

    The loss is a function of logits, bag index and proportions. What else it depends on, such as weights of rows,
    are keyword arguments of a partial function. If several processes train together, the instances are the share
    of this one; the rest is of the whole step.
    """

    instances: Instances
    bag_index: Tensor
    proportions: Tensor
    loss: ProportionLoss = proportion_loss

    def to(self, device: torch.device) -> BagBatch:
        """The batch on a device."""
        loss = self.loss
        if isinstance(loss, partial):
            moved = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in loss.keywords.items()}
            loss = partial(loss.func, **moved)
        return BagBatch(self.instances.to(device), self.bag_index.to(device), self.proportions.to(device), loss)


class BagDataset:
    """Some of the bags, or all, as batches; whole bags are gathered in one indexing, without a loop.

    Parameters
    ----------
    bags : Bags
        All of them.
    which : sequence of int, Rows, default=None
        The positions of some; None for all.
    at_once : int, default=None
        Larger batches are not read at once, but in chunks of this size when they are needed.
    mini_bag_size : int, default=None
        A batch made with random numbers has a sample of this size from each larger bag.
    share : Share, default=None
        Of how many instances of a batch are read, of those that it has; None for all.
    loss : ProportionLoss, default=proportion_loss
        The loss of the bags.

    Examples
    --------
    >>> bags = Bags.from_labels([[1.0], [2.0], [3.0]], [0, 1, 1], groups=["a", "b", "a"])
    >>> BagDataset(bags).batch([0]).instances
    tensor([[1.],
            [3.]])
    """

    def __init__(
        self,
        bags: Bags,
        which: Sequence[int] | Rows | None = None,
        *,
        at_once: int | None = None,
        mini_bag_size: int | None = None,
        share: Share | None = None,
        loss: ProportionLoss = proportion_loss,
    ) -> None:
        self.bags = bags
        self.which = np.arange(bags.n_bags) if which is None else np.asarray(which)
        self.at_once = at_once
        self.mini_bag_size = mini_bag_size
        self.share = share or slice
        self.loss = loss

    def __len__(self) -> int:
        return len(self.which)

    def batch(self, items: Sequence[int] | Rows, rng: np.random.Generator | None = None) -> BagBatch:
        """Several bags as one batch; with random numbers, samples from those that are larger than a mini-bag."""
        chosen = self.which[np.asarray(items)]
        sizes = self.bags.sizes[chosen]
        if rng is None or self.mini_bag_size is None or sizes.max() <= self.mini_bag_size:
            places, taken, loss = rows_of_bags(self.bags.starts[chosen], sizes), sizes, self.loss
        else:
            places, taken = _sample_places(self.bags.starts[chosen], sizes, self.mini_bag_size, rng)
            loss = self.loss  # of the user's functions, none asks for the sizes
            if isinstance(loss, BagLoss) or loss is proportion_loss:
                loss = partial(loss, full_sizes=torch.from_numpy(sizes))
        weights: dict[str, Any] = {
            "log_weights": self._log_weights(places),
            "bag_weights": self._bag_weights(chosen),
        }
        if self.bags.share_constraints is not None:
            constraints = self.bags.share_constraints.take_bags(chosen)
            loss = partial(allowed_loss, share_constraints=constraints, **weights)
        elif any(part is not None for part in weights.values()):
            loss = partial(proportion_loss, **weights)
        return BagBatch(
            self._instances(places),
            torch.from_numpy(np.repeat(np.arange(len(chosen)), taken)),
            torch.from_numpy(self.bags.proportions[chosen].astype(np.float32)),
            loss,
        )

    def steps(self, bags_a_step: int, seed: int, epoch: int) -> Iterator[BagBatch]:
        """The batches of an epoch: bags in a new order, dealt to steps of nearly equal numbers; none is left out.

        All is a function of seed and epoch alone, so that a resumed run goes on as it would have.
        """
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(self))
        batches = (self.batch(items, rng) for items in np.array_split(order, self.n_steps(bags_a_step)))
        yield from read_ahead(batches, self.bags.instances)

    def n_steps(self, bags_a_step: int) -> int:
        """Into how many steps an epoch is dealt."""
        return -(-len(self) // bags_a_step)

    def _bag_weights(self, chosen: Rows) -> Tensor | None:
        """How much bags count, on average one."""
        weights = self.bags.uneven_bag_weights
        return None if weights is None else torch.from_numpy((weights / weights.mean())[chosen].astype(np.float32))

    def _log_weights(self, places: Rows) -> Tensor | None:
        if self.bags.uneven_weights is None:
            return None
        rows = self.bags.row_order[places]
        bags = self.bags.bag_index[rows]
        shares = self.bags.uneven_weights[rows] * (self.bags.sizes / self.bags.totals)[bags]
        with np.errstate(divide="ignore"):  # a row of weight zero is not there
            return torch.from_numpy(np.log(shares).astype(np.float32))

    def _instances(self, places: Rows) -> Instances:
        """The share of this process of the instances at these places in the order of bags."""
        rows = self.bags.row_order[places[self.share(len(places))]]
        if self.at_once is None or len(rows) <= self.at_once:
            return as_tensor(self.bags.instances[rows])
        return ChunkedInstances(self.bags.instances, rows, self.at_once)


def default_bags_per_step(bags: Bags, mini_bag_size: int | None = None) -> int:
    """As many bags as have some 64 instances together, at least one."""
    sizes = bags.sizes if mini_bag_size is None else np.minimum(bags.sizes, mini_bag_size)
    return max(1, round(INSTANCES_A_STEP / float(sizes.mean())))


def photo_bags_a_step(bags: Bags, mini_bag_size: int | None = None) -> int:
    """As many bags as have 64 (of few images) to 256 instances; eight if they are not too large."""
    sizes = bags.sizes if mini_bag_size is None else np.minimum(bags.sizes, mini_bag_size)
    mean, (least, most, limit) = float(sizes.mean()), _PHOTOS_A_STEP
    several = min(_FEWEST_BAGS_OF_PHOTOS, int(limit / mean), bags.n_bags // 10)
    return max(1, several, round(min(max(sizes.sum() / 20, least), most) / mean))


def _sample_places(starts: Rows, sizes: Rows, at_most: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Places of a sample without replacement from each bag that is larger, and how many each gave."""
    taken = np.minimum(sizes, at_most)
    parts = [
        start + (np.sort(rng.choice(size, n, replace=False)) if n < size else np.arange(size))
        for start, size, n in zip(starts.tolist(), sizes.tolist(), taken.tolist(), strict=True)
    ]
    return np.concatenate(parts), taken
