"""From files that need not fit into memory to a store: once through the rows to learn, once more to write."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.bags import Bags, validation
from llpgan.tables import Columns, Encoder, RowStream, column_values, open_stream
from llpgan.tables.assembly import columns_of_bags, refuse_options_of_images
from llpgan.tables.bag_shares import are_of_labels, bag_table, shares_of_table
from llpgan.tables.store.bag_counting import SeenBags
from llpgan.tables.store.external_sort import SortingWriter
from llpgan.tables.store.store_folder import INSTANCES, STORE_FOLDER, open_store, write_small_files
from llpgan.tables.store.survey import Survey
from llpgan.tables.table_options import check_options, names
from llpgan.utils.output_paths import output_folder

_ROWS_AT_ONCE = 2**14


def store_bags(bags: Bags, to: str | Path, *, overwrite: bool = False) -> Bags:
    """Write bags to a store, instances that are memory-mapped or in another file too; gives those of the store.

    Args:
        bags: to store; their instances are read some thousand at a time.
        to: the folder, which must not exist.
        overwrite: replace it, if it is a store; other files in it stay there.

    >>> import tempfile
    >>> bags = Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "b", "a"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = store_bags(bags, f"{folder}/store")
    ...     stored.instances[:].tolist(), stored.bag_ids
    ([[1.0], [6.0], [2.0]], ('a', 'b'))
    """
    instances = bags.instances
    with output_folder(Path(to), STORE_FOLDER, overwrite=overwrite) as folder:
        file = folder / INSTANCES
        with SortingWriter(file, bags.sizes, instances.shape[1:], instances.dtype) as writer:
            for start in range(0, len(instances), _ROWS_AT_ONCE):
                here = slice(start, start + _ROWS_AT_ONCE)
                writer.add(np.asarray(instances[here]), bags.bag_index[here])
        write_small_files(
            folder, bags.bag_ids, bags.sizes, bags.proportions, bags.classes, bags.features, bags.encoder
        )
    return open_store(to)


def store_tables(
    data: Any,
    to: str | Path,
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
    overwrite: bool = False,
) -> Bags:
    """Write what users have to a store, however much it is; gives the bags of the store.

    The rows are gone through twice: to learn how they are encoded, and to encode them. Memory depends on the
    number of bags, not of rows. Columns are encoded as :meth:`llpgan.Bags.from_tables` does it, but for this: the
    medians of numbers are those of 65,536 rows drawn at random, which also tell whether a column of whole numbers
    is an id; and of a text column with more than 262,144 different values, rare ones may be miscounted by a few.

    Args:
        data: a Parquet file or a folder of such; a CSV file; and all else that ``Bags.from_tables`` takes.
        to: the folder, which must not exist.
        proportions: a table with a row a bag: the columns of the bag, and a column a class.
        bag: the column, or the columns, that say which bag a row belongs to; in both tables.
        counts: a table like ``proportions`` that holds counts, which may be of a larger population.
        label: a column of labels: it is never a feature. Without proportions and counts, it is counted in
            each bag, and then forgotten.
        classes: the columns of ``proportions`` or ``counts`` that are classes; None for all but the bag's.
        columns: which columns are features and of what kind; None to see it from their values.
        image: the column that holds paths of images.
        image_size: height and width that all images are brought to.
        tolerance: proportions that sum to one only within this much are renormalised; beyond it, an error.
        overwrite: replace the store that is there; other files in its folder stay there.
    """
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
    inputs = (data, proportions, counts)
    with output_folder(Path(to), STORE_FOLDER, overwrite=overwrite, inputs=inputs) as folder:
        stream = open_stream(data, columns.categories, () if bag is None else names(bag, "bag"))
        refuse_options_of_images(stream.name, stream.shape is not None, image or stream.image, image_size)
        bag_columns = columns_of_bags(bag, stream.name, stream.schema.names, stream.image)
        stream.refuse_absent([*bag_columns, *([] if label is None else [label])])
        table = None
        if not are_of_labels(proportions, counts, label):
            text = [
                field.name for field in stream.schema if field.name in bag_columns and column_values.is_text(field)
            ]
            table = bag_table(proportions, counts, bag_columns, text, classes)
        survey = Survey.of(
            stream,
            columns,
            bag_columns,
            label,
            image or stream.image,
            image_size,
            None if table is None else len(table.classes),
        )
        bag_ids, order = survey.bags.sorted()
        if table is None:
            shares = survey.shares_of_labels(order)
        else:
            shares = shares_of_table(table, counts is not None, bag_ids, stream.name)
        shares.check(bag_ids, tolerance)
        survey.refuse_leaks(shares, order)
        encoder = survey.encoder()
        sizes = survey.bags.sizes()[order]
        _write_instances(folder / INSTANCES, stream, encoder, survey.bags, order, sizes)
        checked = validation.proportions(shares.proportions, bag_ids, tolerance)
        write_small_files(folder, bag_ids, sizes, checked, shares.classes, encoder.features, encoder)
    return open_store(to)


def _write_instances(
    path: Path,
    stream: RowStream,
    encoder: Encoder,
    bags: SeenBags,
    order: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """The second time through the rows."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first = encoder.encode(next(stream.rows(1)))
    with SortingWriter(path, sizes, first.shape[1:], first.dtype) as writer:
        for rows in stream.parts(first.shape[1:]):
            found = bags.of(rows)
            if len(bags.place) > len(order):
                raise _changed(stream)
            instances = encoder.encode(rows)
            with column_values.of(rows.name):
                validation.instances(instances, encoder.features, rows.first_row)
            writer.add(instances, rank[found.places][found.of_row])
    if not np.array_equal(writer.next_row, np.cumsum(sizes)):
        raise _changed(stream)


def _changed(stream: RowStream) -> ValueError:
    return ValueError(f"{stream.name} has changed while it was read: begin again when it is at rest")
