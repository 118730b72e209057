"""Boosting rounds on bags: the losses, and the choice of the number of rounds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO, Protocol, cast

import numpy as np
from scipy.special import expit, softmax

from llpgan.bags import Bags
from llpgan.bags.grouping import SortedBagIndex, count_if_sorted
from llpgan.methods.linear import FeaturesOf, bag_runs, has_small_features
from llpgan.methods.trees import Boosted, Tree, TreeGrower
from llpgan.utils.arrays import Array
from llpgan.utils.files import name_if_full
from llpgan.utils.workers import divide_bags, find_workers

LEAST = 1e-12  # of a mean prediction, so that its logarithm is finite
_LEAST_VARIANCE = 1e-4
_CELLS = 1000  # of a table of the information at probabilities of the second class
_REPRESENTATIVES = 32  # bags that represent all in an expectation over bags


@dataclass(frozen=True)
class Step:
    """What is known of a loss at some scores.

    Attributes
    ----------
    slope : callable
        From rows (positions or a slice) to the slope of the loss in each of their scores, (rows, n_outputs).
    system : callable
        From an output, the leaf of each row and the number of leaves to what Newton's method asks for: the second
        derivatives in the leaves' values, (leaves, leaves), and the slope in each downwards.
    """

    slope: Callable[[Array | slice], Array]
    system: Callable[[int, Array, int], tuple[Array, Array]]


class ShiftLoss(Protocol):
    """What boosting asks of a loss, which is a sum over units that can be held out: bags or rows."""

    def row_weights(self, held_out: Array) -> Array:
        """(N,): 0 for the rows of held-out units, else 1."""

    def evaluate_fit(self, found: Array) -> Array:
        """What the loss asks of probabilities (N, K): the mean of each bag, or the likelihood of each row."""

    def step(self, found: Array, fitted: Array, row_weights: Array) -> Step:
        """Slope and Newton's system at probabilities (N, K), of which what is fitted is known."""

    def losses(self, fitted: Array) -> Array:
        """(n_units,): the loss of each unit."""


def class_probabilities_from(scores: Array) -> Array:
    """(N, K): the softmax of the scores; one score is the log-odds of the second of two classes.

    >>> class_probabilities_from(np.array([[0.0]]))
    array([[0.5, 0.5]])
    """
    if scores.shape[1] > 1:
        return np.asarray(softmax(scores, axis=1))
    found = np.empty((len(scores), 2))
    expit(scores[:, 0], out=found[:, 1])
    np.subtract(1, found[:, 1], out=found[:, 0])
    return found


def prior_scores(prior: Array) -> Array:
    """(outputs,): scores whose probabilities are the overall shares.

    >>> prior_scores(np.array([0.5, 0.5]))
    array([0.])
    """
    logs = np.log(np.maximum(prior, LEAST))
    return logs[1:] - logs[:1] if len(prior) == 2 else logs - logs.mean()


def fast_bag_means(bags: Bags, values: Array) -> Array:
    """(n_bags, columns): as :meth:`Bags.means`, quicker for few columns."""
    weights = bags.weights
    columns = values.T if weights is None else values.T * weights
    if count_if_sorted(bags.bag_index) is not None:
        return np.add.reduceat(columns, bags.starts, axis=1).T / bags.totals[:, None]
    index = np.asarray(bags.bag_index)
    sums = np.empty((bags.n_bags, len(columns)))
    for number, column in enumerate(columns):
        sums[:, number] = np.bincount(index, column, bags.n_bags)
    return sums / bags.totals[:, None]


def bag_losses(bags: Bags, means: Array) -> Array:
    """(n_bags,): −Σ_k p_ik log p̄_ik, the cross-entropy of each bag's proportions and mean prediction."""
    means = np.maximum(means, LEAST)
    if bags.share_constraints is not None:
        return bags.share_constraints.losses(means)
    return np.asarray(-(bags.proportions * np.log(means)).sum(axis=1))


