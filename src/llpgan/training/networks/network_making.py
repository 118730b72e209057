"""Networks made from what a user gives: a module, or a function that makes one."""

from collections.abc import Callable
from functools import partial
from inspect import isfunction
from typing import Any

import torch
from torch import nn

from llpgan.utils.addresses import without_addresses


def quick(network: nn.Module) -> nn.Module:
    """The network with its weights in the layout in which convolutions are quickest."""
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def made(parameter: str, make: Callable[..., nn.Module], *arguments: Any) -> nn.Module:
    """The network that a function makes, or an error that names the parameter."""
    wanted = f"{parameter} is a module, or a function of three arguments (see its documentation) that makes one"
    try:
        network = make(*arguments)
    except TypeError as error:
        raise TypeError(f"{wanted}; {in_words(make)} does not take them: {error}") from error
    if not isinstance(network, nn.Module):
        raise TypeError(f"{wanted}; {in_words(make)} gave a {type(network).__name__}")
    return network


def in_words(value: Any) -> str:
    """A setting in words that another process says too: functions and objects without their addresses.

    >>> in_words([object(), 1])
    '[<object object>, 1]'
    """
    if isinstance(value, partial):
        return f"{in_words(value.func)} of {without_addresses(f'{value.args}, {value.keywords}')}"
    return f"{value.__module__}.{value.__qualname__}" if isfunction(value) else without_addresses(repr(value))
