"""Bags from tables."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from llpgan.bags import Bags
from llpgan.bags.checks import check_instances, refuse_weightless_bag
from llpgan.bags.fit_warnings import sample_bags
from llpgan.bags.on_disk import is_stored
from llpgan.tables.backbones import WORDLLAMA
from llpgan.tables.columns import ColumnSummary, RowError, as_numbers, as_text, naming_source
from llpgan.tables.embedding import FeatureEncoder, Text
from llpgan.tables.encode import Columns, TableEncoder
from llpgan.tables.images import ImageEncoder
from llpgan.tables.join import (
    FewValues,
    Growing,
    Labels,
    SeenBags,
    Shares,
    drop_unmatched,
    read_bag_tables,
    shares_from_label_counts,
    shares_from_tables,
)
from llpgan.tables.leakage import MORE_VALUES, refuse_leaking_counts, warn_of_determining, warn_of_likely_label
from llpgan.tables.read import Encoder, Rows, RowStream
from llpgan.tables.spec import TableSpec, refuse_empty_path
from llpgan.tables.streams import ArrayEncoder, open_rows, read_whole
from llpgan.utils.arrays import Array, check_argument
from llpgan.utils.messages import warn_user

Index = NDArray[np.int64]
DROP_UNMATCHED = " To leave out rows of such bags, choose drop (unmatched)"
_FEW = 32  # values of a column that may be the label, where the classes are not known yet


class Survey:
    """What the rows of a source tell before any of them is encoded.

    Parameters
    ----------
    stream : RowStream
        The rows.
    spec : TableSpec
        What the user says of them.
    n_classes : int or None
        How many classes there are; None where labels are counted to know it.
    only_bags : bool, default=False
        Whether nothing but the bags of the rows is asked for.

    Attributes
    ----------
    shares : Shares
        The proportions of each bag, once they are known.
    encoder : Encoder
        How rows become instances, once that is settled.
    unsuspected : list of str
        Columns that the user has said nothing of, and that do not look like the label.
    """

    shares: Shares
    encoder: Encoder
    unsuspected: list[str]

    def __init__(
        self, stream: RowStream, spec: TableSpec, n_classes: int | None, *, only_bags: bool = False
    ) -> None:
        self.stream, self.spec = stream, spec
        self.columns = spec.columns or Columns()
        self.bags = SeenBags(spec.bag_columns(stream))
        self.labels = Labels(str(spec.label)) if n_classes is None else None
        self._totals = Growing(1, np.float64)
        self.reserved = spec.reserved_columns(stream)
        self.is_table = stream.shape is None and spec.image is None and stream.image is None
        backbone, texts = spec.features or WORDLLAMA, [] if only_bags else spec.texts
        self.texts = [Text.from_backbone(column, backbone) for column in texts]
        self._empty_texts = {encoder.name for encoder in self.texts}
        names: list[str] = []
        if self.is_table and not only_bags:
            with naming_source(stream.name):
                names = self.columns.choose(stream.schema.names, [*self.reserved, *spec.texts])
        kinds = self.columns.kinds()
        self.summaries = {name: ColumnSummary(name, kinds.get(name)) for name in names}
        most = (n_classes or _FEW) + MORE_VALUES
        self.few = {name: FewValues(name, most) for name in names if name not in kinds}
        self._chance = None if stream.is_whole else np.random.default_rng(0)
        self._first: Encoder | None = None

    def add(self, rows: Rows) -> None:
        """A block of the rows."""
        if not self.is_table and self._first is None:
            self._first = learn_encoder(rows, self.spec, self.reserved)
        weights = row_weights(rows, self.spec.weight)
        counts = None if weights is None else weights > 0  # a row of weight zero decides nothing
        bags = self.bags.add(rows)
        if weights is not None:
            self._totals.add(bags.places, np.bincount(bags.of_row, weights)[:, None])
        if self.labels is not None:
            self.labels.add(rows, bags, weights)
        chance = None if self._chance is None else self._chance.random(len(rows))
        with naming_source(rows.name):
            for name in self._empty_texts.copy():
                if pc.any(pc.not_equal(as_text(name, rows.table[name]), "")).as_py():
                    self._empty_texts.remove(name)
            for name, summary in self.summaries.items():
                summary.add(rows.table[name], rows.number, chance, counts)
            for name, few in self.few.items():
                few.add(rows.table[name], bags, counts)

    @cached_property
    def bag_ids(self) -> tuple[Hashable, ...]:
        """All bags, in order."""
        return tuple(sorted(self.bags.place))  # type: ignore[type-var]

    @cached_property
    def _order(self) -> Index:
        """For each bag, the place at which it was first seen."""
        return np.array([self.bags.place[bag] for bag in self.bag_ids])

    @cached_property
    def sizes(self) -> Index:
        """How many rows each bag has."""
        return self.bags.sizes()[self._order]

    def refuse_weightless(self) -> None:
        """Refuse weights that are all zero, or those of all rows of a bag."""
        if self.spec.weight is None:
            return
        totals = self._totals.rows(len(self._order))[self._order, 0]
        with naming_source(self.stream.name):
            if not totals.any():
                raise ValueError(f"column {self.spec.weight!r}: all weights are zero")
            refuse_weightless_bag(totals, self.bag_ids)

    def positions(self, rows: Rows) -> Index:
        """For each row the position of its bag in ``bag_ids``."""
        found = self.bags.number_bags(rows)
        if len(self.bags.place) > len(self.bag_ids):
            raise refuse_changed(self.stream)
        rank = np.empty_like(self._order)
        rank[self._order] = np.arange(len(rank))
        return rank[found.places][found.of_row]

    def shares_of_labels(self) -> Shares:
        """The share of each label in each bag."""
        assert self.labels is not None
        classes, counts = self.labels.sort_classes(len(self._order))
        return shares_from_label_counts(counts[self._order], classes, self.stream.name)

    def settle(self, shares: Shares) -> None:
        """Refuse columns that look like the label, and choose the encoder."""
        self.shares = shares
        with naming_source(self.stream.name):
            for name in sorted(self._empty_texts):
                raise ValueError(f"column {name!r}, given as text, has no text in any row")
            encoder = self._first or TableEncoder.from_summaries(self.summaries.values(), self.columns, self.texts)
            self.unsuspected = [name for name, few in self.few.items() if not self._is_suspect(name, few)]
        if isinstance(encoder, TableEncoder) or (isinstance(encoder, ImageEncoder) and encoder.differing):
            for note in encoder.notes:
                warn_user(note)
        self.encoder = encoder

    def _is_suspect(self, name: str, few: FewValues) -> bool:
        """Whether a column may be the label under another name, which the user is warned of."""
        counts = few.table(len(self._order))
        if counts is None:
            return False
        counts, classes = counts[self._order], self.shares.classes.tolist()
        if counts.shape[1] <= max(2, len(classes)):
            refuse_leaking_counts(name, few.is_text, counts, self.shares.proportions, classes)
        return warn_of_likely_label(name, counts, self.shares.proportions)


def row_weights(rows: Rows, column: str | None) -> NDArray[np.float64] | None:
    """How much each row counts in its bag, as a column says; None where no column does."""
    if column is None:
        return None
    with naming_source(rows.name):
        try:
            weights = as_numbers(str(column), rows.column(str(column)))
        except RowError as error:
            raise error.at(rows.number(error.row)) from None
        for row in np.flatnonzero(~(weights >= 0)).tolist():
            raise ValueError(
                f"column {column!r}, row {rows.number(row)}: weight {weights[row]:g} is missing or negative"
            )
    return weights


def learn_encoder(rows: Rows, spec: TableSpec, reserved: Sequence[str]) -> Encoder:
    """What rows ask for: arrays as they are, images of a column of paths, or the columns of a table."""
    image = spec.image or rows.image
    if spec.features is not None:
        return FeatureEncoder.learn(rows, image or "", spec.features, spec.image_size)
    if rows.array is not None:
        return ArrayEncoder.learn(rows)
    if image is not None:
        with check_argument("image"):
            return ImageEncoder.learn(rows, image, spec.image_size)
    with naming_source(rows.name):
        return TableEncoder.learn(rows.table, spec.columns, reserved)


def refuse_changed(stream: RowStream) -> ValueError:
    """The error of a file that another program writes to."""
    return ValueError(f"{stream.name} has changed while it was read: retry once nothing is writing to it")


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
    return read_bags(source, spec)[0]


def read_bags(source: Any, spec: TableSpec) -> tuple[Bags, Rows | None]:
    """The bags, as :func:`bags_from_tables` makes them, and the rows of the table; None if it is a store."""
    from llpgan.tables.store import is_store, open_store_alone

    if is_store(source):
        return open_store_alone(source, spec.given_options()), None
    survey = survey_rows(read_whole(open_rows_of_spec(source, spec)), spec)
    ((bag_index, instances, weights),) = encode_blocks(survey)
    bags = Bags(
        instances=instances,
        bag_index=bag_index,
        proportions=survey.shares.proportions,
        bag_ids=survey.bag_ids,
        classes=survey.shares.classes,
        features=survey.encoder.features,
        encoder=survey.encoder,
        weights=weights,
        share_constraints=survey.shares.share_constraints,
        tolerance=spec.tolerance,
    )
    warn_of_likely_labels(bags, survey)
    return bags, next(survey.stream.parts())


def open_rows_of_spec(source: Any, spec: TableSpec) -> Rows:
    """The rows in memory, with columns of bags read so that different ids stay different."""
    refuse_empty_path(source, "instances")
    categories = () if spec.columns is None else spec.columns.categories
    if isinstance(source, str | Path | Rows):
        return open_rows(source, categories, spec.bag_ids)
    with check_argument("instances"):
        return open_rows(source, categories, spec.bag_ids)


def survey_rows(stream: RowStream, spec: TableSpec) -> Survey:
    """The first time through the rows: what is known before any row is encoded."""
    spec.check_source(stream)
    tables = {} if spec.counts_labels else read_bag_tables(stream, spec)
    n_classes = len(next(iter(tables.values())).classes) if tables else None
    note = None
    if spec.unmatched == "drop" and tables:
        stream, note = drop_unmatched(stream, tables, spec)
        stream = read_whole(*stream.parts()) if stream.is_whole else stream
    survey = Survey(stream, spec, n_classes)
    for rows in stream.parts():
        survey.add(rows)
    if note is not None:
        note()
    survey.refuse_weightless()
    if tables:
        advice = None if spec.unmatched == "drop" else DROP_UNMATCHED
        shares = shares_from_tables(tables, spec, survey.bag_ids, survey.sizes, stream.name, advice)
    else:
        shares = survey.shares_of_labels()
    shares.check(survey.bag_ids, spec.tolerance)
    survey.settle(shares)
    return survey


def encode_blocks(survey: Survey) -> Iterator[Block]:
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
        with naming_source(rows.name):
            check_instances(instances, encoder.features, rows.first_row)
        yield positions, instances, row_weights(rows, weight)


def warn_of_likely_labels(bags: Bags, survey: Survey) -> None:
    """Warn of columns that, averaged by bag, nearly determine the bags' shares; of a store, some bags tell."""
    if not isinstance(bags.encoder, TableEncoder) or not survey.unsuspected:
        return
    some = sample_bags(bags)[0] if is_stored(bags.instances) else bags.drop_weightless()
    means, positions = some.means(some.instances), bags.encoder.positions
    of_columns = {name: means[:, positions[name]] for name in survey.unsuspected if name in positions}
    warn_of_determining(of_columns, some.proportions, some.sizes)


