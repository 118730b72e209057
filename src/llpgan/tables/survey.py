"""The first time through the rows: which bags there are, what each column holds, and how it is encoded."""

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from llpgan.bags import validation
from llpgan.tables import column_values
from llpgan.tables.array_sources import ArrayEncoder
from llpgan.tables.bag_counting import FewValues, Growing, Labels, SeenBags
from llpgan.tables.bag_shares import Shares, shares_of_counts
from llpgan.tables.column_kinds import Columns
from llpgan.tables.column_summary import ColumnSummary
from llpgan.tables.image_sources import ImageEncoder
from llpgan.tables.leakage import MORE_VALUES, refuse_leaking_counts, warn_of_likely_label
from llpgan.tables.rows import Encoder, Rows, RowStream
from llpgan.tables.table_encoder import TableEncoder
from llpgan.tables.table_spec import TableSpec
from llpgan.utils import array_input
from llpgan.utils.callers import warn_user

Index = NDArray[np.int64]
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
        self.reserved = spec.reserved(stream)
        self.is_table = stream.shape is None and spec.image is None and stream.image is None
        names = self._names() if self.is_table and not only_bags else []
        kinds = self.columns.kinds()
        self.summaries = {name: ColumnSummary(name, kinds.get(name)) for name in names}
        most = (n_classes or _FEW) + MORE_VALUES
        self.few = {name: FewValues(name, most) for name in names if name not in kinds}
        self._chance = None if stream.is_whole else np.random.default_rng(0)
        self._first: Encoder | None = None

    def _names(self) -> list[str]:
        with column_values.of(self.stream.name):
            return self.columns.chosen(self.stream.schema.names, self.reserved)

    def add(self, rows: Rows) -> None:
        """A block of the rows."""
        if not self.is_table and self._first is None:
            self._first = learned_encoder(rows, self.spec, self.reserved)
        bags, weights = self.bags.add(rows), row_weights(rows, self.spec.weight)
        if weights is not None:
            self._totals.add(bags.places, np.bincount(bags.of_row, weights)[:, None])
        if self.labels is not None:
            self.labels.add(rows, bags, weights)
        chance = None if self._chance is None else self._chance.random(len(rows))
        with column_values.of(rows.name):
            for name, summary in self.summaries.items():
                summary.add(rows.table[name], rows.first_row, chance)
            for name, few in self.few.items():
                few.add(rows.table[name], bags)

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
        with column_values.of(self.stream.name):
            if not totals.any():
                raise ValueError(f"column {self.spec.weight!r}: all weights are zero")
            validation.no_weightless_bag(totals, self.bag_ids)

    def positions(self, rows: Rows) -> Index:
        """For each row the position of its bag in ``bag_ids``."""
        found = self.bags.of(rows)
        if len(self.bags.place) > len(self.bag_ids):
            raise changed(self.stream)
        rank = np.empty_like(self._order)
        rank[self._order] = np.arange(len(rank))
        return rank[found.places][found.of_row]

    def shares_of_labels(self) -> Shares:
        """The share of each label in each bag."""
        assert self.labels is not None
        classes, counts = self.labels.sorted(len(self._order))
        return shares_of_counts(counts[self._order], classes, self.stream.name)

    def settle(self, shares: Shares) -> None:
        """Refuse columns that look like the label, and choose the encoder."""
        self.shares = shares
        with column_values.of(self.stream.name):
            encoder = self._first or TableEncoder.of(self.summaries.values(), self.columns)
            self.unsuspected = [name for name, few in self.few.items() if not self._is_suspect(name, few)]
        if isinstance(encoder, TableEncoder):
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
    with column_values.of(rows.name):
        try:
            weights = column_values.as_numbers(str(column), rows.column(str(column)))
        except column_values.RowError as error:
            raise error.at(rows.first_row) from None
        for row in np.flatnonzero(~(weights >= 0)):
            raise ValueError(
                f"column {column!r}, row {rows.first_row + row}: weight {weights[row]:g} is missing or negative"
            )
    return weights


def learned_encoder(rows: Rows, spec: TableSpec, reserved: Sequence[str]) -> Encoder:
    """What rows ask for: arrays as they are, images of a column of paths, or the columns of a table."""
    if rows.array is not None:
        return ArrayEncoder.learned(rows)
    image = spec.image or rows.image
    if image is not None:
        with array_input.argument("image"):
            return ImageEncoder.learned(rows, image, spec.image_size)
    with column_values.of(rows.name):
        return TableEncoder.learned(rows.table, spec.columns, reserved)


def changed(stream: RowStream) -> ValueError:
    """The error of a file that another program writes to."""
    return ValueError(f"{stream.name} has changed while it was read: retry once nothing is writing to it")
