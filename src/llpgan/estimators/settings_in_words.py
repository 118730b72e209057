"""A model's settings in words."""

import inspect
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

from llpgan.estimators.base import LLPClassifier

_PLAIN = (str, int, float, tuple, list, type(None))


class Setting(NamedTuple):
    """A setting's name, its value, the value that it has where nobody sets it, and whether somebody did."""

    name: str
    value: str
    usual: str
    differs: bool


def settings_of(model: LLPClassifier) -> tuple[Setting, ...]:
    """All settings of a model.

    >>> from llpgan import MeanMap
    >>> settings_of(MeanMap(C=2.0))[0]
    Setting(name='C', value='2.0', usual='None', differs=True)
    """
    usual = type(model)().get_params(deep=False)
    return tuple(
        Setting(name, _in_words(value), _in_words(usual[name]), _differ(value, usual[name]))
        for name, value in model.get_params(deep=False).items()
    )


def _differ(value: Any, usual: Any) -> bool:
    """3 and 3.0 do not; functions and networks do, unless they are the same one."""
    if isinstance(value, tuple | list) and isinstance(usual, tuple | list):
        return tuple(value) != tuple(usual)
    return bool(value != usual) if isinstance(value, _PLAIN) or is_dataclass(value) else value is not usual


def method_in_a_line(model: LLPClassifier) -> str:
    """What the method is: its docstring's first line."""
    return (inspect.getdoc(type(model)) or "").partition("\n")[0]


def _in_words(value: Any) -> str:
    """Plain values as Python writes them; of functions, networks and generators the name, which has no address."""
    if isinstance(value, Path):
        return str(value)
    is_part = is_dataclass(value) and not isinstance(value, LLPClassifier)  # a loss or a term, with its settings
    if is_part or isinstance(value, _PLAIN):
        return repr(value)
    return getattr(value, "__name__", type(value).__name__)
