"""The console of the command line: apart from the rest because it loads rich."""

from typing import Any

from rich.console import Console
from rich.text import Text

from llpgan.cli.main import WIDEST, make_visible


class PlainConsole(Console):
    """Shows text as it is: a class may be named ``[red]`` or ``:cat:``, and none can steer the terminal.

    In a terminal, text is wrapped between words; in a file or a pipe, a message is one line.
    """

    def render_str(self, text: str, **how: Any) -> Text:
        """All text that is printed comes by here, also that of tables, before it is measured."""
        return super().render_str(make_visible(text), **how)

    def print(self, *objects: Any, **how: Any) -> None:
        """Print text and tables."""
        is_text = all(isinstance(each, str) for each in objects)
        super().print(*objects, **{"soft_wrap": is_text and not self.is_terminal, **how})


def make_console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console of the command line."""
    console = PlainConsole(stderr=stderr, quiet=quiet, highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        console.width = min(console.width, WIDEST)
    return console
