"""A store is a folder: the instances bag after bag, and beside them the bags, the classes and the encoder."""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from llpgan.bags import Bags
from llpgan.bags.known_shares import KnownShares
from llpgan.bags.sorted_rows import SortedBagIndex
from llpgan.bags.stored_instances import StoredInstances
from llpgan.tables.rows import Encoder
from llpgan.utils.arrays import Array
from llpgan.utils.checked_json import digest_of_file, lack_of, read_sealed, refuse_damaged, write_sealed
from llpgan.utils.dataclass_schemas import matches, refuse_misfit, refuse_other_type
from llpgan.utils.output_paths import FolderKind
from llpgan.utils.state_json import Arrays, from_plain, to_plain

STORE, INSTANCES, BAGS, WEIGHTS = "store.json", "instances.npy", "bags.parquet", "weights.npy"
FORMAT = 1
STORE_FOLDER = FolderKind(STORE, files=(INSTANCES, BAGS), pages=(WEIGHTS,))
ENCODER_TYPES = {
    "ArrayEncoder": "llpgan.tables.array_sources",
    "Category": "llpgan.tables.column_encoders",
    "Date": "llpgan.tables.column_encoders",
    "ImageEncoder": "llpgan.tables.image_sources",
    "Number": "llpgan.tables.column_encoders",
    "TableEncoder": "llpgan.tables.table_encoder",
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
        raise FileNotFoundError(f"{folder} is not a store: {lack_of(folder, STORE, 'store')}")
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
    found = _read_bags(folder / BAGS, contents)
    return Bags(
        instances=cast(Array, instances),
        bag_index=cast(NDArray[np.int64], SortedBagIndex(found.sizes)),
        proportions=found.proportions,
        bag_ids=found.bag_ids,
        classes=np.array(contents.classes, dtype=contents.class_type),
        features=None if contents.features is None else tuple(contents.features),
        encoder=encoder,
        weights=_read_weights(folder / WEIGHTS, contents),
        known=found.known,
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
    known: KnownShares | None = None
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
    bag_ids, known = bags.bag_ids, bags.known
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


def _read_bags(path: Path, contents: Contents) -> StoredBags:
    """The bags, as many as the store has."""
    try:
        table = pa.parquet.read_table(path)
        keys = [table[f"key {place}"].to_pylist() for place in range(max(1, contents.n_keys))]
        shares = _shares_in(table, "share", contents)
        sizes, known = table["rows"].to_numpy(), _known_in(table, contents)
        weights = _column_in(table, "weight")
        n_columns = len(keys) + 1 + len(contents.classes) * _n_tables(known) + _has_noise(known)
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


def _n_tables(known: KnownShares | None) -> int:
    """How many tables of bags and classes are stored side by side."""
    return 1 if known is None else 3 + (known.within is not None)


def _has_noise(known: KnownShares | None) -> bool:
    return known is not None and known.sd is not None


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
