"""Bags from tables, and columns of them that look like the label."""

from __future__ import annotations

import re
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from llpgan.bags import Bags
from llpgan.bags.checks import check_classes, check_instances, check_proportions, refuse_weightless_bag
from llpgan.bags.fit_warnings import sample_bags
from llpgan.bags.on_disk import is_stored
from llpgan.tables.backbones import WORDLLAMA
from llpgan.tables.columns import ColumnSummary, RowError, as_numbers, as_text, find_few_values, naming_source
from llpgan.tables.embedding import FeatureEncoder, Text
from llpgan.tables.encode import Columns, TableEncoder
from llpgan.tables.join import (
    BagCounts,
    BagTable,
    PartBags,
    Shares,
    bag_keys,
    count_labels,
    drop_unmatched,
    known_bags,
    note_unmatched,
    read_bag_tables,
    refuse_many_labels,
    shares_from_labels,
    shares_from_tables,
)
from llpgan.tables.read import Encoder, Rows, RowStream
from llpgan.tables.spec import TableSpec, refuse_empty_path
from llpgan.tables.streams import ArrayEncoder, ImageEncoder, is_store, open_rows, read_whole
from llpgan.utils.arrays import Array, check_argument, keep_freed_memory
from llpgan.utils.messages import warn_user

_SHORT = 3  # letters; a shorter class name is in too many words
_BAGS = 10  # fewer can be met by chance
_NEARLY_ALL = 0.98  # of the differences between bags, that no honest column alone explains
_MUCH = 0.75  # of them, where the column has hardly more values than there are classes
MORE_VALUES = 2  # than classes: votes for others, and none


def refuse_leaking_counts(
    name: str,
    text: bool,
    counts: NDArray[np.int64],
    proportions: NDArray[np.float64],
    classes: Sequence[str],
) -> None:
    """Refuse a column of two values that is named after a class; and one whose values have the classes' shares.

    The latter may have as many values as there are classes. ``counts`` (bags, values) says how many rows have each
    of the column's values; rows where it is missing do not count.
    """
    words = set(re.split(r"[\W_]+", name.casefold()))
    named = [c for c in classes if len(str(c)) >= _SHORT and str(c).casefold() in words]
    n_values = counts.shape[1]
    why = f"it is named after the class {named[0]!r}" if named and n_values == 2 else ""
    sizes = counts.sum(axis=1)
    known = sizes > 0
    differing = [(c, p) for c, p in zip(classes, proportions[known].T, strict=True) if np.ptp(p) > 0]
    found: list[str] = []
    for of_value in counts.T:
        shares = of_value[known] / sizes[known]
        found += [c for c, p in differing if np.allclose(shares, p, atol=5e-4)][:1]
    enough = 1 if n_values == 2 else n_values  # of two values, one may be a class and one all others
    if len(found) >= enough:
        why = why or f"it has the share of the class {found[0]!r} in every bag"
    if why:
        kind = "categories (categories)" if text else "numbers (numbers)"
        raise ValueError(
            f"column {name!r} looks like the label: {why}. Name it as the label (label), which keeps it out of "
            f"the features, or among the {kind} to keep it as a feature"
        )


def explained_by_values(
    values: NDArray[np.float64], proportions: NDArray[np.float64], weights: NDArray[np.int64]
) -> float:
    """R² of the bags' shares by values of the bags, adjusted for how many there are; 0 where bags are too few.

    >>> shares = np.linspace(0.2, 0.8, 12)
    >>> round(explained_by_values(3 * shares[:, None], np.column_stack([shares, 1 - shares]), np.full(12, 5)), 3)
    1.0
    """
    values = values[:, np.ptp(values, axis=0) > 0]
    n_bags, n_values = values.shape
    if n_values == 0 or n_bags < max(_BAGS, 3 * (n_values + 1)):
        return 0.0
    root = np.sqrt(weights / weights.sum())[:, None]
    around = proportions - np.average(proportions, axis=0, weights=weights)
    centred = values - np.average(values, axis=0, weights=weights)
    slopes = np.linalg.lstsq(root * centred, root * around, rcond=None)[0]
    total, left = np.sum((root * around) ** 2), np.sum((root * (around - centred @ slopes)) ** 2)
    if total < 1e-12:  # bags with the same shares tell nothing
        return 0.0
    return float(1 - left / total * (n_bags - 1) / (n_bags - 1 - n_values))


def _warn(name: str, explained: float) -> None:
    warn_user(
        f"column {name!r} may be the label under another name: averaged by bag, it explains "
        f"{100 * explained:.0f} % of the differences between the bags' shares. If it tells the class of a row, "
        f"leave it out (drop) or name it the label (label); else name it among the numbers or categories"
    )


