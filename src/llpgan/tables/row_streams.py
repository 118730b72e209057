"""The rows of any source a part at a time, as often as they are asked for: nothing larger is in memory."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from llpgan.bags.stored_instances import StoredInstances
from llpgan.tables.csv_blocks import CsvBlocks
from llpgan.tables.csv_dialect import separator_of
from llpgan.tables.open_rows import open_rows
from llpgan.tables.rows import Rows, RowStream
from llpgan.tables.table_readers import Text, refuse_repeated, unreadable, usual_text

PARQUET, CSV, TSV = ".parquet", (".csv", ".csv.gz"), (".tsv", ".tsv.gz")
_READING = {"buffer_size": 2**20, "pre_buffer": False}  # a bit of each column; else whole row groups, all kept


def open_stream(source: Any, text: Text = (), ids: Text = ()) -> RowStream:
    """Open the rows of any source, to be read part by part.

    Parameters
    ----------
    source : table or path
        A Parquet file or a folder of Parquet files, a CSV file, or anything else that :func:`open_rows` takes.
    text : collection of str, default=()
        The columns of a CSV file that are read as text, even if they look like numbers.
    ids : collection of str, default=()
        The columns of a CSV file that hold ids, see :func:`read_table`.

    Returns
    -------
    RowStream
        The rows.

    Examples
    --------
    >>> stream = open_stream({"age": [31, 47, 28]})
    >>> [(rows.first_row, rows.column("age").to_pylist()) for rows in stream.rows(2)]
    [(0, [31, 47]), (2, [28])]
    """
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and (files := _parquet_files(path)):
        return _of_parquet(path, files)
    if path is not None and path.is_file() and _is_csv(path):
        return _of_csv(path, text, ids)
    return of_rows(open_rows(source, text, ids))


def whole(rows: Rows) -> RowStream:
    """Rows that are in memory, in one part."""
    shape = None if rows.array is None else rows.array.shape[1:]
    return RowStream(rows.name, rows.table.schema, lambda _: iter([rows]), shape, rows.image, is_whole=True)


def of_rows(rows: Rows) -> RowStream:
    """Rows that are in memory, or an array that is in a file."""
    if rows.array is not None and rows.array.ndim == 0:
        return RowStream(rows.name, rows.table.schema, lambda _: iter([rows]), shape=())
    if rows.array is not None:
        return _of_array(rows, _unmapped(rows.array))

    def parts(n_rows: int) -> Iterator[Rows]:
        for start in range(0, len(rows), n_rows):
            yield replace(rows, table=rows.table.slice(start, n_rows), first_row=start)

    return RowStream(rows.name, rows.table.schema, parts, image=rows.image)


def _unmapped(array: Any) -> Any:
    """An array in a file that is read and not mapped, since pages that were seen would stay in memory."""
    can_be_read = isinstance(array, np.memmap) and array.filename is not None and array.flags.c_contiguous
    return StoredInstances(array.filename) if can_be_read else array


def _of_array(rows: Rows, array: Any) -> RowStream:
    def parts(n_rows: int) -> Iterator[Rows]:
        for start in range(0, len(array), n_rows):
            table = rows.table.slice(start, n_rows)
            yield replace(rows, table=table, array=array[start : start + n_rows], first_row=start)

    return RowStream(rows.name, rows.table.schema, parts, shape=array.shape[1:])


def _of_tables(
    name: str, schema: pa.Schema, tables: Callable[[int], Iterable[pa.Table]], folder: Path
) -> RowStream:
    refuse_repeated(name, schema.names)

    def parts(n_rows: int) -> Iterator[Rows]:
        first_row = 0
        with unreadable(name):
            for table in even_parts(tables(n_rows), n_rows):
                yield Rows(name, usual_text(table), folder=folder, first_row=first_row)
                first_row += len(table)
        if first_row == 0:
            raise ValueError(f"{name} is empty: it has columns {schema.names}, but no rows")

    return RowStream(name, schema, parts)


def even_parts(tables: Iterable[pa.Table], n_rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of so many, but for the last.

    >>> [len(part) for part in even_parts([pa.table({"x": range(n)}) for n in (1, 4, 2)], 3)]
    [3, 3, 1]
    """
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= n_rows:
            whole = pa.concat_tables(waiting)
            last = len(whole) // n_rows * n_rows
            yield from (whole.slice(start, n_rows) for start in range(0, last, n_rows))
            waiting = [whole.slice(last)] if last < len(whole) else []
    if sum(map(len, waiting)):
        yield pa.concat_tables(waiting)


def _of_csv(path: Path, text: Text, ids: Text) -> RowStream:
    with unreadable(str(path)):
        delimiter = "\t" if path.name.lower().endswith(TSV) else separator_of(path)
        blocks = CsvBlocks.opened(path, delimiter, {name: pa.string() for name in text}, ids)
    return _of_tables(str(path), pa.schema(blocks.types.items()), lambda _: blocks, path.parent)


def _is_csv(path: Path) -> bool:
    return path.name.lower().endswith((*CSV, *TSV))


def _of_parquet(path: Path, files: list[Path]) -> RowStream:
    schemas = [_schema_of(file) for file in files]
    for file, schema in zip(files, schemas, strict=True):
        if lacking := set(schemas[0].names) ^ set(schema.names):
            raise ValueError(f"{file} and {files[0]} do not both have a column {min(lacking)!r}")
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive").remove_metadata()
    except pa.ArrowException as error:
        raise ValueError(f"{path}: its files hold different types: {error}") from None

    def tables(n_rows: int) -> Iterator[pa.Table]:
        for file in files:
            with pa.parquet.ParquetFile(file, **_READING) as opened:
                for batch in opened.iter_batches(n_rows, columns=schema.names):
                    yield pa.Table.from_batches([batch]).select(schema.names).cast(schema)

    return _of_tables(str(path), schema, tables, path.parent)


def _parquet_files(path: Path) -> list[Path]:
    if path.is_dir():
        visible = (file for file in path.iterdir() if not file.name.startswith("."))
        return sorted(file for file in visible if file.name.lower().endswith(PARQUET) and file.is_file())
    return [path] if path.name.lower().endswith(PARQUET) and path.is_file() else []


def _schema_of(file: Path) -> pa.Schema:
    with unreadable(str(file)):
        return pa.parquet.read_schema(file)
