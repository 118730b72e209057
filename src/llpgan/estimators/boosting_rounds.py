"""Boosting several models side by side, each without one part of the data, until the held-out parts end it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from llpgan.bags import Bags
from llpgan.estimators._tree_engine import Boosted, TreeGrower
from llpgan.estimators.shift_losses import LEAST, ShiftLoss, bag_means, prior_scores, probabilities_of
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
    bags: Bags,
    grower: TreeGrower,
    loss: ShiftLoss,
    parts: Sequence[Array],
    *,
    max_rounds: int,
    patience: int,
    learning_rate: float,
    l2: float,
) -> Ensemble:
    """Boost one model for each held-out part, round by round, and keep the rounds that are best for it.

    Parameters
    ----------
    bags : Bags
        To learn from.
    grower : TreeGrower
        With the features of all rows.
    loss : ShiftLoss
        Of these bags.
    parts : sequence of arrays
        The units of the loss, bags or rows, that each model does not learn from. With none, one model learns from
        all, for a fixed number of rounds.
    max_rounds, patience, learning_rate, l2
        See :class:`~llpgan.estimators.bag_boosting.BagBoosting`.
    """
    models = [_Model(bags, grower, loss, part, learning_rate, l2) for part in parts or [np.array([], np.intp)]]
    if not parts:
        n_grown = sum(1 for _ in _rounds(models, min(max_rounds, _BLIND_ROUNDS)))
        return _kept(models, n_grown, [], np.empty((0, bags.n_classes)))
    course, means = [_held_out_loss(models)], _held_out_means(bags, models, loss)
    for _ in _rounds(models, max_rounds):
        course.append(_held_out_loss(models))
        if course[-1] < min(course[:-1]):
            means = _held_out_means(bags, models, loss)
        elif len(course) - 1 - int(np.argmin(course)) >= patience:
            break
    return _kept(models, int(np.argmin(course)), course, means)


class _Model:
    """One model of an ensemble: its trees so far, and the probabilities that it gives all rows."""

    def __init__(
        self, bags: Bags, grower: TreeGrower, loss: ShiftLoss, held_out: Array, learning_rate: float, l2: float
    ) -> None:
        self._loss, self._held_out = loss, held_out
        self._learning_rate, self._l2, self._is_monotonic = learning_rate, l2, grower.is_monotonic
        self._row_weights = loss.row_weights(held_out)
        weights = np.bincount(bags.bag_index, self._row_weights, bags.n_bags)
        self.start = prior_scores(np.average(bags.proportions, axis=0, weights=weights))
        self._scores = np.tile(self.start, (len(bags.bag_index), 1))
        self._found = probabilities_of(self._scores)
        rows = np.flatnonzero(self._row_weights) if len(held_out) else None
        self._outputs = [Boosted(grower, rows) for _ in self.start]
        self._n_trees = [[0] * len(self.start)]  # after each round, of each output

    def grow(self) -> bool:
        """Add a tree for each output; False if none lowers the loss."""
        step = self._loss.step(self._found, self._row_weights)
        grown = False
        for output, model in enumerate(self._outputs):

            def values(leaves: Array, own: Array, output: int = output) -> Array:
                return self._values(*step.system(output, leaves, len(own)), own)

            added = model.grow(step.slope[:, output], values)
            if added is not None:
                self._scores[:, output] += added
                grown = True
        self._found = probabilities_of(self._scores)
        self._n_trees.append([model.n_trees for model in self._outputs])
        return grown

    def _values(self, second: Array, downwards: Array, own: Array) -> Array:
        """Newton's step in the leaves; under constraints, along LightGBM's own values, which keep to them."""
        second = second + self._l2 * np.eye(len(own))
        if not self._is_monotonic:
            return self._learning_rate * np.linalg.solve(second, downwards)
        length = own @ downwards / (own @ second @ own)
        return self._learning_rate * max(0.0, float(length)) * own

    def bag_means(self, bags: Bags) -> Array:
        """(n_bags, K): the mean prediction of held-out bags, and zero of the others."""
        means = np.zeros((bags.n_bags, self._found.shape[1]))
        means[self._held_out] = bag_means(bags, self._found)[self._held_out]
        return means

    def held_out_losses(self) -> Array:
        """Of each held-out unit, the loss that is minimised on the others."""
        return self._loss.losses(self._found)[self._held_out]

    def as_text(self, n_rounds: int) -> list[str]:
        """The trees of each output after so many rounds."""
        return [model.as_text(n) for model, n in zip(self._outputs, self._n_trees[n_rounds], strict=True)]

    def gains(self, n_rounds: int) -> Array:
        """(n_features,): what splits gained in so many rounds."""
        pairs = zip(self._outputs, self._n_trees[n_rounds], strict=True)
        return np.sum([model.gains(n) for model, n in pairs], axis=0)


def _rounds(models: Sequence[_Model], most: int) -> Iterator[None]:
    """Rounds in which all models grow, until none does."""
    for _ in range(most):
        grown = [model.grow() for model in models]
        if not any(grown):
            return
        yield


def _held_out_loss(models: Sequence[_Model]) -> float:
    return float(np.concatenate([model.held_out_losses() for model in models]).mean())


def _held_out_means(bags: Bags, models: Sequence[_Model], loss: ShiftLoss) -> Array:
    """The mean over the models that have not seen a bag; NaN where all have."""
    if not loss.units_are_bags:
        return np.empty((0, bags.n_classes))
    total = np.sum([model.bag_means(bags) for model in models], axis=0)
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