class CovariateShiftLoss:
    """Σ_i n_i · (−p_i · log p̄_i), p̄_i the bag's mean prediction: what DLLP and BagLogistic minimise.

    A bag counts as n_i = m_i / (1 + ρ (m_i − 1)) rows: a large one tells no more than its own chance fluctuation
    from the model, ρ, allows. All rows of a bag share one residual, so that the second derivative has one block of
    rank one for each bag. The values of a tree's leaves are one step of Newton's method (Gauss–Newton) with it;
    f (1 − f), as for labels, would make steps that are too small by the size of a bag.

    Parameters
    ----------
    bags : Bags
        To learn from.
    correlation : float
        ρ, from 0 to 1.
    """

    def __init__(self, bags: Bags, correlation: float) -> None:
        self._bags = bags
        self._counts = bags.sizes / (1 + correlation * (bags.sizes - 1))
        if bags.bag_weights is not None:
            self._counts = self._counts * bags.bag_weights

    def row_weights(self, held_out: Array) -> Array:
        """Held-out bags have none."""
        weights = np.ones(self._bags.n_bags)
        weights[held_out] = 0
        return weights[self._bags.bag_index]

    def evaluate_fit(self, found: Array) -> Array:
        """(n_bags, K): mean predictions."""
        if found.shape[1] > 2:
            return fast_bag_means(self._bags, found)
        means = fast_bag_means(self._bags, found[:, 1:])  # of two classes one mean says both
        return np.concatenate([1 - means, means], axis=1)

    def step(self, found: Array, fitted: Array, row_weights: Array) -> Step:
        """Slope and Newton's system, in which leaves depend on each other: they share bags."""
        bags, found, means = self._bags, _outputs(found), _outputs(fitted)
        residuals = self._targets(fitted) - means
        counts = self._counts * row_weights[bags.row_order[bags.starts]]
        information = counts[:, None] / np.maximum(means * (1 - means), _LEAST_VARIANCE)
        totals = bags.totals[:, None]

        def curves(some: Array, rows: Array | slice) -> Array:
            return some * (1 - some) if bags.weights is None else some * (1 - some) * bags.weights[rows, None]

        def slope(rows: Array | slice) -> Array:
            return -(information * residuals / totals)[bags.bag_index[rows]] * curves(found[rows], rows)

        def system(output: int, leaves: Array, n_leaves: int) -> tuple[Array, Array]:
            cells = np.asarray(bags.bag_index) * n_leaves + leaves
            each = curves(found[:, output, None], slice(None))[:, 0]
            effect = np.bincount(cells, each, len(totals) * n_leaves).reshape(-1, n_leaves) / totals
            weighted = information[:, output, None] * effect
            return effect.T @ weighted, weighted.T @ residuals[:, output]

        return Step(slope, system)

    def _targets(self, means: Array) -> Array:
        """The shares that mean predictions should match: of what is allowed, those that are nearest to them."""
        known = self._bags.share_constraints
        return _outputs(self._bags.proportions if known is None else known.targets(means))

    def losses(self, fitted: Array) -> Array:
        """The cross-entropy of each bag."""
        losses = bag_losses(self._bags, fitted)
        return losses if self._bags.bag_weights is None else losses * self._bags.bag_weights


