"""Tables from CSV and Parquet files, frames and dicts of columns."""

from __future__ import annotations

import codecs
import io
import re
import shlex
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet
from numpy.typing import NDArray

from llpgan.tables import columns
from llpgan.tables.columns import plain_values
from llpgan.utils.arrays import Array
from llpgan.utils.messages import did_you_mean

_CELLS = 2**21  # of a part: some 16 MB
_EVEN = 1024  # parts have a multiple of so many rows: networks then predict them in the same batches as at once
_MOST_ROWS = 2**17
_PARTS_BETWEEN = 8  # between times that Arrow gives the memory of parts that are gone back to the system


@dataclass(frozen=True)
class Rows:
    """The rows of a table, of an archive of arrays, or of a folder of images.

    Attributes
    ----------
    name : str
        The name of the source, for messages.
    table : pyarrow.Table
        The columns of features, bags, labels or paths of images.
    array : ndarray or None
        The instances, if the source holds them as an array.
    folder : Path
        The folder that relative paths of images refer to.
    image : str or None
        The column that holds the paths of images, if the source itself defines it.
    first_row : int
        The index in the source of the first of these rows.
    kept : ndarray or None
        If some rows of the source are left out, the position of each row among those from ``first_row`` on.
    keep : bool
        Whether the table stays in memory after an iteration over its parts. If False, the memory of each part is
        released.
    """

    name: str
    table: pa.Table
    array: Array | None = None
    folder: Path = Path()
    image: str | None = None
    first_row: int = 0
    kept: NDArray[np.int64] | None = None
    keep: bool = True

    def __len__(self) -> int:
        return int(self.table.num_rows) if self.array is None else len(self.array)

    def number(self, row: int) -> int:
        """Return the index in the source of one of these rows, for messages.

        Parameters
        ----------
        row : int
            The position of the row.

        Returns
        -------
        int
            The index.
        """
        return self.first_row + (int(row) if self.kept is None else int(self.kept[row]))

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows, which keep their numbers.

        Parameters
        ----------
        rows : ndarray of int
            The positions of the rows.

        Returns
        -------
        Rows
            The rows.
        """
        array = None if self.array is None else self.array[rows]
        kept = rows if self.kept is None else self.kept[rows]
        return replace(self, table=self.table.take(pa.array(rows)), array=array, kept=kept)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        pyarrow.ChunkedArray
            The values.

        Raises
        ------
        ValueError
            If there is no such column.
        """
        if name not in self.table.column_names:
            raise missing_column_error(self.name, name, self.table.column_names)
        return self.table[name]

    def parts(self, n_rows: int) -> Iterator[pa.Table]:
        """Iterate over the table in parts.

        Parameters
        ----------
        n_rows : int
            The maximum number of rows of a part.

        Yields
        ------
        pyarrow.Table
            The parts, in order.
        """
        batches = deque(self.table.to_batches(max_chunksize=n_rows))
        if not self.keep:
            object.__setattr__(self, "table", self.table.slice(0, 0).combine_chunks())
        while batches:
            yield pa.Table.from_batches([batches.popleft()])
            if not self.keep and len(batches) % _PARTS_BETWEEN == 0:
                pa.default_memory_pool().release_unused()


