"""Bags: instances, and the class proportions of the bag of each."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import grouping
from llpgan.bags.checks import (
    SAME_SHARE,
    check_classes,
    check_instances,
    check_labelled_rows,
    check_positions,
    check_proportions,
    check_same_length,
    check_tolerance,
    check_weights,
    first_rows_that_agree,
    proportions_from_counts,
    refuse_empty_bag,
    refuse_shares_without_groups,
    refuse_weightless_bag,
)
from llpgan.bags.grouping import RowsInOrder, count_if_sorted, rows_of_bags
from llpgan.bags.known_shares import KnownShares, parse_known_shares
from llpgan.bags.on_disk import StoredInstances
from llpgan.utils.arrays import (
    Array,
    check_argument,
    check_class_names,
    check_labels,
    check_numbers,
    is_finite_number,
    is_frame,
    refuse_masked,
)
from llpgan.utils.messages import html_table
from llpgan.utils.old_names import OldName, accept_old_settings

if TYPE_CHECKING:
    from llpgan.tables import Columns, Encoder


_SHOWN = 10  # bags and classes in a notebook
_ROWS_AT_ONCE = 2**14  # of sums over bags, so that no second table of instances is made
_BYTES_AT_ONCE = 2**24  # of instances that are hashed
MOST_FINGERPRINTS = 4096  # of the bags; those with the smallest numbers, whatever the order
_MOST_ROWS = 8  # of each bag: in two of few columns, many bags agree by chance


@dataclass(frozen=True, eq=False)
class Bags:
    """Instances, the bag of each instance, and the class proportions of each bag.

    Use :meth:`from_tables`, :meth:`from_arrays`, :meth:`from_labels` or :meth:`from_row_proportions` to make an
    object of this class. All input is checked when it is made. Bags are sorted by their ids, or by first
    appearance if ids cannot be compared, so that the order of rows does not matter.

    Parameters
    ----------
    instances : ndarray of shape (n_samples, n_features) or (n_samples, channels, height, width)
        The instances, one per row. A memory-mapped array stays memory-mapped, and
        :class:`~llpgan.bags.on_disk.StoredInstances` stay in their file.
    bag_index : ndarray of shape (n_samples,)
        The position in ``bag_ids`` of the bag of each row.
    proportions : ndarray of shape (n_bags, n_classes)
        The proportions of the classes, one row per bag. Each row sums to one.
    bag_ids : tuple
        The names of the bags, which may be any hashable values.
    classes : ndarray of shape (n_classes,)
        The names of the classes, in the order of the columns of ``proportions``.
    features : sequence of str, default=None
        The names of the columns. None means that the instances have no named columns.
    encoder : Encoder, default=None
        The encoder that turned the rows of a user's table into these instances. A model uses it to encode new
        rows.
    weights : ndarray of shape (n_samples,), default=None
        How much each row counts in its bag: a weight of three is the same as the row three times. None means that
        each row counts once; weights of one become None.
    share_constraints : KnownShares, default=None
        What is known of the shares, if it is less than a full, exact vector. ``proportions`` then holds one vector
        that it allows, and methods that need all shares refuse such bags. None means that all shares are known.
    bag_weights : ndarray of shape (n_bags,), default=None
        The weight of each bag relative to the others. None means that all bags count the same; weights of one
        become None.
    tolerance : float or None, default=0.01
        Proportions whose sum differs from one by at most this much are normalized; larger differences raise an
        error. None means that classes and proportions have been checked before.

    See Also
    --------
    llpgan.tables.store.open_store : Bags that are larger than memory.
    llpgan.data.bagging : Functions that divide labelled data into bags.

    Examples
    --------
    >>> from llpgan import Bags
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
    encoder: Encoder | None = None
    weights: NDArray[np.float64] | None = None
    share_constraints: KnownShares | None = None
    bag_weights: NDArray[np.float64] | None = None
    tolerance: InitVar[float | None] = 0.01

    known = OldName("share_constraints")
    part = OldName("take_rows")
    subset = OldName("take_bags")
    with_labels = OldName("add_labels")

    def __post_init__(self, tolerance: float | None) -> None:
        check_instances(self.instances, self.features)
        check_same_length("instances", self.instances, "entries of bag_of_row", self.bag_index)
        refuse_empty_bag(self.bag_index, self.bag_ids)
        if tolerance is not None:
            check_tolerance(tolerance)
            check_classes(self.classes, self.proportions)
        if self.weights is not None:
            object.__setattr__(self, "weights", check_weights(self.weights, len(self.bag_index), "weights"))
            refuse_weightless_bag(self.totals, self.bag_ids)
            if (self.weights == 1).all():
                object.__setattr__(self, "weights", None)
        if self.share_constraints is not None:  # noise is weighed against the rows here, as often as they count
            constraints = replace(self.share_constraints, sizes=self.totals)
            object.__setattr__(self, "share_constraints", constraints)
        if self.bag_weights is not None:
            found = check_weights(self.bag_weights, self.n_bags, "bag_weights")
            object.__setattr__(self, "bag_weights", None if (found == 1).all() else found)
        if tolerance is not None:
            with check_argument("proportions"):
                shares = check_proportions(self.proportions, self.bag_ids, tolerance, self.classes.tolist())
            object.__setattr__(self, "proportions", shares)

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
        columns: Columns | None = None,
        image: str | None = None,
        image_size: tuple[int, int] | None = None,
        text: str | Sequence[str] | None = None,
        features: str | None = None,
        mirror: bool | None = None,
        lower: Any = None,
        upper: Any = None,
        partial: bool = False,
        within: bool = False,
        proportions_sd: float | None = None,
        weight: str | None = None,
        long: Sequence[str] | None = None,
        unmatched: Literal["error", "drop"] = "error",
        tolerance: float = 0.01,
    ) -> Bags:
        """Make bags from a table of rows and a table of the proportions or counts of the bags.

        Parameters
        ----------
        instances : table or path
            The rows: a CSV or Parquet file, a pandas or polars frame, or a dict of columns. Also a table of paths
            of images, a folder with one folder of images per bag, or an ``.npz`` file with an array ``instances``.
            A store (see :mod:`llpgan.tables.store`) needs no other argument.
        proportions : table or path, default=None
            A table with one row per bag: the columns of the bag, and one column per class.
        bag : str or sequence of str, default=None
            The column or columns that say which bag a row belongs to. Both tables have them.
        counts : table or path, default=None
            A table like ``proportions`` that holds counts, which may refer to a larger population.
        label : str, default=None
            A column of labels, which is never used as a feature. Without ``proportions`` and ``counts``, the
            labels are counted in each bag and then discarded.
        classes : sequence of str, default=None
            The columns of ``proportions`` or ``counts`` that are classes. None means all columns but those of the
            bag.
        columns : Columns, default=None
            Which columns are features, and of what kind. None means that it is inferred from their values.
        image : str, default=None
            The column that holds the paths of images.
        image_size : tuple of int, default=None
            The height and width that all images are resized to. None means that images of one size keep it, and
            that images of different sizes are resized to their median height and width, at most 64 pixels for
            the shorter.
        text : str or sequence of str, default=None
            The column or columns of texts, such as comments. A pretrained network turns each into numbers.
        features : str, default=None
            The name of a pretrained network whose features of the images or texts are learned from, such as
            efficientnet_lite0 (see :class:`llpgan.Embedding`). None means the pixels of images, and wordllama for
            texts.
        mirror : bool, default=None
            Whether the network also sees each image mirrored, and the mean of both features is used, which takes
            twice the time. This suits photographs, but not writing. None means False.
        lower : table or path, default=None
            A table like ``proportions`` with the smallest possible shares, instead of proportions or counts.
        upper : table or path, default=None
            A table like ``proportions`` with the largest possible shares.
        partial : bool, default=False
            Whether an empty cell of ``proportions`` stands for a share that is not known.
        within : bool, default=False
            Whether the shares or counts of a bag with empty cells are those *within* the classes that are given,
            which then sum to one; their total share is unknown.
        proportions_sd : float, default=None
            The standard deviation of noise in the proportions. None means that they are exact.
        weight : str, default=None
            A column that says how much each row counts in its bag: survey weights, or counts of identical rows. It
            is never used as a feature.
        long : sequence of str, default=None
            The columns of the class and of its share, if ``proportions`` or ``counts`` has one row for each bag
            and class. None means one row per bag and one column per class.
        unmatched : {"error", "drop"}, default="error"
            What happens to rows in bags without proportions: an error, or they are dropped, as are proportions
            without rows, and a note counts both.
        tolerance : float, default=0.01
            Proportions whose sum differs from one by at most this much are normalized; larger differences raise an
            error.

        Returns
        -------
        Bags
            The bags.

        Raises
        ------
        ValueError
            If a table cannot be read, a column is missing, or the two tables do not have the same bags.

        Examples
        --------
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
            text=text,
            features=features,
            mirror=mirror,
            lower=lower,
            upper=upper,
            partial=partial,
            within=within,
            proportions_sd=proportions_sd,
            weight=weight,
            long=long,
            unmatched=unmatched,
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
        lower: Any = None,
        upper: Any = None,
        partial: bool = False,
        within: bool = False,
        proportions_sd: Any = None,
        weights: ArrayLike | None = None,
        tolerance: float = 0.01,
    ) -> Self:
        """Make bags from instances, the bag of each instance, and the proportions or counts of each bag.

        Parameters
        ----------
        instances : array-like of shape (n_samples, n_features) or (n_samples, channels, height, width)
            The instances.
        bag_of_row : array-like of shape (n_samples,)
            The id of the bag of each row.
        proportions : dict, frame or array-like, default=None
            The proportions of each bag: a dict from bag id to proportions, a frame with one column per class, or
            an array with one row per bag in the order of the sorted ids. A frame has the bag ids in its index or
            in its column ``key``.
        counts : dict, frame or array-like, default=None
            Counts in the same form, instead of proportions. They are divided by their sum, so they may refer to a
            part of the bag or to a larger population from which its rows were drawn.
        classes : array-like of shape (n_classes,), default=None
            The names of the classes. None means the columns of a frame, and otherwise 0, 1, and so on.
        key : str, default=None
            The column of a frame that holds the bag ids. None means its index.
        lower : dict, frame or array-like, default=None
            The smallest possible shares of each bag, in the same form, instead of proportions or counts.
        upper : dict, frame or array-like, default=None
            The largest possible shares of each bag.
        partial : bool, default=False
            Whether NaN in ``proportions`` stands for a share that is not known.
        within : bool, default=False
            Whether the shares or counts of a bag with NaN are those *within* the classes that are given, which
            then sum to one; their total share is unknown. Other bags must show it: a row without NaN is a full
            vector.
        proportions_sd : float or array-like of shape (n_bags,), default=None
            The standard deviation of noise in the proportions. None means that they are exact.
        weights : array-like of shape (n_samples,), default=None
            How much each row counts in its bag. None means that all rows count the same.
        tolerance : float, default=0.01
            Proportions whose sum differs from one by at most this much are normalized; larger differences raise an
            error.

        Returns
        -------
        Bags
            The bags.

        Examples
        --------
        >>> Bags.from_arrays([[1.0], [2.0], [3.0]], [7, 7, 7], counts={7: [1, 2]}).proportions.round(2)
        array([[0.33, 0.67]])
        """
        bag_index, bag_ids = grouping.index_ids(bag_of_row)
        given = {"proportions": proportions, "counts": counts, "lower": lower, "upper": upper}
        tables, named = _align_tables(given, bag_ids, key)
        class_names = _class_names(classes, named, next(iter(tables.values())))
        if "counts" in tables:
            with check_argument("counts"):
                tables["proportions"] = proportions_from_counts(
                    tables.pop("counts"), bag_ids, class_names.tolist(), within=within
                )
        sizes = np.bincount(bag_index, minlength=len(bag_ids)).astype(np.float64)
        shares, known = parse_known_shares(
            tables,
            bag_ids,
            class_names.tolist(),
            sizes,
            partial=partial,
            within=within,
            sd=proportions_sd,
            tolerance=tolerance,
        )
        return cls(
            instances=_as_instances(instances),
            bag_index=bag_index,
            proportions=shares,
            bag_ids=bag_ids,
            classes=class_names,
            features=_column_names(instances),
            weights=cast(Any, weights),
            share_constraints=known,
            tolerance=tolerance,
        )

    @classmethod
    def from_labels(
        cls,
        instances: Any,
        labels: ArrayLike,
        groups: Any = None,
        *,
        features: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Make bags with the proportions of the labels of their rows, and discard the labels.

        Parameters
        ----------
        instances : array-like of shape (n_samples, n_features) or (n_samples, channels, height, width)
            The instances.
        labels : array-like of shape (n_samples,)
            The label of each row.
        groups : array-like of shape (n_samples,), default=None
            The bag of each row. None means one bag per row: ordinary supervised learning.
        features : sequence of str, default=None
            The names of the columns. None means those of a frame.
        weights : array-like of shape (n_samples,), default=None
            How much each row counts in its bag. None means that all rows count the same.

        Returns
        -------
        Bags
            The bags.

        Examples
        --------
        >>> Bags.from_labels([[1.0], [2.0], [3.0]], ["no", "yes", "yes"], groups=[0, 0, 1]).proportions
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        with check_argument("labels"):
            classes, label_index = np.unique(check_labels(labels, "labels"), return_inverse=True)
            classes = check_class_names(classes, "labels")
        bag_index, bag_ids = grouping.index_groups(groups, len(label_index))
        check_same_length("labels", label_index, "groups", bag_index)
        cells = bag_index * len(classes) + label_index
        row_weights = None if weights is None else check_weights(weights, len(cells), "weights")
        counts = np.bincount(cells, row_weights, minlength=len(bag_ids) * len(classes)).reshape(len(bag_ids), -1)
        refuse_weightless_bag(counts.sum(axis=1), bag_ids)
        return cls(
            instances=_as_instances(instances),
            bag_index=bag_index,
            proportions=counts / counts.sum(axis=1, keepdims=True),
            bag_ids=bag_ids,
            classes=classes,
            features=features or _column_names(instances),
            weights=row_weights,
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
        weights: ArrayLike | None = None,
        tolerance: float = 0.01,
    ) -> Self:
        """Make bags from proportions that are repeated in each row of a bag.

        Parameters
        ----------
        instances : array-like of shape (n_samples, n_features) or (n_samples, channels, height, width)
            The instances.
        row_proportions : array-like of shape (n_samples, n_classes)
            In each row the proportions of its bag. The rows of a bag must agree.
        groups : array-like of shape (n_samples,), default=None
            The bag of each row. None means one bag per row, whose proportions must then be zeros and a single
            one.
        classes : array-like of shape (n_classes,), default=None
            The names of the classes. None means the columns of a frame, and otherwise 0, 1, and so on.
        features : sequence of str, default=None
            The names of the columns. None means those of a frame.
        weights : array-like of shape (n_samples,), default=None
            How much each row counts in its bag. None means that all rows count the same.
        tolerance : float, default=0.01
            Proportions whose sum differs from one by at most this much are normalized; larger differences raise an
            error.

        Returns
        -------
        Bags
            The bags.

        Examples
        --------
        >>> Bags.from_row_proportions([[1.0], [2.0]], [[0.5, 0.5], [0.5, 0.5]], groups=["a", "a"]).n_bags
        1
        """
        with check_argument("proportions"):
            rows = check_numbers(row_proportions, "proportions").astype(np.float64)
        class_names = _class_names(classes, grouping.class_columns(row_proportions), rows)
        if groups is None:
            refuse_shares_without_groups(rows)
        bag_index, bag_ids = grouping.index_groups(groups, len(rows))
        check_same_length("proportions", rows, "groups", bag_index)
        return cls(
            instances=_as_instances(instances),
            bag_index=bag_index,
            proportions=first_rows_that_agree(rows, bag_index, bag_ids),
            bag_ids=bag_ids,
            classes=class_names,
            features=features or _column_names(instances),
            weights=cast(Any, weights),
            tolerance=tolerance,
        )

    @classmethod
    def from_memberships(
        cls,
        instances: Any,
        rows: ArrayLike,
        bag_of_entry: Any,
        proportions: Any = None,
        *,
        shares: ArrayLike | None = None,
        **known: Any,
    ) -> Self:
        """Make bags that overlap: a row may belong to several, each with a share.

        Overlapping cells of a report, several partitions of the same rows, or images that lie across borders are
        given as entries: the row, its bag, and how much of the row belongs to it. Shares say how much a row counts
        in a bag. The weight of a bag relative to others is the mean share of its rows: two copies of a partition,
        in which every row has a share of one half, count the same as one.

        Parameters
        ----------
        instances : array of shape (n_rows, ...)
            One row per instance.
        rows : array of shape (n_entries,)
            The position of the row in ``instances``, for each entry.
        bag_of_entry : array of shape (n_entries,)
            The bag, for each entry.
        proportions : mapping, frame or array, default=None
            The class shares of each bag, as in :meth:`from_arrays`.
        shares : array of shape (n_entries,), default=None
            How much of the row belongs to the bag; None for one divided by the number of the row's bags.
        **known
            Other parameters of :meth:`from_arrays`, such as ``counts``, ``classes``, ``lower`` and ``upper``.

        Returns
        -------
        Bags
            One row per entry.

        Examples
        --------
        >>> shares = {"a": [1, 0], "b": [0.5, 0.5]}
        >>> bags = Bags.from_memberships([[1.0], [2.0]], [0, 1, 1], ["a", "a", "b"], shares)
        >>> bags.weights, bags.bag_weights
        (array([1. , 0.5, 0.5]), array([0.75, 0.5 ]))
        """
        table, entries = _as_instances(instances), refuse_masked(rows, "rows")
        in_range = entries.dtype.kind in "iu" and entries.ndim == 1
        if not in_range or not ((entries >= 0) & (entries < len(table))).all():
            raise ValueError(f"rows must be positions from 0 to {len(table) - 1}, one per entry")
        check_same_length("rows", entries, "entries of bag_of_entry", bag_of_entry)
        usual = 1 / np.bincount(entries, minlength=len(table))[entries]
        weights = usual if shares is None else check_weights(shares, len(entries), "shares")
        bags = cls.from_arrays(table[entries], bag_of_entry, proportions, weights=weights, **known)
        return replace(bags, bag_weights=bags.totals / bags.sizes, features=_column_names(instances))

    def add_labels(self, rows: ArrayLike, labels: ArrayLike, *, weight: float = 1.0) -> Self:
        """Add rows whose labels are known, each as a separate bag.

        Parameters
        ----------
        rows : array of shape (n_labelled,)
            The positions of the labelled rows.
        labels : array of shape (n_labelled,)
            Their classes, which must be among ``classes``.
        weight : float, default=1.0
            How much a labelled row counts, where a bag counts one. A large bag tells far more than one label;
            :func:`llpgan.evaluation.choose.choose_label_weight` finds a weight.

        Returns
        -------
        Bags
            With the ids ``("label", row)`` of the bags of one.

        Examples
        --------
        >>> bags = Bags.from_labels([[1.0], [2.0], [6.0]], ["no", "yes", "no"], groups=["a", "a", "b"])
        >>> bags.add_labels([1], ["yes"]).bag_ids
        ('a', 'b', ('label', 1))
        """
        chosen, given = check_labelled_rows(rows, labels, len(self.bag_index))
        for place in np.flatnonzero(~np.isin(given, self.classes)).tolist():
            raise ValueError(f"labels: {given[place].item()!r} is not one of the classes {self.classes.tolist()}")
        if not is_finite_number(weight) or weight <= 0:
            raise ValueError(f"weight must be a number above 0, got {weight!r}")
        counts = np.ones(self.n_bags) if self.bag_weights is None else self.bag_weights
        constraints = self.share_constraints
        shares = (given[:, None] == self.classes).astype(np.float64)
        return replace(
            self,
            instances=np.concatenate([self.instances, self.instances[chosen]]),
            bag_index=np.append(self.bag_index, self.n_bags + np.arange(len(chosen))),
            proportions=np.vstack([self.proportions, shares]),
            bag_ids=(*self.bag_ids, *(("label", int(row)) for row in chosen)),
            weights=None if self.weights is None else np.append(self.weights, np.ones(len(chosen))),
            share_constraints=constraints and constraints.append_labelled(shares),
            bag_weights=np.append(counts, np.full(len(chosen), float(weight))),
        )

    @property
    def n_bags(self) -> int:
        """The number of bags."""
        return len(self.bag_ids)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of instances in each bag."""
        known = count_if_sorted(self.bag_index)
        return np.bincount(self.bag_index, minlength=self.n_bags) if known is None else known

    @cached_property
    def prior(self) -> NDArray[np.float64]:
        """The proportion π of each class among all instances: the mean over bags, weighted by their totals."""
        return np.average(self.proportions, axis=0, weights=self.totals)

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The weight of each bag: the sum of its rows' weights, or its size where rows have none."""
        if self.weights is None:
            return self.sizes.astype(np.float64)
        return np.bincount(self.bag_index, self.weights, minlength=self.n_bags).astype(np.float64)

    def nearest_shares(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shares of each bag; where less is known, of those that are possible the nearest to others.

        Parameters
        ----------
        predicted : ndarray of shape (n_bags, n_classes)
            The mean prediction of each bag.

        Returns
        -------
        ndarray of shape (n_bags, n_classes)
            The shares.

        Examples
        --------
        >>> bags = Bags.from_arrays([[1.0], [2.0]], ["a", "a"], {"a": [0.6, np.nan, np.nan]}, partial=True)
        >>> bags.nearest_shares(np.array([[0.2, 0.2, 0.6]])).round(3)
        array([[0.6, 0.1, 0.3]])
        """
        return self.proportions if self.share_constraints is None else self.share_constraints.targets(predicted)

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """The weight of each row; ones where rows have none."""
        return np.ones(len(self.bag_index)) if self.weights is None else self.weights

    @cached_property
    def is_counted(self) -> NDArray[np.bool_]:
        """Whether each row counts: neither its weight nor that of its bag is zero."""
        counts = self.row_weights > 0
        return counts if self.bag_weights is None else counts & (self.bag_weights > 0)[self.bag_index]

    @cached_property
    def shown_sizes(self) -> NDArray[Any]:
        """The size of each bag for readers: how many rows its rows stand for, if they have weights."""
        is_weighted = self.weights is not None and self.bag_weights is None  # of overlapping bags, rows are shared
        return self.totals if is_weighted else self.sizes

    @cached_property
    def uneven_weights(self) -> NDArray[np.float64] | None:
        """The weights of rows; None where all rows count the same."""
        return None if self.weights is None or np.ptp(self.weights) == 0 else self.weights

    @cached_property
    def uneven_bag_weights(self) -> NDArray[np.float64] | None:
        """The weights of bags; None where all bags count the same."""
        return None if self.bag_weights is None or np.ptp(self.bag_weights) == 0 else self.bag_weights

    @cached_property
    def have_equal_shares(self) -> bool:
        """Whether all bags have the same proportions, but for rounding: no method can then tell classes apart."""
        return not np.ptp(self.proportions, axis=0).max() > SAME_SHARE

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The position in ``row_order`` at which each bag starts."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def row_order(self) -> NDArray[np.int64]:
        """The indices of all rows, sorted by bag."""
        if count_if_sorted(self.bag_index) is not None:
            return cast(NDArray[np.int64], RowsInOrder(len(self.bag_index)))
        if np.all(self.bag_index[1:] >= self.bag_index[:-1]):
            return np.arange(len(self.bag_index))
        return np.argsort(self.bag_index, kind="stable")

    @cached_property
    def digest(self) -> str:
        """A hash of all rows and all that is known of the bags, by which a run recognizes its checkpoints."""
        known = self.share_constraints
        constraints = [] if known is None else [known.lower, known.upper, known.sd, known.within]
        digest = hashlib.blake2b(digest_size=8)
        for part in (self.proportions, self.bag_index, self.weights, self.bag_weights, *constraints):
            digest.update(b"none" if part is None else np.ascontiguousarray(part).tobytes())
        digest.update(f"{self.classes.tolist()}{self.instances.shape}{self.instances.dtype.str}".encode())
        n_rows = max(1, _BYTES_AT_ONCE // max(1, self.instances[:1].nbytes))
        for start in range(0, len(self.instances), n_rows):
            digest.update(np.ascontiguousarray(self.instances[start : start + n_rows]).tobytes())
        return digest.hexdigest()

    def drop_weightless(self) -> Self:
        """Return the bags without rows and bags of weight zero, which no method may learn anything from.

        Returns
        -------
        Bags
            The same object if there are none.

        Examples
        --------
        >>> bags = Bags.from_labels([[1.0], [9.0]], [0, 1], groups=["a", "a"], weights=[1, 0])
        >>> bags.drop_weightless().instances
        array([[1.]])
        """
        if self.weights is None and self.bag_weights is None:
            return self
        counts = self.is_counted
        if counts.all():
            return self
        instances: Any = self.instances
        if not isinstance(instances, StoredInstances):
            return self.take_rows(counts)
        rows = np.flatnonzero(counts)
        return replace(
            replace(self, instances=np.empty((len(counts), 1))).take_rows(rows),
            instances=cast(Any, instances.select(rows)),
        )

    def rows_of(self, bag: int) -> NDArray[np.int64]:
        """Return the rows of one bag.

        Parameters
        ----------
        bag : int
            The position of the bag in ``bag_ids``.

        Returns
        -------
        ndarray of int
            The indices of its rows.
        """
        start = self.starts[bag]
        return self.row_order[start : start + self.sizes[bag]]

    def take_bags(self, which: ArrayLike) -> Self:
        """Select whole bags.

        The instances of the selected bags are read into memory if they were in a file.

        Parameters
        ----------
        which : array-like of int or bool
            The positions of the bags in ``bag_ids``, or one truth value per bag.

        Returns
        -------
        Bags
            The selected bags.

        Examples
        --------
        >>> bags = Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "b", "a"])
        >>> bags.take_bags([0]).instances.tolist(), bags.take_bags([False, True]).bag_ids
        ([[1.0], [6.0]], ('b',))
        """
        chosen = check_positions(which, "bag", self.n_bags)
        return self.take_rows(np.sort(self.row_order[rows_of_bags(self.starts[chosen], self.sizes[chosen])]))

    def take_rows(self, rows: ArrayLike) -> Self:
        """Select rows; each bag that keeps any row keeps its proportions.

        A random sample of a bag has the same proportions in expectation.

        Parameters
        ----------
        rows : array-like of int or bool
            The indices of the rows, or one truth value per row.

        Returns
        -------
        Bags
            The bags of the selected rows.

        Examples
        --------
        >>> bags = Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "a", "b"])
        >>> bags.take_rows([1]).bag_ids, bags.take_rows([1]).proportions
        (('a',), array([[0.5, 0.5]]))
        """
        chosen = check_positions(rows, "row", len(self.bag_index))
        kept, bag_index = np.unique(self.bag_index[chosen], return_inverse=True)
        constraints = self.share_constraints
        return replace(
            self,
            instances=self.instances[chosen],
            bag_index=bag_index,
            proportions=self.proportions[kept],
            bag_ids=tuple(self.bag_ids[bag] for bag in kept),
            weights=None if self.weights is None else self.weights[chosen],
            share_constraints=constraints and constraints.take_bags(kept),
            bag_weights=None if self.bag_weights is None else self.bag_weights[kept],
        )

    def means(self, values: Array, weights: ArrayLike | None = None) -> NDArray[np.float64]:
        """Compute the mean of values over each bag.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_columns)
            The values, one row per instance.
        weights : array-like of shape (n_samples,), default=None
            The weight of each row. None means equal weights.

        Returns
        -------
        ndarray of shape (n_bags, n_columns)
            The means, one row per bag.

        Raises
        ------
        ValueError
            If the weights of a bag sum to zero.

        Examples
        --------
        >>> Bags.from_labels([[1.0], [2.0], [6.0]], [0, 1, 0], groups=["a", "a", "b"]).means(np.eye(3)[:, :2])
        array([[0.5, 0.5],
               [0. , 0. ]])
        """
        row_weights = self.weights if weights is None else check_weights(weights, len(values))
        sums = np.zeros((self.n_bags, values.shape[1]))
        for rows, bags, starts in self.blocks(_ROWS_AT_ONCE):
            times = 1.0 if row_weights is None else row_weights[rows, None]
            sums[bags] += np.add.reduceat(np.multiply(values[rows], times, dtype=np.float64), starts)
        if row_weights is None:
            return sums / self.sizes[:, None]
        totals = np.bincount(self.bag_index, row_weights)
        refuse_weightless_bag(totals, self.bag_ids)
        return sums / totals[:, None]

    def blocks(self, n_rows: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """Iterate over all rows, sorted by bag, in blocks.

        Parameters
        ----------
        n_rows : int
            The number of rows of a block; the last block may have fewer.

        Yields
        ------
        rows : ndarray of int
            The indices of the rows of the block.
        bags : ndarray of int
            The positions of their bags.
        starts : ndarray of int
            The positions in ``rows`` at which each of these bags starts.

        Examples
        --------
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


