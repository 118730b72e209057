"""BagLogistic: logistic regression by the cross-entropy of bags."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import collect_trial_warnings
from llpgan.methods.lbfgs import minimize_side_by_side
from llpgan.methods.linear import (
    BagBlock,
    ClassicalClassifier,
    FeaturesOf,
    Linear,
    Steps,
    bag_blocks,
    one_blas_thread,
    predict_classes,
    principal_components,
    sum_over_blocks,
)
from llpgan.methods.refinement import MANY_BAGS, Refined, Refinement, choose_refined, refine_linear
from llpgan.utils.arrays import Array
from llpgan.utils.workers import find_workers, train_together

_LEAST = 1e-12  # of a mean prediction, so that its logarithm is finite


class BagCrossEntropies:
    """Σ_i w_ri · (−p_i · log p̄_i) + penalty / 2 · ‖θ_r‖² of classifiers θ_r, r = 0, 1, ..., and its slope.

    p̄_i is the mean over bag i of softmax(θ_r · x). A matrix product scores a block of rows for all classifiers,
    which takes a small part of the time of as many products with a vector.

    Parameters
    ----------
    bags : Bags
        With the shares that are known of them.
    blocks : sequence of BagBlock
        Their features, the last of which is one.
    weights : array of shape (n_classifiers, n_bags)
        How much each bag counts for each classifier.
    penalty : float
        Of the squared weights; the intercepts have none.
    """

    def __init__(self, bags: Bags, blocks: Sequence[BagBlock], weights: Array, penalty: float) -> None:
        self._bags, self._blocks, self._weights, self._penalty = bags, blocks, weights, penalty
        self._n_outputs = 1 if bags.n_classes == 2 else bags.n_classes

    def __call__(self, points: Array, which: Array) -> tuple[Array, Array]:
        """Values (r,) and slopes (r, n) at points (r, n), of the classifiers with these numbers."""
        by_output = points.reshape(len(points), self._n_outputs, -1)
        weights = self._weights[which].T

        values_of_block = partial(self._block_values, points=by_output, weights=weights)
        values, slopes = sum_over_blocks(values_of_block, self._blocks)
        values += self._penalty / 2 * np.einsum("rkd,rkd->r", by_output[:, :, :-1], by_output[:, :, :-1])
        slopes[:, :, :-1] += self._penalty * by_output[:, :, :-1]
        return values, slopes.reshape(points.shape)

    def _block_values(self, block: BagBlock, points: Array, weights: Array) -> tuple[Array, Array]:
        """Values (r,) and slopes (r, outputs, d) of a block, from the weights of all bags (n_bags, r)."""
        features = block.read()
        found = predict_classes(features, points)
        counted = found if block.shares is None else found * block.shares[:, None, None]
        sizes = block.sizes[:, None, None]
        means = block.sums(counted) / sizes
        if self._n_outputs == 1:
            means = np.concatenate([1 - means, means], axis=1)
        means = np.maximum(means, _LEAST)
        targets, values = self._targets(block, means, weights[block.bags])
        pull = -targets / means / sizes
        if self._n_outputs == 1:
            slope = block.repeat_rows(pull[:, 1:] - pull[:, :1])
            slope *= 1 - found
        else:
            slope = block.repeat_rows(pull)
            slope -= np.einsum("nkr,nkr->nr", slope, found)[:, None]
        slope *= counted
        flat = slope.reshape(len(slope), -1).T @ features
        return values, flat.reshape(self._n_outputs, len(points), -1).swapaxes(0, 1)

    def _targets(self, block: BagBlock, means: Array, weights: Array) -> tuple[Array, Array]:
        """The shares that means (bags, K, r) should match, weighted, and the values (r,)."""
        if self._bags.share_constraints is None:
            targets = self._bags.proportions[block.bags, :, None] * weights[:, None]
            return targets, -np.einsum("ikr,ikr->r", targets, np.log(means))
        known = self._bags.share_constraints.take_bags(np.arange(self._bags.n_bags)[block.bags])
        found = [known.pulls_and_losses(means[:, :, r]) for r in range(means.shape[2])]
        nearest = np.stack([targets for targets, _ in found], axis=2)
        values = [weights[:, r] @ losses for r, (_, losses) in enumerate(found)]
        return nearest * weights[:, None], np.array(values)


_NUMBERS_AT_ONCE = 2**27  # of what searches side by side hold of a block and of their past
_MEMORY_IN_ROWS = 40  # numbers that a search keeps for each weight
_ROWS_AT_ONCE = 2**12  # of predictions
_ROWS_FOR_STEPS = 20_000
_ANY_SUM = 0.01  # proportions were checked before
_N_PARTS, _FEWEST_BAGS = 5, 10  # of bags that are held out, and the bags that there must be for it
_SPLITS_OF_FEW = 3  # into parts: which bags are held out together decides much if there are few
_SHARE_FOR_STARTS = 0.5  # of the time limit, before refinement
_LEAST_SECONDS = 1e-3
_FAR = 1e8  # limits from zero, where nothing changes any more


@dataclass(kw_only=True, eq=False, repr=False)
class BagLogistic(ClassicalClassifier):
    """Logistic regression on bags: the mean prediction of each bag is fitted to its proportions.

    The loss is that of :class:`DLLP` with a linear classifier. With proportions p_i of bag i and mean predictions
    p̄_i of softmax(θ·x), the method minimizes

        −Σ_i p_i · log p̄_i + ‖θ‖² / 2C

    Few bags leave many such classifiers about equally good. The problem is therefore solved for many bootstrap
    samples of the bags, and the predicted probabilities are averaged (bagging [1]_), so that the result does not
    depend on any single one of them.

    The classifiers can then be refined: they are fitted to soft labels that agree with the proportions of each
    bag, see :mod:`llpgan.methods.refinement`. Held-out bags calibrate the result.

    Parameters
    ----------
    C : float, default=100.0
        Inverse of the regularization strength. The loss of each bag counts once against the penalty.
    n_resamples : int, default=100
        The number of bootstrap samples whose classifiers are averaged. 0 means a single classifier, fitted to the
        bags as they are.
    limit : float, default=3.0
        Standardized columns are squashed so that no value is further than this from the mean. An outlier or a rare
        category then cannot decide alone. None leaves the columns as they are.
    n_components : int, default=None
        If there are more columns than this, the classifiers are fitted to so many principal components, which is
        quicker. All components have one scale, so that the penalty keeps the classifiers to the strong ones. For
        features of pretrained networks, with ``standardize=False``. None means all columns.
    n_steps : int, default=0
        The number of thresholds for each column of more than two values, at equal shares of the rows.
        The classifiers then have further columns that say whether it is above each threshold, so that a score can
        rise and fall with it. 0 means that scores are linear.
    refine : bool, Refinement or sequence of Refinement, default=False
        Whether to refine the classifiers. True means the mean of the classifiers without refinement and with each
        of two, unless held-out bags are predicted clearly worse by one. This needs at least ten bags; fewer than
        200 are split into held-out parts three times, and the results are averaged. A ``Refinement`` is used in
        any case; of several, the best on held-out bags if it is better at all.
    time_limit : float, default=None
        The number of seconds after which no further step of a search ends. The classifiers are then those that the
        searches have reached. None means no limit.
    {tol: 1e-4}
    {random_state: the bootstrap samples of the bags, and the held-out parts}
    {inherited}

    Attributes
    ----------
    models_ : list of Linear
        The weights and intercepts of each classifier on the features, after which come those of steps.
    steps_ : Steps or None
        The thresholds of columns; None without any.
    weights_ : ndarray of shape (n_models,) or None
        The weight of each classifier in the mean of probabilities. None means that all count the same.
    refinement_ : Refinement, tuple of Refinement or None
        The refinement that was used. A tuple means that several were used and their classifiers averaged, or
        averaged with the classifiers without refinement.
    held_out_means_ : ndarray of shape (n_bags, n_classes)
        The mean prediction of each training bag by classifiers that have not seen it. NaN if all have.
    is_out_of_time_ : bool
        Whether the time limit ended a search before its refinement.
    {inherited}

    See Also
    --------
    DLLP : The same loss with a network.
    MeanMap : Logistic regression on estimated class means.

    References
    ----------
    .. [1] L. Breiman, "Bagging predictors", Machine Learning 24, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import BagLogistic
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = BagLogistic(random_state=0).fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    C: float = 100.0
    n_resamples: int = 100
    limit: float | None = 3.0
    n_components: int | None = None
    n_steps: int = 0
    refine: bool | Refinement | Sequence[Refinement] = False
    time_limit: float | None = None
    tol: float = 1e-4
    random_state: int | np.random.RandomState | None = None

    takes_weights: ClassVar = True
    takes_partial: ClassVar = True
    takes_bag_weights: ClassVar = True

    _parameter_constraints: ClassVar = {
        **ClassicalClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "n_resamples": [Interval(Integral, 0, None, closed="left")],
        "limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_steps": [Interval(Integral, 0, None, closed="left")],
        "refine": ["boolean", Refinement, tuple, list],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    @train_together
    def fit_bags(self, bags: Bags) -> Self:
        """Learn from bags.

        Parameters
        ----------
        bags : Bags
            The bags to learn from.

        Returns
        -------
        Self
            The fitted estimator.
        """
        if isinstance(self.refine, tuple | list) and not all(isinstance(each, Refinement) for each in self.refine):
            raise ValueError(f"refine must be True, False, a Refinement or several of them, got {self.refine!r}")
        deadline = np.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        bags = self._start(bags)
        self.is_out_of_time_ = False
        self._learn_scales(bags)
        self._learn_steps(bags)
        if self.n_components is not None and np.prod(bags.instances.shape[1:]) > self.n_components:
            self._fit_components(bags, self.n_components, deadline)
            return self._finish(bags)
        n_numbers = len(bags.instances) * self._n_features(bags)
        blocks = bag_blocks(bags, self._rows, keep=self.steps_ is None or n_numbers <= _NUMBERS_AT_ONCE)
        random = find_workers().from_first(lambda: check_random_state(self.random_state))
        with one_blas_thread():
            if self.refine and bags.n_bags >= _FEWEST_BAGS:
                self._fit_refined(bags, blocks, random, deadline)
            else:
                self._fit_plain(bags, blocks, random, deadline)
        return self._finish(bags)

    def _fit_plain(
        self, bags: Bags, blocks: list[BagBlock], random: np.random.RandomState, deadline: float
    ) -> None:
        """Average the classifiers of bootstrap samples; refine their mean if asked for with too few bags."""
        draws: Array = np.ones((1, bags.n_bags))  # without resamples, each bag once
        if self.n_resamples > 0:
            draws = random.multinomial(bags.n_bags, np.full(bags.n_bags, 1 / bags.n_bags), size=self.n_resamples)
        points = self._solve(bags, blocks, draws, deadline)
        self.refinement_: Refinement | tuple[Refinement, ...] | None = None
        self.held_out_means_ = _means_of_unseen(bags, blocks, points, draws == 0)
        if isinstance(self.refine, Refinement):
            (points,) = refine_linear(
                bags, blocks, points.mean(axis=0, keepdims=True), [], [self.refine], deadline
            )
            self.refinement_, self.held_out_means_ = self.refine, np.full_like(bags.proportions, np.nan)
        self._keep(points, None)

    def _fit_refined(
        self, bags: Bags, blocks: list[BagBlock], random: np.random.RandomState, deadline: float
    ) -> None:
        """Average the classifiers of several splits of few bags into held-out parts, or take those of one."""
        n_splits = count_splits(bags) if isinstance(self.refine, bool | np.bool_) else 1
        found = []
        for number in range(n_splits):
            now = time.perf_counter()
            found.append(self._refine_split(bags, blocks, random, now + (deadline - now) / (n_splits - number)))
        self.held_out_means_ = np.mean([one.held_out_means for one in found], axis=0)
        self.refinement_ = found[0].refinement
        if any(one.refinement != self.refinement_ for one in found):
            each = [one.refinement for one in found]
            tuples = [one if isinstance(one, tuple) else (one,) for one in each if one is not None]
            self.refinement_ = tuple(dict.fromkeys(chain(*tuples)))
        shares = [1 / len(one.points) if one.weights is None else one.weights for one in found]
        weights = np.concatenate(
            [np.broadcast_to(share, len(one.points)) for share, one in zip(shares, found, strict=True)]
        )
        self._keep(
            np.concatenate([one.points for one in found]), weights / n_splits if np.ptp(weights) > 0 else None
        )

    def _refine_split(
        self, bags: Bags, blocks: list[BagBlock], random: np.random.RandomState, deadline: float
    ) -> Refined:
        """Average classifiers that were refined without a part of the bags each, and one that has seen all."""
        parts = [np.sort(part) for part in np.array_split(random.permutation(bags.n_bags), _N_PARTS)]
        n_each = max(1, -(-self.n_resamples // _N_PARTS))
        shown = np.ones((_N_PARTS, bags.n_bags))
        for number, part in enumerate(parts):
            shown[number, part] = 0
        draws = shown
        if self.n_resamples > 0:
            samples = [random.multinomial(bags.n_bags, some / some.sum(), size=n_each) for some in shown]
            draws = np.concatenate(samples)
        now = time.perf_counter()
        points = self._solve(bags, blocks, draws, now + _SHARE_FOR_STARTS * (deadline - now))
        starts = points.reshape(_N_PARTS, -1, *points.shape[1:])
        given = None if isinstance(self.refine, bool | np.bool_) else self.refine
        return choose_refined(bags, blocks, starts, parts, given, deadline)

    def _keep(self, points: Array, weights: Array | None) -> None:
        self.weights_ = weights
        self.models_ = [Linear(each[:, :-1], each[:, -1]) for each in points]

    def _solve(self, bags: Bags, blocks: list[BagBlock], draws: Array, deadline: float) -> Array:
        """(draws, outputs, features + 1): the classifier of each draw, as many at a time as memory allows."""
        total = bags.n_bags if bags.bag_weights is None else bags.bag_weights.sum()
        weights = (draws if bags.bag_weights is None else draws * bags.bag_weights) / total
        n_outputs = 1 if bags.n_classes == 2 else bags.n_classes
        n_features = self._n_features(bags)
        rows = find_workers().largest(np.array([max(block.sizes.sum() for block in blocks)]))[0]
        largest = int(rows) + _MEMORY_IN_ROWS * n_features
        at_once = max(1, _NUMBERS_AT_ONCE // (n_outputs * largest))
        points = np.zeros((len(draws), n_outputs * (n_features + 1)))
        for first in range(0, len(draws), at_once):
            some, now = slice(first, first + at_once), time.perf_counter()
            until = now + (deadline - now) * min(1.0, at_once / (len(draws) - first))
            loss = BagCrossEntropies(bags, blocks, weights[some], 1 / (self.C * total))
            found = minimize_side_by_side(loss, points[some], tol=self.tol, deadline=until)
            points[some] = found.points
            self.is_out_of_time_ |= found.is_out_of_time
        return points.reshape(len(draws), n_outputs, -1)

    def _fit_components(self, bags: Bags, n_components: int, deadline: float) -> None:
        """Fit a copy to principal components, and write its classifiers in terms of all columns."""
        mean, directions = principal_components(bags.instances, self._rows, n_components)
        reduced = np.empty((len(bags.instances), directions.shape[1]), dtype=np.float32)
        for first in range(0, len(reduced), _ROWS_AT_ONCE):
            some = slice(first, first + _ROWS_AT_ONCE)
            reduced[some] = (self._rows(bags.instances[some]) - mean) @ directions
        few = replace(bags, instances=reduced, features=None, encoder=None, tolerance=_ANY_SUM)
        copy = clone(self).set_params(n_components=None, n_steps=0, standardize=False)
        if self.time_limit is not None:
            copy.time_limit = max(_LEAST_SECONDS, deadline - time.perf_counter())
        with collect_trial_warnings():
            copy.fit_bags(few)
        self.models_ = []
        for model in copy.models_:
            weights = model.weights @ directions.T
            self.models_.append(Linear(weights, model.intercept - weights @ mean))
        self.weights_, self.refinement_ = copy.weights_, copy.refinement_
        self.held_out_means_, self.is_out_of_time_ = copy.held_out_means_, copy.is_out_of_time_

    def _rows(self, instances: Array) -> Array:
        """(n, d): the features of any instances, and their steps."""
        features = self._columns(instances)
        steps = getattr(self, "steps_", None)  # version 0.2 had none
        if steps is not None:
            features = np.column_stack([features, steps(features)])
        return features if not self.standardize or self.limit is None else soft_clip(features, self.limit)

    def _columns(self, instances: Array) -> Array:
        """(n, d): the columns of any instances in one scale."""
        columns = np.asarray(instances, np.float64).reshape(len(instances), -1) - self.shift_
        columns /= self.scale_  # in its place: a second copy of a table takes as long as the division
        return columns

    def _n_features(self, bags: Bags) -> int:
        """With steps."""
        n_steps = 0 if self.steps_ is None else len(self.steps_.columns)
        return int(np.prod(bags.instances.shape[1:])) + n_steps

    def _learn_steps(self, bags: Bags) -> None:
        """None where no column has more than two values."""
        self.steps_: Steps | None = None
        if self.n_steps > 0:
            found = find_steps(bags, self._columns, self.n_steps)
            self.steps_ = found if len(found.columns) else None

    def _points(self) -> Array:
        """(r, outputs, d + 1): the classifiers, with the intercept last."""
        return np.stack([np.column_stack([model.weights, model.intercept]) for model in self.models_])

    def _probabilities(self, instances: Array) -> Array:
        points, found = self._points(), np.empty((len(instances), len(self.classes_)))
        weights = getattr(self, "weights_", None)  # version 0.2 had none
        with one_blas_thread():
            for first in range(0, len(instances), _ROWS_AT_ONCE):
                rows = self._rows(instances[first : first + _ROWS_AT_ONCE])
                each = predict_classes(np.column_stack([rows, np.ones(len(rows))]), points)
                found[first : first + len(rows), -each.shape[1] :] = np.average(each, axis=2, weights=weights)
        if len(self.classes_) == 2:
            found[:, 0] = 1 - found[:, 1]
        return found


def count_splits(bags: Bags) -> int:
    """Count how often the bags are split into held-out parts if these choose a refinement."""
    return _SPLITS_OF_FEW if bags.n_bags < MANY_BAGS else 1


def find_steps(bags: Bags, columns_of: FeaturesOf, n_steps: int) -> Steps:
    """Find the steps of columns by some thousand rows.

    Parameters
    ----------
    bags : Bags
        The bags.
    columns_of : callable
        Turns instances into columns.
    n_steps : int
        The largest number of steps of a column.
    """
    n_rows = len(bags.instances)
    places = np.unique(np.linspace(0, n_rows - 1, min(n_rows, _ROWS_FOR_STEPS)).astype(np.int64))
    weights = None if bags.weights is None else bags.weights[places]
    return Steps.from_rows(columns_of(bags.instances[places]), n_steps, weights)


def _means_of_unseen(bags: Bags, blocks: list[BagBlock], points: Array, unseen: Array) -> Array:
    """(n_bags, K): the mean prediction of each bag by the classifiers that have not seen it; NaN if all have."""
    total = np.zeros((bags.n_bags, bags.n_classes))
    for block in blocks:
        found = predict_classes(block.read(), points)
        counted = found if block.shares is None else found * block.shares[:, None, None]
        means = block.sums(counted) / block.sizes[:, None, None]
        means = np.concatenate([1 - means, means], axis=1) if bags.n_classes == 2 else means
        total[block.bags] = np.einsum("ikr,ri->ik", means, unseen[:, block.bags])
    (total,) = find_workers().sum(total)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / unseen.sum(axis=0)[:, None])


def soft_clip(values: Array, limit: float) -> Array:
    """x / sqrt(1 + (x / limit)²): near zero it changes nothing, and nothing gets beyond the limit.

    >>> soft_clip(np.array([0.1, 4.0, -1e300]), limit=3.0).round(2)
    array([ 0.1,  2.4, -3. ])
    """
    inside = np.clip(values / limit, -_FAR, _FAR)
    return limit * inside / np.sqrt(1 + inside * inside)
