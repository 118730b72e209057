"""Rows of categorical columns as the positions of their values, for models that learned from tables of counts."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from llpgan.tables import column_values
from llpgan.tables.rows import Rows

MISSING = ""  # the value of a row that has none


@dataclass(frozen=True)
class ValueEncoder:
    """The position of each row's value among the known values of each column.

    Attributes
    ----------
    values : dict
        From each column to the tuple of its values, as texts.

    Examples
    --------
    >>> from llpgan.tables import open_rows
    >>> ValueEncoder({"sex": ("f", "m")}).encode(open_rows({"sex": ["m", "f", "x"]}))
    array([[ 1],
           [ 0],
           [-1]])
    """

    values: dict[str, tuple[str, ...]]

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.values)

    @property
    def positions(self) -> dict[str, list[int]]:
        """Each column stands for itself."""
        return {name: [place] for place, name in enumerate(self.values)}

    @property
    def notes(self) -> list[str]:
        """No column is left out."""
        return []

    @property
    def text_columns(self) -> list[str]:
        """Columns with a value such as 01 or 1e3, which would be another one if it were read as a number."""
        return [name for name, known in self.values.items() if not all(map(_is_plain, known))]

    def encode(self, rows: Rows) -> NDArray[np.int64]:
        """Encode rows.

        Parameters
        ----------
        rows : Rows
            The rows, which have the columns.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            The positions, and −1 for a value that is not known.
        """
        found = np.full((len(rows), len(self.values)), -1, dtype=np.int64)
        for place, (name, known) in enumerate(self.values.items()):
            texts, index = np.unique(texts_of(rows, name), return_inverse=True)
            position = {value: i for i, value in enumerate(known)}
            found[:, place] = np.array([position.get(text, -1) for text in texts.tolist()], dtype=np.int64)[index]
        return found


def texts_of(rows: Rows, name: str) -> NDArray[np.str_]:
    """A categorical column as texts; a missing value is an empty one, and fractional numbers are refused."""
    column = column_values.plain(rows.column(name))
    if pa.types.is_floating(column.type):
        whole = pc.equal(column, pc.floor(column))
        if not pc.all(whole, min_count=0).as_py():
            raise ValueError(f"{rows.name}: column {name!r} holds fractional numbers: put them into bins first")
        column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
    return np.asarray(pc.fill_null(column.cast(pa.string()), MISSING).to_numpy(), dtype=str)


def _is_plain(value: str) -> bool:
    """Whether a value is the same text if it is read as a number and written again, or is none.

    >>> [_is_plain(value) for value in ("7", "07", "1e3", "nurse", "")]
    [True, False, False, True, True]
    """
    try:
        return str(int(float(value))) == value
    except (ValueError, OverflowError):
        return True
