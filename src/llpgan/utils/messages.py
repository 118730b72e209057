"""Texts for users: suggestions, the line that a warning names, tables in notebooks, and shared docstrings."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from html import escape
from inspect import cleandoc
from itertools import islice
from types import FrameType
from typing import Any
from unicodedata import normalize

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def remove_addresses(text: str) -> str:
    """The representation of an object without its place in memory, which differs each time.

    >>> remove_addresses("<bound method Flip.half of <Flip object at 0x7f31d2>>")
    '<bound method Flip.half of <Flip object>>'
    """
    return _ADDRESS.sub("", text)


_BETWEEN = ("sklearn.", "joblib.")
_WARNED: set[tuple[str, int, str]] = set()


def is_called_by_scikit_learn() -> bool:
    """Whether scikit-learn called the function that asks."""
    return _is_between(sys._getframe(2))


def warn_once(text: str, about: str) -> None:
    """Warn at the user's line that called the function that warns.

    If scikit-learn is in between, it may call again and again for that line: one warning is enough. (Python's
    own filter forgets what it has shown whenever filters change, as they do in many fits.)

    Parameters
    ----------
    text : str
        Of the warning.
    about : str
        What it is about; the same line may be warned of several things.
    """
    frame, level = sys._getframe(2), 3
    while _is_between(frame) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    place = (frame.f_code.co_filename, frame.f_lineno, about)
    if level == 3 or place not in _WARNED:
        warnings.warn(text, stacklevel=level)
    _WARNED.add(place)


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's that called this library, however deep inside it the reason was found."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("llpgan."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def _is_between(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith(_BETWEEN)


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


_LONGEST_QUOTE = 80


def quote_text(text: Any) -> str:
    """A value of a table as it is quoted in a message.

    >>> quote_text("3 kg"), len(quote_text("x" * 1000))
    ("'3 kg'", 83)
    """
    shown = repr(text)
    return shown if len(shown) <= _LONGEST_QUOTE else f"{shown[:_LONGEST_QUOTE]}..."


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


_CELL = "text-align:right;padding:2px 10px"
_FIRST = "text-align:left;padding:2px 10px"


def html_table(columns: Mapping[str, Sequence[Any]], caption: str, *, most: int = 12, note: str = "") -> str:
    """A table with a caption; of a long one the first rows, and how many more there are.

    It takes its colours from the notebook, light or dark.

    Parameters
    ----------
    columns : mapping of str to sequence
        What each cell shows, by column; numbers as the caller formats them.
    caption : str
        Shown above the table.
    most : int, default=12
        How many rows are shown.
    note : str, default=""
        Shown below the table.

    Returns
    -------
    str

    Examples
    --------
    >>> html_table({"bag": ["<a>"], "error": ["1 %"]}, "1 bag")[:30]
    '<div><strong>1 bag</strong><ta'
    """
    rows = list(zip(*columns.values(), strict=True))
    head = "".join(_html_cell("th", name, place) for place, name in enumerate(columns))
    body = "".join(
        f"<tr>{''.join(_html_cell('td', value, place) for place, value in enumerate(row))}</tr>"
        for row in rows[:most]
    )
    more = f"and {len(rows) - most:,} more" if len(rows) > most else ""
    below = "".join(f"<div>{escape(text)}</div>" for text in (more, note) if text)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><strong>{escape(caption)}</strong>{table}{below}</div>"


def _html_cell(tag: str, value: Any, place: int) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    return f'<{tag}{scope} style="{_CELL if place else _FIRST}">{escape(str(value))}</{tag}>'


def format_seconds(seconds: float) -> str:
    """A length of time as people say it.

    >>> format_seconds(4), format_seconds(90), format_seconds(7000), format_seconds(1e6)
    ('4 s', '2 min', '1.9 h', '12 days')
    """
    for unit, length, least in (("days", 86_400, 172_800), ("h", 3600, 5400), ("min", 60, 60)):
        if seconds >= least:
            return f"{seconds / length:.{1 if unit == 'h' else 0}f} {unit}"
    return f"{seconds:.0f} s"


SHARED = {
    "tol": """\
tol : float, default={0}
    The search stops when no component of the gradient of the mean loss is larger than this.""",
    "own_loss": """\
proportion_loss : {{"{0}"}}, default="{0}"
    The loss of this method, which cannot be changed.""",
    "example": """\
Examples
--------
>>> import numpy as np
>>> from llpgan import {0}
>>> X = np.arange(40.0)[:, None]
>>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
>>> {0}(random_state=0).fit(X, y, groups=bag).predict([[3.0], [35.0]])
array([0, 1])""",
    "random_state": """\
random_state : int, RandomState instance or None, default=None
    Controls the randomness of the fit: {0}.
    Pass an integer for the same result in every call.""",
}

_SHARED_ENTRY = re.compile(r"^\{(\w+): ([^}]*)\}$")
_CONTINUED = re.compile(r"(?<=[,}]) {2,}(?=or callable|default=)")  # an entry on two lines, after a backslash
_UNDERLINE = re.compile(r"^-{3,}$")


def fill_docstring(cls: type) -> str | None:
    """Fill the placeholders in the docstring of a class.

    Parameters
    ----------
    cls : type
        The class. Its bases are documented, and their docstrings filled.

    Returns
    -------
    str or None
        The docstring without placeholders; None if the class has none.
    """
    if cls.__doc__ is None:
        return None
    text = _fill_shared_entries(cleandoc(cls.__doc__))
    own = _parse_entries(text)
    lines: list[str] = []
    section = ""
    for before, line in _pair_with_previous(text):
        section = before if _UNDERLINE.match(line) else section
        if line == "{inherited}":
            from_base = _inherited_entries(cls, section).items()
            lines += [each for name, entry in from_base if name not in own.get(section, ()) for each in entry]
        else:
            lines.append(line)
    return "\n".join([*lines, ""])


def _fill_shared_entries(text: str) -> str:
    lines = (_CONTINUED.sub(" ", line) for line in text.split("\n"))
    return "\n".join(
        SHARED[found[1]].format(found[2]) if (found := _SHARED_ENTRY.match(line)) else line for line in lines
    )


def _pair_with_previous(text: str) -> list[tuple[str, str]]:
    lines = text.split("\n")
    return list(zip(["", *lines], lines, strict=False))


def _inherited_entries(cls: type, section: str) -> dict[str, list[str]]:
    """The entries of a section in the nearest base that has it."""
    for base in cls.__mro__[1:]:
        if entries := _parse_entries(base.__doc__ or "").get(section):
            return entries
    raise ValueError(f"{cls.__name__}: no class that it derives from documents its {section}")


def _parse_entries(docstring: str) -> dict[str, dict[str, list[str]]]:
    """Of each section that lists names: the lines of each entry, by name."""
    sections: dict[str, dict[str, list[str]]] = {}
    section, name = "", ""
    for before, line in _pair_with_previous(cleandoc(docstring)):
        if _UNDERLINE.match(line):
            section, name = before, ""
        elif " : " in line and not line.startswith(" "):
            name = line.partition(" : ")[0]
            sections.setdefault(section, {})[name] = [line]
        elif line.startswith(" ") and name:
            sections[section][name].append(line)
    return sections
