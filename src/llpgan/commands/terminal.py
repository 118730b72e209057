"""Where commands speak to the user."""

from rich.console import Console


def terminal(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console that shows text as it is: a class may be named ``[red]`` or ``:cat:``, which rich would change."""
    return Console(stderr=stderr, quiet=quiet, highlight=False, markup=False, emoji=False)
