"""The class shares of each bag: from a table of proportions or counts, or from labels."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from llpgan.bags import validation
from llpgan.tables import column_values
from llpgan.tables.bag_join import BagTable, counts_as_shares
from llpgan.tables.rows import RowStream
from llpgan.tables.table_readers import name_of, read_table
from llpgan.tables.table_spec import TableSpec, refuse_empty_path
from llpgan.utils import array_input
from llpgan.utils.arrays import Array


class Shares(NamedTuple):
    """The proportions of each bag, the classes' names, and the table that they are from."""

    proportions: NDArray[np.float64]
    classes: Array
    source: str

    def check(self, bag_ids: Sequence[Hashable], tolerance: float) -> None:
        """Refuse what is not the shares of two or more classes, before more is done with them."""
        validation.tolerance(tolerance)
        with column_values.of(self.source):
            validation.classes(self.classes, self.proportions)
            validation.proportions(self.proportions, bag_ids, tolerance, self.classes.tolist())


def table_of_bags(stream: RowStream, spec: TableSpec) -> BagTable:
    """The table of proportions or of counts; its columns of bags are read as those of the rows."""
    given, what = (spec.counts, "counts") if spec.proportions is None else (spec.proportions, "proportions")
    bag_columns = spec.bag_columns(stream)
    text = [name for name in bag_columns if column_values.is_text(stream.schema.field(name))]
    file = name_of(given, f"the table of {what}")
    refuse_empty_path(given, what)
    if isinstance(given, str | Path) and Path(given).is_file():
        return BagTable.of(read_table(given, text, bag_columns), bag_columns, spec.classes, file)
    with array_input.argument(what):
        frame = _with_bags_as_columns(given, bag_columns)
        table = read_table(frame, text, bag_columns)
        return BagTable.of(table, bag_columns, spec.classes, file, _names_as_given(frame))


def _with_bags_as_columns(frame: Any, bag_columns: Sequence[str]) -> Any:
    """A frame whose index says the bag, as that of a cross table does, with the index as columns."""
    if not hasattr(frame, "reset_index") or set(bag_columns) <= {str(name) for name in frame.columns}:
        return frame
    index = frame.index
    is_counted = index.names == [None] and index.dtype.kind in "iu"  # 0, 1, 2, ..., which name no bag
    is_another_name = len(bag_columns) == index.nlevels == 1 and not is_counted
    if not is_another_name and not set(bag_columns) <= set(index.names):
        return frame
    named = frame.set_axis(list(frame.columns), axis=1)
    return (named.rename_axis(list(bag_columns)) if is_another_name else named).reset_index()


def _names_as_given(frame: Any) -> dict[str, Hashable]:
    """The names of columns by their texts, where some are no text."""
    names = frame if isinstance(frame, Mapping) else getattr(frame, "columns", ())
    return {str(name): name for name in names if isinstance(name, Hashable)}


def shares_of_table(table: BagTable, holds_counts: bool, bag_ids: Sequence[Hashable], source: str) -> Shares:
    """What such a table says of the bags of a source."""
    numbers = table.rows_of(bag_ids, source)
    shares = counts_as_shares(table, numbers, bag_ids) if holds_counts else numbers
    return Shares(shares, array_input.class_names(list(table.classes), "classes"), table.file)


def shares_of_counts(counts: NDArray[np.int64], classes: Array, source: str) -> Shares:
    """From how many rows of each bag have each label."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    with column_values.of(source):
        return Shares(shares, array_input.class_names(classes.tolist(), "label"), source)
