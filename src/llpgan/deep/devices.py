"""Devices, precision and processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from lightning_fabric import Fabric
from lightning_fabric.plugins import MixedPrecision
from lightning_fabric.strategies.ddp import DDPStrategy
from lightning_fabric.utilities.exceptions import MisconfigurationException
from torch import Tensor, nn

from llpgan.utils.workers import leave_at_exit, processes

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
        """Whether this rank writes files and reports what happens."""
        return self.rank == 0

    def share(self, n: int) -> slice:
        """The part of n instances that this rank takes."""
        bounds = self._bounds(n)
        return slice(bounds[self.rank], bounds[self.rank + 1])

    def gather(self, mine: Tensor, n: int, every: int = 1) -> Tensor:
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


def cuda_devices(fabric: Fabric) -> list[torch.device]:
    """The device whose random numbers are to be kept, if it has its own."""
    return [fabric.device] if fabric.device.type == "cuda" else []


_DEEP = 4  # convolutions from which bfloat16 halves the time of a step; with fewer it gains little
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_MIXED = ("bf16-mixed", "16-mixed")
_PRECISIONS = ("auto", "32-true", *_MIXED, "64-true")


def select_device(name: str) -> torch.device:
    """The device of this name; for "auto" the best that this machine has."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        why = str(error).splitlines()[0]
        raise ValueError(f"device {name!r} is not available: {why}") from error
    return device


def choose_precision(precision: str, network: nn.Module, device: torch.device, shape: tuple[int, ...]) -> str:
    """The precision to train a network in, which sees instances of this shape, or larger ones.

    For "auto", "bf16-mixed" where the network has several convolutions and the device computes in bfloat16
    natively, which takes about half the time of a step; else "32-true".
    """
    if precision not in _PRECISIONS:
        raise ValueError(f"precision={precision!r}: give one of {', '.join(map(repr, _PRECISIONS))}")
    if precision not in ("auto", "bf16-mixed"):
        return precision
    is_wrong = device.type == "cpu" and convolves_lines(network, shape)
    if precision == "auto":
        n_convolutions = sum(isinstance(layer, _CONVOLUTIONS) for layer in network.modules())
        return "bf16-mixed" if n_convolutions >= _DEEP and has_bfloat16(device) and not is_wrong else "32-true"
    if is_wrong:
        raise ValueError(
            f"precision='bf16-mixed': for instances of shape {shape} a convolution of the network sees maps that "
            "are one pixel wide or high, whose gradient torch leaves undefined on CPUs; set precision='32-true'"
        )
    return precision


@torch.no_grad()
def convolves_lines(network: nn.Module, shape: tuple[int, ...]) -> bool:
    """Whether a convolution of the network sees maps that are one pixel wide or high.

    In bfloat16 on CPUs, torch 2.13 leaves the gradient of the weights of such a convolution uninitialised if it
    has a stride: the same seed gives another model each time, or none.
    """
    sides: list[int] = []
    hooks = [
        layer.register_forward_pre_hook(lambda _, inputs: sides.extend(inputs[0].shape[2:]))
        for layer in network.modules()
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d)
    ]
    was_training = network.training
    network.eval()(torch.zeros(2, *shape))
    network.train(was_training)
    for hook in hooks:
        hook.remove()
    return 1 in sides


def has_bfloat16(device: torch.device) -> bool:
    """Whether the device computes in bfloat16 natively: recent GPUs, and CPUs with AVX512-BF16 or AMX."""
    if device.type == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)


def make_fabric(device: torch.device, precision: Any, **together: Any) -> Fabric:
    """A Fabric of one device, or of several processes."""
    several = together or {"devices": 1 if device.index is None or device.type == "cpu" else [device.index]}
    if precision in _MIXED:  # as a plugin, since Fabric announces the name at every call
        several["plugins"] = MixedPrecision(precision, device.type)
    else:
        several["precision"] = precision
    try:
        return Fabric(accelerator=device.type, **several)
    except (RuntimeError, ValueError, MisconfigurationException) as error:
        raise ValueError(f"precision {precision!r} on {device}: {error}") from error


def launch_ranks(device: torch.device, precision: str) -> Fabric:
    """A Fabric to train with: of all processes that torchrun or ``fabric run`` started, if one of them did."""
    count, here = processes()
    if count == 1:
        return make_fabric(device, precision)
    fabric = make_fabric(device, precision, devices=here, num_nodes=count // here, strategy=SharedSteps())
    fabric.launch()
    leave_at_exit()
    return fabric
