"""The console of the command line: apart from the rest because it loads rich."""

from typing import Any

from rich.console import Console
from rich.text import Text

from llpgan.cli.main import make_visible


class PlainConsole(Console):
    """Shows text as it is: a class may be named ``[red]`` or ``:cat:``, and none can steer the terminal."""

    def render_str(self, text: str, **how: Any) -> Text:
        """All text that is printed comes by here, also that of tables, before it is measured."""
        return super().render_str(make_visible(text), **how)


def make_console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console of the command line."""
    return PlainConsole(stderr=stderr, quiet=quiet, highlight=False, markup=False, emoji=False)
