"""Instances in bags and the class proportions of each bag: the one thing that every method learns from."""

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import InitVar, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import grouping, validation
from llpgan.bags.sorted_rows import RowsInOrder, rows_of_bags, sizes_if_sorted
from llpgan.bags.stored_instances import StoredInstances
from llpgan.utils import array_input
from llpgan.utils.arrays import Array
from llpgan.utils.notebook_html import html_table

if TYPE_CHECKING:
    from llpgan.tables import Columns, Encoder

_SHOWN = 10  # bags and classes in a notebook
_ROWS_AT_ONCE = 2**14  # of sums over bags, so that no second table of instances is made


@dataclass(frozen=True, eq=False)
class Bags:
    """Instances, the bag of each, and the class proportions of each bag; checked when it is made.

    Make one with :meth:`from_tables`, :meth:`from_arrays`, :meth:`from_labels` or :meth:`from_row_proportions`.
    Bags stand in the sorted order of their ids (of first appearance, where ids cannot be compared), whatever the
    order of rows.

    Attributes:
        instances: one row an instance: a table ``(N, features)`` or images ``(N, channels, height, width)``.
            A memory-mapped array stays one, and :class:`~llpgan.bags.stored_instances.StoredInstances` stay in
            their file.
        bag_index: for each row the position of its bag in ``bag_ids``; a
            :class:`~llpgan.bags.sorted_rows.SortedBagIndex` where rows stand bag after bag in a file.
        proportions: ``(n_bags, n_classes)``; rows sum to one.
        bag_ids: the bags' names, any hashable values.
        classes: the classes' names, in the order of the columns of ``proportions``.
        features: the columns' names, if the instances came with names.
        encoder: how a user's rows became these instances, so that a model can do the same with new ones.
        tolerance: proportions that sum to one only within this much are renormalised; beyond it, an error.

    >>> bags = Bags.from_arrays(
    ...     instances=[[1.0], [2.0], [3.0]],
    ...     bag_of_row=["Ohio", "Iowa", "Ohio"],
    ...     proportions={"Iowa": [1, 0], "Ohio": [0.5, 0.5]},
    ...     classes=["no", "yes"],
    ... )
    >>> bags
    Bags(3 instances of shape (1,), 2 bags of 1 to 2, 2 classes)
    >>> bags.bag_ids, bags.sizes, bags.rows_of(1)
    (('Iowa', 'Ohio'), array([1, 2]), array([0, 2]))
    """

    instances: Array
    bag_index: NDArray[np.int64]
    proportions: NDArray[np.float64]
    bag_ids: tuple[Hashable, ...]
    classes: Array
    features: Sequence[str] | None = None
    encoder: "Encoder | None" = None
    tolerance: InitVar[float] = 0.01

    def __post_init__(self, tolerance: float) -> None:
        validation.tolerance(tolerance)
        validation.instances(self.instances, self.features)
        validation.same_length("instances", self.instances, "entries of bag_of_row", self.bag_index)
        validation.no_empty_bag(self.bag_index, self.bag_ids)
        validation.classes(self.classes, self.proportions)
        with array_input.argument("proportions"):
            proportions = validation.proportions(self.proportions, self.bag_ids, tolerance, self.classes.tolist())
        object.__setattr__(self, "proportions", proportions)

    @classmethod
    def from_tables(
        cls,
        instances: Any,
        proportions: Any = None,
        *,
        bag: str | Sequence[str] | None = None,
        counts: Any = None,
        label: str | None = None,
        classes: Sequence[str] | None = None,
        columns: "Columns | None" = None,
        image: str | None = None,
        image_size: tuple[int, int] | None = None,
        tolerance: float = 0.01,
    ) -> "Bags":
        """Make bags from what users have: a table of rows, and a table of the bags' proportions or counts.

        Args:
            instances: a CSV or Parquet file, a pandas or polars frame, a dict of columns; a table of paths of
                images, or a folder with a folder of images a bag; an ``.npz`` with an array ``instances``; or a
                store (see :mod:`llpgan.tables.store`), which needs nothing else.
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

        >>> people = {"age": [20, 60, 44], "state": ["Ohio", "Iowa", "Ohio"]}
        >>> results = {"state": ["Iowa", "Ohio"], "no": [1.0, 0.5], "yes": [0.0, 0.5]}
        >>> Bags.from_tables(people, results, bag="state")
        Bags(3 instances of shape (1,), 2 bags of 1 to 2, 2 classes)
        """
        from llpgan.tables import TableSpec, bags_from_tables

        spec = TableSpec(
            proportions=proportions,
            bag=bag,
            counts=counts,
            label=label,
            classes=classes,
            columns=columns,
            image=image,
            image_size=image_size,
            tolerance=tolerance,
        )
        return bags_from_tables(instances, spec)

    @classmethod
    def from_arrays(
        cls,
        instances: Any,
        bag_of_row: Any,
        proportions: Any = None,
        *,
        counts: Any = None,
        classes: ArrayLike | None = None,
        key: str | None = None,
        tolerance: float = 0.01,
    ) -> Self:
        """Make bags from instances, the bag of each, and the proportions *or* the counts of each bag.

        ``proportions`` (or ``counts``) are keyed by bag: a dict of rows, a frame (bags in its index, or in its
        column ``key``; its other columns are the classes), or an array with a row a bag in the order of the
        sorted ids. Counts are divided by their sum: they may be of a part of the bag, or of a larger population
        from which its rows were drawn.

        >>> Bags.from_arrays([[1.0], [2.0], [3.0]], [7, 7, 7], counts={7: [1, 2]}).proportions.round(2)
        array([[0.33, 0.67]])
        """
        if (proportions is None) == (counts is None):
            raise ValueError("give either proportions or counts, and not both")
        bag_index, bag_ids = grouping.index_of(bag_of_row)
        given, name = (proportions, "proportions") if counts is None else (counts, "counts")
        with array_input.argument(name):
            table, named_classes = grouping.rows_by_bag(given, bag_ids, key, name)
        class_names = _class_names(classes, named_classes, table)
        if counts is not None:
            with array_input.argument("counts"):
                table = validation.counts_as_proportions(table, bag_ids, class_names.tolist())
        return cls(
            instances=_as_instances(instances),
            bag_index=bag_index,
            proportions=table,
            bag_ids=bag_ids,
            classes=class_names,
            features=_column_names(instances),
            tolerance=tolerance,
        )

    @classmethod
    def from_labels(
        cls, instances: Any, labels: ArrayLike, groups: Any = None, *, features: Sequence[str] | None = None
    ) -> Self:
        """Take each bag's proportions from its rows' labels, and forget the labels.

        Without ``groups``, the bag of each row, every row is a bag of its own: ordinary supervised learning.

        >>> Bags.from_labels([[1.0], [2.0], [3.0]], ["no", "yes", "yes"], groups=[0, 0, 1]).proportions
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        with array_input.argument("labels"):
            classes, label_index = np.unique(array_input.labels(labels, "labels"), return_inverse=True)
            classes = array_input.class_names(classes, "labels")
        bag_index, bag_ids = grouping.index_of_groups(groups, len(label_index))
        validation.same_length("labels", label_index, "groups", bag_index)
        cells = bag_index * len(classes) + label_index
        counts = np.bincount(cells, minlength=len(bag_ids) * len(classes)).reshape(len(bag_ids), -1)
        return cls(
            instances=_as_instances(instances),
            bag_index=bag_index,
            proportions=counts / counts.sum(axis=1, keepdims=True),
            bag_ids=bag_ids,
            classes=classes,
            features=features or _column_names(instances),
        )

    @classmethod
    def from_row_proportions(
        cls,
        instances: Any,
        row_proportions: Any,
        groups: Any = None,
        *,
        classes: ArrayLike | None = None,
        features: Sequence[str] | None = None,
        tolerance: float = 0.01,
    ) -> Self:
        """Take the proportions of each bag from its rows, which must agree.

        Without ``groups``, the bag of each row, proportions must be zeros and ones: labels, one a row.

        >>> Bags.from_row_proportions([[1.0], [2.0]], [[0.5, 0.5], [0.5, 0.5]], groups=["a", "a"]).n_bags
        1
        """
        with array_input.argument("proportions"):
            rows = array_input.numbers(row_proportions, "proportions").astype(np.float64)
        class_names = _class_names(classes, grouping.class_columns(row_proportions), rows)
        if groups is None:
            validation.are_labels(rows)
        bag_index, bag_ids = grouping.index_of_groups(groups, len(rows))
        validation.same_length("proportions", rows, "groups", bag_index)
        return cls(
            instances=_as_instances(instances),
            bag_index=bag_index,
            proportions=validation.agreeing_rows(rows, bag_index, bag_ids),
            bag_ids=bag_ids,
            classes=class_names,
            features=features or _column_names(instances),
            tolerance=tolerance,
        )

    @property
    def n_bags(self) -> int:
        """How many bags there are."""
        return len(self.bag_ids)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of instances in each bag."""
        known = sizes_if_sorted(self.bag_index)
        return np.bincount(self.bag_index, minlength=self.n_bags) if known is None else known

    @cached_property
    def prior(self) -> NDArray[np.float64]:
        """π, the share of each class among all instances: the proportions' mean weighted by size."""
        return np.average(self.proportions, axis=0, weights=self.sizes)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each bag begins in ``row_order``."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def row_order(self) -> NDArray[np.int64]:
        """All rows, bag after bag."""
        if sizes_if_sorted(self.bag_index) is not None:
            return cast(NDArray[np.int64], RowsInOrder(len(self.bag_index)))
        if np.all(self.bag_index[1:] >= self.bag_index[:-1]):
            return np.arange(len(self.bag_index))
        return np.argsort(self.bag_index, kind="stable")

    @cached_property
    def digest(self) -> str:
        """A short name of the data, by which a run knows its own checkpoints: of all bags and a thousand rows."""
        rows = self.instances[:: max(1, len(self.instances) // 1000)]
        parts = (self.proportions, self.bag_index, np.array(self.instances.shape), rows)
        content = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
        return hashlib.blake2b(content, digest_size=8).hexdigest()

    def rows_of(self, bag: int) -> NDArray[np.int64]:
        """The rows of one bag, by its position in ``bag_ids``."""
        start = self.starts[bag]
        return self.row_order[start : start + self.sizes[bag]]

    def subset(self, which: ArrayLike) -> Self:
        """Some of the bags, whole: by their positions in ``bag_ids``, or a truth value a bag.

        Of instances that stay in a file, those of the chosen bags are read into memory.

        >>> bags = Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "b", "a"])
        >>> bags.subset([0]).instances.tolist(), bags.subset([False, True]).bag_ids
        ([[1.0], [6.0]], ('b',))
        """
        chosen = validation.positions(which, "bag", self.n_bags)
        return self.part(np.sort(self.row_order[rows_of_bags(self.starts[chosen], self.sizes[chosen])]))

    def part(self, rows: ArrayLike) -> Self:
        """Some of the rows: each bag that has any keeps its proportions, as a sample of it has them up to chance.

        >>> bags = Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "a", "b"])
        >>> bags.part([1]).bag_ids, bags.part([1]).proportions
        (('a',), array([[0.5, 0.5]]))
        """
        chosen = validation.positions(rows, "row", len(self.bag_index))
        kept, bag_index = np.unique(self.bag_index[chosen], return_inverse=True)
        return replace(
            self,
            instances=self.instances[chosen],
            bag_index=bag_index,
            proportions=self.proportions[kept],
            bag_ids=tuple(self.bag_ids[bag] for bag in kept),
        )

    def means(self, values: Array, weights: ArrayLike | None = None) -> NDArray[np.float64]:
        """The mean over each bag of values that have a row an instance, weighted or not.

        >>> Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "a", "b"]).means(np.eye(3)[:, :2])
        array([[0.5, 0.5],
               [0. , 0. ]])
        """
        row_weights = np.ones(len(values)) if weights is None else validation.weights(weights, len(values))
        sums = np.zeros((self.n_bags, values.shape[1]))
        for rows, bags, starts in self.blocks(_ROWS_AT_ONCE):
            sums[bags] += np.add.reduceat(values[rows] * row_weights[rows, None], starts)
        totals = np.bincount(self.bag_index, row_weights)
        for bag in np.flatnonzero(totals == 0).tolist():
            raise ValueError(f"bag {self.bag_ids[bag]!r}: its weights sum to 0")
        return sums / totals[:, None]

    def blocks(self, n_rows: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """All rows, bag after bag and so many at a time: the rows, their bags, and where each bag starts.

        >>> bags = Bags.from_labels(np.eye(3), [0, 1, 0], groups=["a", "b", "a"])
        >>> [[part.tolist() for part in block] for block in bags.blocks(2)]
        [[[0, 2], [0], [0]], [[1], [1], [0]]]
        """
        for first in range(0, len(self.row_order), n_rows):
            rows = self.row_order[first : first + n_rows]
            bags, starts = np.unique(self.bag_index[rows], return_index=True)
            yield rows, bags, starts

    def __repr__(self) -> str:
        shape = self.instances.shape[1:]
        return (
            f"Bags({len(self.instances)} instances of shape {shape}, {self.n_bags} bags of "
            f"{self.sizes.min()} to {self.sizes.max()}, {self.n_classes} classes)"
        )

    def _repr_html_(self) -> str:
        shown = range(min(_SHOWN, self.n_bags))
        columns: dict[str, list[Any]] = {
            "bag": [self.bag_ids[bag] for bag in shown],
            "instances": [f"{self.sizes[bag]:,}" for bag in shown],
        }
        for k, name in enumerate(self.classes.tolist()[:_SHOWN]):
            columns[f"share of {name}"] = [f"{self.proportions[bag, k]:.1%}" for bag in shown]
        left_out = {"bags": self.n_bags - len(shown), "classes": max(0, self.n_classes - _SHOWN)}
        note = ", ".join(f"{n:,} more {what}" for what, n in left_out.items() if n)
        shape = " × ".join(map(str, self.instances.shape[1:]))
        about = f"{self.n_bags:,} bags of {len(self.instances):,} instances of shape {shape}"
        return html_table(columns, about, note=f"and {note}" if note else "")


def refuse_other_than_bags(given: Any, what: str) -> None:
    """Refuse what is not :class:`Bags` where they are needed: a frame, an array, or arguments in another order."""
    if not isinstance(given, Bags):
        raise TypeError(
            f"{what} must be Bags, which Bags.from_tables and Bags.from_arrays make, got a {type(given).__name__}"
        )


def _as_instances(instances: Any) -> Array:
    if isinstance(instances, StoredInstances):
        return cast(Array, instances)
    with array_input.argument("instances"):
        return array_input.numbers(instances, "instances")


def _column_names(table: Any) -> tuple[str, ...] | None:
    return tuple(str(name) for name in table.columns) if array_input.is_frame(table) else None


def _class_names(given: ArrayLike | None, from_table: Sequence[Hashable] | None, proportions: Array) -> Array:
    with array_input.argument("classes"):
        if given is not None:
            return array_input.class_names(given, "classes")
        if from_table is not None:
            return array_input.class_names(from_table, "classes")
        return np.arange(proportions.shape[-1])
