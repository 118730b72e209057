"""Tables from anywhere: CSV (plain or gzip) and Parquet, pandas and polars frames, Arrow, dicts of columns."""

import codecs
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from llpgan.tables.csv_dialect import decimals_may_have_commas, separator_of, without_decimal_commas
from llpgan.tables.csv_ids import with_types

MISSING = ("", "?", "NA", "N/A", "#N/A", "n/a", "NULL", "null", "None", "NaN", "nan", "-nan", "<NA>")
_SHORT_TEXT = 1000  # up to so many different values, a text column is held as codes
_USUAL = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}

Text = Collection[str]


def read_table(source: Any, text: Text = (), ids: Text = ()) -> pa.Table:
    """Read a table from a file, a frame or a dict of columns.

    Parameters
    ----------
    source : table or path
        A CSV, TSV or Parquet file, a pandas or polars frame, an Arrow table, or a dict of columns.
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
    table = _from_file(Path(source), text, ids) if isinstance(source, str | Path) else _from_frame(source)
    name = name_of(source)
    refuse_repeated(name, table.column_names)
    if table.num_rows == 0:
        raise ValueError(f"{name} is empty: it has columns {table.column_names}, but no rows")
    return usual_text(table)


def name_of(source: Any, otherwise: str = "the table") -> str:
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
    intervals = {
        name: _interval_texts(named[name]) for name in named.columns if _holds_intervals(named[name].dtype)
    }
    try:
        return pa.Table.from_pandas(named.assign(**intervals), preserve_index=False)
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise ValueError(f"the table cannot be read: {'; '.join(map(str, error.args))}") from None


def _holds_intervals(dtype: Any) -> bool:
    """Whether it is that of pandas' cut and qcut, which Arrow has no type for."""
    categories = getattr(dtype, "categories", None)
    return str(dtype if categories is None else categories.dtype).startswith("interval")


def _interval_texts(column: Any) -> Any:
    return column.astype(object).map(str, na_action="ignore")


def _from_columns(columns: Mapping[Any, Any]) -> pa.Table:
    arrays = {str(name): _from_values(str(name), values) for name, values in columns.items()}
    refuse_repeated("the table", [str(name) for name in columns])
    try:
        return pa.table(arrays)
    except pa.ArrowException as error:
        raise ValueError(f"the table cannot be read: {_first_line(error)}") from None


def _from_values(name: str, values: Any) -> pa.ChunkedArray:
    try:
        return pa.table({name: values})[name]
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} cannot be read: {_first_line(error)}") from None


def refuse_repeated(name: str, columns: Sequence[str]) -> None:
    """Refuse columns of the same name."""
    if repeated := {column for column in columns if columns.count(column) > 1}:
        raise ValueError(f"{name} has more than one column {min(repeated)!r}: columns need names of their own")


def usual_text(table: pa.Table) -> pa.Table:
    """Text of the type that Arrow can compute with, where a frame or file holds views."""
    for place, field in enumerate(table.schema):
        if field.type in _USUAL:
            table = table.set_column(place, field.name, table[place].cast(_USUAL[field.type]))
        elif pa.types.is_dictionary(field.type) and field.type.value_type in _USUAL:
            codes = pa.dictionary(pa.int32(), _USUAL[field.type.value_type])
            table = table.set_column(place, field.name, table[place].cast(codes))
    return table


def _from_file(path: Path, text: Text, ids: Text) -> pa.Table:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    read = next((reader for ending, reader in _READERS.items() if path.name.lower().endswith(ending)), None)
    if read is None or not path.is_file():
        raise ValueError(f"{path} is not a table: a file that ends in {', '.join(_READERS)} would be")
    try:
        with unreadable(str(path)):
            return read(path, text, ids)
    finally:
        pa.default_memory_pool().release_unused()  # the file's text, which Arrow would keep for later


@contextmanager
def unreadable(name: str) -> Iterator[None]:
    """What a reader finds wrong with a file is said with its name."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError) as error:
        raise ValueError(f"{name} is not a table that can be read: {_first_line(error)}") from error


def _read_csv(path: Path, text: Text, ids: Text, delimiter: str | None = None) -> pa.Table:
    """With types that fit all rows, which Arrow sees to: where a later row does not fit, it widens the type."""
    refuse_other_header(path)
    delimiter = delimiter or separator_of(path)
    as_text = frozenset([*text, *ids])
    try:
        table = _read_csv_once(path, as_text, delimiter, line_breaks=False)
    except pa.ArrowInvalid as error:
        if "newlines_in_values" not in str(error):
            raise
        table = _read_csv_once(path, as_text, delimiter, line_breaks=True)  # slower, and rarely needed
    refuse_not_utf8(path, table)
    for place, name in enumerate(table.column_names):
        if name in ids and name not in text:
            table = table.set_column(place, name, with_types(table[place]))
    return without_decimal_commas(table, as_text) if decimals_may_have_commas(delimiter) else table


def _read_csv_once(path: Path, text: Text, delimiter: str, line_breaks: bool) -> pa.Table:
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=line_breaks)
    convert = pa.csv.ConvertOptions(
        null_values=MISSING,
        strings_can_be_null=True,
        auto_dict_encode=True,
        auto_dict_max_cardinality=_SHORT_TEXT,
        column_types={name: pa.string() for name in text},
    )
    return pa.csv.read_csv(path, parse_options=parse, convert_options=convert)


def refuse_not_utf8(path: Path, table: pa.Table) -> None:
    """Refuse columns that Arrow could only read as bytes."""
    for field in table.schema:
        if pa.types.is_binary(field.type) or field.type == pa.dictionary(pa.int32(), pa.binary()):
            raise _not_utf8(f"{path}, column {field.name!r}")


def refuse_other_header(path: Path) -> None:
    """Refuse a file whose first line is no text."""
    with pa.input_stream(path) as stream:  # which also unpacks
        header = stream.read(2**16).split(b"\n")[0]
    try:
        is_text = "\0" not in codecs.getincrementaldecoder("utf-8")().decode(header)
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise _not_utf8(f"{path}, in its first line")


def _not_utf8(where: str) -> ValueError:
    return ValueError(f"{where}: this is not text in UTF-8; save the table as UTF-8")


def _read_tsv(path: Path, text: Text, ids: Text) -> pa.Table:
    return _read_csv(path, text, ids, "\t")


def _read_parquet(path: Path, text: Text, ids: Text) -> pa.Table:
    return pa.parquet.read_table(path)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


_READERS: dict[str, Callable[[Path, Text, Text], pa.Table]] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".tsv": _read_tsv,
    ".tsv.gz": _read_tsv,
    ".parquet": _read_parquet,
}
