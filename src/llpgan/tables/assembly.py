"""From a user's source and the proportions of its bags to :class:`~llpgan.bags.Bags`, with their encoder."""

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from llpgan.bags import Bags
from llpgan.tables import column_values
from llpgan.tables.array_sources import ArrayEncoder
from llpgan.tables.bag_join import bag_keys
from llpgan.tables.bag_shares import Shares, are_of_labels, bag_table, shares_of_counts, shares_of_table
from llpgan.tables.column_kinds import Columns
from llpgan.tables.image_sources import FOLDER_COLUMN, ImageEncoder
from llpgan.tables.leakage import counts_by_bag, refuse_leak, warn_of_determining, warn_of_likely_labels
from llpgan.tables.open_rows import open_rows
from llpgan.tables.rows import Encoder, Rows
from llpgan.tables.table_encoder import TableEncoder
from llpgan.tables.table_options import check_options, names, refuse_empty_path
from llpgan.utils import array_input

Array = NDArray[Any]


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
    from llpgan.tables.store.store_folder import is_store, open_store_alone

    if is_store(instances):
        said = {"proportions": proportions, "bag": bag, "counts": counts, "label": label, "classes": classes}
        return open_store_alone(instances, {**said, "columns": columns, "image": image, "image_size": image_size})
    check_options(
        bag=bag,
        label=label,
        classes=classes,
        columns=columns,
        image=image,
        image_size=image_size,
        tolerance=tolerance,
    )
    columns = columns or Columns()
    rows = _opened(instances, columns, bag)
    refuse_options_of_images(rows.name, rows.array is not None, image or rows.image, image_size)
    with array_input.argument("bag"):
        bag_columns = columns_of_bags(bag, rows.name, rows.table.column_names, rows.image)
        bag_index, bag_ids = bag_keys(rows.table, bag_columns, rows.name)
    label = None if label is None else str(label)
    if label is not None:
        with array_input.argument("label"):
            rows.column(label)  # a label that is misspelt would be a feature
    shares = _shares(rows, bag_index, bag_ids, bag_columns, proportions, counts, label, classes)
    shares.check(bag_ids, tolerance)
    reserved = [*bag_columns, *([] if label is None else [label])]
    encoder = learned_encoder(rows, columns, reserved, image, image_size)
    doubtful: list[str] = []
    if isinstance(encoder, TableEncoder):
        unsaid = [c.name for c in encoder.columns if c.name not in columns.kinds()]
        with column_values.of(rows.name):
            refuse_leak(rows.table, unsaid, bag_index, shares.proportions, shares.classes.tolist())
            doubtful = warn_of_likely_labels(rows.table, unsaid, bag_index, shares.proportions)
        for note in encoder.notes:
            warnings.warn(note, stacklevel=3)
    rows = replace(rows, keep=False)
    bags = Bags(
        instances=encoder.encode(rows),
        bag_index=bag_index,
        proportions=shares.proportions,
        bag_ids=bag_ids,
        classes=shares.classes,
        features=encoder.features,
        encoder=encoder,
        tolerance=tolerance,
    )
    if doubtful:
        means, positions = bags.means(bags.instances), encoder.positions
        warn_of_determining({name: means[:, positions[name]] for name in doubtful}, bags.proportions, bags.sizes)
    return bags


def shared_bags(
    rows: Rows, classes: Array, bag: str | Sequence[str] | None, proportions: Any = None, counts: Any = None
) -> Bags:
    """The bags of rows that a model predicts, to judge it by their proportions: no instances are encoded."""
    bag_columns = columns_of_bags(bag, rows.name, rows.table.column_names, rows.image)
    bag_index, bag_ids = bag_keys(rows.table, bag_columns, rows.name)
    shares = _shares(rows, bag_index, bag_ids, bag_columns, proportions, counts, None, classes.tolist())
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
        with array_input.argument("image"):
            return ImageEncoder.learned(rows, image, image_size)
    with column_values.of(rows.name):
        return TableEncoder.learned(rows.table, columns, reserved)


def label_values(rows: Rows, label: str) -> Array:
    """The labels of all rows; a missing one is refused."""
    column = rows.column(label)
    for row in np.flatnonzero(column_values.missing(column)):
        raise ValueError(f"{rows.name}, row {rows.first_row + row} has no label: its {label!r} is missing")
    if pa.types.is_nested(column_values.plain(column).type):
        raise ValueError(f"{rows.name}: column {label!r} holds {column.type}: one class a row would be right")
    return np.asarray(column_values.plain(column).to_numpy())


def columns_of_bags(
    bag: str | Sequence[str] | None, source: str, available: Sequence[str], image: str | None
) -> list[str]:
    """The columns that say which bag a row belongs to; of folders of images, the folder."""
    if bag is None and image is None:
        there = ", ".join(map(repr, available)) or "no columns"
        raise ValueError(f"say which column holds the bag of each row (bag); {source} has {there}")
    return names(FOLDER_COLUMN if bag is None else bag, "bag")


def refuse_options_of_images(
    source: str, is_array: bool, image: str | None, image_size: tuple[int, int] | None
) -> None:
    """Refuse what is said of images where there are none; ``image`` is the column of their paths."""
    if is_array and image is not None:
        raise ValueError(f"image is a column of paths, but {source} holds its instances as an array")
    if image_size is not None and image is None:
        raise ValueError(
            f"image_size is for images, but {source} has none: name the column of their paths (image)"
        )


def _opened(instances: Any, columns: Columns, bag: Any) -> Rows:
    """The rows, with columns of bags read so that different ids stay different."""
    ids = () if bag is None else names(bag, "bag")
    refuse_empty_path(instances, "instances")
    if isinstance(instances, str | Path | Rows):
        return open_rows(instances, columns.categories, ids)
    with array_input.argument("instances"):
        return open_rows(instances, columns.categories, ids)


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
    if are_of_labels(proportions, counts, label):
        found, codes = np.unique(label_values(rows, str(label)), return_inverse=True)
        return shares_of_counts(counts_by_bag(bag_index, codes, len(bag_ids)), found, rows.name)
    text = [name for name in bag_columns if column_values.is_text(rows.table[name])]
    table = bag_table(proportions, counts, bag_columns, text, classes)
    return shares_of_table(table, counts is not None, bag_ids, rows.name)