class LabelShiftLoss:
    """−Σ_j log Σ_k f_k(x_j) p_ik / π_k, i the bag of row j: how likely the row's bag is for the row.

    With P(x | y) the same in all bags, P(bag i | x) = (m_i / N) Σ_k f_k(x) p_ik / π_k, f being P(y | x) overall.
    The slope is f − q, q_k ∝ f_k p_ik / π_k the row's posterior in its bag; the curvature is Fisher's information,
    Σ_i P(bag i | x) (q_ik − f_k)². That of labels, f (1 − f), would make far too small steps.

    Parameters
    ----------
    bags : Bags
        To learn from.
    whole : Bags, optional
        The bags that these are a part of; None for these.
    """

    def __init__(self, bags: Bags, whole: Bags | None = None) -> None:
        whole = bags if whole is None else whole
        prior = np.maximum(whole.prior, LEAST)
        self._n_rows, self._counts = len(bags.bag_index), bags.row_weights
        if bags.bag_weights is not None:
            self._counts = self._counts * bags.bag_weights[bags.bag_index]
        self._row_ratios = (bags.proportions / prior)[bags.bag_index]
        # a few bags, at equal steps through all rows, are distributed as all are
        order = np.lexsort(whole.proportions.T)
        ends = np.cumsum(whole.totals[order])
        n_taken = min(_REPRESENTATIVES, len(whole.bag_index))
        taken = order[np.searchsorted(ends, (np.arange(n_taken) + 0.5) * ends[-1] / n_taken)]
        self._some_ratios, self._table = whole.proportions[taken] / prior, None
        if bags.n_classes == 2:
            middles = (np.arange(_CELLS) + 0.5) / _CELLS
            both = np.column_stack([1 - middles, middles])
            self._table = fisher_information(both, self._some_ratios)[:, 1]

    def row_weights(self, held_out: Array) -> Array:
        """Held-out rows have none."""
        weights = np.ones(self._n_rows)
        weights[held_out] = 0
        return weights

    def evaluate_fit(self, found: Array) -> Array:
        """(N,): how likely the bag of each row is, relative to its size."""
        return np.maximum(np.einsum("ij,ij->i", found, self._row_ratios), LEAST)

    def step(self, found: Array, fitted: Array, row_weights: Array) -> Step:
        """Slope and Newton's system, in which each leaf is by itself."""
        counts = (row_weights * self._counts)[:, None]
        posterior = _outputs(found) * _outputs(self._row_ratios) / fitted[:, None]
        slope = (_outputs(found) - posterior) * counts
        if self._table is None:
            curvature = fisher_information(found, self._some_ratios) * counts
        else:  # of two classes it depends on one number
            cells = np.minimum((found[:, 1] * _CELLS).astype(np.intp), _CELLS - 1)
            curvature = self._table[cells, None] * counts

        def system(output: int, leaves: Array, n_leaves: int) -> tuple[Array, Array]:
            second = np.bincount(leaves, curvature[:, output], n_leaves)
            return np.diag(second), -np.bincount(leaves, slope[:, output], n_leaves)

        return Step(slope.__getitem__, system)

    def losses(self, fitted: Array) -> Array:
        """The loss of each row."""
        return np.asarray(-np.log(fitted) * self._counts)


def fisher_information(found: Array, ratios: Array) -> Array:
    """(N, K): Σ_i P(bag i | x) (q_ik − f_k)², bags of equal size having the ratios p_ik / π_k.

    >>> fisher_information(np.array([[0.5, 0.5]]), ratios=np.array([[2.0, 0.0], [0.0, 2.0]]))  # as with labels
    array([[0.25, 0.25]])
    """
    total = np.zeros_like(found)
    for ratio in ratios:
        likelihood = np.maximum(found @ ratio, LEAST)[:, None]
        total += (found * (ratio - likelihood)) ** 2 / likelihood
    return total / len(ratios)


def _outputs(values: Array) -> Array:
    """Of each class; of two classes, the second alone."""
    return values[:, 1:] if values.shape[1] == 2 else values


ROWS_FOR_SPLITS = 2**19  # of more rows, as many at equal steps choose the splits; all give leaves their values
_ROWS_A_BLOCK = 2**18
MOST_BYTES = 2**29  # of the scores of rows in all models; more are kept in a temporary file
_BYTES_A_SCORE = 5  # with the leaf that its row is in

# From the bags of a block to their loss.
LossOf = Callable[[Bags], ShiftLoss]


