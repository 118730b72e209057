"""Boosting several models side by side, each without one part of the data, until the held-out parts end it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from llpgan.bags import Bags
from llpgan.estimators._tree_engine import Boosted, Tree, TreeGrower
from llpgan.estimators.boosting_blocks import BoostingBlock, BoostingRows
from llpgan.estimators.shift_losses import LEAST, Step, prior_scores, probabilities_of
from llpgan.utils.arrays import Array

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
    """

    trees: list[list[str]]
    starts: Array
    gains: Array
    n_rounds: int
    held_out_means: Array
    course: list[float]


def held_out_parts(n_units: int, n_models: int, seed: int) -> list[Array]:
    """For each model the units, bags or rows, that it does not learn from: each once, then parted anew.

    There are none where units are fewer than three.

    >>> [part.tolist() for part in held_out_parts(3, n_models=3, seed=0)]
    [[2], [0], [1]]
    """
    if n_units < _FEWEST_UNITS:
        return []
    random = np.random.default_rng(seed)
    parts: list[Array] = []
    while len(parts) < n_models:
        parts += np.array_split(random.permutation(n_units), min(N_PARTS, n_units))
    return [np.sort(part) for part in parts[:n_models]]


def boosted(
    rows: BoostingRows,
    grower: TreeGrower,
    parts: Sequence[Array],
    *,
    max_rounds: int,
    patience: int,
    learning_rate: float,
    l2: float,
    seed: int = 0,
) -> Ensemble:
    """Boost one model for each held-out part, round by round, and keep the rounds that are best for it.

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
        See :class:`~llpgan.estimators.bag_boosting.BagBoosting`.
    seed : int, default=0
        Of the features that trees may split at.
    """
    models = [
        _Model(rows, grower, part, learning_rate, l2, seed + number)
        for number, part in enumerate(parts or [np.array([], np.intp)])
    ]
    if not parts:
        n_grown = sum(1 for _ in _rounds(rows, models, min(max_rounds, _BLIND_ROUNDS)))
        return _kept(models, n_grown, [], np.empty((0, rows.bags.n_classes)))
    course, means = [_held_out_loss(models)], _held_out_means(rows, models)
    for _ in _rounds(rows, models, max_rounds):
        course.append(_held_out_loss(models))
        if course[-1] < min(course[:-1]):
            means = _held_out_means(rows, models)
        elif len(course) - 1 - int(np.argmin(course)) >= patience:
            break
    return _kept(models, int(np.argmin(course)), course, means)


class _Part:
    """One model on one block of rows: their scores, and what follows from them."""

    def __init__(self, block: BoostingBlock, held_out: Array, *, keep: bool) -> None:
        self.block, self.held_out, self._keep = block, held_out, keep
        self._row_weights = block.loss.row_weights(held_out) if keep else None
        self._found: tuple[Array, Array] | None = None
        self._step: Step | None = None
        self.leaves: dict[int, Array] = {}

    def start(self, scores: Array) -> None:
        """Give all rows the same scores."""
        precision = np.float64 if self._keep else np.float32
        self._scores: Array = np.tile(scores, (len(self.block.bags.bag_index), 1)).astype(precision)

    def row_weights(self) -> Array:
        """(n_rows,): 0 where held out, else 1."""
        return self.block.loss.row_weights(self.held_out) if self._row_weights is None else self._row_weights

    def found(self) -> tuple[Array, Array]:
        """The probabilities so far, (n_rows, n_classes), and what the loss asks of them."""
        if self._found is not None:
            return self._found
        probabilities = probabilities_of(np.asarray(self._scores, np.float64))
        found = probabilities, self.block.loss.fitted(probabilities)
        self._found = found if self._keep else None
        return found

    def step(self) -> Step:
        """What is known of the loss at the scores so far."""
        if self._step is not None:
            return self._step
        step = self.block.loss.step(*self.found(), self.row_weights())
        self._step = step if self._keep else None
        return step

    def add(self, output: int, values: Array) -> None:
        """Add the values of leaves to the scores of their rows."""
        self._scores[:, output] += values[self.leaves.pop(output)]
        self._found = self._step = None

    def held_out_losses(self) -> Array:
        """Of each held-out unit, the loss that is minimised on the others."""
        if len(self.held_out) == 0:
            return np.empty(0)
        return self.block.loss.losses(self.found()[1])[self.held_out]


