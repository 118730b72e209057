"""The command line: ``llpgan COMMAND``."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import sys
import textwrap
import threading
import unicodedata
import warnings
from argparse import ArgumentError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llpgan.utils.version import __version__

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_HARMLESS = "\n\t"
WIDEST = 100  # columns of text in a terminal
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control and format characters, half characters, separators of lines
_IN_WORDS = "\u200c\u200d\u00ad"  # format characters that words of many languages have


def make_visible(text: str) -> str:
    r"""The text with characters that would steer a terminal written out: a class may be named ``\x1b[2J``.

    >>> print(make_visible("a\x1b[31mb\x07 \u202eabc"))
    a\x1b[31mb\x07 \u202eabc
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escape, text))


def _escape(character: str) -> str:
    if character in _HARMLESS or character in _IN_WORDS or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape", errors="surrogatepass").decode("ascii")


@contextmanager
def allow_any_encoding() -> Iterator[None]:
    r"""Characters that the terminal's encoding lacks are written out (``\u03bb``) instead of ending a command."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if hasattr(stream, "reconfigure")]
    before = [stream.errors for stream in streams]
    for stream in streams:
        stream.reconfigure(errors="backslashreplace")
    try:
        yield
        for stream in streams:
            stream.flush()
    finally:
        for stream, errors in zip(streams, before, strict=True):
            if not stream.closed:
                stream.reconfigure(errors=errors)


def drop_output() -> None:
    """Where nobody reads the output any more, as in ``llpgan --help | true``: what is left of it goes nowhere."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123, a device
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def make_console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Make a console of the command line, which shows text as it is: a class may be named ``[red]`` or ``:cat:``.

    In a terminal, text is wrapped between words; in a file or a pipe, a message is one line.
    """
    from rich.console import Console as RichConsole  # here, as help and most errors need no console

    class PlainConsole(RichConsole):
        def render_str(self, text: str, **how: Any) -> Text:
            """All text that is printed comes by here, also that of tables, before it is measured."""
            return super().render_str(make_visible(text), **how)

        def print(self, *objects: Any, **how: Any) -> None:
            """Print text and tables."""
            is_text = all(isinstance(each, str) for each in objects)
            super().print(*objects, **{"soft_wrap": is_text and not self.is_terminal, **how})

    console = PlainConsole(stderr=stderr, quiet=quiet, highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        console.width = min(console.width, WIDEST)
    return console


# The commands in the order of the help: the module of each, and what it does. A command is the function of its
# name; its parameters are the options, its docstring the help.
COMMANDS = {
    "store": ("fit", "prepare data larger than memory"),
    "inspect": ("evaluate", "show before training whether bags are informative"),
    "fit": ("fit", "learn from a table of rows and the proportions of their bags; save a model and a report"),
    "pairs": ("fit", "learn from an aggregated report: tables of counts of pairs of columns; save a model"),
    "predict": ("predict", "predict the class of each row of a file"),
    "compare": ("compare", "compare methods by cross-validation on held-out bags; save the selected one"),
    "evaluate": ("evaluate", "evaluate a model by labels, by bags, or by both"),
    "conformalize": ("deploy", "add prediction sets to a model, from held-out random bags; recalibrate it"),
    "monitor": ("deploy", "check a model in use on new bags"),
    "suggest": ("deploy", "list the rows whose labels would help most"),
    "shares": ("shares", "estimate the share of each outcome in each group, from counts or from a model"),
    "embed": ("commands", "write features of images or texts by a pretrained network to a Parquet file"),
    "export": ("commands", "write a model for other programs (onnx)"),
    "demo": ("commands", "learn the votes of single people from 51 election results; the data are included"),
}
_TRAINED_TOGETHER = ("fit",)  # in the processes that torchrun starts, which divide the work
_KINDS = {
    "<class 'int'>": "whole number",
    "<class 'float'>": "number",
    "<class 'bool'>": "true or false",
}
_ALLOCATION_FAILED = re.compile("bad_alloc|can't allocate memory|malloc of size")  # as C++, torch and Arrow say it
_UNUSED_RESULTS = r"\d+ tasks (have been|which were still)"  # of joblib, when a command is interrupted
_HELP = ("--help", "-h")
_LARGEST_SEED = 2**32 - 1  # of numpy
_NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
_BAD_INPUT, _BAD_USAGE, _INTERRUPTED, _NOBODY_READS = 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives its exit code: 0, 1 if the data or the machine did not allow it, 2 for bad usage.

    ``llpgan monitor`` returns 3 for drift and 4 for an alarm.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with end_on_signals(), allow_any_encoding():
            return _run_command(words)
    except Terminated as error:
        from llpgan.utils.workers import ADVICE, processes

        if processes()[0] > 1:
            _say(f"llpgan: a process of this training was killed or failed, so that all were ended: {ADVICE}")
        return 128 + error.number
    except BrokenPipeError:
        drop_output()
        return _NOBODY_READS
    except OSError as error:
        if "--debug" in words:
            raise
        drop_output()
        _say(f"llpgan: error: the output cannot be written: {error.strerror or error}")
        return _BAD_INPUT


class Terminated(BaseException):
    """A signal that asks the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


