"""From what users have to Bags: one pipeline for tables in memory and for tables larger than it.

The rows are gone through twice, block by block. The first time tells which bags there are and what each column
holds; then the proportions are joined and the encoder is chosen. The second time encodes. A table in memory is one
block.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.bags import Bags, validation
from llpgan.bags.fit_warnings import some_of_the_bags
from llpgan.bags.stored_instances import is_stored
from llpgan.tables import column_values
from llpgan.tables.bag_shares import shares_of_tables, tables_of_bags
from llpgan.tables.leakage import warn_of_determining
from llpgan.tables.open_rows import open_rows
from llpgan.tables.row_streams import whole
from llpgan.tables.rows import Rows, RowStream
from llpgan.tables.survey import Survey, row_weights
from llpgan.tables.table_encoder import TableEncoder
from llpgan.tables.table_spec import TableSpec, refuse_empty_path
from llpgan.utils import array_input
from llpgan.utils.arrays import Array

Index = NDArray[np.int64]
# Rows that are encoded: the position of each one's bag, the instances, and the weight of each, if they have any.
Block = tuple[Index, Array, NDArray[np.float64] | None]


def bags_from_tables(source: Any, spec: TableSpec) -> Bags:
    """Make bags from a source that fits into memory, or open a store.

    Parameters
    ----------
    source : table or path
        The rows, in any form that :meth:`llpgan.Bags.from_tables` takes.
    spec : TableSpec
        What the columns are, and the proportions of the bags.

    Returns
    -------
    Bags
        The bags.
    """
    from llpgan.tables.store.store_folder import is_store, open_store_alone

    if is_store(source):
        return open_store_alone(source, spec.given())
    survey = surveyed(whole(opened(source, spec)), spec)
    ((bag_index, instances, weights),) = encoded_blocks(survey)
    bags = Bags(
        instances=instances,
        bag_index=bag_index,
        proportions=survey.shares.proportions,
        bag_ids=survey.bag_ids,
        classes=survey.shares.classes,
        features=survey.encoder.features,
        encoder=survey.encoder,
        weights=weights,
        known=survey.shares.known,
        tolerance=spec.tolerance,
    )
    warn_of_likely_labels(bags, survey)
    return bags


def opened(source: Any, spec: TableSpec) -> Rows:
    """The rows in memory, with columns of bags read so that different ids stay different."""
    refuse_empty_path(source, "instances")
    categories = () if spec.columns is None else spec.columns.categories
    if isinstance(source, str | Path | Rows):
        return open_rows(source, categories, spec.bag_ids)
    with array_input.argument("instances"):
        return open_rows(source, categories, spec.bag_ids)


def surveyed(stream: RowStream, spec: TableSpec) -> Survey:
    """The first time through the rows: what is known before any row is encoded."""
    spec.check_source(stream)
    tables = {} if spec.counts_labels else tables_of_bags(stream, spec)
    n_classes = len(next(iter(tables.values())).classes) if tables else None
    survey = Survey(stream, spec, n_classes)
    for rows in stream.parts():
        survey.add(rows)
    survey.refuse_weightless()
    if tables:
        shares = shares_of_tables(tables, spec, survey.bag_ids, survey.sizes, stream.name)
    else:
        shares = survey.shares_of_labels()
    shares.check(survey.bag_ids, spec.tolerance)
    survey.settle(shares)
    return survey


def encoded_blocks(survey: Survey) -> Iterator[Block]:
    """The second time through the rows: the position of each row's bag, the instances, and the weights."""
    stream, encoder, weight = survey.stream, survey.encoder, survey.spec.weight
    if stream.is_whole:
        (rows,) = stream.parts()
        weights = row_weights(rows, weight)
        yield survey.positions(rows), encoder.encode(replace(rows, keep=False)), weights
        return
    shape = encoder.encode(next(stream.rows(1))).shape[1:]
    for rows in stream.parts(shape):
        positions, instances = survey.positions(rows), encoder.encode(rows)
        with column_values.of(rows.name):
            validation.instances(instances, encoder.features, rows.first_row)
        yield positions, instances, row_weights(rows, weight)


def warn_of_likely_labels(bags: Bags, survey: Survey) -> None:
    """Warn of columns that, averaged by bag, nearly determine the bags' shares; of a store, some bags tell."""
    if not isinstance(bags.encoder, TableEncoder) or not survey.unsuspected:
        return
    some = some_of_the_bags(bags)[0] if is_stored(bags.instances) else bags
    means, positions = some.means(some.instances), bags.encoder.positions
    of_columns = {name: means[:, positions[name]] for name in survey.unsuspected if name in positions}
    warn_of_determining(of_columns, some.proportions, some.sizes)


def shared_bags(rows: Rows, classes: Array, spec: TableSpec) -> Bags:
    """Make bags of rows that a model predicts, to evaluate it on their proportions.

    The rows are not encoded: each instance is a single zero.

    Parameters
    ----------
    rows : Rows
        The rows.
    classes : ndarray of shape (n_classes,)
        The classes of the model.
    spec : TableSpec
        The columns of the bag, and the table of proportions or counts.

    Returns
    -------
    Bags
        The bags, with proportions in the order of ``classes``.
    """
    stream = whole(rows)
    spec.check_source(stream)
    survey = Survey(stream, replace(spec, label=None), n_classes=len(classes), only_bags=True)
    survey.add(rows)
    survey.refuse_weightless()
    tables = tables_of_bags(stream, replace(spec, classes=classes.tolist()))
    shares = shares_of_tables(tables, spec, survey.bag_ids, survey.sizes, rows.name)
    return Bags(
        np.zeros((len(rows), 1)),
        survey.positions(rows),
        shares.proportions,
        survey.bag_ids,
        classes,
        weights=row_weights(rows, spec.weight),
        known=shares.known,
    )
