"""Rows of tables and arrays as streams of blocks; a table in memory is one block."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.lib.npyio import NpzFile

from llpgan.bags.on_disk import StoredInstances
from llpgan.tables.columns import naming_source
from llpgan.tables.images import is_image, open_folder, open_image
from llpgan.tables.read import (
    CSV,
    TSV,
    CsvFile,
    Rows,
    RowStream,
    Text,
    id_type,
    read_table,
    refuse_repeated,
    source_name,
    unreadable,
    usual_text,
)
from llpgan.utils.arrays import Array

_OTHER = {NpzFile: "a single array: rename it to .npy", np.ndarray: "an archive of arrays: rename it to .npz"}


def open_npy(path: Path) -> Rows:
    """The instances of a file with one array, memory-mapped."""
    return Rows(str(path), pa.table({}), _load_array(path, np.ndarray, mmap_mode="r"))


def open_npz(path: Path) -> Rows:
    """Instances are the array of that name, or the only one of two or more dimensions; the others are columns."""
    with _load_array(path, NpzFile) as archive:
        arrays = {name: _member(path, archive, name) for name in archive.files}
    wide = [name for name, array in arrays.items() if array.ndim > 1]
    if "instances" not in arrays and len(wide) != 1:
        raise ValueError(
            f"{path} has arrays {', '.join(arrays)}: call the one that holds the instances 'instances'"
        )
    instances = arrays.pop("instances" if "instances" in arrays else wide[0])
    if instances.ndim < 2:
        raise ValueError(f"{path}: the instances have shape {instances.shape}: (rows, features) would be right")
    for name, column in arrays.items():
        if column.shape != (len(instances),):
            raise ValueError(
                f"{path}: {name!r} has shape {column.shape}, but there are {len(instances)} instances"
            )
    with naming_source(str(path)):
        return Rows(str(path), read_table(arrays) if arrays else pa.table({}), instances)


def rows_of_array(array: Any) -> Rows:
    """Make rows from an array, whose columns have no names.

    Parameters
    ----------
    array : ndarray or StoredInstances
        The instances.

    Returns
    -------
    Rows
        The rows.
    """
    return Rows("the array", pa.table({}), array)


@dataclass(frozen=True)
class ArrayEncoder:
    """Arrays are instances as they are; all must have the shape of the training's."""

    shape: tuple[int, ...]

    @classmethod
    def learn(cls, rows: Rows) -> ArrayEncoder:
        """From the training instances."""
        assert rows.array is not None
        return cls(rows.array.shape[1:])

    @property
    def features(self) -> None:
        """Columns of arrays have no names."""

    @property
    def positions(self) -> dict[str, list[int]]:
        """Each column of a 2-D array by its number."""
        return {f"column {i}": [i] for i in range(self.shape[0])} if len(self.shape) == 1 else {}

    @property
    def notes(self) -> list[str]:
        """None."""
        return []

    @property
    def text_columns(self) -> list[str]:
        """None."""
        return []

    def encode(self, rows: Rows) -> Array:
        """The array itself."""
        if rows.array is None or rows.array.shape[1:] != self.shape:
            found = "a table" if rows.array is None else f"instances of shape {rows.array.shape[1:]}"
            raise ValueError(
                f"{rows.name} holds {found}, but the model was trained on arrays of shape {self.shape}"
            )
        return rows.array


def _load_array(path: Path, kind: type, **how: Any) -> Any:
    """Never with pickled objects, which could run code."""
    try:
        loaded = np.load(path, allow_pickle=False, **how)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        why = str(error).split(". ")[0]  # without numpy's advice to load pickled objects all the same
        raise ValueError(f"{path} is not a file of arrays that can be read: {why}") from error
    if not isinstance(loaded, kind):
        raise ValueError(f"{path} is {_OTHER[kind]}")
    return loaded


def _member(path: Path, archive: Any, name: str) -> Array:
    try:
        return np.asarray(archive[name])
    except MemoryError as error:
        raise MemoryError(
            f"{path}: the array {name!r} does not fit into memory ({error}); saved as .npy, it is read in parts"
        ) from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise ValueError(f"{path}: the array {name!r} cannot be read: {error}") from error


_ARRAYS = {".npy": open_npy, ".npz": open_npz}


