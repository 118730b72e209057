"""JSON with a digest and a format number, and values and objects as JSON and arrays."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from llpgan.utils.version import __version__

DEEPEST = 32  # lists and dicts in each other


def write_sealed(path: Path, content: Mapping[str, Any], version: int) -> None:
    """Write what a folder holds, with a digest of itself."""
    whole = {"format": version, "llpgan": __version__, **content}
    text = json.dumps({**whole, "digest": _content_digest(whole)}, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def read_sealed(path: Path, version: int) -> dict[str, Any]:
    """What was written; an error names the file if it is damaged, or of a format that this version cannot read."""
    whole = _read_sealed(path)
    digest, written, writer = whole.pop("digest"), whole["format"], whole["llpgan"]
    if written != version:
        raise ValueError(
            f"{path} was saved by llpgan {writer} in format {written}; this is llpgan "
            f"{__version__}, which reads format {version}"
        )
    if digest != _content_digest(whole):
        raise ValueError(f"{path} is damaged: it is not what was saved")
    return {name: value for name, value in whole.items() if name not in ("format", "llpgan")}


def sealed_content(path: Path) -> dict[str, Any] | None:
    """What a file of any format holds, if it is just as :func:`write_sealed` left it."""
    try:
        whole = _read_sealed(path)
    except (ValueError, OSError):
        return None
    return whole if whole.pop("digest") == _content_digest(whole) else None


def _read_sealed(path: Path) -> dict[str, Any]:
    """The JSON of a sealed file, which is no deeper than what we write."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is damaged: {error.msg} in line {error.lineno}, which is no JSON") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is damaged: it is not text in UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(whole, dict) or not whole.keys() >= {"digest", "format", "llpgan"}:
        raise ValueError(f"{path} is damaged: it has no digest, format or version of llpgan")
    if _is_deeper(whole, DEEPEST):
        raise ValueError(f"{path} is damaged: it is nested more than {DEEPEST} deep")
    return whole


