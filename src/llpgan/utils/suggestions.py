"""What a user may have meant by a name that is not there."""

from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any
from unicodedata import normalize

_MOST_COMPARED = 10_000  # names; to compare with more takes longer than a message is worth
_FEW = 5


def did_you_mean(name: Hashable, available: Iterable[Hashable], none: str = "there is none") -> str:
    """The end of a message on a name that is not there: a few of those that are, and which may be meant.

    >>> did_you_mean(" ohio", ["Iowa", "Ohio"])
    "; there are 'Iowa', 'Ohio'. Did you mean 'Ohio'?"
    >>> did_you_mean("Utah", range(100))
    '; there are 0, 1, 2, 3, 4 and 95 more'
    """
    there = list(available)
    if not there:
        return f"; {none}"
    shown = ", ".join(map(repr, there[:_FEW]))
    more = f" and {len(there) - _FEW} more" if len(there) > _FEW else ""
    meant = _closest(name, there)
    asked = "" if meant is None else f". Did you mean {meant!r}?{_if_alike(name, meant)}"
    return f"; there are {shown}{more}{asked}"


def and_more(names: Sequence[Any]) -> str:
    """How many other names there are.

    >>> and_more(["Ohio", "Iowa", "Utah"])
    ' (and 2 more)'
    """
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _closest(name: Hashable, there: Iterable[Hashable]) -> Hashable | None:
    """The same name but for case, spaces, signs and type; else the most similar one."""
    by_text: dict[str, Hashable] = {}
    for other in islice(there, _MOST_COMPARED):
        by_text.setdefault(_bare(other), other)
    found = get_close_matches(_bare(name), by_text, n=1, cutoff=0.75)
    return by_text[found[0]] if found else None


def _if_alike(name: Hashable, meant: Hashable) -> str:
    """Why two names differ that look alike: macOS writes accents of file names as characters of their own."""
    are_text = isinstance(name, str) and isinstance(meant, str)
    if not are_text or normalize("NFC", str(name)) != normalize("NFC", str(meant)):
        return ""
    return " Both look alike, but one has its accents as characters of their own (Unicode NFD): write both in NFC"


def _bare(name: Hashable) -> str:
    text = " ".join(str(part) for part in name) if isinstance(name, tuple) else str(name)
    return "".join(letter for letter in text.casefold() if letter.isalnum()) or text
