"""From a user's source and the proportions of its bags to :class:`~llpgan.bags.Bags`, with their encoder."""

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from llpgan import _checks
from llpgan.bags import Bags
from llpgan.sources import values
from llpgan.sources.arrays import ArrayEncoder
from llpgan.sources.columns import Columns
from llpgan.sources.images import FOLDER_COLUMN, ImageEncoder
from llpgan.sources.joining import BagTable, bag_keys, counts_as_shares
from llpgan.sources.leaks import refuse_leak
from llpgan.sources.opening import open_rows
from llpgan.sources.reading import name_of, read_table
from llpgan.sources.rows import Encoder, Rows
from llpgan.sources.table_encoder import TableEncoder

Array = NDArray[Any]


class Shares(NamedTuple):
    """The proportions of each bag, the classes' names, and the table that they are from."""

    proportions: NDArray[np.float64]
    classes: Array
    source: str


def bags_from_tables(
    instances: Any,
    proportions: Any = None,
    *,
    bag: str | Sequence[str] | None = None,
    counts: Any = None,
    label: str | None = None,
    classes: Sequence[str] | None = None,
    columns: Columns | None = None,
    image: str | None = None,
    image_size: tuple[int, int] | None = None,
    tolerance: float = 0.01,
) -> Bags:
    """See :meth:`llpgan.bags.Bags.from_tables`."""
    columns = columns or Columns()
    rows = open_rows(instances, text=columns.categories)
    bag_columns = _bag_columns(bag, rows)
    bag_index, bag_ids = bag_keys(rows.table, bag_columns, rows.name)
    if label is not None:
        rows.column(label)  # a label that is misspelt would be a feature
    shares = _shares(rows, bag_index, bag_ids, bag_columns, proportions, counts, label, classes)
    with values.of(shares.source):
        _checks.classes(shares.classes, shares.proportions)
        _checks.proportions(shares.proportions, bag_ids, tolerance, shares.classes.tolist())
    reserved = [*bag_columns, *([] if label is None else [label])]
    encoder = learned_encoder(rows, columns, reserved, image, image_size)
    if isinstance(encoder, TableEncoder):
        unsaid = [c.name for c in encoder.columns if c.name not in columns.kinds()]
        with values.of(rows.name):
            refuse_leak(rows.table, unsaid, bag_index, shares.proportions, shares.classes.tolist())
        for note in encoder.notes:
            warnings.warn(note, stacklevel=3)
    rows = replace(rows, keep=False)
    return Bags(
        instances=encoder.encode(rows),
        bag_index=bag_index,
        proportions=shares.proportions,
        bag_ids=bag_ids,
        classes=shares.classes,
        features=encoder.features,
        encoder=encoder,
        tolerance=tolerance,
    )


def shared_bags(
    rows: Rows, classes: Array, bag: str | Sequence[str] | None, proportions: Any = None, counts: Any = None
) -> Bags:
    """The bags of rows that a model predicts, to judge it by their proportions: no instances are encoded."""
    bag_columns = _bag_columns(bag, rows)
    bag_index, bag_ids = bag_keys(rows.table, bag_columns, rows.name)
    names = [str(name) for name in classes.tolist()]
    shares = _shares(rows, bag_index, bag_ids, bag_columns, proportions, counts, None, names)
    return Bags(np.zeros((len(rows), 1)), bag_index, shares.proportions, bag_ids, classes)


def learned_encoder(
    rows: Rows,
    columns: Columns,
    reserved: Sequence[str],
    image: str | None = None,
    image_size: tuple[int, int] | None = None,
) -> Encoder:
    """What the rows ask for: arrays as they are, images of a column of paths, or the columns of a table."""
    if rows.array is not None:
        return ArrayEncoder.learned(rows)
    image = image or rows.image
    if image is not None:
        return ImageEncoder.learned(rows, image, image_size)
    with values.of(rows.name):
        return TableEncoder.learned(rows.table, columns, reserved)


def label_values(rows: Rows, label: str) -> Array:
    """The labels of all rows; a missing one is refused."""
    column = rows.column(label)
    for row in np.flatnonzero(values.missing(column)):
        raise ValueError(f"{rows.name}, row {row} has no label: its {label!r} is missing")
    return np.asarray(values.plain(column).to_numpy())


def _bag_columns(bag: str | Sequence[str] | None, rows: Rows) -> list[str]:
    if bag is None and rows.image is None:
        there = ", ".join(map(repr, rows.table.column_names)) or "no columns"
        raise ValueError(f"say which column holds the bag of each row (bag); {rows.name} has {there}")
    bag = bag or FOLDER_COLUMN
    return [bag] if isinstance(bag, str) else list(bag)


def _shares(
    rows: Rows,
    bag_index: NDArray[np.int64],
    bag_ids: tuple[Hashable, ...],
    bag_columns: Sequence[str],
    proportions: Any,
    counts: Any,
    label: str | None,
    classes: Sequence[str] | None,
) -> Shares:
    """From a table of proportions or of counts; else from the labels."""
    if proportions is not None and counts is not None:
        raise ValueError("give either proportions or counts, and not both")
    if proportions is None and counts is None:
        if label is None:
            raise ValueError("the classes' shares are not known: give proportions, counts, or a label to count")
        return _shares_of_labels(label_values(rows, label), bag_index, len(bag_ids), rows.name)
    given, what = (counts, "counts") if proportions is None else (proportions, "proportions")
    text = [name for name in bag_columns if values.is_text(rows.table[name])]
    table = BagTable.of(read_table(given, text), bag_columns, classes, name_of(given, f"the table of {what}"))
    numbers = table.rows_of(bag_ids, rows.name)
    shares = numbers if counts is None else counts_as_shares(table, numbers, bag_ids)
    return Shares(shares, np.array(table.classes), table.file)


def _shares_of_labels(labels: Array, bag_index: NDArray[np.int64], n_bags: int, source: str) -> Shares:
    classes, label_index = np.unique(labels, return_inverse=True)
    counts = np.bincount(bag_index * len(classes) + label_index, minlength=n_bags * len(classes))
    table = counts.reshape(n_bags, len(classes))
    return Shares(table / table.sum(axis=1, keepdims=True), _typed(classes), source)


def _typed(classes: Array) -> Array:
    return np.array(classes.tolist()) if classes.dtype == object else classes
