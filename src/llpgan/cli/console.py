"""Where commands speak to the user."""

from typing import Any

from rich.console import Console
from rich.text import Text

from llpgan.cli.terminal_text import visible


class PlainConsole(Console):
    """Shows text as it is: a class may be named ``[red]`` or ``:cat:``, and none can steer the terminal."""

    def render_str(self, text: str, **how: Any) -> Text:
        """All text that is printed comes by here, also that of tables, before it is measured."""
        return super().render_str(visible(text), **how)


def terminal(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console of the command line."""
    return PlainConsole(stderr=stderr, quiet=quiet, highlight=False, markup=False, emoji=False)
