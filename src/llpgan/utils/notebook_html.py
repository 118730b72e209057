"""Small tables of HTML: what a notebook shows of a result."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

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
        Stands above the table.
    most : int, default=12
        How many rows are shown.
    note : str, default=""
        Stands below the table.

    Returns
    -------
    str

    Examples
    --------
    >>> html_table({"bag": ["<a>"], "error": ["1 %"]}, "1 bag")[:30]
    '<div><strong>1 bag</strong><ta'
    """
    rows = list(zip(*columns.values(), strict=True))
    head = "".join(_cell("th", name, place) for place, name in enumerate(columns))
    body = "".join(
        f"<tr>{''.join(_cell('td', value, place) for place, value in enumerate(row))}</tr>" for row in rows[:most]
    )
    more = f"and {len(rows) - most:,} more" if len(rows) > most else ""
    below = "".join(f"<div>{escape(text)}</div>" for text in (more, note) if text)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><strong>{escape(caption)}</strong>{table}{below}</div>"


def _cell(tag: str, value: Any, place: int) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    return f'<{tag}{scope} style="{_CELL if place else _FIRST}">{escape(str(value))}</{tag}>'