@dataclass(frozen=True, eq=False)
class BoostingBlock:
    """Some of the bags.

    Attributes
    ----------
    bags : Bags
        Without their instances if there are other blocks.
    first_bag : int
        How many bags other blocks have before.
    rows : range or array of int
        Which rows these are.
    loss : ShiftLoss
        Of these bags.
    for_splits : array of int or slice
        The rows that choose splits.
    read : callable
        Gives the features of all rows, (n_rows, n_features).
    """

    bags: Bags
    first_bag: int
    rows: range | Array
    loss: ShiftLoss
    for_splits: Array | slice
    read: Callable[[], Array]

    def find_bags(self, which: Array) -> Array:
        """Of some bags, sorted, those of this block, by their places in it."""
        return self._find(which, range(self.first_bag, self.first_bag + self.bags.n_bags))

    def find_rows(self, which: Array) -> Array:
        """The same of rows."""
        return self._find(which, self.rows)

    def _find(self, which: Array, here: range | Array) -> Array:
        if isinstance(here, range):
            return which[slice(*np.searchsorted(which, [here.start, here.stop]))] - here.start
        return np.flatnonzero(np.isin(here, which, assume_unique=True))


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """All rows; of several workers, each has the blocks of some of the bags.

    Attributes
    ----------
    bags : Bags
        All bags.
    blocks : list of BoostingBlock
        The parts of this worker.
    units_are_bags : bool
        Whether bags can be held out; else rows can.
    are_kept : bool
        Whether they are few enough to keep in memory what is computed of them. All of them then choose splits.
    """

    bags: Bags
    blocks: list[BoostingBlock]
    units_are_bags: bool
    are_kept: bool

    @property
    def n_units(self) -> int:
        """How many units there are that can be held out."""
        return self.bags.n_bags if self.units_are_bags else len(self.bags.bag_index)

    def split_features(self) -> Array:
        """(n, n_features): the features of the rows that choose splits."""
        parts = [block.read()[block.for_splits] for block in self.blocks]
        return self.gather(parts if self.are_kept else [part.astype(np.float32) for part in parts])

    def split_weights(self) -> Array | None:
        """(n,): the weights of the rows that choose splits; None if rows have none."""
        if self.bags.weights is None:
            return None
        return self.gather([block.bags.row_weights[block.for_splits] for block in self.blocks])

    def gather(self, parts: Sequence[Array], to: int | None = None) -> Array:
        """What is given for rows of each block, of all workers, in the order of rows; or for one worker only."""
        workers = find_workers()
        found = workers.gather(parts[0] if len(parts) == 1 else np.concatenate(parts), to)
        if workers.count == 1 or not self.are_kept or not len(found):
            return found
        bounds = divide_bags(self.bags.sizes, workers.count)
        share_of_row = np.searchsorted(bounds[1:], np.asarray(self.bags.bag_index), side="right")
        in_order = np.empty_like(found)
        in_order[np.argsort(share_of_row, kind="stable")] = found
        return in_order


def boosting_rows(bags: Bags, features_of: FeaturesOf, loss_of: LossOf, *, units_are_bags: bool) -> BoostingRows:
    """Prepare the rows of bags for boosting.

    Parameters
    ----------
    bags : Bags
        The bags.
    features_of : callable
        Turns instances into features.
    loss_of : callable
        Gives the loss of some of the bags.
    units_are_bags : bool
        Whether bags can be held out; else rows can.
    """
    n_rows, share = len(bags.bag_index), find_workers().share(bags.sizes)
    if n_rows <= ROWS_FOR_SPLITS:
        rows: range | Array = range(n_rows)
        if share != slice(0, bags.n_bags):
            rows = np.flatnonzero((bags.bag_index >= share.start) & (bags.bag_index < share.stop))
        part = bags if isinstance(rows, range) else bags.take_rows(rows)
        table = np.asfortranarray(features_of(part.instances))
        block = BoostingBlock(part, share.start, rows, loss_of(part), slice(None), lambda: table)
        return BoostingRows(bags, [block], units_are_bags, are_kept=True)
    chosen = np.arange(ROWS_FOR_SPLITS) * n_rows // ROWS_FOR_SPLITS
    keep = has_small_features(bags, int(np.prod(bags.instances.shape[1:])))
    runs = bag_runs(bags, _ROWS_A_BLOCK)
    blocks = [_boosting_block(bags, part, features_of, loss_of, chosen, keep=keep) for part in runs]
    return BoostingRows(bags, blocks, units_are_bags, are_kept=len(blocks) == 1 and find_workers().count == 1)


