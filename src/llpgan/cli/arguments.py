"""Arguments from the command line and from config files."""

import re
from argparse import ArgumentError
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import ArgumentParser, set_loader

from llpgan.cli.help import describe_unknown
from llpgan.cli.options import (
    MethodAction,
    Option,
    are_methods,
    collect_options,
    is_method,
    make_method,
    method_setting,
    method_settings,
)
from llpgan.methods import METHODS
from llpgan.tables import Columns

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
_CONFIG = "llpgan-config"
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
    set_loader(_CONFIG, _load, exceptions=(yaml.YAMLError,))
    parser = ArgumentParser(prog=f"llpgan {name}", exit_on_error=False, parser_mode=_CONFIG, add_help=False)
    parser.add_argument("--config", action="config")
    for option in options:
        _add(parser, option)
    return parser


def _add(parser: ArgumentParser, option: Option) -> None:
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
