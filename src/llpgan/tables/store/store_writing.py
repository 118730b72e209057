"""From files that need not fit into memory to a store: once through the rows to learn, once more to write."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.bags import Bags, validation
from llpgan.tables.row_streams import open_stream
from llpgan.tables.store.external_sort import SortingWriter
from llpgan.tables.store.store_folder import (
    INSTANCES,
    STORE_FOLDER,
    WEIGHTS,
    StoredBags,
    open_store,
    write_small_files,
)
from llpgan.tables.survey import changed
from llpgan.tables.table_bags import Block, encoded_blocks, surveyed, warn_of_likely_labels
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
    with output_folder(Path(to), STORE_FOLDER, overwrite=overwrite) as folder:
        _write_rows(folder, _blocks(bags), bags.sizes)
        of_bags = StoredBags(bags.bag_ids, bags.sizes, bags.proportions, bags.known, bags.bag_weights)
        write_small_files(folder, of_bags, bags.classes, bags.features, bags.encoder)
    return open_store(to)


def _blocks(bags: Bags) -> Iterator[Block]:
    for start in range(0, len(bags.instances), _ROWS_AT_ONCE):
        here = slice(start, start + _ROWS_AT_ONCE)
        weights = None if bags.weights is None else bags.weights[here]
        yield bags.bag_index[here], np.asarray(bags.instances[here]), weights


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
    inputs = (data, *table_spec.tables_of_bags.values())
    with output_folder(Path(to), STORE_FOLDER, overwrite=overwrite, inputs=inputs) as folder:
        refuse_empty_path(data, "data")
        categories = () if table_spec.columns is None else table_spec.columns.categories
        survey = surveyed(open_stream(data, categories, table_spec.bag_ids), table_spec)
        next_rows = _write_rows(folder, encoded_blocks(survey), survey.sizes)
        if not np.array_equal(next_rows, np.cumsum(survey.sizes)):
            raise changed(survey.stream)
        shares, encoder = survey.shares, survey.encoder
        checked = validation.proportions(shares.proportions, survey.bag_ids, table_spec.tolerance)
        of_bags = StoredBags(survey.bag_ids, survey.sizes, checked, shares.known)
        write_small_files(folder, of_bags, shares.classes, encoder.features, encoder)
    bags = open_store(to)
    warn_of_likely_labels(bags, survey)
    return bags


def _write_rows(folder: Path, blocks: Iterator[Block], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Write each row, and its weight if it has one, to the place of its bag; gives where each bag ends."""
    first = next(blocks)
    _, some, weights = first
    with ExitStack() as stack:
        rows = stack.enter_context(SortingWriter(folder / INSTANCES, sizes, some.shape[1:], some.dtype))
        beside = None if weights is None else SortingWriter(folder / WEIGHTS, sizes, (), weights.dtype)
        if beside is not None:
            stack.enter_context(beside)
        for positions, instances, weights in chain([first], blocks):
            rows.add(instances, positions)
            if beside is not None and weights is not None:
                beside.add(weights, positions)
    return rows.next_row
