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

    Attributes:
        name: of the source, for messages.
        table: columns of features, bags, labels or paths of images.
        array: the instances, where they are an array already.
        folder: where relative paths of images start from.
        image: the column that holds paths of images, if the source itself says so.
        first_row: where these are a part of the source, the number of their first row in it.
        keep: whether the table stays after its parts were gone through; else each part's memory is let go.
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
        """A column by its name."""
        if name not in self.table.column_names:
            raise no_column(self.name, name, self.table.column_names)
        return self.table[name]

    def parts(self, n_rows: int) -> Iterator[pa.Table]:
        """The table, at most so many rows at a time."""
        batches = deque(self.table.to_batches(max_chunksize=n_rows))
        if not self.keep:
            object.__setattr__(self, "table", self.table.slice(0, 0).combine_chunks())
        while batches:
            yield pa.Table.from_batches([batches.popleft()])
            if not self.keep and len(batches) % _PARTS_BETWEEN == 0:
                pa.default_memory_pool().release_unused()


@dataclass(frozen=True)
class RowStream:
    """Rows that can be gone through again and again.

    Attributes:
        name: of the source, for messages.
        schema: the columns of its table, by their types.
        shape: of the instances, where they are arrays.
        image: the column that holds paths of images, if the source itself says so.
        rows: goes through them, so many at a time but for the last.
        is_whole: whether all rows are in memory, and come in one part.
    """

    name: str
    schema: pa.Schema
    rows: Callable[[int], Iterator[Rows]]
    shape: tuple[int, ...] | None = None
    image: str | None = None
    is_whole: bool = False

    def parts(self, shape: tuple[int, ...] = ()) -> Iterator[Rows]:
        """All rows, some thousand at a time: as many as have two million cells, if each becomes this shape."""
        cells = max(len(self.schema), *(int(np.prod(each)) for each in (shape, self.shape or ())))
        n_rows = min(_MOST_ROWS, max(1, _CELLS // cells // _EVEN) * _EVEN)
        return self.rows(n_rows)


def no_column(source: str, name: str, available: Sequence[str]) -> ValueError:
    """The error of a column that a source does not have."""
    return ValueError(f"{source} has no column {name!r}{did_you_mean(name, available, 'there are no columns')}")


class Encoder(Protocol):
    """From a user's rows to instances, as learned from the training rows."""

    @property
    def features(self) -> tuple[str, ...] | None:
        """The names of the encoded columns, if instances have columns."""

    @property
    def positions(self) -> dict[str, list[int]]:
        """For each column of the user, its encoded columns."""

    @property
    def notes(self) -> list[str]:
        """What a user should know of it, in words."""

    @property
    def text_columns(self) -> list[str]:
        """The columns that must be read as text, whatever they look like."""

    def encode(self, rows: Rows) -> Array:
        """Instances, one a row."""