class _Model:
    """One model of an ensemble: its trees so far, and the probabilities that it gives all rows."""

    def __init__(
        self, rows: BoostingRows, grower: TreeGrower, held_out: Array, learning_rate: float, l2: float, seed: int
    ) -> None:
        self._learning_rate, self._l2, self._is_monotonic = learning_rate, l2, grower.is_monotonic
        self.parts = [
            _Part(block, _of_block(held_out, block, rows.units_are_bags), keep=rows.are_kept)
            for block in rows.blocks
        ]
        masks = [part.row_weights()[part.block.for_splits] for part in self.parts]
        self.start = prior_scores(self._prior(rows.bags))
        for part in self.parts:
            part.start(self.start)
        trained = np.flatnonzero(np.concatenate(masks)) if len(held_out) else None
        self._outputs = [
            Boosted(grower, trained, seed * len(self.start) + output) for output in range(len(self.start))
        ]
        self._trees: list[Tree | None] = []
        self._systems: dict[int, tuple[Array, Array]] = {}
        self._n_trees = [[0] * len(self.start)]  # after each round, of each output

    def _prior(self, bags: Bags) -> Array:
        """The shares of the classes in what is not held out."""
        totals = [
            np.bincount(part.block.bags.bag_index, part.row_weights() * part.block.bags.row_weights)
            for part in self.parts
        ]
        return np.asarray(np.average(bags.proportions, axis=0, weights=np.concatenate(totals)))

    def choose_splits(self) -> None:
        """Grow a tree for each output."""
        slopes = np.concatenate([part.step().slope[part.block.for_splits] for part in self.parts])
        self._trees = [model.grow(slopes[:, output]) for output, model in enumerate(self._outputs)]
        self._systems = {}

    def look_at(self, number: int, features: Array) -> None:
        """Note the leaves of the rows of a block, and what they ask of the leaves' values."""
        part = self.parts[number]
        for output, tree in enumerate(self._trees):
            if tree is None:
                continue
            part.leaves[output] = tree.leaves(features)
            second, downwards = part.step().system(output, part.leaves[output], len(tree.own))
            before = self._systems.get(output, (0.0, 0.0))
            self._systems[output] = (before[0] + second, before[1] + downwards)

    def give_values(self) -> bool:
        """Give the leaves of new trees their values; False if there is no new tree."""
        for output, tree in enumerate(self._trees):
            if tree is None:
                continue
            values = self._values(*self._systems[output], tree.own)
            self._outputs[output].give_values(tree, values)
            for part in self.parts:
                part.add(output, values)
        self._n_trees.append([model.n_trees for model in self._outputs])
        return any(tree is not None for tree in self._trees)

    def _values(self, second: Array, downwards: Array, own: Array) -> Array:
        """Newton's step in the leaves; under constraints, along LightGBM's own values, which keep to them."""
        second = second + self._l2 * np.eye(len(own))
        if not self._is_monotonic:
            return self._learning_rate * np.linalg.solve(second, downwards)
        length = own @ downwards / (own @ second @ own)
        return self._learning_rate * max(0.0, float(length)) * own

    def bag_means(self, bags: Bags) -> Array:
        """(n_bags, K): the mean prediction of held-out bags, and zero of the others."""
        means = np.zeros((bags.n_bags, bags.n_classes))
        for part in self.parts:
            if len(part.held_out):
                means[part.block.first_bag + part.held_out] = part.found()[1][part.held_out]
        return means

    def held_out_losses(self) -> Array:
        """Of each held-out unit, the loss that is minimised on the others."""
        return np.concatenate([part.held_out_losses() for part in self.parts])

    def as_text(self, n_rounds: int) -> list[str]:
        """The trees of each output after so many rounds."""
        return [model.as_text(n) for model, n in zip(self._outputs, self._n_trees[n_rounds], strict=True)]

    def gains(self, n_rounds: int) -> Array:
        """(n_features,): what splits gained in so many rounds."""
        pairs = zip(self._outputs, self._n_trees[n_rounds], strict=True)
        return np.sum([model.gains(n) for model, n in pairs], axis=0)


def _of_block(units: Array, block: BoostingBlock, units_are_bags: bool) -> Array:
    """Those of the units, in order, that are in a block, by their place in it."""
    first = block.first_bag if units_are_bags else block.first_row
    n_units = block.bags.n_bags if units_are_bags else len(block.bags.bag_index)
    return units[slice(*np.searchsorted(units, [first, first + n_units]))] - first


def _rounds(rows: BoostingRows, models: Sequence[_Model], most: int) -> Iterator[None]:
    """Rounds in which all models grow, until none does; rows are read once in each."""
    for _ in range(most):
        for model in models:
            model.choose_splits()
        for number, block in enumerate(rows.blocks):
            features = block.read()
            for model in models:
                model.look_at(number, features)
        grown = [model.give_values() for model in models]
        if not any(grown):
            return
        yield


def _held_out_loss(models: Sequence[_Model]) -> float:
    return float(np.concatenate([model.held_out_losses() for model in models]).mean())


def _held_out_means(rows: BoostingRows, models: Sequence[_Model]) -> Array:
    """The mean over the models that have not seen a bag; NaN where all have."""
    if not rows.units_are_bags:
        return np.empty((0, rows.bags.n_classes))
    total = np.sum([model.bag_means(rows.bags) for model in models], axis=0)
    n_models = total.sum(axis=1, keepdims=True)  # since the means of one model sum to one
    return np.asarray(np.where(n_models > 0, total / np.maximum(n_models, LEAST), np.nan))


def _kept(models: Sequence[_Model], n_rounds: int, course: list[float], means: Array) -> Ensemble:
    return Ensemble(
        trees=[model.as_text(n_rounds) for model in models],
        starts=np.stack([model.start for model in models]),
        gains=np.sum([model.gains(n_rounds) for model in models], axis=0),
        n_rounds=n_rounds,
        held_out_means=means,
        course=course,
    )
