"""Options of commands and methods, derived from signatures and docstrings."""

import csv
import difflib
import re
from argparse import Action, ArgumentError, ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from inspect import Parameter, getdoc, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from docstring_parser import DocstringStyle, parse

from llpgan.methods import METHODS, SAVED_METHODS, estimator_class
from llpgan.methods.base import LLPClassifier
from llpgan.tables import Columns

Command = TypeVar("Command", bound=Callable[..., Any])
_PASSED_ON = "_passes_on"


class OptionError(ArgumentTypeError, ValueError):
    """An option that cannot be what it is given as."""


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Attributes
    ----------
    name : str
        As the user types it, without the dashes: ``columns.drop``.
    hint : object
        The type of the parameter.
    default : object
        What it is where the user says nothing.
    about : str
        What the docstring says of it.
    is_required : bool, default=False
        Whether it must be given; it has no name on the command line.
    is_positional : bool, default=False
        Whether it has no name on the command line, required or not.
    """

    name: str
    hint: Any
    default: Any
    about: str
    is_required: bool = False
    is_positional: bool = False

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that the value may have, None aside."""
        return option_kinds(self.hint)

    @property
    def reader(self) -> Any:
        """What turns a text, or a value of a config file, into the value."""
        if set(self.kinds) <= {bool, int, float} or get_origin(self.kinds[0]) is Literal:
            return self.hint
        if self.kinds == (str,) or self.kinds == (Any,):
            return read_text
        kind = next(kind for kind in self.kinds if get_args(kind))
        if get_origin(kind) is tuple:
            return partial(read_numbers, length=len(get_args(kind)))
        return read_names if get_args(kind)[0] is str else read_numbers


def passes_on(
    function: Callable[..., Any], *but: str, only: Sequence[str] | None = None
) -> Callable[[Command], Command]:
    """Note on a command that its ``**keywords`` are those of a function, all ``but`` some or ``only`` some."""
    names = [name for name in signature(function).parameters if name not in but and name in (only or [name])]

    def noted(command: Command) -> Command:
        setattr(command, _PASSED_ON, (function, names))
        return command

    return noted


def collect_options(function: Callable[..., Any]) -> list[Option]:
    """All options of a command: what it works on, what tells the bags, its own, and those of columns.

    >>> from llpgan.cli.commands import export
    >>> [option.name for option in collect_options(export)]
    ['format', 'model', 'out', 'overwrite']
    """
    own = _own(function)
    of, names = getattr(function, _PASSED_ON, (None, ()))
    passed_on = [] if of is None else [replace(o, is_positional=False) for o in _own(of) if o.name in names]
    of_columns = [o for option in passed_on if Columns in option.kinds for o in _column_options(option.name)]
    plain = sorted((o for o in passed_on if Columns not in o.kinds), key=lambda o: o.name != "bag")
    without_name = [option for option in own if option.is_positional]
    return [*without_name, *plain, *(option for option in own if not option.is_positional), *of_columns]


def command_summary(function: Callable[..., Any]) -> tuple[str, str]:
    """What a command does, and an example of it."""
    docstring = parse(getdoc(function) or "", style=DocstringStyle.NUMPYDOC)
    examples = [meta.description or "" for meta in docstring.meta if meta.args == ["examples"]]
    return "\n\n".join(filter(None, [docstring.short_description, docstring.long_description])), "\n".join(
        examples
    )


def read_documentation(thing: Any) -> dict[str, str]:
    """What a docstring says of each parameter, on one line."""
    said = parse(getdoc(thing) or "", style=DocstringStyle.NUMPYDOC).params
    return {param.arg_name: " ".join((param.description or "").split()) for param in said}


def option_kinds(hint: Any) -> tuple[Any, ...]:
    """The types of a union but None, or the one type that it is."""
    union = get_origin(hint) in (Union, UnionType)
    return tuple(kind for kind in (get_args(hint) if union else (hint,)) if kind is not NoneType)