Index = NDArray[np.int64]
DROP_UNMATCHED = " To leave out rows of such bags, choose drop (unmatched)"
_FEW = 32  # values of a column that may be the label, where the classes are not known yet


class TableSummary:
    """What is known of the rows of a source before any of them is encoded.

    ``add`` takes in the rows, part by part; ``finish`` then orders the bags, and ``settle`` chooses the encoder.

    Parameters
    ----------
    stream : RowStream
        The rows.
    spec : TableSpec
        What the user says of them.
    n_classes : int or None
        How many classes there are; None where labels are counted to know it.
    only_bags : bool, default=False
        Whether only the bags of the rows are needed.
    part : int, default=0
        The number of these rows among the parts of a source whose summaries will be merged.

    Attributes
    ----------
    bag_ids : tuple
        All bags, in order.
    sizes : ndarray of shape (n_bags,)
        How many rows each bag has.
    weights : ndarray or None
        The weight of each row, if the rows are in memory and have weights.
    shares : Shares
        The proportions of each bag.
    encoder : Encoder
        How rows become instances.
    columns_to_check : list of str
        Columns whose kind is inferred and whose values do not look like labels: their means may still give away
        the label.
    rank : ndarray of shape (n_bags,)
        For each bag, in the order in which bags first appear, its position in ``bag_ids``.
    found : dict
        With ``unmatched="drop"``, the number of rows of each bag, including those that are left out.
    """

    bag_ids: tuple[Hashable, ...]
    sizes: Index
    weights: NDArray[np.float64] | None = None
    shares: Shares
    encoder: Encoder
    columns_to_check: list[str]

    def __init__(
        self,
        stream: RowStream,
        spec: TableSpec,
        n_classes: int | None,
        *,
        only_bags: bool = False,
        part: int = 0,
    ) -> None:
        self.stream, self.spec = stream, spec
        self._columns = spec.columns or Columns()
        self._bag_columns = spec.bag_columns(stream)
        marked = [str(name) for name in (spec.label, spec.weight) if name is not None]
        self._reserved = [*self._bag_columns, *marked]
        backbone, texts = spec.features or WORDLLAMA, [] if only_bags else spec.texts
        self._texts = [Text.from_backbone(column, backbone) for column in texts]
        self._empty_texts = {encoder.name for encoder in self._texts}
        self._is_table = stream.shape is None and spec.image is None and stream.image is None
        names: list[str] = []
        if self._is_table and not only_bags:
            with naming_source(stream.name):
                names = self._columns.choose(stream.schema.names, [*self._reserved, *spec.texts])
        kinds = self._columns.kinds()
        self._summaries = {name: ColumnSummary(name, kinds.get(name)) for name in names}
        self._inferred = [name for name in names if name not in kinds]
        self._few_values = {name: BagCounts() for name in self._inferred}
        self._most = (n_classes or _FEW) + MORE_VALUES
        self._place: dict[Hashable, int] = {}  # of each bag, in the order in which they first appear
        self._n_rows, self._totals = BagCounts(), BagCounts()
        self._labels = BagCounts() if n_classes is None else None
        self.found: dict[Hashable, int] = {}
        self._random = None if stream.is_whole else np.random.default_rng([0, part])
        self._first: Encoder | None = None
        self._whole: PartBags | None = None

    def add(self, rows: Rows) -> None:
        """Add a part of the rows. A row of weight zero is in a bag, but decides nothing else."""
        if not self._is_table and self._first is None:
            self._first = learn_encoder(rows, self.spec, self._reserved)
        weights = None if self.spec.weight is None else row_weights(rows, self.spec.weight)
        bags = self._number_bags(rows)
        self._n_rows.add(bags)
        if weights is not None:
            self._totals.add(bags, weights=weights)
        if self._labels is not None:
            count_labels(self._labels, rows, str(self.spec.label), bags, weights)
        if self.stream.is_whole:
            self._whole, self.weights = bags, weights
        chance = None if self._random is None else self._random.random(len(rows))
        if weights is not None and not weights.all():
            counted = np.flatnonzero(weights)
            rows, bags = rows.take(counted), bags._replace(of_row=bags.of_row[counted])
            chance, weights = None if chance is None else chance[counted], weights[counted]
        with naming_source(rows.name):
            for name in self._empty_texts.copy():
                if pc.any(pc.not_equal(as_text(name, rows.table[name]), "")).as_py():
                    self._empty_texts.remove(name)
            for name, summary in self._summaries.items():
                summary.add(rows.table[name], rows.number, chance, weights)
            for name, counts in list(self._few_values.items()):
                found = find_few_values(name, rows.table[name], self._most)
                if found is not None:
                    counts.add(bags, *found)
                if found is None or len(counts.values) > self._most:
                    del self._few_values[name]

    def _number_bags(self, rows: Rows) -> PartBags:
        """The bags of rows; new ones get the next place."""
        of_row, ids = bag_keys(rows.table, self._bag_columns, rows.name, rows.number)
        if not self._place.keys() >= set(ids):
            for bag in ids:
                self._place.setdefault(bag, len(self._place))
        return PartBags(of_row, np.fromiter(map(self._place.__getitem__, ids), np.int64, len(ids)))

    def merge(self, other: TableSummary) -> tuple[Index, Index]:
        """Add the summary of the rows that follow; return the place of each of its bags here, and its rows."""
        places = np.array([self._place.setdefault(bag, len(self._place)) for bag in other._place], np.int64)
        self._n_rows.merge(other._n_rows, places)
        self._totals.merge(other._totals, places)
        if self._labels is not None and other._labels is not None:
            self._labels.merge(other._labels, places)
            refuse_many_labels(self._labels, str(self.spec.label))
        self._empty_texts &= other._empty_texts
        for name, summary in self._summaries.items():
            summary.merge(other._summaries[name])
        for name, counts in list(self._few_values.items()):
            if name in other._few_values:
                counts.merge(other._few_values[name], places)
            if name not in other._few_values or len(counts.values) > self._most:
                del self._few_values[name]
        for bag, n in other.found.items():
            self.found[bag] = self.found.get(bag, 0) + n
        return places, other.count_rows()

    @property
    def n_bags(self) -> int:
        """The number of bags so far."""
        return len(self._place)

    def count_rows(self) -> Index:
        """The number of rows of each bag, in the order in which bags first appear."""
        return self._n_rows.table(len(self._place))[:, 0].astype(np.int64)

    def to_arrays(self) -> dict[str, pa.Array]:
        """What the rows so far have added, as arrays, from which :meth:`restore` reads it."""
        arrays = {"/empty texts": pa.array(sorted(self._empty_texts), pa.string())}
        arrays["/rows found"] = pa.array(self.found.values(), pa.int64())
        for what, ids in (("bag", self._place), ("found", self.found)):
            for place, kind in enumerate(self._id_types()):
                key = ids if len(self._bag_columns) == 1 else [bag[place] for bag in ids]  # type: ignore[index]
                arrays[f"/{what} {place}"] = pa.array(list(key), kind)
        for name, part in self._parts().items():
            arrays |= {f"{name}/{each}": array for each, array in part.to_arrays().items()}
        return arrays

    def restore(self, arrays: Mapping[str, pa.Array]) -> None:
        """Take on what :meth:`to_arrays` returned."""
        of_parts: dict[str, dict[str, pa.Array]] = {}
        for name, array in arrays.items():
            part, _, each = name.rpartition("/")
            of_parts.setdefault(part, {})[each] = array
        own = of_parts.pop("")
        self._empty_texts = set(own["empty texts"].to_pylist())
        self._place = {bag: place for place, bag in enumerate(self._read_ids(own, "bag"))}
        self.found = dict(zip(self._read_ids(own, "found"), own["rows found"].to_pylist(), strict=True))
        self._few_values = {
            name: kept for name, kept in self._few_values.items() if f"values of {name}" in of_parts
        }
        for name, statistics in self._parts().items():
            statistics.restore(of_parts.get(name, {}))

    def _parts(self) -> dict[str, ColumnSummary | BagCounts]:
        """All statistics by name."""
        parts: dict[str, ColumnSummary | BagCounts] = {"rows": self._n_rows, "weights": self._totals}
        parts |= {} if self._labels is None else {"labels": self._labels}
        parts |= {f"column {name}": summary for name, summary in self._summaries.items()}
        return parts | {f"values of {name}": counts for name, counts in self._few_values.items()}

    def _id_types(self) -> list[pa.DataType]:
        kinds = [self.stream.schema.field(name).type for name in self._bag_columns]
        return [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]

    def _read_ids(self, arrays: Mapping[str, pa.Array], what: str) -> list[Hashable]:
        keys = [arrays[f"{what} {place}"].to_pylist() for place in range(len(self._bag_columns))]
        return list(zip(*keys, strict=True)) if len(keys) > 1 else keys[0]

    def finish(self) -> None:
        """Order the bags, once all rows are added; refuse weights that are all zero, or those of a bag."""
        self.bag_ids = tuple(sorted(self._place))  # type: ignore[type-var]
        self._order = np.array([self._place[bag] for bag in self.bag_ids])
        self.rank = np.argsort(self._order)
        self.sizes = self._n_rows.table(len(self._order))[self._order, 0].astype(np.int64)
        if self.spec.weight is not None:
            totals = self._totals.table(len(self._order))[self._order, 0]
            with naming_source(self.stream.name):
                if not totals.any():
                    raise ValueError(f"column {self.spec.weight!r}: all weights are zero")
                refuse_weightless_bag(totals, self.bag_ids)

    def positions(self) -> Index:
        """For each row of a source in memory the position of its bag in ``bag_ids``."""
        assert self._whole is not None
        return self.rank[self._whole.places][self._whole.of_row]

    def settle(self, tables: Mapping[str, BagTable]) -> None:
        """Find the proportions, refuse columns that look like the label, and choose the encoder."""
        if self._labels is not None:
            shares = shares_from_labels(self._labels, self._order, self.stream.name)
        else:
            advice = None if self.spec.unmatched == "drop" else DROP_UNMATCHED
            shares = shares_from_tables(tables, self.spec, self.bag_ids, self.sizes, self.stream.name, advice)
        with naming_source(shares.source):
            classes = shares.classes.tolist()
            check_classes(shares.classes, shares.proportions)
            checked = check_proportions(shares.proportions, self.bag_ids, self.spec.tolerance, classes)
        self.shares = shares._replace(proportions=checked)
        with naming_source(self.stream.name):
            for name in sorted(self._empty_texts):
                raise ValueError(f"column {name!r}, given as text, has no text in any row")
            encoder = self._first or TableEncoder.from_summaries(
                self._summaries.values(), self._columns, self._texts
            )
            suspects = [name for name, counts in self._few_values.items() if self._is_suspect(name, counts)]
        self.columns_to_check = [name for name in self._inferred if name not in suspects]
        if isinstance(encoder, TableEncoder) or (isinstance(encoder, ImageEncoder) and encoder.differing):
            for note in encoder.notes:
                warn_user(note)
        self.encoder = encoder

    def _is_suspect(self, name: str, few_values: BagCounts) -> bool:
        """Whether the shares of a column's few values follow the classes', which the user is warned of.

        It may be the label under another name also where it does not determine the shares: rows that are a sample
        have other shares than the population that the bags' proportions are of.
        """
        if len(few_values.values) < 2:
            return False
        counts, proportions = few_values.table(len(self._order))[self._order], self.shares.proportions
        if counts.shape[1] <= max(2, proportions.shape[1]):
            is_text = self._summaries[name].holds == "text"
            refuse_leaking_counts(name, is_text, counts, proportions, self.shares.classes.tolist())
        if counts.shape[1] > proportions.shape[1] + MORE_VALUES:
            return False
        sizes = counts.sum(axis=1)
        known = sizes > 0
        shares = counts[known, :-1] / sizes[known, None]
        explained = explained_by_values(shares, proportions[known], sizes[known])
        if explained > _MUCH:
            _warn(name, explained)
        return explained > _MUCH


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
        return FeatureEncoder.learn(rows, image or "", spec.features, spec.image_size, spec.mirror)
    if rows.array is not None:
        return ArrayEncoder.learn(rows)
    if image is not None:
        with check_argument("image"):
            return ImageEncoder.learn(rows, image, spec.image_size)
    with naming_source(rows.name):
        return TableEncoder.learn(rows.table, spec.columns, reserved)


