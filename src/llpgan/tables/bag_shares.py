"""The class shares of each bag: from a table of proportions or counts, or from labels."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from llpgan.bags import validation
from llpgan.bags.known_shares import KnownShares, shares_known
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
    known: KnownShares | None = None

    def check(self, bag_ids: Sequence[Hashable], tolerance: float) -> None:
        """Refuse what is not the shares of two or more classes, before more is done with them."""
        validation.tolerance(tolerance)
        with column_values.of(self.source):
            validation.classes(self.classes, self.proportions)
            validation.proportions(self.proportions, bag_ids, tolerance, self.classes.tolist())


def tables_of_bags(stream: RowStream, spec: TableSpec) -> dict[str, BagTable]:
    """The tables of proportions, counts or bounds; their columns of bags are read as those of the rows."""
    bag_columns = spec.bag_columns(stream)
    text = [name for name in bag_columns if column_values.is_text(stream.schema.field(name))]
    tables = {name: _read(given, name, bag_columns, text, spec) for name, given in spec.tables_of_bags.items()}
    first = next(iter(tables.values()))
    for table in tables.values():
        if table.classes != first.classes:
            raise ValueError(
                f"{table.file} has classes {list(table.classes)}, but {first.file} has {list(first.classes)}"
            )
    return tables


def _read(given: Any, what: str, bag_columns: Sequence[str], text: Sequence[str], spec: TableSpec) -> BagTable:
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


def shares_of_tables(
    tables: Mapping[str, BagTable], spec: TableSpec, bag_ids: Sequence[Hashable], sizes: NDArray[Any], source: str
) -> Shares:
    """What such tables say of the bags of a source."""
    first = next(iter(tables.values()))
    rows = {name: table.rows_of(bag_ids, source) for name, table in tables.items()}
    if "counts" in rows:
        rows["proportions"] = counts_as_shares(first, rows.pop("counts"), bag_ids, within=spec.within)
    with column_values.of(first.file):
        shares, known = shares_known(
            rows,
            bag_ids,
            first.classes,
            np.asarray(sizes, dtype=np.float64),
            partial=spec.partial,
            within=spec.within,
            sd=spec.proportions_sd,
            tolerance=spec.tolerance,
        )
    return Shares(shares, array_input.class_names(list(first.classes), "classes"), first.file, known)


def shares_of_counts(counts: NDArray[np.int64], classes: Array, source: str) -> Shares:
    """From how many rows of each bag have each label."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    with column_values.of(source):
        return Shares(shares, array_input.class_names(classes.tolist(), "label"), source)
