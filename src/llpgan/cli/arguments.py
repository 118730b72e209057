"""Arguments from the command line and from config files, and the help on commands and methods."""

import difflib
import re
import shutil
import textwrap
from argparse import ArgumentError
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml
from jsonargparse import ArgumentParser, set_loader
from sklearn.utils._param_validation import StrOptions

from llpgan.cli.options import (
    MethodAction,
    Option,
    are_methods,
    collect_options,
    collect_settings,
    command_summary,
    is_method,
    make_method,
    method_class,
    method_setting,
    method_settings,
    networks_of_kind,
    option_kinds,
    read_documentation,
    read_names,
    read_numbers,
)
from llpgan.methods import METHODS, docs_page
from llpgan.tables import Columns

_INDENT, _NARROWEST, _WIDEST = 26, 60, 100
_LONG, _LONGEST = 100, 160  # characters of a sentence on a setting; on one that is one of a few names
# Options that few users need: they come last, under their own heading.
_RARE = ("lower", "upper", "partial", "within", "proportions_sd", "tolerance")
_CONFIG = "A file of options (YAML); --print_config prints one."
_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")  # :class:`~llpgan.bags.Bags`
_NONE = re.compile(r" ?\bNone means (?:that )?((?:[^.]|\.(?=\w))*)\.?")  # a point may stand inside a number
_SENTENCE_END = re.compile(r"\. (?=[A-Z\"])")


def help_on_command(command: str, function: Callable[..., Any]) -> str:
    """What a command, such as ``llpgan fit``, does, an example, and its options, those that are needed first."""
    options = collect_options(function)
    what, example = command_summary(function)
    required = " ".join(
        option.name.upper() if option.is_required else f"[{option.name.upper()}]"
        for option in options
        if option.is_positional
    )
    lines = [f"usage: {command} {required} [options]", "", *_wrap(what)]
    if example:
        lines += ["", "Example:", *textwrap.indent(example, "  ").splitlines()]
    lines += ["", "Options:"]
    known = {option.name for option in options}
    for option in options:
        if option.name not in _RARE:
            lines += _entry(_typed_option(option), _summary(option, known))
    lines += _entry("--config FILE", _CONFIG)
    if rare := [option for option in options if option.name in _RARE]:
        lines += ["", "Other forms of proportions (bounds, unknown shares, noise):"]
        for option in rare:
            lines += _entry(_typed_option(option), _summary(option, known))
    if any(is_method(option) or are_methods(option) for option in options):
        there = f"Methods: {', '.join(METHODS)}; llpgan fit --method.help NAME explains the settings of one."
        lines += ["", *_wrap(there)]
    return "\n".join(lines)


def help_on_method(name: str) -> str:
    """A method's settings: first its own, then those that it shares with others."""
    method = method_class(name)
    first_sentence = (method.__doc__ or "").partition("\n")[0]
    lines = [f"{name}: {first_sentence}", "", "Settings:"]
    hints, said = collect_settings(name), dict[str, str]()
    for kind in reversed(method.__mro__):  # a method's own words win over those that it inherits
        said |= read_documentation(kind)
    own = [setting for setting in method.__annotations__ if setting in hints]
    named = {
        setting: sorted(name for kind in allowed if isinstance(kind, StrOptions) for name in kind.options)
        for setting, allowed in method._parameter_constraints.items()
    }
    usual = {field.name: field.default for field in fields(method) if field.init}
    for setting in [*own, *(setting for setting in hints if setting not in own)]:
        about, without = _plain_description(said.get(setting, ""))
        about = _shorten(about, _LONGEST if named.get(setting) else _LONG)
        if setting in ("classifier", "generator") and get_args(hints[setting]):  # a network, by its name
            about = f"One of {', '.join(networks_of_kind(setting))}."
        several = any(get_origin(kind) is Sequence for kind in option_kinds(hints[setting]))
        about += _choice(about, named.get(setting, []), several=several)
        lines += _entry(f"--method.{setting}", f"{about} {_default(usual[setting], without)}".strip())
    return "\n".join([*lines, "", f"More, and the formula: docs/methods/{docs_page(method.__name__)}.md"])


def _choice(about: str, names: Sequence[str], *, several: bool) -> str:
    """The names to choose from, unless there is no choice or the text names them already.

    >>> _choice("The loss of a bag.", ["counts", "exact"], several=False)
    ' One of counts, exact.'
    """
    if len(names) < 2 or all(f'"{name}"' in about for name in names):
        return ""
    return f" {'One or several of' if several else 'One of'} {', '.join(names)}."


def _shorten(said: str, longest: int) -> str:
    """The first sentence; of a long one, its first part."""
    sentence = _SENTENCE_END.split(said)[0]
    short = sentence if len(sentence) <= longest else sentence.partition("; ")[0]
    return short.rstrip(".") + "." if said else ""


