"""Bags larger than memory: a folder that holds the instances sorted by bag, which are read as needed.

>>> import tempfile
>>> from llpgan.tables import store as stores
>>> people = {"age": [20, 60, 44, 31], "state": ["Ohio", "Iowa", "Ohio", "Iowa"]}  # or a file: people.parquet
>>> results = {"state": ["Iowa", "Ohio"], "no": [1.0, 0.5], "yes": [0.0, 0.5]}
>>> with tempfile.TemporaryDirectory() as folder:
...     stored = stores.store_tables(people, f"{folder}/people", results, bag="state")
...     bags = stores.open_store(f"{folder}/people")  # on another day
...     bags, bags.instances[bags.rows_of(1)].round(2)
(Bags(4 instances of shape (1,), 2 bags of 2 to 2, 2 classes), array([[-1.26],
       [ 0.35]], dtype=float32))
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from llpgan.bags import Bags
from llpgan.bags.grouping import SortedBagIndex, consecutive_runs
from llpgan.bags.known_shares import KnownShares
from llpgan.bags.on_disk import StoredInstances
from llpgan.tables.build import Block, encode_blocks, refuse_changed, summarize_table, warn_of_likely_labels
from llpgan.tables.read import Encoder, Rows
from llpgan.tables.spec import TableSpec, refuse_empty_path
from llpgan.tables.streams import open_stream
from llpgan.utils.arrays import Array
from llpgan.utils.files import FolderKind, output_folder
from llpgan.utils.json_files import (
    Arrays,
    describe_lack,
    digest_of_file,
    from_plain,
    matches,
    read_sealed,
    refuse_damaged,
    refuse_misfit,
    refuse_other_type,
    to_plain,
    write_sealed,
)
from llpgan.utils.workers import prefetch

__all__ = ["StoredInstances", "is_store", "open_store", "store_bags", "store_tables"]


Index = NDArray[np.int64]
_BUFFER_BYTES, _MOST_BUFFER_BYTES = 2**27, 2**29  # the more, the longer the pieces that are written
_ROWS_A_PIECE = 64  # of a bag, on average; shorter ones take long
_GATHERED_BYTES = 2**23


class SortingWriter:
    """Writes instances to an ``.npy`` file, each to its bag's place; within a bag they keep their order.

    Rows are gathered until there are many, sorted by bag, and written where those of their bag before them end.

    Parameters
    ----------
    path : Path
        Of the file.
    sizes : Index
        Of the bags, in the order in which they are written.
    shape : tuple of int
        Of an instance.
    dtype : dtype
        Of its values.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SortingWriter(Path(folder, "x.npy"), np.array([1, 2]), (1,), np.dtype(float)) as writer:
    ...         writer.add(np.array([[1.0], [2.0]]), np.array([1, 0]))
    ...         writer.add(np.array([[3.0]]), np.array([1]))
    ...     np.load(f"{folder}/x.npy")
    array([[2.],
           [1.],
           [3.]])
    """

    def __init__(self, path: Path, sizes: Index, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.path = path
        self.next_row = np.cumsum(sizes) - sizes
        self.row_bytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        n_rows = int(sizes.sum())
        n_bytes, free = n_rows * self.row_bytes, shutil.disk_usage(path.parent).free
        if free < n_bytes:
            raise OSError(
                f"{path.parent}: the store takes {n_bytes / 1e9:.2f} GB, but only {free / 1e9:.2f} GB are free"
            )
        wanted = min(_MOST_BUFFER_BYTES, len(sizes) * _ROWS_A_PIECE * self.row_bytes)
        capacity = min(n_rows, max(1, max(_BUFFER_BYTES, wanted) // self.row_bytes))
        self.waiting = np.empty((capacity, *shape), dtype)
        self.bag_index = np.empty(capacity, dtype=np.int64)
        self.n_waiting = 0
        with path.open("wb") as file:
            header = {
                "descr": np.lib.format.dtype_to_descr(dtype),
                "fortran_order": False,
                "shape": (n_rows, *shape),
            }
            np.lib.format.write_array_header_1_0(file, header)
            self.first_byte = file.tell()
            file.truncate(self.first_byte + n_rows * self.row_bytes)

    def __enter__(self) -> Self:
        self.file = os.open(self.path, os.O_WRONLY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._write_waiting()
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


STORE, INSTANCES, BAGS, WEIGHTS = "store.json", "instances.npy", "bags.parquet", "weights.npy"
FORMAT = 1
STORE_FOLDER = FolderKind(STORE, files=(INSTANCES, BAGS), pages=(WEIGHTS,))
ENCODER_TYPES = {
    "ArrayEncoder": "llpgan.tables.streams",
    "Category": "llpgan.tables.encode",
    "Date": "llpgan.tables.encode",
    "FeatureEncoder": "llpgan.tables.embedding",
    "ImageEncoder": "llpgan.tables.images",
    "ImagePreprocessing": "llpgan.tables.backbones",
    "Number": "llpgan.tables.encode",
    "TableEncoder": "llpgan.tables.encode",
    "Text": "llpgan.tables.embedding",
}


@dataclass(frozen=True)
class Contents:
    """``store.json``: what the other files hold.

    Attributes
    ----------
    shape : list of int
        Of the array of instances, and ``dtype``, its type.
    n_keys : int
        How many columns a bag's id has; 0 for ids that are values, not tuples.
    classes : list of object
        Their names, and ``class_type``, the type of these.
    features : list of str or None
        The names of columns, if they have any.
    encoder : object
        How rows of a user's table become instances, if they were made from one.
    files : dict
        The SHA-256 of the small files.
    pages : list of str
        Those that not every store has: the weights of rows.
    """

    shape: list[int]
    dtype: str
    n_keys: int
    classes: list[Any]
    class_type: str
    features: list[str] | None
    encoder: Any
    files: dict[str, str]
    pages: list[str] = field(default_factory=list)


def is_store(path: Any) -> bool:
    """Return whether a path is that of a store.

    Parameters
    ----------
    path : object
        Anything that a user may pass.

    Returns
    -------
    bool
        Whether it is the path of a store.
    """
    return isinstance(path, str | Path) and (Path(path) / STORE).is_file()


def open_store(path: str | Path) -> Bags:
    """Open the bags of a store.

    The instances stay in their file and are read when they are needed. Of them, only the number and the type are
    checked; the other files are checked completely. Weights of rows are read into memory, eight bytes for each.

    Parameters
    ----------
    path : str or Path
        The folder of the store.

    Returns
    -------
    Bags
        The bags of the store.

    Raises
    ------
    FileNotFoundError
        If the folder is not a store, or a file is missing.
    ValueError
        If a file is damaged or cut short.
    """
    folder = Path(path)
    if not (folder / STORE).is_file():
        raise FileNotFoundError(f"{folder} is not a store: {describe_lack(folder, STORE, 'store')}")
    contents, encoder = _read_contents(folder / STORE)
    refuse_damaged(folder, contents.files)
    if not (folder / INSTANCES).is_file():
        raise FileNotFoundError(f"{folder} is not whole: it has no {INSTANCES}")
    instances = StoredInstances(folder / INSTANCES, finite=True)
    if list(instances.shape) != contents.shape or instances.dtype.str != contents.dtype:
        raise ValueError(
            f"{folder / INSTANCES} holds {instances.shape} of {instances.dtype}, but {STORE} tells of "
            f"{tuple(contents.shape)} of {contents.dtype}: it is not what was stored"
        )
    found = _read_stored_bags(folder / BAGS, contents)
    return Bags(
        instances=cast(Array, instances),
        bag_index=cast(NDArray[np.int64], SortedBagIndex(found.sizes)),
        proportions=found.proportions,
        bag_ids=found.bag_ids,
        classes=np.array(contents.classes, dtype=contents.class_type),
        features=None if contents.features is None else tuple(contents.features),
        encoder=encoder,
        weights=_read_weights(folder / WEIGHTS, contents),
        share_constraints=found.share_constraints,
        bag_weights=found.weights,
    )


def _read_contents(path: Path) -> tuple[Contents, Encoder | None]:
    """What ``store.json`` tells, and the encoder that it holds."""
    content = read_sealed(path, FORMAT)
    try:
        refuse_misfit(Contents, content)
        contents = Contents(**content)
        _refuse_wrong(contents)
        encoder = from_plain(contents.encoder, {}, ENCODER_TYPES)
        if not (encoder is None or hasattr(encoder, "encode")):
            raise ValueError(f"encoder is a {type(encoder).__name__}")
    except ValueError as error:
        raise ValueError(f"{path} is not a store that can be read: {error}") from error
    return contents, encoder


def _refuse_wrong(contents: Contents) -> None:
    """What the types of the fields do not say."""
    if not matches(contents.classes, list[str | int | float | bool]) or not contents.classes:
        raise ValueError(f"classes should be the names of classes, not {contents.classes}")
    refuse_other_type(contents.class_type, contents.classes)
    if len(contents.shape) < 2 or min(contents.shape) < 1:
        raise ValueError(f"shape should be that of an array of instances, not {contents.shape}")
    if contents.features is not None and len(contents.features) != contents.shape[1]:
        raise ValueError(f"there are {len(contents.features)} features, but the shape is {contents.shape}")
    if contents.n_keys < 0:
        raise ValueError(f"n_keys should not be below 0, but is {contents.n_keys}")
    if not set(contents.pages) <= {WEIGHTS}:
        raise ValueError(f"pages should be {WEIGHTS} or none, not {', '.join(contents.pages)}")
    if contents.files.keys() != {BAGS, *contents.pages}:
        wanted = " and ".join((BAGS, *contents.pages))
        raise ValueError(f"files should be {wanted} alone, not {', '.join(contents.files)}")


def open_store_alone(path: str | Path, given: Sequence[str]) -> Bags:
    """The bags of a store, where options that belong to its making are refused."""
    if given:
        raise ValueError(f"{path} is a store, which holds its bags and proportions already: leave {given[0]} away")
    return open_store(path)


class StoredBags(NamedTuple):
    """What a store holds of bags."""

    bag_ids: tuple[Hashable, ...]
    sizes: NDArray[np.int64]
    proportions: NDArray[np.float64]
    share_constraints: KnownShares | None = None
    weights: NDArray[np.float64] | None = None


def write_small_files(
    folder: Path, bags: StoredBags, classes: Array, features: Sequence[str] | None, encoder: Encoder | None
) -> None:
    """Complete a folder that holds the instances already, and the weights of rows if there are any."""
    instances = StoredInstances(folder / INSTANCES)
    n_keys = _write_bags(folder / BAGS, bags)
    pages = [WEIGHTS] if (folder / WEIGHTS).is_file() else []
    arrays: Arrays = {}
    contents = Contents(
        shape=list(instances.shape),
        dtype=instances.dtype.str,
        n_keys=n_keys,
        classes=classes.tolist(),
        class_type=classes.dtype.str,
        features=None if features is None else list(features),
        encoder=to_plain(encoder, arrays, ENCODER_TYPES),
        files={name: digest_of_file(folder / name) for name in (BAGS, *pages)},
        pages=pages,
    )
    assert not arrays, "encoders of rows hold no arrays, for which a store has no place"
    write_sealed(folder / STORE, asdict(contents), FORMAT)


def _write_bags(path: Path, bags: StoredBags) -> int:
    """Bags as a table: the columns of their ids (gives how many), their sizes, weights and shares."""
    bag_ids, known = bags.bag_ids, bags.share_constraints
    n_keys = len(bag_ids[0]) if isinstance(bag_ids[0], tuple) else 0
    keys = list(zip(*bag_ids, strict=True)) if n_keys else [bag_ids]
    columns = {f"key {place}": _key_column(key) for place, key in enumerate(keys)}
    columns["rows"] = pa.array(bags.sizes)
    tables = {"share": bags.proportions}
    tables |= {} if known is None else {"lower": known.lower, "upper": known.upper}
    tables |= {} if known is None or known.within is None else {"within": known.within}
    for name, table in tables.items():
        columns |= {f"{name} {place}": pa.array(values) for place, values in enumerate(table.T)}
    if known is not None and known.sd is not None:
        columns["sd"] = pa.array(known.sd)
    if bags.weights is not None:
        columns["weight"] = pa.array(bags.weights)
    pa.parquet.write_table(pa.table(columns), path)
    return n_keys


def _key_column(ids: Sequence[Hashable]) -> pa.Array:
    """The ids, where they come back as they were."""
    try:
        column = pa.array(list(ids))
        same = column.to_pylist() == list(ids)
    except (pa.ArrowException, OverflowError) as error:
        raise _other_ids(ids) from error
    if not same:
        raise _other_ids(ids)
    return column


def _other_ids(ids: Sequence[Hashable]) -> TypeError:
    kinds = sorted({type(bag).__name__ for bag in ids})
    return TypeError(
        f"bag ids of type {', '.join(kinds)} cannot be stored: texts, numbers or dates would be right"
    )


def _read_stored_bags(path: Path, contents: Contents) -> StoredBags:
    """The bags, as many as the store has."""
    try:
        table = pa.parquet.read_table(path)
        keys = [table[f"key {place}"].to_pylist() for place in range(max(1, contents.n_keys))]
        shares = _shares_in(table, "share", contents)
        sizes, known = table["rows"].to_numpy(), _known_in(table, contents)
        weights = _column_in(table, "weight")
        n_tables = 1 if known is None else 3 + (known.within is not None)  # of bags and classes, side by side
        has_noise = known is not None and known.sd is not None
        n_columns = len(keys) + 1 + len(contents.classes) * n_tables + has_noise
        n_columns += weights is not None
        is_whole = len(table.column_names) == n_columns and sizes.sum() == contents.shape[0]
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not the table of bags that {STORE} tells of: {error}") from error
    if not is_whole:
        raise ValueError(f"{path} is not the table of bags that {STORE} tells of: it has other rows or columns")
    bag_ids = tuple(zip(*keys, strict=True)) if contents.n_keys else tuple(keys[0])
    return StoredBags(bag_ids, sizes, shares, known, weights)


def _read_weights(path: Path, contents: Contents) -> NDArray[np.float64] | None:
    """The weight of each row, if the store has any."""
    if WEIGHTS not in contents.pages:
        return None
    weights = StoredInstances(path)
    if weights.shape != (contents.shape[0],) or weights.dtype != np.float64:
        raise ValueError(
            f"{path} holds {weights.shape} of {weights.dtype}, but there are {contents.shape[0]} rows, each with "
            f"a weight: it is not what was stored"
        )
    return weights[:]


def _column_in(table: pa.Table, name: str) -> NDArray[np.float64] | None:
    return table[name].to_numpy() if name in table.column_names else None


def _shares_in(table: pa.Table, name: str, contents: Contents) -> NDArray[np.float64]:
    columns = [table[f"{name} {place}"].to_numpy() for place in range(len(contents.classes))]
    return np.column_stack(columns)


def _known_in(table: pa.Table, contents: Contents) -> KnownShares | None:
    """Bounds and noise of the shares, if the table has any."""
    if "lower 0" not in table.column_names:
        return None
    lower, upper = (_shares_in(table, name, contents) for name in ("lower", "upper"))
    sd = _column_in(table, "sd")
    within = _shares_in(table, "within", contents) if "within 0" in table.column_names else None
    return KnownShares(lower, upper, sd, table["rows"].to_numpy().astype(np.float64), within)


_ROWS_AT_ONCE = 2**14


def store_bags(bags: Bags, to: str | Path, *, overwrite: bool = False) -> Bags:
    """Write bags to a store.

    Parameters
    ----------
    bags : Bags
        The bags. Their instances are read some thousand at a time, also from another file.
    to : str or Path
        The folder of the store, which must not exist.
    overwrite : bool, default=False
        Whether to replace a store that is there. Other files in the folder are kept.

    Returns
    -------
    Bags
        The bags of the store.

    Examples
    --------
    >>> import tempfile
    >>> bags = Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "b", "a"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = store_bags(bags, f"{folder}/store")
    ...     stored.instances[:].tolist(), stored.bag_ids
    ([[1.0], [6.0], [2.0]], ('a', 'b'))
    """
    with output_folder(Path(to), STORE_FOLDER, overwrite=overwrite) as folder:
        _write_rows(folder, _store_blocks(bags), bags.sizes)
        of_bags = StoredBags(bags.bag_ids, bags.sizes, bags.proportions, bags.share_constraints, bags.bag_weights)
        write_small_files(folder, of_bags, bags.classes, bags.features, bags.encoder)
    return open_store(to)


def _store_blocks(bags: Bags) -> Iterator[Block]:
    for start in range(0, len(bags.instances), _ROWS_AT_ONCE):
        here = slice(start, start + _ROWS_AT_ONCE)
        weights = None if bags.weights is None else bags.weights[here]
        yield bags.bag_index[here], np.asarray(bags.instances[here]), weights


def store_tables(
    data: Any,
    to: str | Path,
    proportions: Any = None,
    *,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
    **spec: Any,
) -> Bags:
    """Write tables of any size to a store.

    The rows are read twice: first to learn how to encode them, then to encode them. Memory depends on the number
    of bags, not on the number of rows. Columns are encoded as by :meth:`llpgan.Bags.from_tables`, with two
    exceptions. The medians of numbers are those of 65,536 rows drawn at random, which also decide whether a column
    of integers is an id. The counts of rare values may be off by a few in a text column with more than 262,144
    different values.

    Parameters
    ----------
    data : table or path
        A Parquet file or a folder of Parquet files, a CSV file, and anything else that ``Bags.from_tables`` takes.
    to : str or Path
        The folder of the store, which must not exist.
    proportions : table or path, default=None
        A table with one row per bag: the columns of the bag, and one column per class.
    overwrite : bool, default=False
        Whether to replace a store that is there. Other files in the folder are kept.
    progress : callable, default=None
        Called with the number of rows of each part that has been read; all rows are read twice. None means that
        nothing is reported.
    **spec : dict
        The other parameters of :class:`~llpgan.tables.TableSpec`, such as ``bag``, ``counts`` and ``label``.

    Returns
    -------
    Bags
        The bags of the store.
    """
    table_spec = TableSpec(proportions=proportions, **spec)
    inputs = (data, *table_spec.tables_of_bags.values())
    with output_folder(Path(to), STORE_FOLDER, overwrite=overwrite, inputs=inputs) as folder:
        refuse_empty_path(data, "data")
        categories = () if table_spec.columns is None else table_spec.columns.categories
        stream = open_stream(data, categories, table_spec.bag_ids)
        stream = replace(stream, rows=partial(_read_rows, stream.rows, progress))
        summary = summarize_table(stream, table_spec)
        next_rows = _write_rows(folder, prefetch(encode_blocks(summary)), summary.sizes)
        if not np.array_equal(next_rows, np.cumsum(summary.sizes)):
            raise refuse_changed(summary.stream)
        shares, encoder = summary.shares, summary.encoder
        of_bags = StoredBags(summary.bag_ids, summary.sizes, shares.proportions, shares.share_constraints)
        write_small_files(folder, of_bags, shares.classes, encoder.features, encoder)
    bags = open_store(to)
    warn_of_likely_labels(bags, summary)
    return bags


def _read_rows(
    rows: Callable[[int], Iterator[Rows]], progress: Callable[[int], None] | None, n_rows: int
) -> Iterator[Rows]:
    """The same parts, which a thread reads while the one before is in use; each is reported after its use."""
    for part in prefetch(rows(n_rows)):
        yield part
        if progress is not None:
            progress(len(part))


def _write_rows(folder: Path, blocks: Iterator[Block], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Write each row, and its weight if it has one, to the place of its bag; gives where each bag ends."""
    first = next(blocks)
    _, some, weights = first
    with ExitStack() as stack:
        rows = stack.enter_context(SortingWriter(folder / INSTANCES, sizes, some.shape[1:], some.dtype))
        beside = None if weights is None else SortingWriter(folder / WEIGHTS, sizes, (), weights.dtype)
        if beside is not None:
            stack.enter_context(beside)
        for positions, instances, weights in chain([first], blocks):
            rows.add(instances, positions)
            if beside is not None and weights is not None:
                beside.add(weights, positions)
    return rows.next_row