def matched_rows(rows: Rows, classes: Array, spec: TableSpec) -> Rows:
    """Return the rows to evaluate: with ``unmatched="drop"``, those of bags that have proportions or counts.

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
    Rows
        The rows, in the same order.
    """
    if spec.unmatched != "drop" or not spec.tables_of_bags:
        return rows
    stream = read_whole(rows)
    tables = read_bag_tables(stream, replace(spec, classes=classes.tolist()))
    stream, note = drop_unmatched(stream, tables, spec)
    (kept,) = read_whole(*stream.parts()).parts()
    note()
    return kept


def shared_bags(rows: Rows, classes: Array, spec: TableSpec, advice: str = DROP_UNMATCHED) -> Bags:
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
    advice : str, default=" To leave out rows of such bags, choose drop (unmatched)"
        What an error on rows of bags without proportions adds.

    Returns
    -------
    Bags
        The bags, with proportions in the order of ``classes``.
    """
    stream = read_whole(rows)
    spec.check_source(stream)
    survey = Survey(stream, replace(spec, label=None), n_classes=len(classes), only_bags=True)
    survey.add(rows)
    survey.refuse_weightless()
    tables = read_bag_tables(stream, replace(spec, classes=classes.tolist()))
    shares = shares_from_tables(
        tables, spec, survey.bag_ids, survey.sizes, rows.name, None if spec.unmatched == "drop" else advice
    )
    return Bags(
        np.zeros((len(rows), 1)),
        survey.positions(rows),
        shares.proportions,
        survey.bag_ids,
        classes,
        weights=row_weights(rows, spec.weight),
        share_constraints=shares.share_constraints,
    )
