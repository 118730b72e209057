"""Ids of bags in a CSV file: numbers only where no two ids become one number."""

import io
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.csv

from llpgan.tables import column_values

_LARGEST = 2**63 - 1
_OTHER_TYPES = (pa.types.is_floating, pa.types.is_date, pa.types.is_timestamp, pa.types.is_boolean)
_DIGITS = 15  # that any float keeps


def type_of_ids(texts: Iterable[str]) -> pa.DataType:
    """What the different ids of a column are: whole numbers, dates and so on, if they stay different; else text.

    >>> type_of_ids(["1", "2"]), type_of_ids(["01", "1"]), type_of_ids(["10000000000000000001"])
    (DataType(int64), DataType(string), DataType(string))
    """
    different = sorted(set(texts))
    if not different:
        return pa.null()
    if all(_is_whole_number(text) for text in different):
        return pa.int64()
    parsed = _parsed(different)
    loses_digits = pa.types.is_floating(parsed.type) and any(map(_has_many_digits, different))
    if loses_digits or not any(test(parsed.type) for test in _OTHER_TYPES):
        return pa.string()
    return parsed.type if len(parsed.unique()) == len(different) else pa.string()


def with_types(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts as the type of its ids; text as codes."""
    texts = column_values.plain(column)
    kind = type_of_ids(texts.unique().drop_null().to_pylist())
    return texts.dictionary_encode() if kind in (pa.string(), pa.null()) else texts.cast(kind)


def _is_whole_number(text: str) -> bool:
    """Whether it is written as Python would write it: no leading zero, no plus, no space."""
    return text.lstrip("-").isdecimal() and str(int(text)) == text and abs(int(text)) <= _LARGEST


def _has_many_digits(text: str) -> bool:
    return sum(letter.isdigit() for letter in text) > _DIGITS


def _parsed(texts: list[str]) -> pa.ChunkedArray:
    """As Arrow reads them in a file with nothing else."""
    file = io.BytesIO()
    pa.csv.write_csv(pa.table({"id": texts}), file)
    parse = pa.csv.ParseOptions(newlines_in_values=True)
    return pa.csv.read_csv(io.BytesIO(file.getvalue()), parse_options=parse)["id"]