def changed_source_error(stream: RowStream) -> ValueError:
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
    if is_store(source):
        from llpgan.tables.store import open_store_alone

        return open_store_alone(source, spec.given_options()), None
    refuse_empty_path(source, "instances")
    categories = () if spec.columns is None else spec.columns.categories
    with nullcontext() if isinstance(source, str | Path | Rows) else check_argument("instances"):
        opened = open_rows(source, categories, spec.bag_ids)  # different ids of bags stay different
    stream = read_whole(opened)
    spec.check_source(stream)
    tables = read_bag_tables(stream, spec)
    summary = summarize_part(stream, spec, *facts_of_tables(tables, spec))
    conclude_summary(summary, tables)
    (rows,) = summary.stream.parts()
    bags = Bags(
        instances=summary.encoder.encode(replace(rows, keep=False)),
        bag_index=summary.positions(),
        proportions=summary.shares.proportions,
        bag_ids=summary.bag_ids,
        classes=summary.shares.classes,
        features=summary.encoder.features,
        encoder=summary.encoder,
        weights=summary.weights,
        share_constraints=summary.shares.share_constraints,
        tolerance=None,
    )
    warn_of_likely_labels(bags, summary)
    return bags, rows


def facts_of_tables(
    tables: Mapping[str, BagTable], spec: TableSpec
) -> tuple[int | None, frozenset[Hashable] | None]:
    """The number of classes, if tables name them, and the bags whose rows are kept; None means all."""
    if not tables:
        return None, None
    return len(next(iter(tables.values())).classes), known_bags(tables) if spec.unmatched == "drop" else None


