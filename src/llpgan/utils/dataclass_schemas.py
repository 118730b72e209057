"""Whether values are what a dataclass declares, so that no file can give an object of another shape."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

_CLASS_TYPE = re.compile(r"[<>=|][biufUO]\d*")  # of numbers, text and objects, as ``dtype.str`` writes them


def refuse_misfit(kind: Any, values: Mapping[str, Any]) -> None:
    """Refuse values that do not make this dataclass: one that is lacking, unknown, or of another type.

    >>> from dataclasses import make_dataclass
    >>> refuse_misfit(make_dataclass("Point", [("x", float), ("y", float)]), {"x": 1.0, "y": "2"})
    Traceback (most recent call last):
    ...
    ValueError: y should be float, not '2'
    """
    known = {field.name: field for field in fields(kind)}
    needed = {name for name, field in known.items() if field.default is field.default_factory is MISSING}
    if lacking := needed - values.keys():
        raise ValueError(f"it has no {min(lacking)}")
    if unknown := values.keys() - known.keys():
        raise ValueError(f"it has {min(map(str, unknown))!r}, which is unknown")
    hints = get_type_hints(kind)
    for name, value in values.items():
        if not matches(value, hints[name]):
            hint = hints[name]
            told = hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
            raise ValueError(f"{name} should be {told}, not {_short(value)}")


def matches(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, and its parts are of the types of parts.

    >>> matches(["a"], list[str]), matches([1], list[str]), matches(None, list[str] | None), matches(True, int)
    (True, False, True, False)
    """
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(matches(value, part) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and _match_tuple(value, parts)
    if origin in (list, Sequence):
        return isinstance(value, list | tuple) and all(matches(each, parts[0]) for each in value)
    if origin in (dict, Mapping):
        named = isinstance(value, Mapping) and all(matches(name, parts[0]) for name in value)
        return named and all(matches(each, parts[1]) for each in value.values())
    if origin is np.ndarray or origin is Callable:
        return callable(value) if origin is Callable else isinstance(value, np.ndarray)
    if origin in (int, float):
        return isinstance(value, int | float if origin is float else int) and not isinstance(value, bool)
    return isinstance(value, origin)


def refuse_other_type(name: str, values: Sequence[Any]) -> None:
    """Refuse the name of a type that cannot be that of classes with these names."""
    try:
        same = bool(_CLASS_TYPE.fullmatch(name)) and np.array(values, dtype=name).tolist() == list(values)
    except (TypeError, ValueError, OverflowError, SyntaxError):
        same = False
    if not same:
        raise ValueError(f"class_type should be the type of the classes {list(values)}, not {name!r}")


def _match_tuple(value: tuple[Any, ...], parts: tuple[Any, ...]) -> bool:
    if parts[-1:] == (...,):
        return all(matches(each, parts[0]) for each in value)
    return len(value) == len(parts) and all(map(matches, value, parts))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
