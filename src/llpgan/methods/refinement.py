"""Refinement: soft labels that agree with the bags, and the linear classifier that predicts them.

For posteriors f of a classifier, the soft labels q of bag i with proportions p_i are

    q = argmin −Σ_j q_j · log f_j − H(q) / a   over all q whose mean over the bag is p_i,

where H is the entropy. They are q_jk ∝ f_jk^a · exp(c_ik), with c_i such that the mean of q is p_i: the posteriors
are raised to the power a and tilted to the proportions. The classifier is then fitted to these labels, and both
steps alternate. Each of them lowers the same function of the classifier, the minimum above summed over the bags,
which is therefore minimized here directly, by L-BFGS. This takes a tenth of the steps.

The function has many local minima if bags are few and large. ``small_steps`` then stays nearer to the start: each
step W ← W − (X'X / 2n + penalty)⁻¹ · slope minimizes a quadratic upper bound of the function (Böhning, 1992), so
that no step is too long.

With a = 1, minus this minimum is the logarithm of the probability that labels drawn from f have the counts of the
bag, up to terms that do not grow with the bag: maximum likelihood for exact counts. With a > 1 confident labels
cost less: the classes are assumed to be clusters of the features.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from llpgan.bags import Bags
from llpgan.methods.lbfgs import Searches
from llpgan.methods.linear import BagBlock, predict_classes, sum_over_blocks
from llpgan.utils.arrays import Array
from llpgan.utils.workers import find_workers

_LEAST = 1e-300  # of a mean, so that its logarithm is finite
_RANGE = 500.0  # of logarithms, so that no row is left without a class
_MOST_STEPS, _CLOSE = 30, 1e-6  # of the search for tilts, and how near means are to the proportions in the end
_NEARLY = 1e-3  # the same for small steps, each of which begins with the tilts of the last
_FASTEST, _LONGEST = 8.0, 1000.0  # times a step of raking: what is safe, and what Newton's steps begin with
_NEAR = 0.3  # logarithms of ratios of shares, from which Newton's method is used
_FEW_OPEN = 0.7  # of the bags, whose tilts are sought without the rows of the others
_MOST_CLASSES, _RIDGE = 16, 1e-9  # of Newton's method for tilts, whose systems grow with the square of the classes
_TOL = 1e-5  # the largest slope that counts as zero
_ROWS = 4096  # on which classifiers are compared
_TEMPERATURES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_CLEARLY = 3.0  # standard errors by which held-out bags are predicted worse
MANY_BAGS, _FIRST_PARTS = 200, 2  # bags from which so many of the parts decide
_CORRELATION = 0.1  # of rows in a bag beyond what a model explains: a bag of m counts as m / (1 + 0.1 (m − 1))
_STEPS, _STILL = 1000, 1e-7  # of the search for weights, and the change that ends it
_SPREADS = (0.0, *np.geomspace(1e-3, 0.3, 25).tolist())  # of bags beyond chance


@dataclass(frozen=True)
class Refinement:
    """How a linear classifier is refined.

    Parameters
    ----------
    power : float, default=1.5
        The power that posteriors are raised to before they are tilted to the proportions. 1 is maximum likelihood
        for the counts of the bags; larger values assume that the classes are clusters of the features.
    rounds : int, default=40
        The largest number of steps of the search. With fewer, the result is nearer to the classifier at the start.
    penalty : float, default=0.001
        The penalty of squared weights, in units of the mean loss of a row.
    small_steps : bool, default=False
        Whether each step minimizes an upper bound of the loss, in place of L-BFGS. This suits large bags and
        features of pretrained networks, whose principal components keep one scale.

    Examples
    --------
    >>> from llpgan.methods.refinement import Refinement
    >>> Refinement(power=1.0)
    Refinement(power=1.0, rounds=40, penalty=0.001, small_steps=False)
    """

    power: float = 1.5
    rounds: int = 40
    penalty: float = 1e-3
    small_steps: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.power < np.inf:
            raise ValueError(f"power must be a positive number, got {self.power!r}")
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 1:
            raise ValueError(f"rounds must be a whole number from 1 on, got {self.rounds!r}")
        if not 0 <= self.penalty < np.inf:
            raise ValueError(f"penalty must be a number that is not negative, got {self.penalty!r}")


#: Refinements whose predictions are averaged with those of the classifiers at the start.
AVERAGED = (Refinement(1.5), Refinement(1.0, penalty=1e-2))
#: What held-out bags choose from for features of pretrained networks: the first suits small bags, the rest large.
FEATURE_CANDIDATES = (
    Refinement(1.5, penalty=0.003),
    Refinement(1.5, penalty=0.01, small_steps=True),
    Refinement(1.5, rounds=80, penalty=0.1, small_steps=True),
)


@dataclass(frozen=True)
class Refined:
    """Classifiers after refinement.

    Attributes
    ----------
    refinement : Refinement, tuple of Refinement or None
        What was used. A tuple means that the classifiers at the start are averaged with those of each refinement.
        None means only those at the start.
    points : ndarray of shape (n_classifiers, n_outputs, n_features + 1)
        The classifiers. A refinement gives one without each held-out part, and one from all bags.
    weights : ndarray of shape (n_classifiers,) or None
        The weight of each in the mean of predictions. None means that all count the same.
    held_out_means : ndarray of shape (n_bags, n_classes)
        The mean prediction of each bag by classifiers that have not seen it.
    """

    refinement: Refinement | tuple[Refinement, ...] | None
    points: Array
    weights: Array | None
    held_out_means: Array


def refine_linear(
    bags: Bags,
    blocks: Sequence[BagBlock],
    starts: Array,
    held_out: Sequence[Array],
    candidates: Sequence[Refinement],
    deadline: float = np.inf,
) -> list[Array]:
    """Refine linear classifiers with each of several settings, all at once.

    Parameters
    ----------
    bags : Bags
        The bags.
    blocks : sequence of BagBlock
        Their features, the last of which is one.
    starts : ndarray of shape (n_parts + 1, n_outputs, n_features + 1)
        A classifier that has not seen each part, and one that has seen all bags.
    held_out : sequence of ndarray
        The bags of each part.
    candidates : sequence of Refinement
        The settings.
    deadline : float, default=inf
        The time, by ``time.perf_counter``, after which no step should end.

    Returns
    -------
    list of ndarray of the shape of the starts
        The refined classifiers for each of the settings.
    """
    n_chains = len(starts)
    weights = np.ones((n_chains, bags.n_bags))
    if bags.bag_weights is not None:
        weights = weights * bags.bag_weights
    for part, which in enumerate(held_out):
        weights[part, which] = 0
    number = np.repeat(np.arange(len(candidates)), n_chains)
    shares = bags.proportions
    if (
        bags.share_constraints is not None
    ):  # of several that are allowed, those nearest to the predictions at the start
        everything = [np.arange(bags.n_bags)]
        shares = bags.share_constraints.targets(predict_held_out(bags, blocks, starts[-1:, None], everything)[0])
    loss = TiltedCrossEntropies(
        bags,
        blocks,
        shares,
        np.tile(weights, (len(candidates), 1)),
        np.array([candidate.power for candidate in candidates])[number],
        np.array([candidate.penalty for candidate in candidates])[number],
    )
    searches = Searches(loss, np.tile(starts.reshape(n_chains, -1), (len(candidates), 1)), _TOL)
    found = []
    for k, candidate in enumerate(candidates):
        which, now = np.flatnonzero(number == k), time.perf_counter()
        until = now + (deadline - now) / (len(candidates) - k)
        if candidate.small_steps:
            found.append(take_small_steps(loss, starts.reshape(n_chains, -1), which, candidate, until))
        else:
            searches.run(candidate.rounds, which, until)
            found.append(searches.points[which])
    return [points.reshape(starts.shape) for points in found]


def take_small_steps(
    loss: TiltedCrossEntropies, points: Array, which: Array, refinement: Refinement, deadline: float = np.inf
) -> Array:
    """Lower the losses of some classifiers, each time by the minimum of an upper bound.

    Parameters
    ----------
    loss : TiltedCrossEntropies
        The losses.
    points : ndarray of shape (n_classifiers, n)
        Where to start.
    which : ndarray of shape (n_classifiers,)
        The numbers of their losses.
    refinement : Refinement
        With the number of steps and the penalty.
    deadline : float, default=inf
        The time, by ``time.perf_counter``, after which no step should end.

    Returns
    -------
    ndarray of shape (n_classifiers, n)
        The points at the end.
    """
    curvature = loss.curvature()
    penalties = np.full(len(curvature), refinement.penalty)
    penalties[-1] = 0
    factor = cho_factor(curvature + np.diag(penalties + _RIDGE * np.trace(curvature)))
    longest = 0.0
    for _ in range(refinement.rounds):
        started = time.perf_counter()
        if find_workers().is_late(started + longest, deadline):
            break
        slopes = loss(points, which, close=_NEARLY)[1].reshape(-1, len(curvature))
        points = points - cho_solve(factor, slopes.T).T.reshape(points.shape)
        longest = max(longest, time.perf_counter() - started)
    return points


def choose_refined(
    bags: Bags,
    blocks: Sequence[BagBlock],
    starts: Array,
    held_out: Sequence[Array],
    candidates: Refinement | Sequence[Refinement] | None = None,
    deadline: float = np.inf,
) -> Refined:
    """Refine linear classifiers as held-out bags suggest it, and calibrate them.

    By default the predictions at the start are averaged with those of each refinement of :data:`AVERAGED` that
    does not predict the bags it has not seen clearly worse. These bags say little about single rows: a refinement
    that they prefer is on average worse than this mean.

    Of several candidates, the best on held-out bags is used alone if it is better than the classifiers at the
    start. With hundreds of bags, two of the parts decide, and only what is chosen is refined without the others.

    Parameters
    ----------
    bags : Bags
        The bags.
    blocks : sequence of BagBlock
        Their features, the last of which is one.
    starts : ndarray of shape (n_parts, n_classifiers, n_outputs, n_features + 1)
        Several classifiers that have not seen each part.
    held_out : sequence of ndarray
        The bags of each part.
    candidates : Refinement or sequence of Refinement, default=None
        What to choose from; a single one is used in any case. None means the average.
    deadline : float, default=inf
        The time, by ``time.perf_counter``, after which no step of a search should end.
    """
    started = time.perf_counter()
    features, of_rows = _sample(bags, blocks)
    plain, means, before = _fit_temperature(bags, blocks, starts, held_out, features, of_rows)
    start = Refined(None, plain.reshape(-1, *plain.shape[2:]), None, means)
    deadline -= time.perf_counter() - started  # calibration takes no longer after refinement
    each = np.concatenate([starts.mean(axis=1), starts.mean(axis=(0, 1))[None]])
    tried = [candidates] if isinstance(candidates, Refinement) else candidates or AVERAGED
    n_first = len(each)
    if candidates is not None and len(tried) > 1 and bags.n_bags >= MANY_BAGS:
        n_first = _FIRST_PARTS
    now = time.perf_counter()
    until = deadline if n_first == len(each) else now + (deadline - now) / 2
    first = refine_linear(bags, blocks, each[:n_first], held_out[:n_first], tried, until)
    found, advantages = [], []  # the latter in standard errors of the loss of held-out bags
    for refinement, refined in zip(tried, first, strict=True):
        points, means, losses = _fit_temperature(
            bags, blocks, refined[:, None], held_out[:n_first], features, of_rows
        )
        gain = (before - losses)[np.isfinite(losses)]
        advantages.append(float(gain.mean() / max(gain.std() / np.sqrt(len(gain)), _LEAST)))
        found.append(Refined(refinement, points[:, 0], None, means))
    if candidates is None:
        return _average([start, *(one for one, by in zip(found, advantages, strict=True) if by > -_CLEARLY)])
    best = int(np.argmax(advantages))
    if not isinstance(candidates, Refinement) and advantages[best] <= 0:
        return start
    if n_first == len(each):
        return found[best]
    (rest,) = refine_linear(bags, blocks, each[n_first:], held_out[n_first:], [tried[best]], deadline)
    complete = np.concatenate([first[best], rest])
    points, means, _ = _fit_temperature(bags, blocks, complete[:, None], held_out, features, of_rows)
    return Refined(tried[best], points[:, 0], None, means)


def _average(several: Sequence[Refined]) -> Refined:
    """The mean of predictions, those at the start first."""
    if len(several) == 1:
        return several[0]
    return Refined(
        tuple(one.refinement for one in several if isinstance(one.refinement, Refinement)),
        np.concatenate([one.points for one in several]),
        np.concatenate([np.full(len(one.points), 1 / len(one.points) / len(several)) for one in several]),
        np.mean([one.held_out_means for one in several], axis=0),
    )


def mixture_weights(bags: Bags, means: Array, prior: Array | None = None) -> Array:
    """Weights with which the mean of several predictions matches held-out bags best, drawn towards prior weights.

    With p̄_mi the mean that prediction m has for bag i, M predictions and n_i = m_i / (1 + 0.1 (m_i − 1)) for a bag
    of m_i rows, the weights maximize

        Σ_i n_i p_i · log Σ_m w_m p̄_mi + Σ_m v_m log w_m

    by expectation-maximization: the last term counts as one row that is shared by the prior weights v.

    Parameters
    ----------
    bags : Bags
        The bags.
    means : ndarray of shape (n_predictions, n_bags, n_classes)
        The mean prediction of each bag by classifiers that have not seen it. NaN if there is none.
    prior : ndarray of shape (n_predictions,), default=None
        The prior weights, which sum to one. None means equal weights.

    Returns
    -------
    ndarray of shape (n_predictions,)
        The weights, which sum to one.

    Examples
    --------
    >>> bags = Bags.from_arrays(np.zeros((40, 1)), np.repeat([0, 1], 20), [[0.9, 0.1], [0.1, 0.9]])
    >>> good, useless = np.array([[0.8, 0.2], [0.2, 0.8]]), np.full((2, 2), 0.5)
    >>> mixture_weights(bags, np.array([good, useless])).round(2)
    array([0.87, 0.13])
    """
    known = np.flatnonzero(np.isfinite(means).all(axis=(0, 2)))
    means, sizes, constraints = means[:, known], bags.sizes[known], bags.share_constraints
    constraints = None if constraints is None else constraints.take_bags(known)
    counts = sizes / (1 + _CORRELATION * (sizes - 1))
    if bags.bag_weights is not None:
        counts = counts * bags.bag_weights[known]
    prior = np.full(len(means), 1 / len(means)) if prior is None else prior
    weights = prior
    for _ in range(_STEPS):
        mean = np.maximum(np.einsum("m,mik->ik", weights, means), _LEAST)
        targets = bags.proportions[known] if constraints is None else constraints.targets(mean)
        rows = weights * np.einsum("i,ik,mik->m", counts, targets / mean, means)
        before, weights = weights, (rows + prior) / (rows.sum() + 1)
        if np.abs(weights - before).max() < _STILL:
            break
    return weights


def _sample(bags: Bags, blocks: Sequence[BagBlock]) -> tuple[Array, Array]:
    """The features of some thousand rows at equal steps, and the bag of each."""
    step = -(-int(bags.sizes.sum()) // _ROWS)
    workers, features = find_workers(), np.concatenate([block.read()[::step] for block in blocks])
    numbers = [block.repeat_rows(np.arange(bags.n_bags)[block.bags])[::step] for block in blocks]
    return workers.gather(features), workers.gather(np.concatenate(numbers))


def _fit_temperature(
    bags: Bags,
    blocks: Sequence[BagBlock],
    points: Array,
    held_out: Sequence[Array],
    features: Array,
    of_rows: Array,
) -> tuple[Array, Array, Array]:
    """Divide scores by the number at which held-out bags are predicted best; their means, and the loss of each.

    Of points (n_parts or more, classifiers, outputs, d) the first have not seen the parts. Intercepts are moved so
    that the mean of all predictions stays that of the proportions.
    """
    best: tuple[Array, Array, Array] | None = None
    for temperature in _TEMPERATURES:
        cooled = points / temperature
        for part, some in enumerate(cooled):
            kept = np.ones(len(of_rows), bool)
            if part < len(held_out):
                kept = np.isin(of_rows, held_out[part], invert=True)
            for one in some:
                _centre(one, features[kept], bags.proportions[of_rows[kept]].mean(axis=0))
        means, variances = predict_held_out(bags, blocks, cooled, held_out)
        losses = count_losses(bags, means, variances)
        if best is None or np.nanmean(losses) < np.nanmean(best[2]):
            best = cooled, means, losses
    assert best is not None
    return best


def _centre(point: Array, features: Array, shares: Array) -> None:
    """Move the intercepts of a classifier, in place, so that its mean prediction is as given."""
    whole = BagBlock(slice(0, 1), np.array([len(features)]), np.array([0]), None, features)
    scores = features @ point.T
    if point.shape[0] == 1:
        point[:, -1] += tilt_binary(whole, scores, shares[None, 1:], np.zeros((1, 1)))[0]
    else:
        point[:, -1] += tilt(whole, scores, shares[None], np.zeros((1, len(shares))))[2][0]


def predict_held_out(
    bags: Bags, blocks: Sequence[BagBlock], points: Array, held_out: Sequence[Array]
) -> tuple[Array, Array]:
    """Predict the mean of each bag by classifiers that have not seen it.

    Parameters
    ----------
    bags : Bags
        The bags.
    blocks : sequence of BagBlock
        Their features, the last of which is one.
    points : ndarray of shape (n_parts or more, n_classifiers, n_outputs, n_features + 1)
        Of each part, the classifiers that have not seen it, whose predictions are averaged.
    held_out : sequence of ndarray
        The bags of each part.

    Returns
    -------
    means, variances : ndarray of shape (n_bags, n_classes)
        The mean prediction, and the variance of the mean of labels that are drawn from the predictions.
    """
    means, variances = np.zeros((2, bags.n_bags, bags.n_classes))
    part_of_bag = np.full(bags.n_bags, -1)
    for part, which in enumerate(held_out):
        part_of_bag[which] = part
    for block in blocks:
        features, parts = block.read(), part_of_bag[block.bags]
        for part in np.unique(parts[parts >= 0]).tolist():
            rows = block.repeat_rows(parts == part)
            found = predict_classes(features[rows], points[part]).mean(axis=2)
            if bags.n_classes == 2:
                found = np.concatenate([1 - found, found], axis=1)
            shares = np.ones(len(found)) if block.shares is None else block.shares[rows]
            sizes = block.sizes[parts == part]
            first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            numbers = np.arange(bags.n_bags)[block.bags][parts == part]
            means[numbers] = np.add.reduceat(found * shares[:, None], first) / sizes[:, None]
            variances[numbers] = (
                np.add.reduceat(found * (1 - found) * shares[:, None] ** 2, first) / sizes[:, None] ** 2
            )
    means, variances = find_workers().sum(means, variances)
    means[part_of_bag < 0] = variances[part_of_bag < 0] = np.nan
    return means, variances


def count_losses(bags: Bags, means: Array, variances: Array) -> Array:
    """(n_bags,): minus the logarithm of a bell curve at the proportions of each bag; NaN without predictions.

    Its variance is that of the mean of labels drawn from the predictions, plus one for differences of
    bags beyond chance, which is chosen so that the sum of the losses is smallest. Unlike the cross-entropy of
    means this asks whether the predictions of single rows are as confident as they may be.
    """
    shares, known = bags.proportions, np.isfinite(means).all(axis=1)
    if bags.share_constraints is not None:
        shares = np.full_like(means, np.nan)
        shares[known] = bags.share_constraints.take_bags(np.flatnonzero(known)).targets(means[known])
    squares = (shares - means) ** 2
    each = [
        ((squares / total + np.log(total)) / 2).sum(axis=1)
        for total in (variances + spread**2 + 1e-9 for spread in _SPREADS)
    ]
    return min(each, key=lambda losses: float(np.nanmean(losses)))


class TiltedCrossEntropies:
    """The function above, for many linear classifiers at once, each with its own power, penalty and bag weights.

    Parameters
    ----------
    bags : Bags
        The bags.
    blocks : sequence of BagBlock
        Their features, the last of which is one.
    shares : ndarray of shape (n_bags, n_classes)
        The proportions of each bag.
    weights : ndarray of shape (n_classifiers, n_bags)
        How much each row of a bag counts for each classifier.
    powers, penalties : ndarray of shape (n_classifiers,)
        See :class:`Refinement`.
    """

    def __init__(
        self,
        bags: Bags,
        blocks: Sequence[BagBlock],
        shares: Array,
        weights: Array,
        powers: Array,
        penalties: Array,
    ) -> None:
        self._blocks, self._shares, self._powers, self._penalties = blocks, shares, powers, penalties
        self._n_outputs = 1 if bags.n_classes == 2 else bags.n_classes
        self._row_weights = weights / (weights @ bags.sizes)[:, None]
        self._tilts = np.zeros((bags.n_bags, self._n_outputs, len(weights)))

    def curvature(self) -> Array:
        """(d, d): at least the second derivatives in the weights of one output, without the penalty."""
        weights = self._row_weights.max(axis=0)

        def square(block: BagBlock) -> tuple[Array]:
            features, counts = block.read(), block.repeat_rows(weights[block.bags])
            counts = counts if block.shares is None else counts * block.shares
            return ((features.T * counts) @ features,)

        (squares,) = sum_over_blocks(square, self._blocks)
        return np.asarray(squares / (4 if self._n_outputs == 1 else 2))

    def __call__(self, points: Array, which: Array, close: float = _CLOSE) -> tuple[Array, Array]:
        """Values (r,) and slopes (r, n) at points (r, n), of the classifiers with these numbers."""
        by_output = points.reshape(len(points), self._n_outputs, -1)

        def part(block: BagBlock) -> tuple[Array, Array]:
            return self._block(block, by_output, which, close)

        values, slopes = sum_over_blocks(part, self._blocks)
        penalties = self._penalties[which]
        values += penalties / 2 * np.einsum("rkd,rkd->r", by_output[:, :, :-1], by_output[:, :, :-1])
        slopes[:, :, :-1] += penalties[:, None, None] * by_output[:, :, :-1]
        return values, slopes.reshape(points.shape)

    def _block(self, block: BagBlock, points: Array, which: Array, close: float) -> tuple[Array, Array]:
        """Values (r,) and slopes (r, outputs, d)."""
        features = block.read()
        flat = points.swapaxes(0, 1).reshape(self._n_outputs * len(points), -1)
        scores = (features @ flat.T).reshape(len(features), self._n_outputs, len(points))
        weights = block.repeat_rows(self._row_weights[which][:, block.bags].T)
        if block.shares is not None:
            weights = weights * block.shares[:, None]
        values, slopes = np.empty(len(points)), np.empty((len(points), self._n_outputs, features.shape[1]))
        for place, number in enumerate(which.tolist()):
            losses, slope, tilts = self._rows(block, scores[:, :, place], number, close)
            self._tilts[block.bags, :, number] = tilts
            values[place] = weights[:, place] @ losses
            slopes[place] = (slope * weights[:, [place]]).T @ features
        return values, slopes

    def _rows(self, block: BagBlock, scores: Array, number: int, close: float) -> tuple[Array, Array, Array]:
        """The loss of each row, its slope in the scores, and the tilts of the bags."""
        power, before = float(self._powers[number]), self._tilts[block.bags, :, number]
        if self._n_outputs == 1:
            found = expit(scores)
            targets = self._shares[block.bags, 1:]
            tilts = tilt_binary(block, power * scores, targets, before, close)
            tilted = power * scores + block.repeat_rows(tilts)
            labels = expit(tilted)
            sides = block.repeat_rows(targets)
            labels = np.where(sides <= 0, 0.0, np.where(sides >= 1, 1.0, labels))
            # log of the normalizers: of f^a · e^c over both classes, and of f
            both = np.where((sides > 0) & (sides < 1), np.logaddexp(0, tilted), labels * power * scores)
            dual = both - np.where((sides > 0) & (sides < 1), block.repeat_rows(tilts * targets), 0.0)
            losses = np.logaddexp(0, scores) - dual / power
            return losses[:, 0], found - labels, tilts
        scores = scores - scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        found, targets = np.exp(logs), self._shares[block.bags]
        labels, normalizers, tilts = tilt(block, power * logs, targets, before, close)
        offsets = np.where(targets > 0, targets * tilts, 0.0).sum(axis=1)
        return (block.repeat_rows(offsets) - normalizers) / power, found - labels, tilts


def tilt(
    block: BagBlock, logs: Array, targets: Array, start: Array, close: float = _CLOSE
) -> tuple[Array, Array, Array]:
    """Labels whose mean over each bag is as given, by raking.

    Parameters
    ----------
    block : BagBlock
        Which rows are in which bag.
    logs : ndarray of shape (n_rows, n_classes)
        Logarithms of what the labels are proportional to, before they are tilted.
    targets : ndarray of shape (n_bags, n_classes)
        The mean of the labels of each bag.
    start : ndarray of shape (n_bags, n_classes)
        The first guess of the tilts.
    close : float, default=1e-6
        How near means are to the proportions in the end.

    Returns
    -------
    labels : ndarray of shape (n_rows, n_classes)
        The labels.
    normalizers : ndarray of shape (n_rows,)
        The logarithm of the sum of the tilted weights of each row.
    tilts : ndarray of shape (n_bags, n_classes)
        What was added to the logarithms.
    """
    top = logs.max(axis=1, keepdims=True)
    weights = np.exp(np.maximum(logs - top, -_RANGE))
    tilts = np.where(targets > 0, start - start.max(axis=1, keepdims=True), 0.0)
    labels, sums = np.empty_like(weights), np.empty((len(weights), 1))
    longest, gaps = np.full(len(targets), _LONGEST), np.full(len(targets), np.inf)
    last = np.zeros_like(tilts)
    open_bags, rows = np.arange(len(targets)), np.arange(len(weights))  # whose tilts are still sought
    for step in range(_MOST_STEPS):
        goals = targets[open_bags]
        factors = np.where(goals > 0, np.exp(np.maximum(tilts[open_bags], -_RANGE / 2)), 0.0)
        found = weights * block.repeat_rows(factors)
        totals = found.sum(axis=1, keepdims=True)
        found /= totals
        means = _means(block, found)
        before, gaps[open_bags] = gaps[open_bags], np.abs(means - goals).max(axis=1)
        is_open = gaps[open_bags] >= close
        too_far = is_open & (gaps[open_bags] > before) & (longest[open_bags] > _FASTEST)
        if not is_open.any() or step == _MOST_STEPS - 1:
            labels[rows], sums[rows] = found, totals
            break
        if is_open.mean() < _FEW_OPEN:
            labels[rows], sums[rows] = found, totals
            kept, block = block.repeat_rows(is_open), _take_bags(block, is_open)
            open_bags, rows, weights, found = open_bags[is_open], rows[kept], weights[kept], found[kept]
            goals, means, too_far = goals[is_open], means[is_open], too_far[is_open]
        steps = np.where(goals > 0, _steps(block, found, means, goals, longest[open_bags]), 0.0)
        longest[open_bags[too_far]] = _FASTEST
        steps[too_far] = (1 / _FASTEST - 1) * last[open_bags[too_far]]  # most of the last step is undone
        last[open_bags] = steps
        tilts[open_bags] += steps
        tilts[open_bags] -= tilts[open_bags].max(axis=1, keepdims=True)
    return labels, (np.log(sums) + top)[:, 0], tilts


def _steps(block: BagBlock, labels: Array, means: Array, targets: Array, longest: Array) -> Array:
    """(n_bags, n_classes): the next steps of the tilts, Newton's if the means are near, else those of raking.

    Newton's are at most ``longest`` times those of raking.
    """
    raked = np.where(targets > 0, np.log(np.maximum(targets, _LEAST) / np.maximum(means, _LEAST)), 0.0)
    lengths, n_classes = np.abs(raked).max(axis=1), labels.shape[1]
    near = lengths < _NEAR
    if near.any() and n_classes <= _MOST_CLASSES:
        curvature = (
            np.eye(n_classes) * (means + _RIDGE)[:, :, None] - _product_means(block, labels) + 1 / n_classes
        )
        most = (longest * lengths)[near, None]
        newton = np.linalg.solve(curvature[near], (targets - means)[near, :, None])[:, :, 0]
        raked[near] = np.clip(newton, -most, most)
    return raked


def _product_means(block: BagBlock, labels: Array) -> Array:
    """(n_bags, n_classes, n_classes): the mean over each bag of the products of each two columns.

    Bags of about the same size are multiplied together, filled up with zeros.
    """
    found = np.empty((len(block.sizes), labels.shape[1], labels.shape[1]))
    widths = 2 ** np.ceil(np.log2(block.sizes)).astype(np.int64)
    for width in np.unique(widths).tolist():
        bags = np.flatnonzero(widths == width)
        places = np.arange(width)
        inside = places < block.sizes[bags, None]
        rows = np.where(inside, block.starts[bags, None] + places, 0)
        filled = labels[rows] * inside[:, :, None]
        counted = filled if block.shares is None else filled * block.shares[rows][:, :, None]
        found[bags] = counted.swapaxes(1, 2) @ filled
    return found / block.sizes[:, None, None]


def _take_bags(block: BagBlock, which: Array) -> BagBlock:
    """Some of the bags of a block, without their features."""
    sizes = block.sizes[which]
    shares = None if block.shares is None else block.shares[block.repeat_rows(which)]
    return replace(block, sizes=sizes, starts=np.cumsum(sizes) - sizes, shares=shares)


def tilt_binary(block: BagBlock, scores: Array, targets: Array, start: Array, close: float = _CLOSE) -> Array:
    """(n_bags, 1): what to add to the scores of each bag, so that the mean of the second class is as given."""
    tilts = start
    inside = (targets > 0) & (targets < 1)
    wanted = np.log(np.where(inside, targets, 0.5) / np.where(inside, 1 - targets, 0.5))
    for _ in range(_MOST_STEPS):
        labels = expit(scores + block.repeat_rows(tilts))
        means = np.clip(_means(block, labels), 1e-12, 1 - 1e-12)
        if np.abs(np.where(inside, means - targets, 0.0)).max() < close:
            break
        spread = means * (1 - means)
        speed = np.minimum(spread / np.maximum(_means(block, labels * (1 - labels)), 1e-12), _FASTEST)
        tilts = np.where(inside, tilts + speed * (wanted - np.log(means / (1 - means))), 0.0)
    return tilts


def _means(block: BagBlock, values: Array) -> Array:
    """(n_bags, columns): the mean over each bag."""
    counted = values if block.shares is None else values * block.shares[:, None]
    return block.sums(counted) / block.sizes[:, None]