def summarize_part(
    stream: RowStream, spec: TableSpec, n_classes: int | None, known: Container[Hashable] | None, part: int = 0
) -> TableSummary:
    """Go through some rows, or all, for the first time."""
    keep_freed_memory()
    found: dict[Hashable, int] = {}
    if known is not None:
        stream = drop_unmatched(stream, spec, known, found)
    if stream.is_whole and known is not None:
        kept = list(stream.parts())
        stream = read_whole(kept[0]) if kept else replace(stream, rows=lambda _: iter([]))
    summary = TableSummary(stream, spec, n_classes, part=part)
    summary.found = found
    for rows in stream.parts():
        summary.add(rows)
    return summary


def conclude_summary(summary: TableSummary, tables: Mapping[str, BagTable]) -> None:
    """Order the bags, find their proportions, and choose the encoder, once all rows are added."""
    if summary.spec.unmatched == "drop" and tables:
        note_unmatched(summary.stream.name, tables, summary.found)
    summary.finish()
    summary.settle(tables)


@dataclass(frozen=True)
class RowEncoder:
    """What any process needs to encode rows of a source: the encoder, and the position of each bag."""

    spec: TableSpec
    encoder: Encoder
    positions: Mapping[Hashable, int]

    def encode_first(self, streams: Sequence[RowStream]) -> Array:
        """The first instance alone."""
        return self.encoder.encode(next(chain.from_iterable(self._find_matched(each).rows(1) for each in streams)))

    def encode(self, stream: RowStream, shape: tuple[int, ...]) -> Iterator[Block]:
        """Go through rows for the second time: the position of each row's bag, the instances, and the weights."""
        columns, weight, encoder = self.spec.bag_columns(stream), self.spec.weight, self.encoder
        for rows in self._find_matched(stream).parts(shape):
            of_row, ids = bag_keys(rows.table, columns, rows.name, rows.number)
            if not self.positions.keys() >= set(ids):
                raise changed_source_error(stream)
            positions = np.fromiter(map(self.positions.__getitem__, ids), np.int64, len(ids))[of_row]
            instances = encoder.encode(replace(rows, keep=False))  # no notes on a part of the whole
            with naming_source(rows.name):
                check_instances(instances, encoder.features, rows.first_row)
            yield positions, instances, None if weight is None else row_weights(rows, weight)

    def _find_matched(self, stream: RowStream) -> RowStream:
        is_part = self.spec.unmatched == "drop"
        return drop_unmatched(stream, self.spec, self.positions.keys(), {}) if is_part else stream