accept_old_settings(Bags, known="share_constraints")


def fingerprint_bags(bags: Bags) -> NDArray[np.int64]:
    """Compute a number for each bag from its size, its proportions, and up to eight of its rows.

    Of many bags, only the smallest 4,096 numbers are kept: two sets of bags that share some of theirs share some
    of the smallest ones as well.

    >>> X, y, bag = np.arange(8.0)[:, None], [0, 1] * 4, [0, 0, 1, 1, 2, 2, 3, 3]
    >>> whole = Bags.from_labels(X, y, bag)
    >>> count_shared_bags(fingerprint_bags(whole), fingerprint_bags(whole.take_bags([1, 2])))
    2
    """
    keys = [
        _hash(size.tobytes() + shares.tobytes())
        for size, shares in zip(bags.sizes, np.round(bags.proportions, 9) + 0.0, strict=True)
    ]
    kept = np.argsort(keys, kind="stable")[:MOST_FINGERPRINTS]  # few rows are read where there are many bags
    of_bags = [
        rows[np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(int)] for rows in map(bags.rows_of, kept.tolist())
    ]
    places, order = np.unique(np.ravel(of_bags), return_inverse=True)
    rows = np.asarray(bags.instances[places], dtype=np.float64)[order.ravel()].reshape(len(kept), -1)
    return np.sort(
        [_hash(keys[bag].to_bytes(8, "little") + row.tobytes()) for bag, row in zip(kept, rows, strict=True)]
    )