@dataclass(frozen=True)
class RowStream:
    """Rows that are read part by part, as often as needed.

    Attributes
    ----------
    name : str
        The name of the source, for messages.
    schema : pyarrow.Schema
        The names and types of the columns.
    rows : callable
        A function from a number of rows to an iterator over parts of that size; only the last part may be smaller.
    shape : tuple of int or None
        The shape of an instance, if instances are arrays.
    image : str or None
        The column that holds the paths of images, if the source itself defines it.
    is_whole : bool
        Whether all rows are in memory and come in one part.
    """

    name: str
    schema: pa.Schema
    rows: Callable[[int], Iterator[Rows]]
    shape: tuple[int, ...] | None = None
    image: str | None = None
    is_whole: bool = False

    def parts(self, shape: tuple[int, ...] = ()) -> Iterator[Rows]:
        """Iterate over all rows, in parts of about two million cells.

        Parameters
        ----------
        shape : tuple of int, default=()
            The shape of an encoded instance, if it has more cells than a row of the source.

        Returns
        -------
        iterator of Rows
            The parts, in order.
        """
        cells = max(len(self.schema), *(int(np.prod(each)) for each in (shape, self.shape or ())))
        n_rows = min(_MOST_ROWS, max(1, _CELLS // cells // _EVEN) * _EVEN)
        return self.rows(n_rows)


def missing_column_error(source: str, name: str, available: Sequence[str]) -> ValueError:
    """The error of a column that a source does not have."""
    return ValueError(f"{source} has no column {name!r}{did_you_mean(name, available, 'there are no columns')}")


class Encoder(Protocol):
    """The interface of encoders, which turn a user's rows into instances as learned from the training rows."""

    @property
    def features(self) -> tuple[str, ...] | None:
        """The names of the encoded columns, or None if instances have no named columns."""

    @property
    def positions(self) -> dict[str, list[int]]:
        """The positions of the encoded columns of each column of the user."""

    @property
    def notes(self) -> list[str]:
        """Messages for the user, such as which columns are left out."""

    @property
    def text_columns(self) -> list[str]:
        """The columns that must be read as text, whatever they look like."""

    def encode(self, rows: Rows) -> Array:
        """Encode rows.

        Parameters
        ----------
        rows : Rows
            The rows.

        Returns
        -------
        ndarray
            The instances, one per row.
        """


_SEPARATORS = ",;\t|"
_THOUSANDS = ","  # where it separates columns, one in quotes may as well separate thousands as decimals
_QUOTED = re.compile(r'"[^"]*"')
_WITH_COMMA = r"^\s*[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?\s*$"
_HEADER_BYTES = 2**16
_FIRST_LINES = 20


def find_separator(start: str) -> str:
    r"""The separator that the first lines have equally often, and the first line most often, outside of quotes.

    It is a comma if there is none.

    >>> find_separator("name;height\n'Ann';1,7\n")
    ';'
    """
    lines = start.split("\n")
    bare = [_QUOTED.sub("", line) for line in lines[: min(_FIRST_LINES, max(1, len(lines) - 1))]]
    in_header = {separator: bare[0].count(separator) for separator in _SEPARATORS}
    agreeing = {mark: sum(line.count(mark) == n > 0 for line in bare) for mark, n in in_header.items()}
    return max(_SEPARATORS, key=lambda mark: (agreeing[mark], in_header[mark]))


def has_decimal_commas(column: pa.ChunkedArray) -> bool:
    """Whether all values of a text column are numbers, of which at least one has a decimal comma.

    >>> has_decimal_commas(pa.chunked_array([["3,14", "2", None]]))
    True
    """
    if columns.value_type(column) != "text":
        return False
    texts = plain_values(column).unique().drop_null()
    commas = pc.match_substring(texts, ",")
    return bool(pc.any(commas).as_py()) and bool(pc.all(pc.match_substring_regex(texts, _WITH_COMMA)).as_py())


def parse_decimal_commas(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The numbers of such a column.

    >>> parse_decimal_commas(pa.chunked_array([["3,14", "2", None]])).to_pylist()
    [3.14, 2.0, None]
    """
    texts = pc.replace_substring(plain_values(column), ",", ".")
    return pc.utf8_trim_whitespace(texts).cast(pa.float64())


_LARGEST = 2**63 - 1
_OTHER_TYPES = (pa.types.is_floating, pa.types.is_date, pa.types.is_timestamp, pa.types.is_boolean)
_DIGITS = 15  # that any float keeps


def id_type(texts: Iterable[str]) -> pa.DataType:
    """What the different ids of a column are: whole numbers, dates and so on, if they stay different; else text.

    >>> id_type(["1", "2"]), id_type(["01", "1"]), id_type(["10000000000000000001"])
    (DataType(int64), DataType(string), DataType(string))
    """
    different = sorted(set(texts))
    if not different:
        return pa.null()
    if all(
        text.lstrip("-").isdecimal() and str(int(text)) == text and abs(int(text)) <= _LARGEST
        for text in different  # written as Python writes whole numbers: no leading zero, no plus, no space
    ):
        return pa.int64()
    file = io.BytesIO()
    pa.csv.write_csv(pa.table({"id": different}), file)
    options = pa.csv.ParseOptions(newlines_in_values=True)
    parsed = pa.csv.read_csv(io.BytesIO(file.getvalue()), parse_options=options)["id"]
    has_many_digits = any(sum(letter.isdigit() for letter in text) > _DIGITS for text in different)
    loses_digits = has_many_digits and pa.types.is_floating(parsed.type)
    if loses_digits or not any(test(parsed.type) for test in _OTHER_TYPES):
        return pa.string()
    return parsed.type if len(parsed.unique()) == len(different) else pa.string()


MISSING = ("", "?", "NA", "N/A", "#N/A", "n/a", "NULL", "null", "None", "NaN", "nan", "-nan", "<NA>")
CSV, TSV = (".csv", ".csv.gz"), (".tsv", ".tab", ".tsv.gz")
_SHORT_TEXT = 1000  # up to so many different values, a text column is held as codes
_USUAL = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}

Text = Collection[str]


def read_table(source: Any, text: Text = (), ids: Text = ()) -> pa.Table:
    """Read a table from a file, a frame or a dict of columns.

    Parameters
    ----------
    source : table or path
        A CSV, TSV or Parquet file, a folder of Parquet files, a pandas or polars frame, an Arrow table, or a dict
        of columns.
    text : collection of str, default=()
        The columns of a CSV file that are read as text, even if they look like numbers.
    ids : collection of str, default=()
        The columns of a CSV file that are numbers only if different texts are different numbers, so that 01 and 1
        are two bags.

    Returns
    -------
    pyarrow.Table
        The table.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a table, is empty, or has two columns of the same name.

    Examples
    --------
    >>> read_table({"age": [31, 47], "state": ["Ohio", "Iowa"]}).num_rows
    2
    """
    is_file = isinstance(source, str | Path)
    table = _from_file(Path(source), text, ids) if is_file else usual_text(_from_frame(source))
    name = source_name(source)
    refuse_repeated(name, table.column_names)
    if table.num_rows == 0:
        raise ValueError(f"{name} is empty: it has columns {table.column_names}, but no rows")
    return table


def source_name(source: Any, otherwise: str = "the table") -> str:
    """What to call a source in a message: a file by its path."""
    return str(source) if isinstance(source, str | Path) else otherwise


def is_table(source: Any) -> bool:
    """Return whether an object is a table or a path, rather than an array.

    Parameters
    ----------
    source : object
        Anything that a user may pass.

    Returns
    -------
    bool
        True for a frame, an Arrow table, a dict of columns or the path of a file.
    """
    return hasattr(source, "columns") or isinstance(source, pa.Table | Mapping | str | Path)


def _from_frame(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, Mapping):
        return _from_columns(frame)
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        return _from_pandas(frame)
    if hasattr(frame, "iloc"):
        raise TypeError(
            "a table has rows and columns, not one of them: of a frame, df.iloc[[0]] is a table of one row"
        )
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    raise TypeError(f"a table is a file, a frame or a dict of columns, not a {type(frame).__name__}")


def _from_pandas(frame: Any) -> pa.Table:
    """Without the frame's index, which is no column."""
    refuse_repeated("the table", [str(name) for name in frame.columns])
    named = frame.set_axis([str(name) for name in frame.columns], axis=1)
    intervals = {}
    for name, kind in named.dtypes.items():  # of pandas' cut and qcut, which Arrow has no type for
        categories = getattr(kind, "categories", None)
        if str(kind if categories is None else categories.dtype).startswith("interval"):
            intervals[name] = named[name].astype(object).map(str, na_action="ignore")
    try:
        return pa.Table.from_pandas(named.assign(**intervals), preserve_index=False)
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise ValueError(f"the table cannot be read: {'; '.join(map(str, error.args))}") from None


def _from_columns(columns: Mapping[Any, Any]) -> pa.Table:
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[str(name)] = pa.table({str(name): values})[str(name)]
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"column {str(name)!r} cannot be read: {_error_line(error)}") from None
    refuse_repeated("the table", [str(name) for name in columns])
    try:
        return pa.table(arrays)
    except pa.ArrowException as error:
        raise ValueError(f"the table cannot be read: {_error_line(error)}") from None


def refuse_repeated(name: str, columns: Sequence[str]) -> None:
    """Refuse columns of the same name."""
    if repeated := {column for column in columns if columns.count(column) > 1}:
        raise ValueError(f"{name} has more than one column {min(repeated)!r}: columns need names of their own")


def usual_text(table: pa.Table) -> pa.Table:
    """Text of the type that Arrow can compute with, where a frame or file holds views."""
    for place, entry in enumerate(table.schema):
        if entry.type in _USUAL:
            table = table.set_column(place, entry.name, table[place].cast(_USUAL[entry.type]))
        elif pa.types.is_dictionary(entry.type) and entry.type.value_type in _USUAL:
            codes = pa.dictionary(pa.int32(), _USUAL[entry.type.value_type])
            table = table.set_column(place, entry.name, table[place].cast(codes))
    return table


def _from_file(path: Path, text: Text, ids: Text) -> pa.Table:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.is_dir():
        from llpgan.tables.streams import read_parquet_folder

        if (table := read_parquet_folder(path)) is not None:
            return usual_text(table)
    name = path.name.lower()
    is_csv = name.endswith((*CSV, *TSV))
    read = next((reader for ending, reader in _READERS.items() if name.endswith(ending)), None)
    if path.is_file() and path.suffix.lower() in _SPREADSHEETS:
        names = f"{str(path)!r}).to_csv({str(path.with_suffix('.csv'))!r}, index=False)"
        convert = shlex.quote(f"import pandas; pandas.read_excel({names}")
        raise ValueError(f"{path} is a spreadsheet: save it as CSV, or run python -c {convert}")
    if not path.is_file() or (read is None and not is_csv):
        endings = ", ".join((*CSV, *TSV, *_READERS))
        raise ValueError(f"{path} is not a table: a file that ends in {endings} would be")
    try:
        with unreadable(str(path)):
            return CsvFile.open(path, text, ids).read() if read is None else usual_text(read(path))
    finally:
        pa.default_memory_pool().release_unused()  # the file's text, which Arrow would keep for later


@contextmanager
def unreadable(name: str) -> Iterator[None]:
    """What a reader finds wrong with a file is said with its name."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError) as error:
        raise ValueError(f"{name} is not a table that can be read: {_error_line(error)}") from error


def _not_utf8(path: Path, where: str) -> ValueError:
    with pa.input_stream(path) as stream:
        start = stream.read(_HEADER_BYTES)
    as_utf8 = path.with_name(f"{path.name.split('.')[0]}_utf8.csv")
    files = f"{shlex.quote(str(path))} > {shlex.quote(str(as_utf8))}"
    nuls = [start[first::2].count(0) > len(start) / 5 for first in (0, 1)]  # every second byte of English text
    encoding = "UTF-16BE" if nuls[0] else "UTF-16LE" if nuls[1] else "LATIN1"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "UTF-16"
    elif 0 in start and not any(nuls) and start.isascii():
        return ValueError(f"{path}, {where}: this has NUL characters. Remove them: tr -d '\\000' < {files}")
    return ValueError(
        f"{path}, {where}: this is not text in UTF-8. If it is {encoding}, convert it: "
        f"iconv -f {encoding} -t UTF-8 {files}"
    )


def _error_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


_READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": pa.parquet.read_table,
    ".feather": pyarrow.feather.read_table,
    ".arrow": pyarrow.feather.read_table,
    ".jsonl": pyarrow.json.read_json,
}
_SPREADSHEETS = {".xlsx", ".xls", ".xlsm", ".ods"}


_BEGINNINGS = {
    "a Parquet file": b"PAR1",
    "a gzip file (.csv.gz)": b"\x1f\x8b",
    "a spreadsheet or a zip archive": b"PK\x03\x04",
    "an old spreadsheet (.xls)": b"\xd0\xcf\x11\xe0",
    "an image": (b"\x89PNG", b"\xff\xd8\xff", b"GIF8"),
    "a PDF file": b"%PDF",
    "a NumPy array (.npy)": b"\x93NUMPY",
    "JSON": (b'{"', b"[{"),
    "a page of HTML": (b"<html", b"<!DOCTYPE html", b"<!doctype html"),
}
_SEPARATOR_LINE = re.compile(rb"(?:\xef\xbb\xbf)?\"?sep=([,;|\t])\"?\r?\n", re.IGNORECASE)  # as Excel writes it
_OTHER_WIDTH = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
_SHOWN = 60  # characters of a line in a message
_BLOCK_BYTES = 2**24
_LONGEST_LINE = 2**26  # bytes; a longer one is a quote that nobody closed
_WIDER = (pa.int64(), pa.float64()), (pa.date32(), pa.timestamp("s"), pa.timestamp("ns"))


@dataclass(frozen=True)
class CsvFile:
    """A CSV file, which is read as a whole, or, if it is larger than memory, in blocks of whole lines.

    A reader that sees one block at a time may take a column for whole numbers that has fractions, or words,
    further on. So blocks are read with the types of all rows, which :meth:`find_types` finds before.

    Attributes
    ----------
    path : Path
        The file.
    delimiter : str
        Between its columns.
    text : frozenset of str
        The columns that are read as text.
    ids : frozenset of str
        The columns whose different texts must stay different.
    n_skipped : int, default=0
        The number of lines before the header: 1 if the first says only what the separator is, as in ``sep=;``.
    """

    path: Path
    delimiter: str
    text: frozenset[str]
    ids: frozenset[str]
    n_skipped: int = 0

    @classmethod
    def open(cls, path: Path, text: Text = (), ids: Text = ()) -> CsvFile:
        """Find the separator in the first lines; a file whose first line is no text is refused."""
        with pa.input_stream(path) as stream:  # which also unpacks
            start = stream.read(_HEADER_BYTES)
        for kind, beginning in _BEGINNINGS.items():
            if start.startswith(beginning):
                raise ValueError(f"{path} is {kind}, not CSV: give its name its own ending, or convert it")
        try:
            is_text = "\0" not in codecs.getincrementaldecoder("utf-8")().decode(start.split(b"\n")[0])
        except UnicodeDecodeError:
            is_text = False
        if not is_text:
            raise _not_utf8(path, "in its first line")
        if (said := _SEPARATOR_LINE.match(start)) is not None:
            delimiter = said[1].decode()
        elif path.name.lower().endswith(TSV):
            delimiter = "\t"
        else:
            delimiter = find_separator(start.decode("utf-8", errors="replace"))
        return cls(path, delimiter, frozenset(text), frozenset(ids) - frozenset(text), int(said is not None))

    def read(self) -> pa.Table:
        """Read the file with types that fit all rows: where a later row does not fit, Arrow widens the type."""
        as_text = dict.fromkeys(self.text | self.ids, pa.string())
        try:
            table = self._parse(self.path, as_text, line_breaks=False, as_codes=True)
        except pa.ArrowInvalid as error:
            if "newlines_in_values" not in str(error):
                raise
            table = self._parse(self.path, as_text, line_breaks=True, as_codes=True)  # slower, and rarely needed
        for place, name in enumerate(table.column_names):
            if name in self.ids:
                texts = plain_values(table[place])
                kind = id_type(texts.unique().drop_null().to_pylist())
                is_text = kind in (pa.string(), pa.null())
                column = texts.dictionary_encode() if is_text else pc.utf8_trim_whitespace(texts).cast(kind)
                table = table.set_column(place, name, column)
            elif self.delimiter != _THOUSANDS and name not in self.text and has_decimal_commas(table[place]):
                table = table.set_column(place, name, parse_decimal_commas(table[place]))
        return table

    def find_types(self) -> tuple[dict[str, pa.DataType], frozenset[str]]:
        """Go through the file for the type of each column, and for the columns with decimal commas."""
        found: dict[str, pa.DataType] = {}
        texts: dict[str, set[str]] = {name: set() for name in self.ids}
        with_commas: set[str] = set()
        others: set[str] = set(self.text) | self.ids
        for table in self.read_blocks(dict.fromkeys(others, pa.string())):
            for name in table.column_names:
                column = table[name]
                found[name] = wider(found.get(name, column.type), column.type)
                if name in texts:
                    texts[name].update(column.unique().drop_null().to_pylist())
                elif self.delimiter == _THOUSANDS or name in others or pa.types.is_null(column.type):
                    continue
                elif has_decimal_commas(column):
                    with_commas.add(name)
                elif not pa.types.is_integer(column.type):
                    others.add(name)
        found |= {name: id_type(seen) for name, seen in texts.items() if name in found}
        with_commas -= others
        return {**found, **dict.fromkeys(with_commas, pa.float64())}, frozenset(with_commas)

    def read_blocks(
        self, types: Mapping[str, pa.DataType], with_commas: frozenset[str] = frozenset()
    ) -> Iterator[pa.Table]:
        """Read some megabytes of lines at a time, with these types.

        The lines are copied to memory of Arrow's own. Its threads may let go of a block after the table is there,
        and a thread that lets go of Python's memory while the interpreter ends takes the whole process down.
        """
        parsed = {**types, **dict.fromkeys(with_commas, pa.string())}
        for block in _line_blocks(self.path, self.delimiter, _BLOCK_BYTES, self.n_skipped):
            memory = pa.BufferOutputStream()
            memory.write(block)
            table = self._parse(pa.BufferReader(memory.getvalue()), parsed, line_breaks=b'"' in block)
            refuse_repeated(str(self.path), table.column_names)
            for place, name in enumerate(table.column_names):
                if name in with_commas:
                    table = table.set_column(place, name, parse_decimal_commas(table[place]))
            yield table

    def _parse(
        self,
        source: Any,
        types: Mapping[str, pa.DataType],
        *,
        line_breaks: bool,
        as_codes: bool = False,
        is_long: bool = False,
    ) -> pa.Table:
        """Parse lines, with text as codes if asked for; refuse columns that Arrow could only read as bytes.

        Columns that have neither a name nor values, as spreadsheets write them behind the others, are left out.
        """
        parse = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=line_breaks)
        convert = pa.csv.ConvertOptions(
            null_values=MISSING,
            strings_can_be_null=True,
            auto_dict_encode=as_codes,
            auto_dict_max_cardinality=_SHORT_TEXT,
            column_types=types,
        )
        n_skipped = self.n_skipped if source is self.path else 0
        read = pa.csv.ReadOptions(skip_rows=n_skipped, block_size=_LONGEST_LINE if is_long else None)
        try:
            table = pa.csv.read_csv(source, read, parse, convert)
        except pa.ArrowInvalid as error:
            if "newlines_in_values" in str(error) and not line_breaks:
                raise
            if "straddl" in str(error) and not is_long:
                if source is not self.path:
                    source.seek(0)
                return self._parse(source, types, line_breaks=line_breaks, as_codes=as_codes, is_long=True)
            raise self._explain(str(error), line_breaks) from error
        for entry in table.schema:
            if pa.types.is_binary(entry.type) or entry.type == pa.dictionary(pa.int32(), pa.binary()):
                raise _not_utf8(self.path, f"column {entry.name!r}")
        places = enumerate(table.column_names)
        kept = [place for place, name in places if name or name in types or table[place].null_count < len(table)]
        return table if len(kept) == table.num_columns else table.select(kept)

    def _explain(self, text: str, line_breaks: bool) -> ValueError:
        """What Arrow finds wrong with the file, with the number of the line."""
        if "Empty CSV" in text:
            return ValueError(f"{self.path} is not a table that can be read: Empty CSV file, without any rows")
        if "straddl" in text:
            return ValueError(
                f"{self.path} has a line of more than {_LONGEST_LINE:,} bytes: is a quote not closed?"
            )
        found = _OTHER_WIDTH.search(text)
        if found is None:
            return ValueError(f"{self.path} is not a table that can be read: {text.splitlines()[0]}")
        if found[1] is None:  # as of several threads
            found = self._find_other_width(line_breaks) or found
        shown, row = found[4], None if found[1] is None else int(found[1]) + self.n_skipped
        where = "" if row is None else f"{'record' if line_breaks else 'line'} {row}: "
        why = ": is a quote not closed?" if shown.count('"') % 2 else ""
        why = ": are there lines before the header?" if row == 2 and int(found[2]) < int(found[3]) else why
        return ValueError(
            f"{self.path} is not a table that can be read: CSV parse error: {where}Expected {found[2]} columns, "
            f"got {found[3]}: {shown.splitlines()[0][:_SHOWN]}{why}"
        )

    def _find_other_width(self, line_breaks: bool) -> re.Match[str] | None:
        """The first line of another width than the header, with its number, found in one pass."""
        parse = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=line_breaks)
        read = pa.csv.ReadOptions(skip_rows=self.n_skipped, use_threads=False, block_size=_LONGEST_LINE)
        try:
            for _ in pa.csv.open_csv(self.path, read, parse):
                pass
        except pa.ArrowInvalid as error:
            return _OTHER_WIDTH.search(str(error))
        return None


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


def _line_blocks(path: Path, delimiter: str, size: int, n_skipped: int = 0) -> Iterator[bytes]:
    """Whole lines, each time below the header."""
    line, lines = _field_patterns(delimiter)
    with pa.input_stream(path) as stream:  # which also unpacks
        for _ in range(n_skipped):
            while stream.read(1) not in (b"\n", b""):
                pass
        header, rest, is_empty = b"", b"", True
        while data := stream.read(size):
            data = rest + data
            if not header and (first := line.match(data)):
                header, data = data[: first.end()], data[first.end() :]
            end = found.end() if header and (found := lines.match(data)) else 0
            if end:
                is_empty = False
                yield header + data[:end]
            rest = data[end:]
            if len(rest) > _LONGEST_LINE:
                raise ValueError(f"{path} has a line of more than {_LONGEST_LINE:,} bytes: is a quote not closed?")
        if rest or is_empty:
            yield header + rest


def _field_patterns(delimiter: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    r"""Of the first line, and of as many whole lines as there are; both match in one pass, without a way back.

    As Arrow has it, a quote opens a cell only as its first character: anywhere else in a cell that has no quotes
    around it, it is a character like others. In quotes, a line break is one too, and two quotes stand for one.

    >>> line, lines = _field_patterns(",")
    >>> lines.match(b'5" pipe,1\n"two\nlines",2\n"three\n').end()
    24
    """
    mark = re.escape(delimiter.encode())
    cell = rb'(?:"[^"]*+(?:""[^"]*+)*+"|(?!"))[^%b\r\n]*+' % mark
    line = rb"(?:%b[%b\r])*+%b\n" % (cell, mark, cell)
    return re.compile(rb"(?:\xef\xbb\xbf)?+" + line), re.compile(rb"(?:%b)*+" % line)