def _boosting_block(
    bags: Bags, part: slice, features_of: FeaturesOf, loss_of: LossOf, chosen: Array, *, keep: bool
) -> BoostingBlock:
    """Bags that follow each other, with their rows in order, which are kept or read anew each time."""
    first = int(bags.starts[part.start])
    stop = int(bags.starts[part.stop - 1] + bags.sizes[part.stop - 1])
    which = np.arange(bags.n_bags)[part]
    some = Bags(
        instances=np.broadcast_to(np.int8(0), (stop - first, 1)),  # nothing, since they are read
        bag_index=cast(Array, SortedBagIndex(bags.sizes[part])),
        proportions=bags.proportions[part],
        bag_ids=bags.bag_ids[part],
        classes=bags.classes,
        weights=None if bags.weights is None else bags.weights[bags.row_order[first:stop]],
        share_constraints=None if bags.share_constraints is None else bags.share_constraints.take_bags(which),
        bag_weights=None if bags.bag_weights is None else bags.bag_weights[part],
    )
    for_splits = chosen[slice(*np.searchsorted(chosen, [first, stop]))] - first

    def read() -> Array:
        return features_of(bags.instances[bags.row_order[first:stop]])

    table = read() if keep else None
    rows = range(first, stop)
    return BoostingBlock(
        some, part.start, rows, loss_of(some), for_splits, read if table is None else lambda: table
    )


N_PARTS = 5
_FEWEST_UNITS = 3
_BLIND_ROUNDS = 50  # where no bag can be held out to choose the number


@dataclass(frozen=True)
class Ensemble:
    """Boosted models.

    Attributes
    ----------
    trees : list of list of str
        Of each model, and in it of each output, the trees in LightGBM's text format.
    starts : array of shape (n_models, n_outputs)
        The scores that the trees of each model add to.
    gains : array of shape (n_features,)
        What the splits at each feature gained.
    n_rounds : int
        How many rounds are kept.
    held_out_means : array of shape (n_bags, n_classes)
        The mean prediction of each bag by the models that have not seen it; empty if rows were held out, or none.
    course : list of float
        The mean loss of held-out units before the first round and after each; empty where none were held out.
    is_out_of_time : bool
        Whether the deadline ended boosting.
    """

    trees: list[list[str]]
    starts: Array
    gains: Array
    n_rounds: int
    held_out_means: Array
    course: list[float]
    is_out_of_time: bool


def held_out_parts(units: int | Array, n_models: int, seed: int) -> list[Array]:
    """For each model the units, bags or rows, that it does not learn from: each once, then parted anew.

    There are none where units are fewer than three. Units are given by their number, or, where some are copies
    that must be held out together, by the number of the original of each.

    >>> [part.tolist() for part in held_out_parts(3, n_models=3, seed=0)]
    [[2], [0], [1]]
    >>> [part.tolist() for part in held_out_parts(np.array([0, 1, 2, 0]), n_models=3, seed=0)]
    [[2], [0, 3], [1]]
    """
    n_units = units if isinstance(units, int) else int(units.max(initial=-1)) + 1
    if n_units < _FEWEST_UNITS:
        return []
    random = np.random.default_rng(seed)
    parts: list[Array] = []
    while len(parts) < n_models:
        parts += np.array_split(random.permutation(n_units), min(N_PARTS, n_units))
    if isinstance(units, int) or len(units) == n_units:
        return [np.sort(part) for part in parts[:n_models]]
    return [np.flatnonzero(np.isin(units, part)) for part in parts[:n_models]]


