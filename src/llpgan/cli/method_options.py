"""A method by name, with its settings: from the command line or a config file to an estimator.

Only methods and networks of llpgan can be named, and nothing else is imported, so that a config file from
elsewhere runs no code. A setting is plain data (text, numbers, names of networks) until the estimator is made.
"""

import difflib
import re
from argparse import Action, ArgumentError
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_origin

from llpgan.cli.command_options import OptionError, kinds_of, names, text
from llpgan.estimators import METHODS, SAVED_METHODS, estimator_class
from llpgan.estimators.base import LLPClassifier

Setting = dict[str, Any]  # of one method: {"class_path": "DLLP", "init_args": {"epochs": 5}}
_SETTING = re.compile(r"[A-Za-z_]\w*=")


class MethodAction(Action):
    """``--method DLLP`` starts anew; ``--method epochs=5``, to which ``--method.epochs 5`` is rewritten, adds."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Take in one of the two."""
        before = getattr(namespace, self.dest, None)
        if isinstance(values, dict) or values is None:
            setattr(namespace, self.dest, values)
            return
        name, _, value = values.partition("=")
        if before is None:
            raise ArgumentError(None, f"--method.{name} is a setting of a method: name it too, as --method DLLP")
        try:
            setting = plain_setting(before["class_path"], name, value)
        except OptionError as error:
            raise ArgumentError(None, f"--method: {error}") from None
        init_args = {**before.get("init_args", {}), name: setting}
        setattr(namespace, self.dest, {**before, "init_args": init_args})


def method_setting(value: Any) -> Setting | str | None:
    """A method as plain data; ``epochs=5``, of which the method is not known yet, as it is.

    >>> method_setting("DLLP")
    {'class_path': 'DLLP'}
    >>> method_setting({"class_path": "llpgan.BagLogistic", "init_args": {"C": "0.5"}})
    {'class_path': 'BagLogistic', 'init_args': {'C': 0.5}}
    """
    if value is None or (isinstance(value, str) and _SETTING.match(value)):
        return value
    if isinstance(value, str):
        return {"class_path": method_name(value)}
    if not isinstance(value, dict) or not value.keys() <= {"class_path", "init_args"} or "class_path" not in value:
        raise OptionError(f"a method is a name, or class_path and init_args, not {value!r}")
    name, settings = method_name(value["class_path"]), value.get("init_args") or {}
    if not isinstance(settings, dict):
        raise OptionError(f"init_args of {name} are settings by name, not {settings!r}")
    plain = {setting: plain_setting(name, str(setting), given) for setting, given in settings.items()}
    return {"class_path": name, **({"init_args": plain} if plain else {})}


def method_settings(value: Any) -> list[Setting] | None:
    """Several methods: names between commas, or a list of a config file."""
    if value is None:
        return None
    given = names(value) if isinstance(value, str) else value
    if not isinstance(given, list):
        raise OptionError(f"methods are names, as MeanMap,DLLP, or a list, not {value!r}")
    found = [method_setting(method) for method in given]
    if wrong := [method for method in found if not isinstance(method, dict)]:
        raise OptionError(f"{wrong[0]!r} is not a method: settings are given in a config file")
    return found  # type: ignore[return-value]


def method_name(given: Any) -> str:
    """A name among :data:`~llpgan.estimators.METHODS`, also as ``llpgan.DLLP``; nothing is imported to see it.

    >>> method_name("llpgan.DLLP")
    'DLLP'
    """
    for name, module in METHODS.items():
        if given in (name, f"llpgan.{name}", f"{module}.{name}"):
            return name
    if given in SAVED_METHODS.keys() - METHODS.keys():
        raise OptionError(
            f"{given} learns from tables of pairs of columns, not from bags: see llpgan pairs --help"
        )
    lower = {name.lower(): name for name in METHODS}
    near = difflib.get_close_matches(str(given).lower(), lower, n=1)
    raise OptionError(
        f"there is no method {given!r}{f' (did you mean {lower[near[0]]}?)' if near else ''}; there are "
        f"{', '.join(METHODS)}; methods of your own are for Python"
    )


