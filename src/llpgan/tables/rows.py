"""What a user's source holds, whatever it is: a row an instance, with columns by name."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from numpy.typing import NDArray

from llpgan.utils.suggestions import did_you_mean

Array = NDArray[Any]
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
