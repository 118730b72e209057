"""The options of a command: from the signature of its function, its docstring, and those of what it passes on."""

import csv
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, getdoc, signature
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from docstring_parser import DocstringStyle, parse

from llpgan.estimators.base import LLPClassifier
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
        Whether it stands on the command line without a name.
    """

    name: str
    hint: Any
    default: Any
    about: str
    is_required: bool = False

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that the value may have, None aside."""
        return kinds_of(self.hint)

    @property
    def reader(self) -> Any:
        """What turns a text, or a value of a config file, into the value."""
        if set(self.kinds) <= {bool, int, float} or get_origin(self.kinds[0]) is Literal:
            return self.hint
        if self.kinds == (str,) or self.kinds == (Any,):
            return text
        kind = next(kind for kind in self.kinds if get_args(kind))
        if get_origin(kind) is tuple:
            return partial(numbers, length=len(get_args(kind)))
        return names if get_args(kind)[0] is str else numbers


def passing_on(function: Callable[..., Any], *but: str) -> Callable[[Command], Command]:
    """Note on a command that its ``**keywords`` are those of a function; it supplies some of them itself."""

    def noted(command: Command) -> Command:
        setattr(command, _PASSED_ON, (function, but))
        return command

    return noted


def options_of(function: Callable[..., Any]) -> list[Option]:
    """All options of a command: what it works on, what tells the bags, its own, and those of columns.

    >>> from llpgan.cli.export import export
    >>> [option.name for option in options_of(export)]
    ['format', 'model', 'out', 'overwrite']
    """
    own = _own(function)
    of, but = getattr(function, _PASSED_ON, (None, ()))
    passed_on = [] if of is None else [option for option in _own(of) if option.name not in but]
    of_columns = [o for option in passed_on if Columns in option.kinds for o in _of_columns(option.name)]
    plain = sorted((o for o in passed_on if Columns not in o.kinds), key=lambda o: o.name != "bag")
    required = [option for option in own if option.is_required]
    return [*required, *plain, *(option for option in own if not option.is_required), *of_columns]


def about(function: Callable[..., Any]) -> tuple[str, str]:
    """What a command does, and an example of it."""
    docstring = parse(getdoc(function) or "", style=DocstringStyle.NUMPYDOC)
    examples = [meta.description or "" for meta in docstring.meta if meta.args == ["examples"]]
    return "\n\n".join(filter(None, [docstring.short_description, docstring.long_description])), "\n".join(
        examples
    )


def documented(thing: Any) -> dict[str, str]:
    """What a docstring says of each parameter, on one line."""
    said = parse(getdoc(thing) or "", style=DocstringStyle.NUMPYDOC).params
    return {param.arg_name: " ".join((param.description or "").split()) for param in said}


def kinds_of(hint: Any) -> tuple[Any, ...]:
    """The types of a union but None, or the one type that it is."""
    union = get_origin(hint) in (Union, UnionType)
    return tuple(kind for kind in (get_args(hint) if union else (hint,)) if kind is not NoneType)


def text(value: Any) -> str | None:
    """A single text; a number of a config file as it is written."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | list | dict):
        raise OptionError(f"one text is expected, not {value!r}")
    return str(value)


def names(value: Any) -> list[str] | None:
    """Names between commas, always as text; one that has a comma itself stands in double quotes.

    >>> names("no,yes"), names('"Smith, J.", age'), names(["a", 1])
    (['no', 'yes'], ['Smith, J.', 'age'], ['a', '1'])
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = next(csv.reader([_without_brackets(value)], skipinitialspace=True), [])
        except csv.Error as error:
            raise OptionError(f"names are expected between commas, not {value!r}: {error}") from None
    elif not isinstance(value, Sequence):
        value = [value]
    return [str(text(name)).strip() for name in value]


def numbers(value: Any, length: int | None = None) -> list[int] | None:
    """Whole numbers between commas; so many, where the length is given.

    >>> numbers("28,28"), numbers(16)
    ([28, 28], [16])
    """
    if value is None:
        return None
    try:
        found = [int(number) for number in names(value) or ()]
    except ValueError:
        raise OptionError(f"whole numbers are expected, as 28,28, not {value!r}") from None
    if length is not None and len(found) != length:
        raise OptionError(f"{length} whole numbers are expected, as {','.join(['28'] * length)}, not {value!r}")
    return found


def _without_brackets(given: str) -> str:
    """A list may also be given as YAML has it."""
    given = given.strip()
    return given[1:-1] if given.startswith("[") and given.endswith("]") else given


def _own(function: Callable[..., Any]) -> list[Option]:
    said = documented(function)
    hints = get_type_hints(function, localns={"Columns": Columns, "Bags": Any})
    return [
        Option(
            name,
            hints[name],
            None if parameter.default is Parameter.empty else parameter.default,
            said.get(name, ""),
            is_required=parameter.default is Parameter.empty,
        )
        for name, parameter in signature(function).parameters.items()
        if parameter.kind is not Parameter.VAR_KEYWORD
    ]


def _of_columns(name: str) -> list[Option]:
    said = documented(Columns)
    return [
        Option(f"{name}.{field}", parameter.annotation, parameter.default, said[field])
        for field, parameter in signature(Columns).parameters.items()
    ]


def is_method(option: Option) -> bool:
    """Whether this option names one method."""
    return LLPClassifier in option.kinds


def are_methods(option: Option) -> bool:
    """Whether this option names several methods."""
    return list[LLPClassifier] in option.kinds