def warn_of_likely_labels(bags: Bags, summary: TableSummary) -> None:
    """Warn of columns that, averaged by bag, nearly determine the bags' shares; of a store, some bags tell."""
    if not isinstance(bags.encoder, TableEncoder) or not summary.columns_to_check:
        return
    some = sample_bags(bags)[0] if is_stored(bags.instances) else bags.drop_weightless()
    means, positions = some.means(some.instances), bags.encoder.positions
    for name in summary.columns_to_check:
        if name in positions:
            explained = explained_by_values(means[:, positions[name]], some.proportions, some.sizes)
            if explained > _NEARLY_ALL:
                _warn(name, explained)


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
    stream, found = read_whole(rows), dict[Hashable, int]()
    tables = read_bag_tables(stream, replace(spec, classes=classes.tolist()))
    kept = list(drop_unmatched(stream, spec, known_bags(tables), found).parts())
    note_unmatched(rows.name, tables, found)
    return kept[0]


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
    summary = TableSummary(stream, replace(spec, label=None), n_classes=len(classes), only_bags=True)
    summary.add(rows)
    summary.finish()
    tables = read_bag_tables(stream, replace(spec, classes=classes.tolist()))
    shares = shares_from_tables(
        tables, spec, summary.bag_ids, summary.sizes, rows.name, None if spec.unmatched == "drop" else advice
    )
    return Bags(
        np.zeros((len(rows), 1)),
        summary.positions(),
        shares.proportions,
        summary.bag_ids,
        classes,
        weights=summary.weights,
        share_constraints=shares.share_constraints,
    )