def open_rows(source: Any, text: Text = (), ids: Text = ()) -> Rows:
    """Open the rows of any source, in memory.

    Parameters
    ----------
    source : table or path
        A table (file, folder of Parquet files, frame, dict of columns), an ``.npz`` or ``.npy`` file, a folder of
        images, or one image.
    text : collection of str, default=()
        The columns of a CSV file that are read as text, even if they look like numbers.
    ids : collection of str, default=()
        The columns of a CSV file that hold ids, see :func:`read_table`.

    Returns
    -------
    Rows
        The rows.

    Examples
    --------
    >>> open_rows({"age": [31, 47]}).column("age").to_pylist()
    [31, 47]
    """
    if isinstance(source, Rows):
        return source
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and path.is_dir():
        from llpgan.tables.store import is_store

        if is_store(path):
            raise ValueError(f"{path} is a store of bags; give the file or folder that it was made from")
        return (
            open_folder(path)
            if not list_parquet_files(path)
            else Rows(str(path), read_table(path), folder=path.parent)
        )
    if path is not None and path.is_file() and is_image(path):
        return open_image(path)
    if path is not None and path.is_file() and path.suffix in _ARRAYS:
        return _ARRAYS[path.suffix](path)
    folder = Path() if path is None else path.parent
    return Rows(source_name(source), read_table(source, text, ids), folder=folder)


PARQUET = ".parquet"
_NO_VALUE, _ROWS_AT_ONCE = "__HIVE_DEFAULT_PARTITION__", 2**17
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
    if path is not None and (files := list_parquet_files(path)):
        return _stream_parquet(path, files)
    if path is not None and path.is_file() and path.name.lower().endswith((*CSV, *TSV)):
        with unreadable(str(path)):
            file = CsvFile.open(path, text, ids)
            types, with_commas = file.find_types()
        schema = pa.schema(types.items())
        return _stream_tables(str(path), schema, lambda _: file.read_blocks(types, with_commas), path.parent)
    return stream_rows(open_rows(source, text, ids))


def read_whole(rows: Rows) -> RowStream:
    """Rows that are in memory, in one part."""
    shape = None if rows.array is None else rows.array.shape[1:]
    return RowStream(rows.name, rows.table.schema, lambda _: iter([rows]), shape, rows.image, is_whole=True)


def stream_rows(rows: Rows) -> RowStream:
    """Rows that are in memory, or an array that is in a file."""
    if rows.array is not None and rows.array.ndim == 0:
        return RowStream(rows.name, rows.table.schema, lambda _: iter([rows]), shape=())
    if rows.array is not None:
        array: Any = rows.array
        if isinstance(array, np.memmap) and array.filename is not None and array.flags.c_contiguous:
            array = StoredInstances(array.filename)  # read and not mapped: pages that were seen stay in memory
        return _stream_array(rows, array)

    def parts(n_rows: int) -> Iterator[Rows]:
        for start in range(0, len(rows), n_rows):
            yield replace(rows, table=rows.table.slice(start, n_rows), first_row=start)

    return RowStream(rows.name, rows.table.schema, parts, image=rows.image)


def _stream_array(rows: Rows, array: Any) -> RowStream:
    def parts(n_rows: int) -> Iterator[Rows]:
        for start in range(0, len(array), n_rows):
            table = rows.table.slice(start, n_rows)
            yield replace(rows, table=table, array=array[start : start + n_rows], first_row=start)

    return RowStream(rows.name, rows.table.schema, parts, shape=array.shape[1:])


def _stream_tables(
    name: str, schema: pa.Schema, tables: Callable[[int], Iterable[pa.Table]], folder: Path, start: int = 0
) -> RowStream:
    refuse_repeated(name, schema.names)

    def parts(n_rows: int) -> Iterator[Rows]:
        first_row = start
        with unreadable(name):
            for table in split_evenly(tables(n_rows), n_rows):
                yield Rows(name, usual_text(table), folder=folder, first_row=first_row)
                first_row += len(table)
        if first_row == start:
            raise ValueError(f"{name} is empty: it has columns {schema.names}, but no rows")

    return RowStream(name, schema, parts)


