"""The first time through the rows: which bags there are, and what each column holds."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.tables import Columns, Encoder, Rows, RowStream, TableEncoder, column_values
from llpgan.tables.assembly import learned_encoder
from llpgan.tables.bag_shares import Shares, shares_of_counts
from llpgan.tables.leakage import MORE_VALUES, refuse_leaking_counts, warn_of_likely_label
from llpgan.tables.store.bag_counting import FewValues, Labels, SeenBags
from llpgan.tables.store.column_summaries import StreamedColumn

Array = NDArray[Any]
_FEW = 32  # values of a column that may be the label, where the classes are not known yet


@dataclass
class Survey:
    """What the first time through the rows tells."""

    stream: RowStream
    columns: Columns
    bags: SeenBags
    labels: Labels | None
    facts: dict[str, StreamedColumn]
    few: dict[str, FewValues]
    other_encoder: Encoder | None = None

    @classmethod
    def of(
        cls,
        stream: RowStream,
        columns: Columns,
        bag_columns: Sequence[str],
        label: str | None,
        image: str | None,
        image_size: tuple[int, int] | None,
        n_classes: int | None,
    ) -> "Survey":
        """Go through all rows. Where the number of classes is not known, labels are counted to know it."""
        reserved = [*bag_columns, *([] if label is None else [label])]
        is_table = stream.shape is None and image is None
        names = _chosen(stream, columns, reserved) if is_table else []
        kinds = columns.kinds()
        survey = cls(
            stream,
            columns,
            SeenBags(bag_columns),
            Labels(label) if n_classes is None and label is not None else None,
            {name: StreamedColumn(name, kinds.get(name)) for name in names},
            {name: FewValues(name, (n_classes or _FEW) + MORE_VALUES) for name in names if name not in kinds},
        )
        chance = np.random.default_rng(0)
        for rows in stream.parts():
            if not is_table and survey.other_encoder is None:
                survey.other_encoder = learned_encoder(rows, columns, reserved, image, image_size)
            survey.add(rows, chance.random(len(rows)))
        return survey

    def add(self, rows: Rows, chance: Array) -> None:
        """A part of the rows."""
        bags = self.bags.add(rows)
        if self.labels is not None:
            self.labels.add(rows, bags)
        with column_values.of(rows.name):
            for name, facts in self.facts.items():
                facts.add(rows.table[name], rows.first_row, chance)
            for name, few in self.few.items():
                few.add(rows.table[name], bags)

    def shares_of_labels(self, order: NDArray[np.int64]) -> Shares:
        """The share of each label in each bag."""
        assert self.labels is not None
        classes, counts = self.labels.sorted(len(order))
        return shares_of_counts(counts[order], classes, self.stream.name)

    def refuse_leaks(self, shares: Shares, order: NDArray[np.int64]) -> None:
        """Refuse columns that look like the label, and warn of those that may be it."""
        most = max(2, len(shares.classes))
        with column_values.of(self.stream.name):
            for name, few in self.few.items():
                counts = few.table(len(order))
                if counts is None:
                    continue
                if counts.shape[1] <= most:
                    names = shares.classes.tolist()
                    refuse_leaking_counts(name, few.is_text, counts[order], shares.proportions, names)
                warn_of_likely_label(name, counts[order], shares.proportions)

    def encoder(self) -> Encoder:
        """How rows become instances."""
        if self.other_encoder is not None:
            return self.other_encoder
        with column_values.of(self.stream.name):
            encoder = TableEncoder.of(self.facts.values(), self.columns)
        for note in encoder.notes:
            warnings.warn(note, stacklevel=3)
        return encoder


def _chosen(stream: RowStream, columns: Columns, reserved: Sequence[str]) -> list[str]:
    with column_values.of(stream.name):
        return columns.chosen(stream.schema.names, reserved)
