"""From files that need not fit into memory to a store: once through the rows to learn, once more to write."""

from pathlib import Path
from typing import Any

import numpy as np

from llpgan.bags import Bags, validation
from llpgan.tables.row_streams import open_stream
from llpgan.tables.store.external_sort import SortingWriter
from llpgan.tables.store.store_folder import INSTANCES, STORE_FOLDER, open_store, write_small_files
from llpgan.tables.survey import Survey, changed
from llpgan.tables.table_bags import encoded_blocks, surveyed, warn_of_likely_labels
from llpgan.tables.table_spec import TableSpec, refuse_empty_path
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
    data: Any, to: str | Path, proportions: Any = None, *, overwrite: bool = False, **spec: Any
) -> Bags:
    """Write what users have to a store, however much it is.

    The rows are gone through twice: to learn how they are encoded, and to encode them. Memory depends on the
    number of bags, not on the number of rows. Columns are encoded as :meth:`llpgan.Bags.from_tables` does it, with
    two exceptions: the medians of numbers are those of 65,536 rows drawn at random, which also tell whether a
    column of whole numbers is an id; and of a text column with more than 262,144 different values, rare ones may
    be miscounted by a few.

    Parameters
    ----------
    data : path or table
        A Parquet file or a folder of such files, a CSV file, and everything else that ``Bags.from_tables`` takes.
    to : path
        The folder of the store, which must not exist.
    proportions : table or path, default=None
        One row per bag: the columns of the bag, and one column per class.
    overwrite : bool, default=False
        Whether to replace the store that is there; other files in its folder stay.
    **spec
        The other parameters of :class:`~llpgan.tables.TableSpec`, such as ``bag``, ``counts`` and ``label``.

    Returns
    -------
    Bags
        The bags of the store.
    """
    table_spec = TableSpec(proportions=proportions, **spec)
    if table_spec.weight is not None:
        raise ValueError("weight: a store cannot hold weights of rows; make bags in memory (Bags.from_tables)")
    if table_spec.lower is not None or table_spec.upper is not None or table_spec.proportions_sd is not None:
        raise ValueError("a store holds exact shares: make bags with bounds or noise in memory (Bags.from_tables)")
    inputs = (data, *table_spec.tables_of_bags.values())
    with output_folder(Path(to), STORE_FOLDER, overwrite=overwrite, inputs=inputs) as folder:
        refuse_empty_path(data, "data")
        categories = () if table_spec.columns is None else table_spec.columns.categories
        survey = surveyed(open_stream(data, categories, table_spec.bag_ids), table_spec)
        if survey.shares.known is not None:
            raise ValueError(
                "a store holds exact shares: make bags with unknown ones in memory (Bags.from_tables)"
            )
        _write_instances(folder / INSTANCES, survey)
        shares, encoder = survey.shares, survey.encoder
        checked = validation.proportions(shares.proportions, survey.bag_ids, table_spec.tolerance)
        write_small_files(folder, survey.bag_ids, survey.sizes, checked, shares.classes, encoder.features, encoder)
    bags = open_store(to)
    warn_of_likely_labels(bags, survey)
    return bags


def _write_instances(path: Path, survey: Survey) -> None:
    """Encode the rows block by block and write each to the place of its bag."""
    blocks = encoded_blocks(survey)
    positions, instances = next(blocks)
    with SortingWriter(path, survey.sizes, instances.shape[1:], instances.dtype) as writer:
        writer.add(instances, positions)
        for positions, instances in blocks:
            writer.add(instances, positions)
    if not np.array_equal(writer.next_row, np.cumsum(survey.sizes)):
        raise changed(survey.stream)
