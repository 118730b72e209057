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
    """Write bags to a store.

    Parameters
    ----------
    bags : Bags
        The bags. Their instances are read some thousand at a time, also from another file.
    to : str or Path
        The folder of the store, which must not exist.
    overwrite : bool, default=False
        Whether to replace a store that is there. Other files in the folder are kept.

    Returns
    -------
    Bags
        The bags of the store.

    Examples
    --------
    >>> import tempfile
    >>> bags = Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "b", "a"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = store_bags(bags, f"{folder}/store")
    ...     stored.instances[:].tolist(), stored.bag_ids
    ([[1.0], [6.0], [2.0]], ('a', 'b'))
    """
    if bags.weights is not None or bags.bag_weights is not None:
        raise ValueError("bags: a store cannot hold weights of rows or bags; keep such bags in memory")
    instances = bags.instances
    with output_folder(Path(to), STORE_FOLDER, overwrite=overwrite) as folder:
        file = folder / INSTANCES
        with SortingWriter(file, bags.sizes, instances.shape[1:], instances.dtype) as writer:
            for start in range(0, len(instances), _ROWS_AT_ONCE):
                here = slice(start, start + _ROWS_AT_ONCE)
                writer.add(np.asarray(instances[here]), bags.bag_index[here])
        of_bags = bags.bag_ids, bags.sizes, bags.proportions, bags.classes
        write_small_files(folder, *of_bags, bags.features, bags.encoder, bags.known)
    return open_store(to)


def store_tables(
    data: Any, to: str | Path, proportions: Any = None, *, overwrite: bool = False, **spec: Any
) -> Bags:
    """Write tables of any size to a store.

    The rows are read twice: first to learn how to encode them, then to encode them. Memory depends on the number
    of bags, not on the number of rows. Columns are encoded as by :meth:`llpgan.Bags.from_tables`, with two
    exceptions. The medians of numbers are those of 65,536 rows drawn at random, which also decide whether a column
    of integers is an id. The counts of rare values may be off by a few in a text column with more than 262,144
    different values.

    Parameters
    ----------
    data : table or path
        A Parquet file or a folder of Parquet files, a CSV file, and anything else that ``Bags.from_tables`` takes.
    to : str or Path
        The folder of the store, which must not exist.
    proportions : table or path, default=None
        A table with one row per bag: the columns of the bag, and one column per class.
    overwrite : bool, default=False
        Whether to replace a store that is there. Other files in the folder are kept.
    **spec : dict
        The other parameters of :class:`~llpgan.tables.TableSpec`, such as ``bag``, ``counts`` and ``label``.

    Returns
    -------
    Bags
        The bags of the store.
    """
    table_spec = TableSpec(proportions=proportions, **spec)
    if table_spec.weight is not None:
        raise ValueError(
            "weight: a store cannot hold weights of rows; learn from the table itself, which must fit into memory"
        )
    inputs = (data, *table_spec.tables_of_bags.values())
    with output_folder(Path(to), STORE_FOLDER, overwrite=overwrite, inputs=inputs) as folder:
        refuse_empty_path(data, "data")
        categories = () if table_spec.columns is None else table_spec.columns.categories
        survey = surveyed(open_stream(data, categories, table_spec.bag_ids), table_spec)
        _write_instances(folder / INSTANCES, survey)
        shares, encoder = survey.shares, survey.encoder
        checked = validation.proportions(shares.proportions, survey.bag_ids, table_spec.tolerance)
        of_bags = survey.bag_ids, survey.sizes, checked, shares.classes
        write_small_files(folder, *of_bags, encoder.features, encoder, shares.known)
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
