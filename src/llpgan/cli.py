"""The command line: ``llpgan COMMAND``, of which each is a function in :mod:`llpgan.commands`."""

import re
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from jsonargparse import ArgumentError, ArgumentParser

import llpgan
from llpgan.estimators import METHODS

# A command is the function of its name in llpgan.commands: its parameters are the options, its docstring the help.
COMMANDS = {
    "store": "rows that do not fit into memory, sorted by bag into a folder to fit",
    "inspect": "what bags can tell, before anything is trained",
    "fit": "learn from a table of rows and the proportions of their bags; saves a model and a report",
    "predict": "the class of each row of a file",
    "compare": "which method suits: each judged by bags it has not seen; saves the chosen one",
    "evaluate": "how good a model is: by labels where they exist, by bags, or both",
    "export": "a model for other programs (onnx)",
    "demo": "51 election results in, the votes of single people out; on data inside the package",
    "data": "official files of data sets (get)",
    "reproduce": "the paper's tables and figures; may be killed and started again",
}
_KINDS = {
    "<class 'int'>": "whole number",
    "<class 'float'>": "number",
    "<class 'bool'>": "true or false",
    "<class 'list'>": "list, as '[one, two]'",
    "<class 'tuple'>": "list, as '[1, 2]'",
    "<class 'collections.abc.Sequence'>": "list, as '[one, two]'",
}
_BAD_INPUT, _BAD_USAGE, _INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives its exit code: 0, or 1 if the data or the machine did not allow it, 2 for bad usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    name, *options = [part for part in given if part != "--debug"] or ["--help"]
    if name not in COMMANDS:
        return _no_command(name)
    try:
        with warnings.catch_warnings():  # a caller in Python keeps its own way to show them
            warnings.showwarning = _as_note
            _run(name, options)
    except ArgumentError as error:
        print(f"llpgan {name}: error: {_usage_in_words(error)}; llpgan {name} --help tells more", file=sys.stderr)
        return _BAD_USAGE
    except KeyboardInterrupt:
        print(f"llpgan {name}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except Exception as error:
        if debug:
            raise
        print(f"llpgan {name}: error: {_one_line(error)}", file=sys.stderr)
        return _BAD_INPUT
    return 0


def parser_of(name: str, function: Callable[..., Any]) -> ArgumentParser:
    """The options of a command, from the signature of its function."""
    parser = ArgumentParser(prog=f"llpgan {name}", description=COMMANDS[name], exit_on_error=False)
    parser.add_argument("--config", action="config", help="a file of options (YAML); --print_config writes one")
    parser.add_function_arguments(function, as_positional=True)
    for action in parser._actions:
        if getattr(action, "_typehint", action.type) is bool:  # a bare --overwrite says yes
            action.nargs, action.const = "?", True
    return parser


def _run(name: str, options: list[str]) -> None:
    function = getattr(import_module(f"llpgan.commands.{name}"), name)
    parser = parser_of(name, function)
    parsed = parser.instantiate(parser.parse_args(options))
    function(**{option: value for option, value in vars(parsed).items() if option != "config"})


def _no_command(name: str) -> int:
    if name == "--version":
        print(f"llpgan {llpgan.__version__}")
        return 0
    asked = name in ("--help", "-h", "help")
    lines = [f"  llpgan {command:<9} {what}" for command, what in COMMANDS.items()]
    said = [] if asked else [f"llpgan: error: there is no command {name!r}\n"]
    text = [*said, "Classifiers of single instances from the class proportions of bags.\n", *lines]
    text.append("\nllpgan COMMAND --help tells its options; --debug shows the traceback of an error.")
    print("\n".join(text), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else _BAD_USAGE


def _as_note(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"note: {message}", file=sys.stderr)


def _usage_in_words(error: ArgumentError) -> str:
    """Of a parser's many lines those that tell what is wrong, as one."""
    text = re.sub(r'^Parser key "([^"]+)":', r"--\1:", str(error))
    if unknown := re.search(r"Expected a dot import path string: (.*)", text):
        return f"there is no method {unknown[1]!r}; there are {', '.join(METHODS)}"
    causes = re.findall(r"^    - (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    told = [cause for cause in causes if "NoneType" not in cause] or [text]
    where = f"{text.splitlines()[0]} " if causes else ""
    words = " ".join((where + "; ".join(told)).split())
    for kind, name in _KINDS.items():
        words = words.replace(kind, name)
    return re.sub(r"a typing\.Literal\[(.*?)\]", r"one of \1", words)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    known = isinstance(error, ValueError | OSError | TypeError | MemoryError | ImportError)
    return text if known else f"{type(error).__name__}: {text} (--debug shows where)"