def _plain_description(said: str) -> tuple[str, str]:
    """A docstring without markup, and apart from it what None means, which nobody types on the command line.

    >>> _plain_description("How many :class:`~llpgan.Bags`. None means ``all``. At least 2.")
    ('How many Bags. At least 2.', 'all')
    """
    plain = _ROLE.sub(r"\1", said).replace("``", "")
    without = _NONE.search(plain)
    return _NONE.sub("", plain).strip(), without[1] if without else ""


def _typed_option(option: Option) -> str:
    return option.name.upper() if option.is_positional else f"--{option.name} {_placeholder(option)}".rstrip()


def _placeholder(option: Option) -> str:
    if option.kinds == (bool,):
        return "" if option.default is False else "true|false"
    if is_method(option):
        return "NAME"
    if are_methods(option):
        return "A,B"
    if get_origin(option.kinds[0]) is Literal:
        return "|".join(get_args(option.kinds[0]))
    if option.reader is read_names:
        return "A,B"
    if option.reader is read_numbers or get_origin(option.kinds[0]) is tuple:
        return "N,N"
    return "N" if set(option.kinds) <= {int, float} else "X"


def _summary(option: Option, known: set[str]) -> str:
    """The docstring in the words of the command line."""
    said = re.sub(r"``(\w+)``", lambda found: f"--{found[1]}" if found[1] in known else found[1], option.about)
    about, without = _plain_description(said)
    return f"{about} {_default(option.default, without)}".strip()


def _default(value: Any, without: str = "") -> str:
    """What happens without the option; nothing if that is clear."""
    if value is None and without:
        return f"(default: {without})"
    if value is None or value is False or value == () or value == "":
        return ""
    return f"(default: {str(value).lower() if value is True else value})"


def _entry(left: str, right: str) -> Iterator[str]:
    lines = _wrap(right, _width() - _INDENT)
    first = f"  {left}"
    if len(first) >= _INDENT:
        yield first
    elif lines:
        yield first.ljust(_INDENT) + lines.pop(0)
    else:
        yield first
    yield from (" " * _INDENT + line for line in lines)


def _wrap(text: str, width: int | None = None) -> list[str]:
    return [line for part in text.split("\n\n") for line in textwrap.wrap(part, width or _width())]


def _width() -> int:
    return min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size().columns))


def describe_unknown(words: Sequence[str], options: Sequence[Option], method: str | None) -> str | None:
    """What to type instead of an option that there is not: one spelt like it, or a setting of the method."""
    unknown = next((word for word in words if word.startswith("-")), None)
    if unknown is None:
        return None
    name = unknown.lstrip("-").partition("=")[0]
    of_methods = [known for known in ([method] if method else METHODS) if name in collect_settings(known)]
    if of_methods and any(is_method(option) for option in options):
        named = "" if method else f" --method {of_methods[0]}"
        return f"there is no option --{name}; as a setting of the method it is{named} --method.{name}"
    there = [option.name for option in options if not option.is_positional]
    near = difflib.get_close_matches(name, there, n=1)
    return f"there is no option --{name}" + (f"; did you mean --{near[0]}?" if near else "")


_DEEPEST = 32  # lists and mappings in each other
_MOST_BYTES = 2**20


def config_files(options: Sequence[str]) -> list[Path]:
    """The files that options name as their config.

    >>> config_files(["people.csv", "--config", "a.yaml", "--config=b.yaml"])
    [PosixPath('a.yaml'), PosixPath('b.yaml')]
    """
    given = [after for option, after in pairwise(options) if option == "--config"]
    given += [option.removeprefix("--config=") for option in options if option.startswith("--config=")]
    return [Path(name) for name in given]


def refuse_bad_config(path: Path) -> None:
    """Refuse a file that is not YAML, or would grow beyond all bounds when it is read."""
    if not path.exists():
        return  # which the parser says
    if not path.is_file():
        raise ValueError(f"--config: {path} is not a file, but a folder, a pipe or a device")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"--config: {path} has more than {_MOST_BYTES:,} bytes: this is not a file of options")
    try:
        text = path.read_text(encoding="utf-8")
        _refuse_growing(text)
        options = _load(text)  # which knows no objects of Python
        if not isinstance(options, dict):
            raise ValueError("holds no options: lines such as bag: state would be right")
    except UnicodeDecodeError:
        raise ValueError(f"--config: {path} is not text in UTF-8") from None
    except yaml.YAMLError as error:
        raise ValueError(f"--config: {path} is not YAML: {' '.join(str(error).split())}") from error
    except ValueError as error:
        raise ValueError(f"--config: {path} {error}") from None