def _hash(content: bytes) -> int:
    """A number of 63 bits."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little") >> 1


def count_shared_bags(some: NDArray[np.int64], others: NDArray[np.int64]) -> int:
    """Count the fingerprints that two sets of bags have in common."""
    return len(np.intersect1d(some, others))


def _align_tables(
    given: Mapping[str, Any], bag_ids: tuple[Hashable, ...], key: str | None
) -> tuple[dict[str, NDArray[np.float64]], Sequence[Hashable] | None]:
    """The tables that are given, one row per bag, and the classes that they name."""
    there = {name: table for name, table in given.items() if table is not None}
    if "proportions" in there and "counts" in there:
        raise ValueError("give either proportions or counts, and not both")
    if not there:
        raise ValueError("nothing is known of the bags: give their proportions, counts or bounds (lower, upper)")
    tables, named = {}, None
    for name, table in there.items():
        with check_argument(name):
            tables[name], classes = grouping.rows_by_bag(table, bag_ids, key, name)
        if named is not None and classes is not None and list(classes) != list(named):
            raise ValueError(f"{name}: its classes are {list(classes)}, those of the other table {list(named)}")
        named = classes if named is None else named
    return tables, named


def refuse_other_than_bags(given: Any, what: str) -> None:
    """Refuse what is not :class:`Bags` where they are needed: a frame, an array, or arguments in another order."""
    if not isinstance(given, Bags):
        raise TypeError(
            f"{what} must be Bags, which Bags.from_tables and Bags.from_arrays make, got a {type(given).__name__}"
        )


def keep_counted_rows(bags: Bags, table: Array) -> tuple[Bags, Array]:
    """Bags, and a table with one row for each of theirs, without the rows and bags of weight zero."""
    return (bags, table) if bags.is_counted.all() else (bags.drop_weightless(), table[bags.is_counted])


def _as_instances(instances: Any) -> Array:
    if isinstance(instances, StoredInstances):
        return cast(Array, instances)
    with check_argument("instances"):
        return check_numbers(instances, "instances")


def _column_names(table: Any) -> tuple[str, ...] | None:
    return tuple(str(name) for name in table.columns) if is_frame(table) else None


def _class_names(given: ArrayLike | None, from_table: Sequence[Hashable] | None, proportions: Array) -> Array:
    with check_argument("classes"):
        if given is not None:
            return check_class_names(given, "classes")
        if from_table is not None:
            return check_class_names(from_table, "classes")
        return np.arange(proportions.shape[-1])
