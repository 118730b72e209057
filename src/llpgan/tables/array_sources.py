"""Instances that are arrays already: ``.npy``, and ``.npz`` with columns of bags and labels beside them."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib.npyio import NpzFile

from llpgan.tables.column_values import of
from llpgan.tables.rows import Rows
from llpgan.tables.table_readers import read_table
from llpgan.utils.arrays import Array

_OTHER = {NpzFile: "a single array: rename it to .npy", np.ndarray: "an archive of arrays: rename it to .npz"}


def open_npy(path: Path) -> Rows:
    """The instances of a file with one array, memory-mapped."""
    return Rows(str(path), pa.table({}), _loaded(path, np.ndarray, mmap_mode="r"))


def open_npz(path: Path) -> Rows:
    """Instances are the array of that name, or the only one of two or more dimensions; the others are columns."""
    with _loaded(path, NpzFile) as archive:
        arrays = {name: _member(path, archive, name) for name in archive.files}
    instances = arrays.pop(_name_of_instances(path, arrays))
    if instances.ndim < 2:
        raise ValueError(f"{path}: the instances have shape {instances.shape}: (rows, features) would be right")
    for name, column in arrays.items():
        if column.shape != (len(instances),):
            raise ValueError(
                f"{path}: {name!r} has shape {column.shape}, but there are {len(instances)} instances"
            )
    with of(str(path)):
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
    def learned(cls, rows: Rows) -> "ArrayEncoder":
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


def _loaded(path: Path, kind: type, **how: Any) -> Any:
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
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise ValueError(f"{path}: the array {name!r} cannot be read: {error}") from error


def _name_of_instances(path: Path, arrays: dict[str, Array]) -> str:
    wide = [name for name, array in arrays.items() if array.ndim > 1]
    if "instances" in arrays or len(wide) == 1:
        return "instances" if "instances" in arrays else wide[0]
    raise ValueError(f"{path} has arrays {', '.join(arrays)}: call the one that holds the instances 'instances'")