def number_copies(rows: BoostingRows) -> Array:
    """(n_rows,): the same number for rows of a bag that are copies of each other, from 0 on."""
    hashes = []
    for block in rows.blocks:
        table = np.column_stack([block.read(), block.first_bag + np.asarray(block.bags.bag_index)])
        words = np.ascontiguousarray(table, dtype=np.float64).view(np.uint64)
        random = np.random.default_rng(0).integers(2**63, size=words.shape[1], dtype=np.uint64)
        odd = random * np.uint64(2) + np.uint64(1)
        hashes.append(((words ^ (words >> np.uint64(32))) * odd).sum(axis=1, dtype=np.uint64))
    _, first, copies = np.unique(rows.gather(hashes), return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[copies]


def boost(
    rows: BoostingRows,
    grower: TreeGrower,
    parts: Sequence[Array],
    *,
    max_rounds: int,
    patience: int,
    learning_rate: float,
    l2: float,
    seed: int = 0,
    deadline: float = np.inf,
) -> Ensemble:
    """Boost one model for each held-out part, round by round, and keep the rounds that are best for it.

    Several workers have some of the bags each. The trees of a model are grown by one of them, from the slopes of
    all; the others get its trees. Leaf values follow from sums over the bags of all workers.

    Parameters
    ----------
    rows : BoostingRows
        To learn from.
    grower : TreeGrower
        With the features of the rows that choose splits.
    parts : sequence of arrays
        The units, bags or rows, that each model does not learn from. With none, one model learns from all, for a
        fixed number of rounds.
    max_rounds, patience, learning_rate, l2
        See :class:`~llpgan.methods.bag_boosting.BagBoosting`.
    seed : int, default=0
        Of the features that trees may split at.
    deadline : float, default=inf
        The time, by ``time.perf_counter``, after which no round should end. At least one round is grown.
    """
    workers, of_parts = find_workers(), parts or [np.array([], np.intp)]
    n_rows = 0 if rows.are_kept else sum(len(block.rows) for block in rows.blocks)
    n_bytes = n_rows * len(of_parts) * _BYTES_A_SCORE * len(prior_scores(rows.bags.prior))
    with TemporaryFile() if n_bytes > MOST_BYTES else nullcontext() as file:
        models = [
            _Model(rows, grower, part, learning_rate, l2, seed + number, owner=number % workers.count, file=file)
            for number, part in enumerate(of_parts)
        ]
        course, means = [], np.empty((0, rows.bags.n_classes))
        if parts:
            course, means = [_held_out_loss(models)], _held_out_means(rows, models)
        most = max_rounds if parts else min(max_rounds, _BLIND_ROUNDS)
        n_grown, is_out_of_time, longest, last = 0, False, 0.0, time.perf_counter()
        while n_grown < most and not is_out_of_time:
            for first in range(0, len(models), workers.count):  # so that each worker grows the trees of one model
                some = [(model, model.collect_slopes()) for model in models[first : first + workers.count]]
                grown = workers.divide(lambda pair: pair[0].grow(pair[1]), some)
                for (model, _), trees in zip(some, grown, strict=True):
                    model.take_trees(trees)
            for number, block in enumerate(rows.blocks):  # read once for all models
                features = block.read()
                for model in models:
                    model.find_leaves(number, features)
            have_grown = [model.set_values() for model in models]
            if not any(have_grown):
                break
            n_grown += 1
            if parts:
                course.append(_held_out_loss(models))
                if course[-1] < min(course[:-1]):
                    means = _held_out_means(rows, models)
                elif n_grown - int(np.argmin(course)) >= patience:
                    break
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
            is_out_of_time = workers.is_late(now + longest, deadline)
        n_rounds = int(np.argmin(course)) if parts else n_grown
        found = workers.divide(lambda model: (model.as_text(n_rounds), model.gains(n_rounds)), models)
        return Ensemble(
            trees=[texts for texts, _ in found],
            starts=np.stack([model.start for model in models]),
            gains=np.sum([gains for _, gains in found], axis=0),
            n_rounds=n_rounds,
            held_out_means=means,
            course=course,
            is_out_of_time=is_out_of_time,
        )


class _Kept:
    """An array that is kept in memory, or in a part of a file."""

    def __init__(self, values: Array, file: IO[bytes] | None) -> None:
        self._values, self._file = values, file
        if file is not None:
            self._place, self._shape, self._dtype = file.seek(0, os.SEEK_END), values.shape, values.dtype
            self._values = values[:0]
            self.write(values)

    def read(self) -> Array:
        """The array."""
        if self._file is None:
            return self._values
        self._file.seek(self._place)
        return np.fromfile(self._file, self._dtype, int(np.prod(self._shape))).reshape(self._shape)

    def write(self, values: Array) -> None:
        """Another of the same shape."""
        if self._file is None:
            self._values = values
            return
        self._file.seek(self._place)
        with name_if_full(Path(gettempdir())):
            self._file.write(np.ascontiguousarray(values, self._dtype).data)
            self._file.flush()


class _Part:
    """One model on one block of rows: their scores, and what follows from them."""

    def __init__(
        self, block: BoostingBlock, held_out: Array, *, keep: bool, file: IO[bytes] | None = None
    ) -> None:
        self.block, self.held_out, self._keep, self._file = block, held_out, keep, file
        self._row_weights = block.loss.row_weights(held_out) if keep else None

    def start(self, scores: Array, max_leaves: int) -> None:
        """Give all rows the same scores."""
        n_rows, precision = len(self.block.bags.bag_index), np.float64 if self._keep else np.float32
        leaf_type = np.uint8 if max_leaves <= 2**8 else np.int32
        self._scores = _Kept(np.tile(scores, (n_rows, 1)).astype(precision), self._file)
        #: For each output, the leaf of each row in the tree that has no values yet.
        self.leaves = [_Kept(np.zeros(n_rows, leaf_type), self._file) for _ in scores]
        self._summarize()

    def row_weights(self) -> Array:
        """(n_rows,): 0 where held out, else 1."""
        return self.block.loss.row_weights(self.held_out) if self._row_weights is None else self._row_weights

    def step(self) -> Step:
        """What is known of the loss at the scores so far."""
        return self._step or self.block.loss.step(*self._current_fit(), self.row_weights())

    def add(self, values: Mapping[int, Array]) -> None:
        """Add the values of the leaves of each output to the scores of their rows."""
        scores = self._scores.read()
        for output, of_leaves in values.items():
            scores[:, output] += of_leaves[self.leaves[output].read()]
        self._scores.write(scores)
        self._summarize()

    def _current_fit(self) -> tuple[Array, Array]:
        """The probabilities so far, (n_rows, n_classes), and what the loss asks of them."""
        probabilities = class_probabilities_from(np.asarray(self._scores.read(), np.float64))
        return probabilities, self.block.loss.evaluate_fit(probabilities)

    def _summarize(self) -> None:
        """What is asked of the new scores: rows that are not kept in memory are read no more often than needed."""
        fit = self._current_fit()
        step = self.block.loss.step(*fit, self.row_weights())
        self.slopes = step.slope(self.block.for_splits)
        #: Of each held-out unit, the loss that is minimised on the others, summed; and what was fitted to bags.
        self.held_out_loss, self.held_out_fit = 0.0, fit[1][:0]
        if len(self.held_out):
            self.held_out_loss = float(self.block.loss.losses(fit[1])[self.held_out].sum())
            self.held_out_fit = fit[1][self.held_out] if fit[1].ndim == 2 else fit[1][:0]
        self._step = step if self._keep else None


class _Model:
    """One model of an ensemble: its trees so far, and the probabilities that it gives all rows.

    Of several workers, the owner alone grows its trees.
    """

    def __init__(
        self,
        rows: BoostingRows,
        grower: TreeGrower,
        held_out: Array,
        learning_rate: float,
        l2: float,
        seed: int,
        owner: int = 0,
        file: IO[bytes] | None = None,
    ) -> None:
        self._rows, self._owner = rows, owner
        self._learning_rate, self._l2, self._is_monotonic = learning_rate, l2, grower.is_monotonic
        self.parts = []
        for block in rows.blocks:
            inside = block.find_bags(held_out) if rows.units_are_bags else block.find_rows(held_out)
            self.parts.append(_Part(block, inside, keep=rows.are_kept, file=file))
        masks = [part.row_weights()[part.block.for_splits] for part in self.parts]
        totals = [
            np.bincount(part.block.bags.bag_index, part.row_weights() * part.block.bags.row_weights)
            for part in self.parts
        ]
        bag_totals = find_workers().gather(np.concatenate(totals))
        shares = np.average(rows.bags.proportions, axis=0, weights=bag_totals)
        self.start = prior_scores(shares)  # the shares of the classes in what is not held out
        for part in self.parts:
            part.start(self.start, grower.settings["num_leaves"])
        trained = np.flatnonzero(rows.gather(masks)) if len(held_out) else None
        is_owner, n_outputs = owner == find_workers().rank, len(self.start)
        self._outputs = [
            Boosted(grower, trained, seed * n_outputs + output) for output in range(n_outputs if is_owner else 0)
        ]
        self._trees: list[Tree | None] = []
        self._systems: dict[int, tuple[Array, Array]] = {}
        self._n_trees = [[0] * len(self.start)]  # after each round, of each output

    def collect_slopes(self) -> Array:
        """The slopes of the rows that choose splits, at the owner."""
        return self._rows.gather([part.slopes for part in self.parts], self._owner)

    def grow(self, slopes: Array) -> list[Tree | None]:
        """A tree for each output, by the owner."""
        return [model.grow(slopes[:, output]) for output, model in enumerate(self._outputs)]

    def take_trees(self, trees: list[Tree | None]) -> None:
        """Go on with these trees, whose leaves have no values yet."""
        self._trees, self._systems = trees, {}

    def find_leaves(self, number: int, features: Array) -> None:
        """Keep the leaf of each row of a block, and add the block to Newton's systems of the leaves' values."""
        part = self.parts[number]
        step = part.step()
        for output, tree in enumerate(self._trees):
            if tree is None:
                continue
            leaves = tree.leaves(features)
            part.leaves[output].write(leaves)
            second, downwards = step.system(output, leaves, len(tree.own))
            before = self._systems.get(output, (0.0, 0.0))
            self._systems[output] = (before[0] + second, before[1] + downwards)

    def set_values(self) -> bool:
        """Set the leaf values of new trees; False if there is no new tree.

        They are Newton's step; under constraints, a step along LightGBM's own values, which keep to them.
        """
        values_of: dict[int, Array] = {}
        for output, tree in enumerate(self._trees):
            if tree is None:
                continue
            second, downwards = find_workers().sum(*self._systems[output])
            second = second + self._l2 * np.eye(len(tree.own))
            if self._is_monotonic:
                length = tree.own @ downwards / (tree.own @ second @ tree.own)
                values = self._learning_rate * max(0.0, float(length)) * tree.own
            else:
                values = self._learning_rate * np.linalg.solve(second, downwards)
            if self._outputs:
                self._outputs[output].set_values(tree, values)
            values_of[output] = values
        for part in self.parts if values_of else ():
            part.add(values_of)
        self._n_trees.append([model.n_trees for model in self._outputs])
        return any(tree is not None for tree in self._trees)

    def bag_means(self, bags: Bags) -> Array:
        """(n_bags, K): the mean prediction of held-out bags, and zero of the others."""
        means = np.zeros((bags.n_bags, bags.n_classes))
        for part in self.parts:
            if len(part.held_out):
                means[part.block.first_bag + part.held_out] = part.held_out_fit
        return means

    def as_text(self, n_rounds: int) -> list[str]:
        """The trees of each output after so many rounds."""
        return [model.as_text(n) for model, n in zip(self._outputs, self._n_trees[n_rounds], strict=True)]

    def gains(self, n_rounds: int) -> Array:
        """(n_features,): what splits gained in so many rounds."""
        pairs = zip(self._outputs, self._n_trees[n_rounds], strict=True)
        return np.sum([model.gains(n) for model, n in pairs], axis=0)


def _held_out_loss(models: Sequence[_Model]) -> float:
    parts = [part for model in models for part in model.parts]
    total, count = find_workers().sum(
        sum(part.held_out_loss for part in parts), sum(len(part.held_out) for part in parts)
    )
    return float(total / count)


def _held_out_means(rows: BoostingRows, models: Sequence[_Model]) -> Array:
    """The mean over the models that have not seen a bag; NaN where all have."""
    if not rows.units_are_bags:
        return np.empty((0, rows.bags.n_classes))
    (total,) = find_workers().sum(np.sum([model.bag_means(rows.bags) for model in models], axis=0))
    n_models = total.sum(axis=1, keepdims=True)  # since the means of one model sum to one
    return np.asarray(np.where(n_models > 0, total / np.maximum(n_models, LEAST), np.nan))
