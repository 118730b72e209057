"""Rows of any number sorted by bag into one file: part by part, in several processes, going on after a kill."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain, starmap
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from llpgan.bags.grouping import consecutive_runs
from llpgan.tables.build import (
    Block,
    RowEncoder,
    TableSummary,
    changed_source_error,
    conclude_summary,
    facts_of_tables,
    summarize_part,
)
from llpgan.tables.join import BagTable
from llpgan.tables.read import Rows, RowStream
from llpgan.tables.spec import TableSpec
from llpgan.tables.streams import list_parquet_files, split_by_rows
from llpgan.utils.arrays import Array, keep_freed_memory
from llpgan.utils.files import replace_file
from llpgan.utils.messages import warn_user
from llpgan.utils.version import __version__
from llpgan.utils.workers import prefetch, run_in_jobs

Index = NDArray[np.int64]
INSTANCES, WEIGHTS = "instances.npy", "weights.npy"
_BUFFER_BYTES, _MOST_BUFFER_BYTES = 2**27, 2**29  # the more, the longer the pieces that are written
_ROWS_A_PIECE = 64  # of a bag, on average; shorter ones take long
_GATHERED_BYTES = 2**23
_CELLS_A_PART = 2**25
_STATISTICS = "statistics.arrow"


def allocate_rows(folder: Path, n_rows: int, first: Array, *, has_weights: bool) -> None:
    """Make files for instances like the first, and for weights; those of an earlier run are left as they are."""
    _allocate(folder / INSTANCES, (n_rows, *first.shape[1:]), first.dtype)
    if has_weights:
        _allocate(folder / WEIGHTS, (n_rows,), np.dtype(np.float64))


def _allocate(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    n_bytes, free = dtype.itemsize * int(np.prod(shape, dtype=np.int64)), shutil.disk_usage(path.parent).free
    there = path.stat().st_blocks * 512 if path.exists() else 0
    if free + there < n_bytes:
        raise OSError(
            f"{path.parent.parent}: the store takes {n_bytes / 1e9:.2f} GB, but only {free / 1e9:.2f} GB are free"
        )
    if path.exists():
        return
    with replace_file(path) as aside, aside.open("wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + n_bytes)


class SortingWriter:
    """Writes instances to an ``.npy`` file, each to its bag's place; within a bag they keep their order.

    Rows are gathered until there are many, sorted by bag, and written where those of their bag before them end.

    Parameters
    ----------
    path : Path
        Of the file, which has its header and its size already.
    starts : Index
        For each bag, the row of the file where the next of its instances is written.
    n_rows : int
        How many instances are written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.zeros((3, 1)))
    ...     with SortingWriter(Path(folder, "x.npy"), np.array([0, 1]), 3) as writer:
    ...         writer.add(np.array([[1.0], [2.0]]), np.array([1, 0]))
    ...         writer.add(np.array([[3.0]]), np.array([1]))
    ...     np.load(f"{folder}/x.npy")
    array([[2.],
           [1.],
           [3.]])
    """

    def __init__(self, path: Path, starts: Index, n_rows: int) -> None:
        self.path, self.next_row = path, starts.copy()
        with path.open("rb") as file:
            np.lib.format.read_magic(file)
            (_, *shape), _, dtype = np.lib.format.read_array_header_1_0(file)
            self.first_byte = file.tell()
        self.row_bytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        capacity = min(n_rows, rows_in_memory(len(starts), self.row_bytes))
        self.waiting = np.empty((capacity, *shape), dtype)
        self.bag_index = np.empty(capacity, dtype=np.int64)
        self.n_waiting = 0

    def __enter__(self) -> Self:
        self.file = os.open(self.path, os.O_WRONLY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._write_waiting()
                os.fsync(self.file)
        finally:
            os.close(self.file)

    def add(self, instances: Array, bag_index: Index) -> None:
        """Some instances, and the bag of each."""
        done = 0
        while done < len(instances):
            if self.n_waiting == len(self.waiting):
                self._write_waiting()
            n = min(len(instances) - done, len(self.waiting) - self.n_waiting)
            here = slice(self.n_waiting, self.n_waiting + n)
            self.waiting[here] = instances[done : done + n]
            self.bag_index[here] = bag_index[done : done + n]
            self.n_waiting += n
            done += n

    def _write_waiting(self) -> None:
        bags = self.bag_index[: self.n_waiting]
        order = np.argsort(bags, kind="stable")
        present, starts, counts = np.unique(bags[order], return_index=True, return_counts=True)
        rows = np.arange(len(order)) + np.repeat(self.next_row[present] - starts, counts)  # each one's in the file
        self.next_row[present] += counts
        step = max(1, _GATHERED_BYTES // self.row_bytes)
        for start in range(0, len(order), step):
            self._write(self.waiting[order[start : start + step]], rows[start : start + step])
        self.n_waiting = 0

    def _write(self, instances: Array, rows: Index) -> None:
        for start, stop in consecutive_runs(rows).tolist():
            left = instances[start:stop].reshape(-1).view(np.uint8).data
            place = self.first_byte + int(rows[start]) * self.row_bytes
            while left:
                n_written = os.pwrite(self.file, left, place)
                left, place = left[n_written:], place + n_written


def rows_in_memory(n_bags: int, row_bytes: int) -> int:
    """How many instances wait in memory until they are written: enough of each bag."""
    wanted = min(_MOST_BUFFER_BYTES, n_bags * _ROWS_A_PIECE * row_bytes)
    return max(1, max(_BUFFER_BYTES, wanted) // row_bytes)


def write_rows(folder: Path, blocks: Iterable[Block], starts: Index, n_rows: int) -> Index:
    """Write each instance, and its weight if it has one, to the place of its bag; return where each bag ends."""
    with ExitStack() as stack:
        row_writer = stack.enter_context(SortingWriter(folder / INSTANCES, starts, n_rows))
        weight_writer = None
        for positions, instances, weights in blocks:
            row_writer.add(instances, positions)
            if weights is not None:
                if weight_writer is None:
                    weight_writer = stack.enter_context(SortingWriter(folder / WEIGHTS, starts, n_rows))
                weight_writer.add(weights, positions)
    return row_writer.next_row


class Part(NamedTuple):
    """Some rows of a source, or all, and how many they are if that is known before they are read."""

    stream: RowStream
    n_rows: int = 0


def split_source(
    data: Any, stream: RowStream, spec: TableSpec, progress: Callable[[int], None] | None
) -> list[Part]:
    """The parts of Parquet files; anything else is one part, whose rows are reported as they are read."""
    is_table = isinstance(data, str | Path) and spec.image is None
    found = list(starmap(Part, split_by_rows(Path(data), _CELLS_A_PART))) if is_table else []
    if len(found) > 1:
        return [
            Part(replace(part.stream, rows=partial(_read_rows, part.stream.rows, None)), part.n_rows)
            for part in found
        ]
    return [Part(replace(stream, rows=partial(_read_rows, stream.rows, progress)))]


def _read_rows(
    rows: Callable[[int], Iterator[Rows]], progress: Callable[[int], None] | None, n_rows: int
) -> Iterator[Rows]:
    """The same parts, which a thread reads while the one before is in use; each is reported after its use."""
    for part in prefetch(rows(n_rows)):
        yield part
        if progress is not None:
            progress(len(part))


def describe_inputs(
    data: str | Path, spec: TableSpec, tables: Mapping[str, BagTable], n_parts: int
) -> dict[str, Any]:
    """What a store of Parquet files depends on: files (name, size and time), the shares of bags, and options."""
    digest = hashlib.sha256()
    for name, table in tables.items():
        digest.update(repr((name, table.ids, table.classes)).encode())
        digest.update(table.numbers.tobytes())
    states = [(str(file), file.stat()) for file in list_parquet_files(Path(data).absolute())]
    return {
        "data": [[name, state.st_size, state.st_mtime_ns] for name, state in states],
        "shares of bags": digest.hexdigest(),
        "options": repr(_drop_tables(spec)),
        "version of llpgan": __version__,
        "number of parts": n_parts,
    }


def _drop_tables(spec: TableSpec) -> TableSpec:
    return replace(spec, proportions=None, counts=None, lower=None, upper=None)


def sort_parts(
    folder: Path,
    notes: Path | None,
    parts: Sequence[Part],
    spec: TableSpec,
    tables: Mapping[str, BagTable],
    n_jobs: int,
    progress: Callable[[int], None] | None,
) -> TableSummary:
    """Read all parts twice, and write the encoded rows sorted by bag; ``notes`` has what is done already.

    The statistics of the parts are merged in the order of the parts, so that the number of processes does not
    matter. Each bag has a place in the file for the rows of each part, so that parts are written in any order.
    """
    summary = _summarize_parts(notes, parts, spec, tables, n_jobs, progress)
    conclude_summary(summary, tables)
    positions = {bag: position for position, bag in enumerate(summary.bag_ids)}
    encoder = RowEncoder(_drop_tables(spec), summary.encoder, positions)
    first = encoder.encode_first([part.stream for part in parts])
    allocate_rows(folder, int(summary.sizes.sum()), first, has_weights=spec.weight is not None)
    groups = _group_parts(parts, rows_in_memory(len(positions), first.nbytes))
    missing = [group for group in groups if notes is None or not _sorted_note(notes, group).exists()]
    if len(missing) < len(groups):
        warn_user(f"{len(groups) - len(missing)} of {len(groups)} pieces of the store are there already")

    def arguments() -> Iterator[tuple[Any, ...]]:
        stops = np.cumsum(summary.sizes) - summary.sizes
        for group in groups:
            starts, stops = stops, stops + _count_rows(notes, group, summary)
            if group in missing:
                yield (
                    folder.absolute(),
                    [parts[place].stream for place in group],
                    encoder,
                    first.shape[1:],
                    starts,
                    stops,
                )

    _report(progress, parts, [place for group in groups if group not in missing for place in group])
    for group, _ in zip(missing, _run_parts(_sort_group, arguments(), parts, n_jobs), strict=True):
        if notes is not None:
            _sorted_note(notes, group).touch()
            _report(progress, parts, group)
    return summary


def _run_parts(
    function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], parts: Sequence[Part], n_jobs: int
) -> Iterator[Any]:
    """The results in the order of the arguments; a single part is read in this process."""
    return starmap(function, arguments) if len(parts) == 1 else run_in_jobs(function, arguments, n_jobs)


def _report(progress: Callable[[int], None] | None, parts: Sequence[Part], places: Iterable[int]) -> None:
    for place in places:
        if progress is not None:
            progress(parts[place].n_rows)


def _summarize_parts(
    notes: Path | None,
    parts: Sequence[Part],
    spec: TableSpec,
    tables: Mapping[str, BagTable],
    n_jobs: int,
    progress: Callable[[int], None] | None,
) -> TableSummary:
    """The merged statistics of all parts; those of the first parts may be noted already."""
    light, facts = _drop_tables(spec), facts_of_tables(tables, spec)
    merged, n_done = None, 0
    if notes is not None and (notes / _STATISTICS).exists():
        arrays = read_arrays(notes / _STATISTICS)
        (n_done,) = arrays.pop("parts").to_pylist()
        merged = TableSummary(parts[0].stream, light, facts[0])
        merged.restore(arrays)
        warn_user(f"the statistics of {n_done} of {len(parts)} parts are there already")
        _report(progress, parts, range(n_done))
    arguments = ((part.stream, light, *facts, place) for place, part in enumerate(parts) if place >= n_done)
    for place, summary in enumerate(_run_parts(summarize_part, arguments, parts, n_jobs), n_done):
        places, rows = (
            (np.arange(summary.n_bags), summary.count_rows()) if merged is None else merged.merge(summary)
        )
        merged = merged or summary
        if notes is not None:
            np.save(_rows_note(notes, place), np.stack([places, rows]))
            with replace_file(notes / _STATISTICS) as aside:
                write_arrays(aside, {**merged.to_arrays(), "parts": pa.array([place + 1])})
            _report(progress, parts, [place])
    assert merged is not None
    return merged


def _group_parts(parts: Sequence[Part], n_rows: int) -> list[list[int]]:
    """Parts that follow each other, with at least so many rows together, are written at once."""
    groups: list[list[int]] = [[]]
    waiting = 0
    for place, part in enumerate(parts):
        if waiting >= n_rows:
            groups.append([])
            waiting = 0
        groups[-1].append(place)
        waiting += part.n_rows
    return groups


def _count_rows(notes: Path | None, group: Sequence[int], summary: TableSummary) -> Index:
    """The number of rows of each bag in some parts."""
    if notes is None:
        return summary.sizes
    counts = np.zeros_like(summary.sizes)
    for place in group:
        places, rows = np.load(_rows_note(notes, place))
        counts[summary.rank[places]] += rows
    return counts


def _rows_note(notes: Path, place: int) -> Path:
    return notes / f"rows-{place:05d}.npy"


def _sorted_note(notes: Path, group: Sequence[int]) -> Path:
    return notes / f"sorted-{group[0]:05d}-{group[-1]:05d}"


def _sort_group(
    folder: Path,
    streams: Sequence[RowStream],
    encoder: RowEncoder,
    shape: tuple[int, ...],
    starts: Index,
    stops: Index,
) -> None:
    """Encode the rows of some parts, and write each to its place."""
    keep_freed_memory()
    blocks = chain.from_iterable(encoder.encode(stream, shape) for stream in streams)
    ends = write_rows(folder, prefetch(blocks), starts, int((stops - starts).sum()))
    if not np.array_equal(ends, stops):
        raise changed_source_error(streams[0])


def write_arrays(path: Path, arrays: Mapping[str, pa.Array]) -> None:
    """Write arrays of any lengths and types, as a table of one row."""
    columns = {name: pa.LargeListArray.from_arrays([0, len(array)], array) for name, array in arrays.items()}
    table = pa.table(columns)
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as file:
        file.write_table(table)


def read_arrays(path: Path) -> dict[str, pa.Array]:
    """What :func:`write_arrays` has written."""
    with pa.ipc.open_file(path) as file:
        table = file.read_all()
    return {name: table[name].chunk(0).values for name in table.column_names}
