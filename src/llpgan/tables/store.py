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

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from llpgan.bags import Bags
from llpgan.bags.grouping import SortedBagIndex
from llpgan.bags.known_shares import KnownShares
from llpgan.bags.on_disk import StoredInstances
from llpgan.tables.build import Block, warn_of_likely_labels
from llpgan.tables.join import read_bag_tables
from llpgan.tables.read import Encoder
from llpgan.tables.sorting import (
    INSTANCES,
    WEIGHTS,
    allocate_rows,
    describe_inputs,
    sort_parts,
    split_source,
    write_rows,
)
from llpgan.tables.spec import TableSpec, refuse_empty_path
from llpgan.tables.streams import STORE, is_store, open_stream
from llpgan.utils.arrays import Array
from llpgan.utils.files import FolderKind, claim_folder, output_folder, output_folder_with_notes
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
from llpgan.utils.workers import check_n_jobs

__all__ = ["StoredInstances", "is_store", "open_store", "store_bags", "store_tables"]


BAGS = "bags.parquet"
FORMAT = 1
STORE_FOLDER = FolderKind(STORE, files=(INSTANCES, BAGS), pages=(WEIGHTS,))
ENCODER_TYPES = {
    "ArrayEncoder": "llpgan.tables.streams",
    "Category": "llpgan.tables.encode",
    "Date": "llpgan.tables.encode",
    "FeatureEncoder": "llpgan.tables.embedding",
    "ImageEncoder": "llpgan.tables.streams",
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
    """What ``store.json`` says, and the encoder that it holds."""
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
        first = np.asarray(bags.instances[:1])
        allocate_rows(folder, len(bags.instances), first, has_weights=bags.weights is not None)
        write_rows(folder, _store_blocks(bags), np.cumsum(bags.sizes) - bags.sizes, len(bags.instances))
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
    n_jobs: int = 1,
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

    Parquet files with more than about 1.5 million rows of 20 columns are read in parts. If the process is killed
    or the disk is full, the next call with the same data and options continues with the parts that are missing,
    and the store is the same.

    Parameters
    ----------
    data : table or path
        A Parquet file or a folder of Parquet files, a CSV file, and anything else that ``Bags.from_tables`` takes.
    to : str or Path
        The folder of the store, which must not exist.
    proportions : table or path, default=None
        A table with one row per bag: the columns of the bag, and one column per class.
    n_jobs : int, default=1
        The number of processes that read parts of Parquet files; -1 means one per core. The store is the same for
        any number.
    overwrite : bool, default=False
        Whether to replace a store that is there, and to give up an unfinished one of other data or options. Other
        files in the folder are kept.
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
    check_n_jobs(n_jobs)
    table_spec = TableSpec(proportions=proportions, **spec)
    claim: dict[str, Any] = {"overwrite": overwrite, "inputs": (data, *table_spec.tables_of_bags.values())}
    with claim_folder(Path(to), STORE_FOLDER, **claim):
        refuse_empty_path(data, "data")
        categories = () if table_spec.columns is None else table_spec.columns.categories
        stream = open_stream(data, categories, table_spec.bag_ids)
        table_spec.check_source(stream)
        tables = read_bag_tables(stream, table_spec)
        parts = split_source(data, stream, table_spec, progress)
        with ExitStack() as stack:
            notes = None
            if len(parts) > 1:
                content = describe_inputs(data, table_spec, tables, len(parts))
                pair = output_folder_with_notes(Path(to), STORE_FOLDER, content, **claim)
                folder, notes = stack.enter_context(pair)
            else:
                folder = stack.enter_context(output_folder(Path(to), STORE_FOLDER, **claim))
            summary = sort_parts(folder, notes, parts, table_spec, tables, n_jobs, progress)
            shares, encoder = summary.shares, summary.encoder
            of_bags = StoredBags(summary.bag_ids, summary.sizes, shares.proportions, shares.share_constraints)
            write_small_files(folder, of_bags, shares.classes, encoder.features, encoder)
    bags = open_store(to)
    warn_of_likely_labels(bags, summary)
    return bags
