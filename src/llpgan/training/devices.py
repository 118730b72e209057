"""Where networks are trained and in which precision: from what a user says to a Fabric."""

from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins import MixedPrecision
from lightning_fabric.utilities.exceptions import MisconfigurationException
from torch import nn

from llpgan.training.distributed import SharedSteps
from llpgan.training.launch_environment import processes

_DEEP = 4  # convolutions from which bfloat16 halves the time of a step; with fewer it gains little
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_MIXED = ("bf16-mixed", "16-mixed")
_PRECISIONS = ("auto", "32-true", *_MIXED, "64-true")


def device_named(name: str) -> torch.device:
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


def precision_for(precision: str, network: nn.Module, device: torch.device, shape: tuple[int, ...]) -> str:
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


def fabric_for(device: torch.device, precision: Any, **together: Any) -> Fabric:
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


def launched(device: torch.device, precision: str) -> Fabric:
    """A Fabric to train with: of all processes that torchrun or ``fabric run`` started, if one of them did."""
    count, here = processes()
    if count == 1:
        return fabric_for(device, precision)
    fabric = fabric_for(device, precision, devices=here, num_nodes=count // here, strategy=SharedSteps())
    fabric.launch()
    return fabric