def _is_deeper(value: Any, limit: int) -> bool:
    """Whether lists and dicts are nested more deeply than this; level by level, without recursion."""
    level = [value]
    for _ in range(limit):
        level = [
            part
            for each in level
            if isinstance(each, list | dict)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
    return any(isinstance(each, list | dict) for each in level)


def describe_lack(folder: Path, name: str, what: str) -> str:
    """Why a path is not a folder that has the identifying file of this name."""
    if not folder.exists():
        return "there is no such folder"
    return f"it has no {name}" if folder.is_dir() else f"it is a file, and a {what} is a folder"


def refuse_damaged(folder: Path, digests: Mapping[str, str]) -> None:
    """Refuse a folder of which a file is lacking, or is not the one that was saved."""
    for name, digest in digests.items():
        path = folder / name
        if not path.is_file():
            raise FileNotFoundError(f"{folder} is not whole: it has no {name}")
        if digest_of_file(path) != digest:
            raise ValueError(f"{path} is damaged: it is not what was saved (its SHA-256 differs)")


def digest_of_file(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content_digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


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
            type_name = hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
            text = repr(value)
            raise ValueError(f"{name} should be {type_name}, not {text if len(text) <= 60 else f'{text[:60]}...'}")


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
        if not isinstance(value, tuple) or parts[-1:] == (...,):
            return isinstance(value, tuple) and all(matches(each, parts[0]) for each in value)
        return len(value) == len(parts) and all(map(matches, value, parts))
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


Arrays = dict[str, NDArray[Any]]
_VALUES = (str, int, float, bool, type(None))
_KINDS: tuple[dict[str, Any], ...] = (
    {"array": str},
    {"texts": list[str]},
    {"tuple": list[Any]},
    {"dict": dict[str, Any]},
    {"type": str, "dict": dict[str, Any]},
)
Types = Mapping[str, str]  # names of classes, and the modules that define them


def is_learned(name: str) -> bool:
    """Whether an attribute is what training found, as scikit-learn marks it."""
    return name.isidentifier() and name[-1] == "_" and name[0] != "_"


def to_plain(value: Any, arrays: Arrays, types: Types) -> Any:
    """The value as JSON; its arrays are put among ``arrays``, and named.

    >>> arrays = {}
    >>> to_plain({"scale": (1, np.ones(2))}, arrays, types={}), arrays
    ({'dict': {'scale': {'tuple': [1, {'array': '0'}]}}}, {'0': array([1., 1.])})
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _VALUES):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "UO":
            return {"texts": [str(text) for text in value.tolist()]}
        place = str(len(arrays))
        arrays[place] = np.ascontiguousarray(value)
        return {"array": place}
    if isinstance(value, list):
        return [to_plain(part, arrays, types) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [to_plain(part, arrays, types) for part in value]}
    if isinstance(value, Mapping):
        return {"dict": {str(name): to_plain(part, arrays, types) for name, part in value.items()}}
    name = type(value).__name__
    if types.get(name) != type(value).__module__:
        raise TypeError(f"this model holds a {name}, code of your own, which a saved model cannot hold: pickle it")
    cached = {n for n in vars(value) if isinstance(getattr(type(value), n, None), cached_property)}  # made anew
    attributes = {n: part for n, part in vars(value).items() if n not in cached}
    return {"type": name, **to_plain(attributes, arrays, types)}


def from_plain(plain: Any, arrays: Mapping[str, NDArray[Any]], types: Types) -> Any:
    """The value that :func:`to_plain` took apart; a ValueError, if it is nothing of the kind.

    >>> from_plain({"tuple": [1, {"array": "0"}]}, {"0": np.ones(2)}, types={})
    (1, array([1., 1.]))
    """
    if isinstance(plain, list):
        return [from_plain(part, arrays, types) for part in plain]
    if not isinstance(plain, dict):
        return plain
    kinds = next((kinds for kinds in _KINDS if kinds.keys() == plain.keys()), None)
    if kinds is None or not all(matches(value, kinds[name]) for name, value in plain.items()):
        raise ValueError(f"{{{', '.join(map(repr, plain))}}} is an unknown kind of value in the file")
    if "array" in plain:
        if plain["array"] not in arrays:
            raise ValueError(f"there is no array {plain['array']!r}")
        return arrays[plain["array"]]
    if "texts" in plain:
        return np.array(plain["texts"], dtype=str)
    if "tuple" in plain:
        return tuple(from_plain(part, arrays, types) for part in plain["tuple"])
    parts = {name: from_plain(part, arrays, types) for name, part in plain["dict"].items()}
    return _build(plain["type"], parts, types) if "type" in plain else parts


def _build(name: str, attributes: dict[str, Any], types: Types) -> Any:
    if name not in types:
        raise ValueError(f"{name!r} is an unknown type in the file")
    kind = getattr(import_module(types[name]), name)
    try:
        if hasattr(kind, "_probabilities"):
            attributes = _complete_settings(kind, attributes)
        else:
            refuse_misfit(kind, attributes)
            for field in fields(kind):
                if field.default_factory is not MISSING:
                    attributes.setdefault(field.name, field.default_factory())
    except ValueError as error:
        raise ValueError(f"a {name} is damaged: {error}") from None
    made = kind.__new__(kind)
    vars(made).update(attributes)
    return made


def _complete_settings(kind: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of a trained estimator, with the defaults of settings that its version did not have yet."""
    known = {field.name: field for field in fields(kind)}
    if unknown := {name for name in attributes if not is_learned(name)} - known.keys():
        raise ValueError(f"it should not have {min(unknown)!r}")
    missing = [field for name, field in known.items() if name not in attributes]
    for field in missing:
        if field.default is MISSING:
            raise ValueError(f"it lacks {field.name!r}")
    return {**attributes, **{field.name: field.default for field in missing}}