def made(setting: Setting | None) -> LLPClassifier | None:
    """The estimator; an error if a setting is out of its range."""
    if setting is None:
        return None
    name = setting["class_path"]
    model = method_class(name)(**{k: _live(name, k, v) for k, v in setting.get("init_args", {}).items()})
    try:
        model._validate_params()
        if hasattr(model, "terms"):
            model.terms()
    except ValueError as error:
        raise ValueError(f"--method: {error}") from None
    return model


def method_class(name: str) -> Any:
    """The class of a method of ours."""
    return estimator_class(method_name(name))


def settings_of(name: str) -> dict[str, Any]:
    """The type of each setting of a method."""
    return {field.name: field.type for field in fields(method_class(name)) if field.init}


def plain_setting(method: str, name: str, value: Any) -> Any:
    """The value of a setting as plain data, checked against its type.

    >>> plain_setting("BagLogistic", "C", "0.5"), plain_setting("MeanMap", "C", "null")
    (0.5, None)
    """
    hints = settings_of(method)
    if name not in hints:
        near = difflib.get_close_matches(name, hints, n=1)
        raise OptionError(
            f"{method} has no setting {name!r}{f' (did you mean {near[0]}?)' if near else ''}: "
            f"llpgan fit --method.help {method} tells them"
        )
    if value is None or value in ("null", "None"):
        if type(None) in get_args(hints[name]):
            return None
        raise OptionError(f"{method}: {name} cannot be nothing")
    readers = [(kind, _reader(kind, name)) for kind in kinds_of(hints[name])]
    for _, read in (known := [(kind, read) for kind, read in readers if read is not None]):
        try:
            return read(value)
        except ValueError:
            continue
    raise OptionError(
        f"{method}: {name} should be {_or(_in_words(kind, name) for kind, _ in known)}, not {value!r}"
    )


def networks_for(name: str) -> list[str]:
    """The networks that a setting (``classifier`` or ``generator``) can name."""
    from llpgan.training import networks

    return [known for known in networks.__all__ if known.endswith(f"_{name}") and not known.startswith("check_")]


def _reader(kind: Any, name: str) -> Callable[[Any], Any] | None:
    """What reads a value of this type; None for a type that only Python can give, such as a function."""
    if kind in _READERS:
        return _READERS[kind]
    if kind is LLPClassifier:
        return method_setting
    if get_origin(kind) is Sequence:
        return names
    if get_origin(kind) is tuple:
        return partial(_numbers, length=len(get_args(kind)))
    return partial(_network, name) if name in ("classifier", "generator") and callable(kind) else None


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError(value)
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool | list | dict):
        raise ValueError(value)
    return float(value)


def _truth(value: Any) -> bool:
    if str(value).lower() in ("true", "yes"):
        return True
    if str(value).lower() in ("false", "no"):
        return False
    raise ValueError(value)


def _numbers(value: Any, length: int) -> list[float]:
    found = [float(number) for number in names(value) or ()]
    if len(found) != length:
        raise ValueError(value)
    return found


def _network(name: str, value: Any) -> str:
    if value not in networks_for(name):
        raise ValueError(value)
    return str(value)


_READERS: dict[Any, Callable[[Any], Any]] = {int: _whole, float: _number, bool: _truth, str: text, Path: text}
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a name", Path: "a path"}


def _in_words(kind: Any, name: str) -> str:
    if kind in _KINDS:
        return _KINDS[kind]
    if get_origin(kind) is Sequence:
        return "names, as smoothness,self_training"
    if get_origin(kind) is tuple:
        return "numbers, as " + ",".join(["0.5"] * len(get_args(kind)))
    return "a method" if kind is LLPClassifier else f"one of {', '.join(networks_for(name))}"


def _or(words: Any) -> str:
    return " or ".join(dict.fromkeys(words))


def _live(method: str, name: str, value: Any) -> Any:
    """A setting as the estimator takes it: networks as functions, other methods made, pairs as tuples."""
    if isinstance(value, dict):
        return made(value)
    if isinstance(value, list):
        return tuple(value)
    if name in ("classifier", "generator") and isinstance(value, str):
        from llpgan.training import networks

        return getattr(networks, value)
    return value
