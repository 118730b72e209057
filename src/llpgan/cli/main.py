"""The command line: ``llpgan COMMAND``, of which each is a function in :mod:`llpgan.cli`.

What a command needs is imported when it runs, so that ``llpgan --help`` answers at once.
"""

import re
import sys
import warnings
from argparse import ArgumentError
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from llpgan.cli.terminal_text import any_encoding, drop_output, visible
from llpgan.utils.version import __version__

# A command is the function of its name in llpgan.cli: its parameters are the options, its docstring the help.
COMMANDS = {
    "store": "sort rows that do not fit into memory by bag, into a folder to fit",
    "inspect": "show what bags can tell, before anything is trained",
    "fit": "learn from a table of rows and the proportions of their bags; save a model and a report",
    "pairs": "learn from an aggregated report: tables of counts of pairs of columns; save a model",
    "predict": "predict the class of each row of a file",
    "compare": "compare methods by cross-validation on held-out bags; save the selected one",
    "evaluate": "evaluate a model by labels, by bags, or by both",
    "shares": "estimate the share of each class in each group of rows, with intervals",
    "export": "write a model for other programs (onnx)",
    "demo": "learn the votes of single people from 51 election results; the data are included",
    "data": "download the official files of data sets (get)",
    "reproduce": "reproduce the tables and figures of the paper; may be killed and started again",
}
_KINDS = {
    "<class 'int'>": "whole number",
    "<class 'float'>": "number",
    "<class 'bool'>": "true or false",
}
_ALLOCATION_FAILED = re.compile("bad_alloc|can't allocate memory|malloc of size")  # as C++, torch and Arrow say it
_HELP = ("--help", "-h")
_BAD_INPUT, _BAD_USAGE, _INTERRUPTED, _NOBODY_READS = 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives its exit code: 0, or 1 if the data or the machine did not allow it, 2 for bad usage."""
    try:
        with any_encoding():
            return _answered(list(sys.argv[1:] if arguments is None else arguments))
    except BrokenPipeError:
        drop_output()
        return _NOBODY_READS


def _answered(given: list[str]) -> int:
    debug = "--debug" in given
    name, *words = [part for part in given if part != "--debug"] or ["--help"]
    if name not in COMMANDS:
        return _no_command(name)
    try:
        with warnings.catch_warnings():  # a caller in Python keeps its own way to show them
            warnings.showwarning = partial(_as_note, name)
            _run(name, words)
    except ArgumentError as error:
        _say(f"llpgan {name}: error: {_usage_in_words(error)}; llpgan {name} --help tells more")
        return _BAD_USAGE
    except KeyboardInterrupt:
        _say(f"llpgan {name}: interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        if debug:
            raise
        _say(f"llpgan {name}: error: {_as_typed(name, _one_line(error))}")
        return _BAD_INPUT
    return 0


def _run(name: str, words: list[str]) -> None:
    function = _function(name)
    if any(word in _HELP for word in words):
        from llpgan.cli.help_pages import help_on_command

        print(help_on_command(name, function))
    elif asked := [
        place for place, word in enumerate(words) if word.startswith(("--method.help", "--methods.help"))
    ]:
        _print_method_help(words[asked[0] :])
    else:
        function(**_arguments(name, function, words))


def _arguments(name: str, function: Callable[..., Any], words: list[str]) -> dict[str, Any]:
    """What the words and config files say; no output may be a config file."""
    from llpgan.cli.argument_parsing import arguments_of
    from llpgan.cli.config_files import config_files, refuse_bad_config
    from llpgan.utils.output_paths import refuse_input

    configs = config_files(words)
    for path in configs:
        refuse_bad_config(path)
    arguments = arguments_of(name, function, words)
    for output in ("out", "to", "html"):
        if isinstance(arguments.get(output), str):
            refuse_input(Path(arguments[output]), configs)
    return arguments


def _function(name: str) -> Callable[..., Any]:
    return getattr(import_module(f"llpgan.cli.{name}"), name)


def _print_method_help(words: Sequence[str]) -> None:
    from llpgan.cli.help_pages import help_on_method
    from llpgan.cli.method_options import method_name

    named = [*words[0].split("=", 1)[1:], *words[1:]] or [""]
    try:
        print(help_on_method(method_name(named[0])))
    except ValueError as error:
        raise ArgumentError(None, str(error)) from None


def _no_command(name: str) -> int:
    if name == "--version":
        print(f"llpgan {__version__}")
        return 0
    asked = name in (*_HELP, "help")
    lines = [f"  llpgan {command:<9} {what}" for command, what in COMMANDS.items()]
    said = [] if asked else [f"llpgan: error: there is no command {visible(name)!r}\n"]
    text = [*said, "Classifiers of single instances from the class proportions of bags.\n", *lines]
    text.append("\nllpgan COMMAND --help tells its options; --debug shows the traceback of an error.")
    print("\n".join(text), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else _BAD_USAGE


def _say(text: str) -> None:
    print(visible(text), file=sys.stderr)


def _as_note(name: str, message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"note: {_as_typed(name, str(message))}")


def _as_typed(name: str, text: str) -> str:
    """A message that names a parameter in brackets, as ``(bag)``, with the option as the user types it."""
    function = getattr(sys.modules.get(f"llpgan.cli.{name}"), name, None)
    if function is None:  # the message is of its import
        return text
    from llpgan.cli.command_options import options_of

    options = {option.name.rpartition(".")[2]: f"(--{option.name})" for option in options_of(function)}
    return re.sub(r"\((\w+)\)", lambda in_brackets: options.get(in_brackets[1], in_brackets[0]), text)


def _usage_in_words(error: ArgumentError) -> str:
    """Of a parser's many lines those that tell what is wrong, as one."""
    text = re.sub(r'^Parser key "([^"]+)":|^argument --?([\w.]+):', r"--\1\2:", str(error))
    causes = re.findall(r"^    - (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    told = [cause for cause in causes if "NoneType" not in cause] or [text]
    where = f"{text.splitlines()[0]} " if causes else ""
    words = " ".join((where + "; ".join(told)).split())
    for kind, name in _KINDS.items():
        words = words.replace(kind, name)
    return re.sub(r"a typing\.Literal\[(.*?)\]", r"one of \1", words)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if text == "MemoryError" or _ALLOCATION_FAILED.search(text):
        return f"there is not enough memory for this; with `llpgan store`, data can stay on disk ({text})"
    known = isinstance(error, ValueError | OSError | TypeError | MemoryError | ImportError)
    return text if known else f"{type(error).__name__}: {text} (--debug shows where)"