def read_text(value: Any) -> str | None:
    """A single text; a number of a config file as it is written."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | list | dict):
        raise OptionError(f"one text is expected, not {value!r}")
    return str(value)


def read_names(value: Any) -> list[str] | None:
    """Names between commas, always as text; one that contains a comma is in double quotes.

    >>> read_names("no,yes"), read_names('"Smith, J.", age'), read_names(["a", 1])
    (['no', 'yes'], ['Smith, J.', 'age'], ['a', '1'])
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            listed = value.strip()  # which may also be written as in YAML, in brackets
            in_brackets = listed.startswith("[") and listed.endswith("]")
            if not listed:
                raise OptionError("names are expected between commas, not an empty text")
            value = next(csv.reader([listed[1:-1] if in_brackets else listed], skipinitialspace=True), [])
        except csv.Error as error:
            raise OptionError(f"names are expected between commas, not {value!r}: {error}") from None
    elif not isinstance(value, Sequence):
        value = [value]
    names = [str(read_text(name)).strip() for name in value]
    if "" in names:
        raise OptionError(f"a name is empty: names between commas would be right, not {','.join(names)!r}")
    return names


def read_numbers(value: Any, length: int | None = None) -> list[int] | None:
    """Whole numbers between commas; so many, where the length is given.

    >>> read_numbers("28,28"), read_numbers(16)
    ([28, 28], [16])
    """
    if value is None:
        return None
    try:
        found = [int(number) for number in read_names(value) or ()]
    except ValueError:
        raise OptionError(f"whole numbers are expected, as 28,28, not {value!r}") from None
    if length is not None and len(found) != length:
        raise OptionError(f"{length} whole numbers are expected, as {','.join(['28'] * length)}, not {value!r}")
    return found


def read_threshold(given: str | None) -> float | dict[str, float] | None:
    """A number, or a class and its number for each of some classes.

    >>> read_threshold("0.3"), read_threshold("rare=0.2,other=0.4")
    (0.3, {'rare': 0.2, 'other': 0.4})
    """
    if given is None:
        return None
    try:
        parts = [part.rpartition("=") for part in (read_names(given) or [] if "=" in given else [given])]
        limits = {name.strip(): float(limit) for name, _, limit in parts}
    except ValueError:
        raise ValueError(
            f"{given!r} is not a number, such as 0.3, or classes with numbers, such as yes=0.3 (threshold)"
        ) from None
    for name, limit in limits.items():
        if not 0 < limit < 1:
            of = f" of {name!r}" if name else ""
            raise ValueError(f"the threshold{of} must be between 0 and 1, got {limit:g} (threshold)")
    if len(limits) < len(parts):
        raise ValueError(f"{given!r} names a class twice (threshold)")
    return limits if "=" in given else limits[""]


def _own(function: Callable[..., Any]) -> list[Option]:
    said = read_documentation(function)
    hints = get_type_hints(function, localns={"Columns": Columns, "Bags": Any})
    parameters = signature(function).parameters.items()
    has_required = any(parameter.default is Parameter.empty for _, parameter in parameters)
    return [
        Option(
            name,
            hints[name],
            None if parameter.default is Parameter.empty else parameter.default,
            said.get(name, ""),
            is_required=parameter.default is Parameter.empty,
            is_positional=has_required and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD,
        )
        for name, parameter in parameters
        if parameter.kind is not Parameter.VAR_KEYWORD
    ]


def _column_options(name: str) -> list[Option]:
    said, hints = read_documentation(Columns), get_type_hints(Columns)
    return [
        Option(f"{name}.{field}", hints[field], parameter.default, said[field])
        for field, parameter in signature(Columns).parameters.items()
    ]


def is_method(option: Option) -> bool:
    """Whether this option names one method."""
    return LLPClassifier in option.kinds


def are_methods(option: Option) -> bool:
    """Whether this option names several methods."""
    return list[LLPClassifier] in option.kinds


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
    given = read_names(value) if isinstance(value, str) else value
    if not isinstance(given, list):
        raise OptionError(f"methods are names, as MeanMap,DLLP, or a list, not {value!r}")
    found = [method_setting(method) for method in given]
    if wrong := [method for method in found if not isinstance(method, dict)]:
        raise OptionError(f"{wrong[0]!r} is not a method: settings are given in a config file")
    return found  # type: ignore[return-value]


