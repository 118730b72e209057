"""A CSV file block after block, each column with the one type that fits all of them."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from llpgan.tables.csv_dialect import decimals_may_have_commas, has_decimal_commas, with_decimal_points
from llpgan.tables.csv_ids import type_of_ids
from llpgan.tables.table_readers import MISSING, refuse_not_utf8, refuse_other_header, refuse_repeated

_BLOCK_BYTES = 2**24
_LONGEST_LINE = 2**26  # bytes; a longer one is a quote that nobody closed
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
    with_commas: frozenset[str] = frozenset()

    @classmethod
    def opened(
        cls, path: Path, delimiter: str, types: Mapping[str, Any], ids: Collection[str] = ()
    ) -> "CsvBlocks":
        """With the types of all columns found, but for those that are given.

        Parameters
        ----------
        path : Path
            The file.
        delimiter : str
            Between its columns.
        types : mapping
            Those that are known.
        ids : Collection, default=()
            Columns of bags, whose different texts must stay different.
        """
        refuse_other_header(path)
        found: dict[str, Any] = {}
        texts: dict[str, set[str]] = {name: set() for name in ids if name not in types}
        commas = _DecimalCommas(delimiter)
        for table in cls(path, delimiter, {**types, **dict.fromkeys(texts, pa.string())}):
            for column in table.schema:
                found[column.name] = wider(found.get(column.name, column.type), column.type)
                if column.name in texts:
                    texts[column.name].update(table[column.name].unique().drop_null().to_pylist())
                elif column.name not in types:
                    commas.add(column.name, table[column.name])
        found |= {name: type_of_ids(seen) for name, seen in texts.items() if name in found}
        with_commas = commas.columns()
        return cls(path, delimiter, {**found, **dict.fromkeys(with_commas, pa.float64())}, with_commas)

    def __iter__(self) -> Iterator[pa.Table]:
        for block in _blocks(self.path, self.delimiter, _BLOCK_BYTES):
            table = self._read(block)
            refuse_repeated(str(self.path), table.column_names)
            refuse_not_utf8(self.path, table)
            yield table

    def _read(self, block: bytes) -> pa.Table:
        """The table of some lines.

        They are copied to memory of Arrow's own. Its threads may let go of a block after the table is there, and a
        thread that lets go of Python's memory while the interpreter ends takes the whole process down.
        """
        memory = pa.BufferOutputStream()
        memory.write(block)
        parse = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in block)
        types = {**self.types, **dict.fromkeys(self.with_commas, pa.string())}
        convert = pa.csv.ConvertOptions(null_values=MISSING, strings_can_be_null=True, column_types=types)
        table = pa.csv.read_csv(pa.BufferReader(memory.getvalue()), parse_options=parse, convert_options=convert)
        for place, name in enumerate(table.column_names):
            if name in self.with_commas:
                table = table.set_column(place, name, with_decimal_points(table[place]))
        return table


class _DecimalCommas:
    """The columns that hold numbers with decimal commas in one block or more, and nothing else in the others."""

    def __init__(self, delimiter: str) -> None:
        self.wanted = decimals_may_have_commas(delimiter)
        self.found: set[str] = set()
        self.others: set[str] = set()

    def add(self, name: str, column: pa.ChunkedArray) -> None:
        """A part of a column."""
        if not self.wanted or name in self.others or pa.types.is_null(column.type):
            return
        if has_decimal_commas(column):
            self.found.add(name)
        elif not pa.types.is_integer(column.type):
            self.others.add(name)

    def columns(self) -> frozenset[str]:
        """Their names."""
        return frozenset(self.found - self.others)


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


def _blocks(path: Path, delimiter: str, size: int) -> Iterator[bytes]:
    """Whole lines, each time below the header."""
    line, lines = _patterns(delimiter)
    with pa.input_stream(path) as stream:  # which also unpacks
        header, rest = b"", b""
        while data := stream.read(size):
            data = rest + data
            if not header and (first := line.match(data)):
                header, data = data[: first.end()], data[first.end() :]
            end = _end(lines, data) if header else 0
            if end:
                yield header + data[:end]
            rest = data[end:]
            if len(rest) > _LONGEST_LINE:
                raise ValueError(f"{path} has a line of more than {_LONGEST_LINE:,} bytes: is a quote not closed?")
        if rest or not header:
            yield header + rest


def _patterns(delimiter: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    r"""Of the first line, and of as many whole lines as there are; both match in one pass, without a way back.

    As Arrow has it, a quote opens a cell only as its first character: anywhere else in a cell that has no quotes
    around it, it is a character like others. In quotes, a line break is one too, and two quotes stand for one.

    >>> line, lines = _patterns(",")
    >>> lines.match(b'5" pipe,1\n"two\nlines",2\n"three\n').end()
    24
    """
    mark = re.escape(delimiter.encode())
    cell = rb'(?:"[^"]*+(?:""[^"]*+)*+"|(?!"))[^%b\r\n]*+' % mark
    line = rb"(?:%b[%b\r])*+%b\n" % (cell, mark, cell)
    return re.compile(rb"(?:\xef\xbb\xbf)?+" + line), re.compile(rb"(?:%b)*+" % line)


def _end(lines: re.Pattern[bytes], data: bytes) -> int:
    found = lines.match(data)
    return found.end() if found else 0