def _refuse_growing(text: str) -> None:
    """An alias may stand for a list of aliases, and so on: a few lines for billions of values."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1
            raise ValueError(f"has an alias (*{event.anchor}) in line {line}: write out the value it stands for")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"is nested more than {_DEEPEST} deep")


_OF_METHOD = re.compile(r"--method\.(\w+)(?:=(.*))?", re.DOTALL)
_PARSER_MODE = "llpgan-config"
_OLD_NAMES = {"random_state": "seed", "cv": "folds", "n_jobs": "jobs"}  # of version 0.1, taken until 0.4


def parse_arguments(name: str, function: Callable[..., Any], words: Sequence[str]) -> dict[str, Any]:
    """The arguments that the words stand for; raises ``ArgumentError`` where they are wrong."""
    options = collect_options(function)
    words = _settings_last(words)
    if any(option.is_positional and not option.is_required for option in options):
        words = _move_files_first(words, options)
    try:
        parsed = build_parser(name, options).parse_args(words)
    except ArgumentError as error:
        _, is_unknown, unknown = str(error).partition("unrecognized arguments: ")
        method = next((name for word, name in pairwise(words) if word == "--method" and name in METHODS), None)
        said = describe_unknown(unknown.split(), options, method) if is_unknown else None
        if said is None:
            raise
        raise ArgumentError(None, said) from None
    found = {option.name: parsed[option.name] for option in options}
    for option in options:
        if is_method(option):
            found[option.name] = make_method(found[option.name])
        elif are_methods(option) and found[option.name] is not None:
            found[option.name] = [make_method(setting) for setting in found[option.name]]
        elif isinstance(found[option.name], list):
            found[option.name] = tuple(found[option.name])
    return _group_columns(found, options)


def build_parser(name: str, options: Sequence[Option]) -> ArgumentParser:
    """A parser of a command's options. No type that it is given makes it import anything."""
    set_loader(_PARSER_MODE, _load, exceptions=(yaml.YAMLError,))
    parser = ArgumentParser(prog=f"llpgan {name}", exit_on_error=False, parser_mode=_PARSER_MODE, add_help=False)
    parser.add_argument("--config", action="config")
    for option in options:
        if option.is_required:
            parser.add_argument(option.name, type=option.reader)
        elif option.is_positional:
            parser.add_argument(option.name, type=option.reader, nargs="?", default=option.default)
        elif is_method(option):
            parser.add_argument(f"--{option.name}", type=method_setting, action=MethodAction, default=None)
        elif are_methods(option):
            parser.add_argument(f"--{option.name}", type=method_settings, default=None)
        elif option.kinds == (bool,):  # a bare --overwrite says yes
            parser.add_argument(f"--{option.name}", type=bool, default=option.default, nargs="?", const=True)
        else:
            old = [f"--{_OLD_NAMES[option.name]}"] if option.name in _OLD_NAMES else []
            parser.add_argument(f"--{option.name}", *old, type=option.reader, default=option.default)
    return parser


def _group_columns(found: dict[str, Any], options: Sequence[Option]) -> dict[str, Any]:
    """With ``columns.drop`` and its like as one argument, which is None if none of them is given."""
    parts = [option for option in options if option.name.startswith("columns.")]
    if not parts:
        return found
    whole = {name: value for name, value in found.items() if not name.startswith("columns.")}
    given = {option.name.removeprefix("columns."): found[option.name] for option in parts}
    usual = Columns()
    said = {name: value for name, value in given.items() if value != getattr(usual, name)}
    return {**whole, "columns": Columns(**said) if said else None}


def _settings_last(words: Sequence[str]) -> list[str]:
    """``--method.epochs 5`` as ``--method epochs=5``, behind what names the method."""
    rest, settings = [], []
    left = list(words)
    while left:
        word = left.pop(0)
        if (found := _OF_METHOD.fullmatch(word)) is None:
            rest.append(word)
            continue
        value = found[2]
        if value is None:
            value = left.pop(0) if left and not left[0].startswith("--") else "true"
        settings += ["--method", f"{found[1]}={value}"]
    return [*rest, *settings]


def _move_files_first(words: Sequence[str], options: Sequence[Option]) -> list[str]:
    """Move what has no name before all options: argparse gives up an optional one at the first option.

    >>> _move_files_first(["model", "--by", "race", "people.csv"], [])
    ['model', 'people.csv', '--by', 'race']
    """
    switches = {f"--{option.name}" for option in options if option.kinds == (bool,)} | {"--print_config"}
    files, rest, left = [], [], list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("--"):
            files.append(word)
            continue
        rest.append(word)
        follows = left[0] if left else "--"
        has_value = "=" not in word and not follows.startswith("--")
        if has_value and (word not in switches or follows.lower() in ("true", "false")):
            rest.append(left.pop(0))
    return [*files, *rest]


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML as JSON has it: only true and false are truth values, so that ``no`` and ``yes`` may name classes."""


_TAGS = {"bool", "float", "timestamp"}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag.rpartition(":")[2] not in _TAGS]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"true|True|false|False"), list("tTfF"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?|[-+]?\.(inf|nan)"),
    list("-+.0123456789"),
)


def _load(content: str) -> Any:
    return yaml.load(content, Loader=_Loader)
