"""How a CSV file is written: what separates its columns, and whether its decimals have commas."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from llpgan.tables import column_values

_SEPARATORS = ",;\t"
_QUOTED = re.compile(r'"[^"]*"')
_WITH_COMMA = r"^\s*[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?\s*$"
_HEADER_BYTES = 2**16


def separator_of(path: Path) -> str:
    """The separator that occurs most often in the first line, outside of quotes; a comma if there is none."""
    with pa.input_stream(path) as stream:  # which also unpacks
        header = stream.read(_HEADER_BYTES).split(b"\n")[0].decode("utf-8", errors="replace")
    bare = _QUOTED.sub("", header)
    return max(_SEPARATORS, key=bare.count)


def decimals_may_have_commas(separator: str) -> bool:
    """Where commas separate columns, a comma in quotes may as well separate thousands."""
    return separator != ","


def has_decimal_commas(column: pa.ChunkedArray) -> bool:
    """Whether all values of a text column are numbers, of which at least one has a decimal comma.

    >>> has_decimal_commas(pa.chunked_array([["3,14", "2", None]]))
    True
    """
    if not column_values.is_text(column):
        return False
    texts = column_values.plain(column).unique().drop_null()
    commas = pc.match_substring(texts, ",")
    return bool(pc.any(commas).as_py()) and bool(pc.all(pc.match_substring_regex(texts, _WITH_COMMA)).as_py())


def with_decimal_points(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The numbers of such a column.

    >>> with_decimal_points(pa.chunked_array([["3,14", "2", None]])).to_pylist()
    [3.14, 2.0, None]
    """
    texts = pc.replace_substring(column_values.plain(column), ",", ".")
    return pc.utf8_trim_whitespace(texts).cast(pa.float64())


def without_decimal_commas(table: pa.Table, as_text: frozenset[str]) -> pa.Table:
    """The table with such columns as numbers, but for those that are to stay text."""
    for place, name in enumerate(table.column_names):
        if name not in as_text and has_decimal_commas(table[place]):
            table = table.set_column(place, name, with_decimal_points(table[place]))
    return table
