"""Tables from anywhere: CSV (plain or gzip) and Parquet, pandas and polars frames, Arrow, dicts of columns."""

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

MISSING = ("", "?", "NA", "N/A", "#N/A", "n/a", "NULL", "null", "None", "NaN", "nan", "-nan", "<NA>")
_SHORT_TEXT = 1000  # up to so many different values, a text column is held as codes

Text = Collection[str]


def read_table(source: Any, text: Text = ()) -> pa.Table:
    """The table of a file, or of a frame.

    The ``text`` columns of a CSV are read as they stand, also where they look like numbers.

    >>> read_table({"age": [31, 47], "state": ["Ohio", "Iowa"]}).num_rows
    2
    """
    table = _from_file(Path(source), text) if isinstance(source, str | Path) else _from_frame(source)
    name = name_of(source)
    if repeated := {column for column in table.column_names if table.column_names.count(column) > 1}:
        raise ValueError(f"{name} has more than one column {min(repeated)!r}: columns need names of their own")
    if table.num_rows == 0:
        raise ValueError(f"{name} is empty: it has columns {table.column_names}, but no rows")
    return table


def name_of(source: Any) -> str:
    """What to call a source in a message: a file by its path, anything else "the table"."""
    return str(source) if isinstance(source, str | Path) else "the table"


def is_table(source: Any) -> bool:
    """Whether this is a frame, an Arrow table, a dict of columns or the path of a file; not an array."""
    return hasattr(source, "columns") or isinstance(source, pa.Table | Mapping | str | Path)


def _from_frame(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, Mapping):
        return pa.table(dict(frame))
    if hasattr(frame, "iloc"):  # pandas: its index is no column
        return pa.Table.from_pandas(frame, preserve_index=False)
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    raise TypeError(f"a table is a file, a frame or a dict of columns, not a {type(frame).__name__}")


def _from_file(path: Path, text: Text) -> pa.Table:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    read = next((reader for ending, reader in _READERS.items() if path.name.lower().endswith(ending)), None)
    if read is None or path.is_dir():
        raise ValueError(f"{path} is not a table: a file that ends in {', '.join(_READERS)} would be")
    try:
        return read(path, text)
    except (pa.ArrowInvalid, pa.ArrowException, OSError, EOFError) as error:
        raise ValueError(f"{path} is not a table that can be read: {_first_line(error)}") from error


def _read_csv(path: Path, text: Text, delimiter: str = ",") -> pa.Table:
    """With types as Arrow sees them in the first block; a column where they do not last is read again as text."""
    as_text = set(text)
    while True:
        try:
            return _utf8(path, _read_csv_once(path, as_text, delimiter))
        except pa.ArrowInvalid as error:
            column = _column_of_conversion_error(error, path, delimiter)
            if column is None or column in as_text:
                raise
            as_text.add(column)


def _read_csv_once(path: Path, text: Text, delimiter: str) -> pa.Table:
    convert = pa.csv.ConvertOptions(
        null_values=MISSING,
        strings_can_be_null=True,
        auto_dict_encode=True,
        auto_dict_max_cardinality=_SHORT_TEXT,
        column_types={name: pa.string() for name in text},
    )
    return pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter=delimiter), convert_options=convert)


def _column_of_conversion_error(error: Exception, path: Path, delimiter: str) -> str | None:
    found = re.match(r"In CSV column #(\d+): .*CSV conversion error", str(error), re.DOTALL)
    return None if found is None else _header(path, delimiter)[int(found[1])]


def _header(path: Path, delimiter: str) -> list[str]:
    with pa.csv.open_csv(path, parse_options=pa.csv.ParseOptions(delimiter=delimiter)) as reader:
        return list(reader.schema.names)


def _utf8(path: Path, table: pa.Table) -> pa.Table:
    for field in table.schema:
        if pa.types.is_binary(field.type) or field.type == pa.dictionary(pa.int32(), pa.binary()):
            raise ValueError(f"{path}, column {field.name!r}: its text is not UTF-8; save the file as UTF-8")
    return table


def _read_tsv(path: Path, text: Text) -> pa.Table:
    return _read_csv(path, text, "\t")


def _read_parquet(path: Path, text: Text) -> pa.Table:
    return pa.parquet.read_table(path)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


_READERS: dict[str, Callable[[Path, Text], pa.Table]] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".tsv": _read_tsv,
    ".tsv.gz": _read_tsv,
    ".parquet": _read_parquet,
}
