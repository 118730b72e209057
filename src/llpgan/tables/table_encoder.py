"""From the columns of a user's table to instances, and the same for new rows later."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from llpgan.tables.column_encoders import Category, ColumnEncoder
from llpgan.tables.column_kinds import Columns, LeftOut, chosen_encoder, has_open_ends
from llpgan.tables.column_summary import ColumnSummary
from llpgan.tables.column_values import RowError, of
from llpgan.tables.rows import Rows
from llpgan.utils.suggestions import did_you_mean

_FEW = 5  # columns that a message names
_ROWS_AT_ONCE = 2**14  # so that the rows being written stay in the processor's cache


@dataclass(frozen=True)
class TableEncoder:
    """The encoder of tables: standardized numbers, one column per category, and dates as days.

    Attributes
    ----------
    columns : tuple of ColumnEncoder
        The encoder of each column.
    left_out : mapping
        The columns that are left out, with the reason.
    categories_noted : tuple of str
        The columns that are taken as categories because some of their values are ranges.

    Examples
    --------
    >>> from llpgan.tables import open_rows
    >>> people = {"age": [20, 60, None], "city": ["Rome", "Oslo", "Rome"], "note": ["-", "-", "-"]}
    >>> encoder = TableEncoder.learned(open_rows(people).table, Columns(min_count=1))
    >>> encoder.features
    ('age', 'age=(missing)', 'city=Oslo', 'city=Rome')
    >>> encoder.left_out
    {'note': "all rows have the same value, '-'"}
    >>> encoder.encode(open_rows({"city": ["Oslo", "Bonn"], "age": [40, 20]})).round(2)
    array([[ 0.  ,  0.  ,  1.  ,  0.  ],
           [-1.22,  0.  ,  0.  ,  0.  ]], dtype=float32)
    """

    columns: tuple[ColumnEncoder, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    categories_noted: tuple[str, ...] = ()

    @classmethod
    def learned(cls, table: pa.Table, columns: Columns | None = None, reserved: Sequence[str] = ()) -> Self:
        """Learn an encoder from the training rows.

        Parameters
        ----------
        table : pyarrow.Table
            The training rows.
        columns : Columns, default=None
            Which columns are features, and of what kind. None means that it is inferred from their values.
        reserved : sequence of str, default=()
            The columns of bags and labels, which are never features.

        Returns
        -------
        TableEncoder
            The encoder.
        """
        columns = columns or Columns()
        names = columns.chosen(table.column_names, reserved)
        kinds = columns.kinds()
        return cls.of([ColumnSummary.of(name, table[name], kinds.get(name)) for name in names], columns)

    @classmethod
    def of(cls, summaries: Iterable[ColumnSummary], columns: Columns) -> Self:
        """Make an encoder from summaries of the columns.

        Parameters
        ----------
        summaries : iterable of ColumnSummary
            The summaries of the columns to learn from.
        columns : Columns
            The kinds of the columns, and the limits on categories.

        Returns
        -------
        TableEncoder
            The encoder.

        Raises
        ------
        ValueError
            If no column is left to learn from.
        """
        encoders: list[ColumnEncoder] = []
        left_out, noted = {}, []
        for column in summaries:
            try:
                encoders.append(chosen_encoder(column, columns))
            except LeftOut as reason:
                left_out[column.name] = str(reason)
                continue
            if column.kind is None and has_open_ends(column):
                noted.append(column.name)
        if not encoders:
            why = "; ".join(f"{name!r} is left out, {reason}" for name, reason in left_out.items())
            raise ValueError(f"no column is left to learn from: {why or 'all are of bags or labels'}")
        return cls(tuple(encoders), left_out, tuple(noted))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def positions(self) -> dict[str, list[int]]:
        """The positions of the encoded columns of each column of the table."""
        ends = np.cumsum([len(column.features) for column in self.columns]).tolist()
        starts = [0, *ends[:-1]]
        return {c.name: list(range(*ends_of)) for c, *ends_of in zip(self.columns, starts, ends, strict=True)}

    @property
    def notes(self) -> list[str]:
        """Messages about columns that are left out, and about numbers that are taken as categories."""
        return [
            *(f"column {name!r} is left out: {reason}" for name, reason in self.left_out.items()),
            *(
                f"column {name!r} is taken as categories, since some of its values are ranges, such as 3+"
                for name in self.categories_noted
            ),
        ]

    @property
    def text_columns(self) -> list[str]:
        """The columns that must be read as text, whatever they look like."""
        return [column.name for column in self.columns if isinstance(column, Category)]

    def encode(self, rows: Rows) -> NDArray[np.float32]:
        """Encode rows.

        Parameters
        ----------
        rows : Rows
            The rows. Their columns may be in any order.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The instances, one per row.

        Raises
        ------
        ValueError
            If a column of the training rows is missing, or a value cannot be encoded.
        """
        self._refuse_array(rows)
        self._refuse_absent(rows)
        instances = np.zeros((len(rows), len(self.features)), dtype=np.float32)
        done = 0
        for part in rows.parts(_ROWS_AT_ONCE):
            with of(rows.name):
                self._write(part, rows.first_row + done, instances[done : done + len(part)])
            done += len(part)
        return instances

    def _write(self, part: pa.Table, first_row: int, out: NDArray[np.float32]) -> None:
        for column, positions in zip(self.columns, self.positions.values(), strict=True):
            try:
                column.write(part[column.name], out[:, positions[0] : positions[-1] + 1])
            except RowError as error:
                raise error.at(first_row) from None

    def _refuse_array(self, rows: Rows) -> None:
        if rows.array is not None:
            names = ", ".join(repr(column.name) for column in self.columns[:_FEW])
            raise ValueError(
                f"{rows.name} has columns without names, but the model was trained on a table with columns {names}"
                f"{' and more' if len(self.columns) > _FEW else ''}: give a frame, a dict of columns or a file "
                f"with these; instances that are encoded already go to predict_encoded"
            )

    def _refuse_absent(self, rows: Rows) -> None:
        there = rows.table.column_names
        if absent := [column.name for column in self.columns if column.name not in there]:
            raise ValueError(
                f"{rows.name} has no column {', '.join(map(repr, absent))}, which the model was trained on"
                f"{did_you_mean(absent[0], there)}"
            )