def method_name(given: Any) -> str:
    """A name among :data:`~llpgan.methods.METHODS`, also as ``llpgan.DLLP``; nothing is imported to see it.

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


def make_method(setting: Setting | None) -> LLPClassifier | None:
    """The estimator; an error if a setting is out of its range."""
    if setting is None:
        return None
    name = setting["class_path"]
    model = estimator_class(name)(**{k: _live(name, k, v) for k, v in setting.get("init_args", {}).items()})
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


def collect_settings(name: str) -> dict[str, Any]:
    """The type of each setting of a method."""
    method = method_class(name)
    hints = get_type_hints(method, localns={"Encoder": Any, "PredictionSets": Any})  # of attributes, not settings
    return {field.name: hints[field.name] for field in fields(method) if field.init}


def plain_setting(method: str, name: str, value: Any) -> Any:
    """The value of a setting as plain data, checked against its type.

    >>> plain_setting("BagLogistic", "C", "0.5"), plain_setting("MeanMap", "C", "null")
    (0.5, None)
    """
    hints = collect_settings(method)
    if name not in hints:
        near = difflib.get_close_matches(name, hints, n=1)
        raise OptionError(
            f"{method} has no setting {name!r}{f' (did you mean {near[0]}?)' if near else ''}: "
            f"llpgan fit --method.help {method} lists them"
        )
    if value is None or value in ("null", "None"):
        if type(None) in get_args(hints[name]):
            return None
        raise OptionError(f"{method}: {name} cannot be nothing")
    readers = [(kind, _reader(kind, name)) for kind in option_kinds(hints[name])]
    for _, read in (known := [(kind, read) for kind, read in readers if read is not None]):
        try:
            return read(value)
        except ValueError:
            continue
    kinds = " or ".join(dict.fromkeys(_describe_kind(kind, name) for kind, _ in known))
    raise OptionError(f"{method}: {name} should be {kinds}, not {value!r}")


def networks_of_kind(name: str) -> list[str]:
    """The networks that a setting (``classifier`` or ``generator``) can name."""
    from llpgan.deep import networks

    return [known for known in networks.__all__ if known.endswith(f"_{name}") and not known.startswith("check_")]


def _reader(kind: Any, name: str) -> Callable[[Any], Any] | None:
    """What reads a value of this type; None for a type that only Python can give, such as a function."""
    if kind in _READERS:
        return _READERS[kind]
    if kind is LLPClassifier:
        return method_setting
    if get_origin(kind) is Sequence:
        return read_names
    if get_origin(kind) is tuple:
        return partial(_numbers, length=len(get_args(kind)))
    return partial(_read_network, name) if name in ("classifier", "generator") and callable(kind) else None


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
    found = [float(number) for number in read_names(value) or ()]
    if len(found) != length:
        raise ValueError(value)
    return found


def _read_network(name: str, value: Any) -> str:
    if value not in networks_of_kind(name):
        raise ValueError(value)
    return str(value)


_READERS: dict[Any, Callable[[Any], Any]] = {
    int: _whole,
    float: _number,
    bool: _truth,
    str: read_text,
    Path: read_text,
}
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a name", Path: "a path"}


def _describe_kind(kind: Any, name: str) -> str:
    if kind in _KINDS:
        return _KINDS[kind]
    if get_origin(kind) is Sequence:
        return "names, as smoothness,self_training"
    if get_origin(kind) is tuple:
        return "numbers, as " + ",".join(["0.5"] * len(get_args(kind)))
    return "a method" if kind is LLPClassifier else f"one of {', '.join(networks_of_kind(name))}"


def _live(method: str, name: str, value: Any) -> Any:
    """A setting as the estimator takes it: networks as functions, other methods made, pairs as tuples."""
    if isinstance(value, dict):
        return make_method(value)
    if isinstance(value, list):
        return tuple(value)
    if name in ("classifier", "generator") and isinstance(value, str):
        from llpgan.deep import networks

        return getattr(networks, value)
    return value
