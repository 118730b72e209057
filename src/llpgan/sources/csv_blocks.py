"""A CSV file block after block, each column with the one type that fits all of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from llpgan.sources.reading import MISSING, refuse_not_utf8, refuse_other_header, refuse_repeated

_BLOCK_BYTES = 2**24
_WIDER = (pa.int64(), pa.float64()), (pa.date32(), pa.timestamp("s"), pa.timestamp("ns"))


@dataclass(frozen=True)
class CsvBlocks:
    """The tables of a file's blocks, each of whole lines.

    A reader that sees one block at a time may take a column for whole numbers that has fractions, or words,
    further on. So a file is gone through once for the types, and then again for the values.
    """

    path: Path
    delimiter: str = ","
    types: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def opened(cls, path: Path, delimiter: str, types: Mapping[str, Any]) -> "CsvBlocks":
        """With the types of all columns found, but for those that are given."""
        refuse_other_header(path)
        found: dict[str, Any] = {}
        for table in cls(path, delimiter, types):
            for column in table.schema:
                found[column.name] = wider(found.get(column.name, column.type), column.type)
        return cls(path, delimiter, found)

    def __iter__(self) -> Iterator[pa.Table]:
        for block in _blocks(self.path, _BLOCK_BYTES):
            table = self._read(block)
            refuse_repeated(str(self.path), table.column_names)
            refuse_not_utf8(self.path, table)
            yield table

    def _read(self, block: bytes) -> pa.Table:
        parse = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in block)
        convert = pa.csv.ConvertOptions(
            null_values=MISSING, strings_can_be_null=True, column_types=dict(self.types)
        )
        return pa.csv.read_csv(pa.BufferReader(block), parse_options=parse, convert_options=convert)


def wider(one: Any, other: Any) -> Any:
    """The type that holds the values of both; text, if nothing else does.

    >>> wider(pa.int64(), pa.float64()), wider(pa.null(), pa.date32()), wider(pa.int64(), pa.bool_())
    (DataType(double), DataType(date32[day]), DataType(string))
    """
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    for row in _WIDER:
        if one in row and other in row:
            return max(one, other, key=row.index)
    return pa.string()


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    """Whole lines, each time below the header."""
    with pa.input_stream(path) as stream:  # which also unpacks
        header, rest = b"", b""
        while data := stream.read(size):
            data = rest + data
            end = _end_of_lines(data)
            header, start = (header, 0) if header or not end else _header(data)
            if end > start:
                yield header + data[start:end]
                start = end
            rest = data[start:]
        if rest or not header:
            yield header + rest


def _header(data: bytes) -> tuple[bytes, int]:
    end = data.index(b"\n") + 1
    while data.count(b'"', 0, end) % 2:  # a name with a line break
        end = data.index(b"\n", end) + 1
    return data[:end], end


def _end_of_lines(data: bytes) -> int:
    """Behind the last line break that is not in quotes: an even number of these stands before it."""
    end = data.rfind(b"\n") + 1
    while end and data.count(b'"', 0, end) % 2:
        end = data.rfind(b"\n", 0, end - 1) + 1
    return end