def split_evenly(tables: Iterable[pa.Table], n_rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of so many, but for the last.

    >>> [len(part) for part in split_evenly([pa.table({"x": range(n)}) for n in (1, 4, 2)], 3)]
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


def _stream_parquet(path: Path, files: list[Path]) -> RowStream:
    schema, values = _open_parquet(path, files)
    tables = partial(_read_parquet, _whole_files(files), schema, values)
    return _stream_tables(str(path), _add_values(schema, values), tables, path.parent)


def split_by_file(path: str | Path) -> Iterator[RowStream]:
    """The rows of each file of a folder of Parquet files that has any, with the columns and types of all files."""
    folder = Path(path)
    files = list_parquet_files(folder)
    schema, values = _open_parquet(folder, files)
    for place, file in enumerate(files):
        if pa.parquet.read_metadata(file).num_rows:
            of_file = {name: of_files[place : place + 1] for name, of_files in values.items()}
            tables = partial(_read_parquet, _whole_files([file]), schema, of_file)
            yield _stream_tables(str(file), _add_values(schema, of_file), tables, folder.parent)


def split_by_rows(path: Path, n_cells: int) -> list[tuple[RowStream, int]]:
    """The rows of Parquet files in parts of about so many cells, and the number of rows of each.

    A part is some row groups that follow each other, of one file or of several. Of anything else there are none.
    """
    whole = path.absolute()  # processes may have another folder
    files = list_parquet_files(whole)
    if not files:
        return []
    schema, values = _open_parquet(whole, files)
    with_values = _add_values(schema, values)
    parts: list[tuple[RowStream, int]] = []
    row_groups: dict[int, list[int]] = {}  # by the place of their file
    n_rows = start = 0

    def close() -> None:
        pieces = [_Piece(files[place], place, of_file) for place, of_file in row_groups.items()]
        tables = partial(_read_parquet, pieces, schema, values)
        parts.append((_stream_tables(str(path), with_values, tables, whole.parent, start), n_rows))

    for place, file in enumerate(files):
        metadata = pa.parquet.read_metadata(file)
        for group in range(metadata.num_row_groups):
            row_groups.setdefault(place, []).append(group)
            n_rows += metadata.row_group(group).num_rows
            if n_rows * len(with_values) >= n_cells:
                close()
                row_groups, start, n_rows = {}, start + n_rows, 0
    if n_rows:
        close()
    return parts


def count_parquet_rows(path: Path) -> int | None:
    """How many rows a Parquet file or a folder of them has; None for anything else."""
    files = list_parquet_files(path)
    return sum(pa.parquet.read_metadata(file).num_rows for file in files) if files else None


def read_parquet_folder(path: Path) -> pa.Table | None:
    """All rows of a folder of Parquet files; None if there are no such files in it."""
    files = list_parquet_files(path)
    if not files:
        return None
    schema, values = _open_parquet(path, files)
    with unreadable(str(path)):
        tables = _read_parquet(_whole_files(files), schema, values, _ROWS_AT_ONCE)
        return pa.concat_tables([_add_values(schema, values).empty_table(), *tables])


def _open_parquet(path: Path, files: list[Path]) -> tuple[pa.Schema, dict[str, pa.Array]]:
    """The columns of files that are one table, and those that folders name, with a value for each file."""
    schemas = []
    for file in files:
        with unreadable(str(file)):
            schemas.append(pa.parquet.read_schema(file))
    for file, schema in zip(files, schemas, strict=True):
        if lacking := set(schemas[0].names) ^ set(schema.names):
            raise ValueError(f"{file} and {files[0]} do not both have a column {min(lacking)!r}")
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive").remove_metadata()
    except pa.ArrowException as error:
        raise ValueError(f"{path}: its files hold different types: {error}") from None
    return schema, _values_of_folders(path, files, schema.names)


def _add_values(schema: pa.Schema, values: dict[str, pa.Array]) -> pa.Schema:
    return pa.schema([*schema, *((name, of_files.type) for name, of_files in values.items())])


class _Piece(NamedTuple):
    """Rows of a file: its place among the files of a table, and the row groups; None means all."""

    file: Path
    place: int
    row_groups: list[int] | None = None


def _whole_files(files: Sequence[Path]) -> list[_Piece]:
    return [_Piece(file, place) for place, file in enumerate(files)]


def _read_parquet(
    pieces: list[_Piece], schema: pa.Schema, values: dict[str, pa.Array], n_rows: int
) -> Iterator[pa.Table]:
    """The rows in tables of at most so many."""
    for file, place, row_groups in pieces:
        with pa.parquet.ParquetFile(file, **_READING) as opened:
            for batch in opened.iter_batches(n_rows, row_groups=row_groups, columns=schema.names):
                table = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
                for name, of_files in values.items():
                    table = table.append_column(name, pa.repeat(of_files[place], len(table)))
                yield table


def _values_of_folders(path: Path, files: list[Path], names: list[str]) -> dict[str, pa.Array]:
    """Columns, with a value for each file, that folders such as ``state=Ohio`` name, as Spark writes them."""
    rows = []
    for file in files:
        parts = [folder.split("=", 1) for folder in file.relative_to(path).parts[:-1]] if file != path else []
        rows.append({unquote(name): None if value == _NO_VALUE else unquote(value) for name, value in parts})
        if list(rows[-1]) != list(rows[0]):
            raise ValueError(f"{file} and {files[0]} are in folders of different columns")
        if twice := rows[-1].keys() & set(names):
            raise ValueError(f"{file} has a column {min(twice)!r}, which its folder says too: remove one of them")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        name: pa.array(texts, pa.string()).cast(id_type(text for text in texts if text is not None))
        for name, texts in columns.items()
    }


def list_parquet_files(path: Path) -> list[Path]:
    """The files of a table: one file, or those in a folder and in its folders such as ``state=Ohio``."""
    if not path.is_dir():
        return [path] if path.name.lower().endswith(PARQUET) and path.is_file() else []
    visible = [each for each in path.iterdir() if not each.name.startswith(".")]
    files = [each for each in visible if each.name.lower().endswith(PARQUET) and each.is_file()]
    folders = [each for each in visible if "=" in each.name and each.is_dir()]
    return sorted([*files, *(file for folder in folders for file in list_parquet_files(folder))])
