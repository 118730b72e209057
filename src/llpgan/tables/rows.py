"""The rows of a source, whatever it is: one row per instance, with columns by name; whole, or part after part."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from llpgan.utils.arrays import Array
from llpgan.utils.suggestions import did_you_mean

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
    keep: bool = True

    def __len__(self) -> int:
        return int(self.table.num_rows) if self.array is None else len(self.array)

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
            raise no_column(self.name, name, self.table.column_names)
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


def no_column(source: str, name: str, available: Sequence[str]) -> ValueError:
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