@contextmanager
def end_on_signals() -> Iterator[None]:
    """Signals end a command as an error does, so that nothing is left half-written; only the first one counts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    numbers = [number for number in numbers if before[number] not in (signal.SIG_IGN, None)]  # as nohup asks for

    def end(number: int, _: object) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    try:
        for number in numbers:
            signal.signal(number, end)
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        if "llpgan.utils.files" in sys.modules:
            sys.modules["llpgan.utils.files"].finish_clean_up()
        for number in numbers:
            signal.signal(number, before[number])


def _run_command(given: list[str]) -> int:
    debug = "--debug" in given
    name, *words = [part for part in given if part != "--debug"] or ["--help"]
    if name not in COMMANDS:
        return _no_command(name)
    try:
        with warnings.catch_warnings():  # a caller in Python keeps its own way to show them
            warnings.simplefilter("default", UserWarning)  # ours are notes, whatever PYTHONWARNINGS says
            warnings.filterwarnings("ignore", _UNUSED_RESULTS)
            warnings.showwarning = partial(_as_note, name)
            result = _run(name, words)
    except ArgumentError as error:
        _say(f"llpgan {name}: error: {_explain_usage_error(error)}; llpgan {name} --help lists the options")
        return _BAD_USAGE
    except KeyboardInterrupt:
        _say(f"llpgan {name}: interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and str(error) == str(_NO_SPACE):
            raise  # of the output: files on a full disk have their name
        if debug:
            raise
        _say(f"llpgan {name}: error: {_type_option(name, _one_line(error, name))}")
        return _BAD_INPUT
    return int(getattr(result, "exit_status", 0))


def _run(name: str, words: list[str]) -> Any:
    """Run the function of a command, and return its result; print help if that is asked for."""
    function = getattr(import_module(f"llpgan.cli.{COMMANDS[name][0]}"), name)
    if any(word in _HELP for word in words):
        from llpgan.cli.arguments import help_on_command

        print(help_on_command(f"llpgan {name}", function))
    elif asked := [
        place for place, word in enumerate(words) if word.startswith(("--method.help", "--methods.help"))
    ]:
        _print_method_help(words[asked[0] :])
    else:
        arguments = _arguments(name, function, words)
        if name not in _TRAINED_TOGETHER:
            from llpgan.utils.workers import processes, refuse_torchrun

            refuse_torchrun(name, f", with --n_jobs {processes()[0]}" if "n_jobs" in arguments else "")
        return function(**arguments)
    return None


def _arguments(name: str, function: Callable[..., Any], words: list[str]) -> dict[str, Any]:
    """What the words and config files say; no output may be a config file."""
    from llpgan.cli.arguments import config_files, parse_arguments, refuse_bad_config
    from llpgan.utils.files import refuse_input, refuse_same_outputs

    configs = config_files(words)
    for path in configs:
        refuse_bad_config(path)
    arguments = parse_arguments(name, function, words)
    options = ("out", "to", "history", "html", "differences")
    outputs: dict[str, Any] = {name: arguments[name] for name in options if name in arguments}
    for path in outputs.values():
        if isinstance(path, str):
            refuse_input(Path(path), configs)
    refuse_same_outputs(outputs)
    for option, value in arguments.items():
        if isinstance(value, str) and not value.strip() and option != "keep":
            kind = "name" if option in ("bag", "label", "weight", "image", "features", "remainder") else "path"
            raise ValueError(f"{option} is an empty text: a {kind} would be right")
    seed = arguments.get("random_state")
    if seed is not None and not 0 <= seed <= _LARGEST_SEED:
        raise ValueError(f"--random_state must be a whole number from 0 to {_LARGEST_SEED}, got {seed}")
    return arguments


def _print_method_help(words: Sequence[str]) -> None:
    from llpgan.cli.arguments import help_on_method
    from llpgan.cli.options import method_name

    named = [*words[0].split("=", 1)[1:], *words[1:]]
    if not named:
        raise ArgumentError(None, f"{words[0]} needs the name of a method, such as {words[0]} DLLP")
    try:
        print(help_on_method(method_name(named[0])))
    except ValueError as error:
        raise ArgumentError(None, str(error)) from None


def _no_command(name: str) -> int:
    if name == "--version":
        print(f"llpgan {__version__}")
        return 0
    asked = name in (*_HELP, "help")
    width = max(map(len, COMMANDS))
    lines = [f"  llpgan {command:<{width}} {what}" for command, (_, what) in COMMANDS.items()]
    said = []
    if not asked:
        meant = [f"; did you mean {command!r}?" for command in get_close_matches(name, COMMANDS, 1)]
        said.append(f"llpgan: error: there is no command {make_visible(name)!r}{''.join(meant)}\n")
    text = [*said, "Predict individuals from group totals.\n", *lines]
    text.append("\nllpgan COMMAND --help lists its options; --debug shows the traceback of an error.")
    print("\n".join(text), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else _BAD_USAGE


_DATE = re.compile(r"datetime\.date\((\d+), (\d+), (\d+)\)")


def _say(text: str) -> None:
    """Print a message: in a terminal wrapped between words, elsewhere on one line."""
    text = make_visible(_DATE.sub(lambda found: f"{found[1]}-{found[2]:0>2}-{found[3]:0>2}", text))
    if sys.stderr.isatty():
        width = min(WIDEST, shutil.get_terminal_size().columns)
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    print(text, file=sys.stderr)


def _as_note(name: str, message: Warning | str, *_: Any, **__: Any) -> None:
    from llpgan.utils.workers import is_first_process

    if is_first_process():
        _say(f"note: {_type_option(name, str(message))}")


def _type_option(name: str, text: str) -> str:
    """A message that names a parameter, as ``(bag)`` or first, with the option as the user types it."""
    function = getattr(sys.modules.get(f"llpgan.cli.{COMMANDS[name][0]}"), name, None)
    if function is None:  # the message is of its import
        return text
    from llpgan.cli.options import collect_options

    named = (option for option in collect_options(function) if not option.is_positional)
    options = {option.name.rpartition(".")[2]: f"--{option.name}" for option in named}
    return re.sub(
        r"(\()(\w+)(\))|^()(\w+)( must be | must not be | names | is an empty |: )",
        lambda found: "".join(options.get(part, part) for part in found.groups(default="")),
        text,
    )


def _has_no_working_folder() -> bool:
    try:
        return not Path.cwd().is_dir()
    except FileNotFoundError:
        return True


def _explain_usage_error(error: ArgumentError) -> str:
    """Of a parser's many lines those that say what is wrong, as one."""
    text = re.sub(r'^Parser key "([^"]+)":|^argument --?([\w.]+):', r"--\1\2:", str(error))
    causes = re.findall(r"^    - (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    reasons = [cause for cause in causes if "NoneType" not in cause] or [text]
    where = f"{text.splitlines()[0]} " if causes else ""
    words = " ".join((where + "; ".join(reasons)).split())
    for kind, name in _KINDS.items():
        words = words.replace(kind, name)
    return re.sub(r"a typing\.Literal\[(.*?)\]", r"one of \1", words)


def _one_line(error: Exception, command: str) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if text == "MemoryError" or _ALLOCATION_FAILED.search(text):
        advice = "with `llpgan store`, data can stay on disk"
        if command == "store":
            advice = "give the data as Parquet, CSV or .npy, which are read in parts"
        return f"there is not enough memory for this; {advice} ({text})"
    if isinstance(error, FileNotFoundError) and _has_no_working_folder():
        return "the working folder does not exist any more: change to another one"
    known = isinstance(error, ValueError | OSError | TypeError | MemoryError | ImportError)
    return text if known else f"{type(error).__name__}: {text} (--debug shows where)"
