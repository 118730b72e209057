"""L-BFGS for many problems side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llpgan.utils.arrays import Array
from llpgan.utils.workers import find_workers

DECREASE = 1e-3  # of the value, at least this share of what the first slope promises
FLATTER = 0.9  # at most this share of the first slope may be left
_NARROW = 0.1  # an interval this wide, relative to its upper end, is not searched further
_FURTHER_LEAST, _FURTHER_MOST = 1.1, 4.0  # how far beyond the last step the next one is sought
_SHRINK, _TOWARDS = 0.66, 0.66


@dataclass(frozen=True)
class Point:
    """A step with the value and the slope there."""

    step: float
    value: float
    slope: float

    def subtract_line(self, slope: float) -> Point:
        """The same of the function less a line through zero."""
        return Point(self.step, self.value - self.step * slope, self.slope - slope)


class WolfeSearch:
    """The search for one step: it gets the value and slope at a step, and returns the next step to try.

    Parameters
    ----------
    value, slope : float
        At step zero; the slope is below zero.
    step : float
        The first one to be tried.

    Examples
    --------
    Along (x − 3)², from x = 0, steps of 1 and 20 are wrong, and the search ends near 3.

    >>> search, step, done = WolfeSearch(9.0, -6.0, step=20.0), 20.0, False
    >>> while not done:
    ...     step, done = search.update(step, (step - 3) ** 2, 2 * (step - 3))
    >>> abs(step - 3) < 1
    True
    """

    def __init__(self, value: float, slope: float, step: float) -> None:
        self._first = self._best = self._other = Point(0.0, value, slope)
        self._bracketed, self._seeks_decrease = False, True
        self._low, self._high = 0.0, step + _FURTHER_MOST * step
        self._width = self._width_before = np.inf

    def update(self, step: float, value: float, slope: float) -> tuple[float, bool]:
        """Take the value and slope at a step; return the next step, or the same one if the search is over."""
        found, needed = Point(step, value, slope), DECREASE * self._first.slope
        enough = value <= self._first.value + step * needed
        if self._seeks_decrease and enough and slope >= 0:
            self._seeks_decrease = False
        if enough and abs(slope) <= -FLATTER * self._first.slope:
            return step, True
        outside = step <= self._low or step >= self._high
        if self._bracketed and (outside or self._high - self._low <= _NARROW * self._high):
            return step, True
        if self._seeks_decrease and value <= self._best.value and not enough:
            self._take(found, tilt=needed)
        else:
            self._take(found, tilt=0.0)
        return self._next, False

    def _take(self, found: Point, tilt: float) -> None:
        """Narrow the interval by what was found, and choose the next step in it."""
        best, other, tried = (point.subtract_line(tilt) for point in (self._best, self._other, found))
        step, brackets = next_step(best, other, tried, self._bracketed, self._low, self._high)
        if tried.value > best.value:
            self._other = found
        else:
            if np.sign(tried.slope) != np.sign(best.slope):
                self._other = self._best
            self._best = found
        self._bracketed = brackets
        self._next = self._clip_step(step)

    def _clip_step(self, step: float) -> float:
        best, other = self._best.step, self._other.step
        if not self._bracketed:
            self._low, self._high = (step + (factor * (step - best)) for factor in (_FURTHER_LEAST, _FURTHER_MOST))
            return step
        if abs(other - best) >= _SHRINK * self._width_before:
            step = best + (other - best) / 2
        self._width_before, self._width = self._width, abs(other - best)
        self._low, self._high = min(best, other), max(best, other)
        if not self._low < step < self._high or self._high - self._low <= _NARROW * self._high:
            return best
        return step


def next_step(
    best: Point, other: Point, tried: Point, bracketed: bool, low: float, high: float
) -> tuple[float, bool]:
    """The next step between two ends of an interval, or beyond them, and whether a minimum lies between.

    Parameters
    ----------
    best, other : Point
        The ends of the interval; the first has the lowest value so far.
    tried : Point
        The last step.
    bracketed : bool
        Whether a minimum is known to lie between the ends.
    low, high : float
        Between which the step must lie if it is not.
    """
    if tried.value > best.value:  # beyond a minimum
        width = tried.step - best.step  # the parabola has both values and the first slope
        parabola = best.step + best.slope / ((best.value - tried.value) / width + best.slope) / 2 * width
        cubic = cubic_minimum(best, tried)
        nearer = abs(cubic - best.step) < abs(parabola - best.step)
        return (cubic if nearer else cubic + (parabola - cubic) / 2), True
    if np.sign(tried.slope) != np.sign(best.slope):  # beyond a minimum as well, but lower
        cubic, secant = cubic_minimum(tried, best), _secant(tried, best)
        return (cubic if abs(cubic - tried.step) > abs(secant - tried.step) else secant), True
    if abs(tried.slope) < abs(best.slope):  # lower and flatter
        return _ahead(best, other, tried, bracketed, low, high), bracketed
    if bracketed:
        return cubic_minimum(tried, other), True
    return (high if tried.step > best.step else low), False


def _ahead(best: Point, other: Point, tried: Point, bracketed: bool, low: float, high: float) -> float:
    """Where the slope became flatter: the minimum of the cubic if it lies ahead, else the secant's."""
    limit = high if tried.step > best.step else low
    cubic, secant = cubic_minimum(tried, best), _secant(tried, best)
    is_ahead = np.isfinite(cubic) and (cubic - tried.step) * (tried.step - best.step) > 0
    cubic = cubic if is_ahead else limit
    cubic_is_nearer = abs(cubic - tried.step) < abs(secant - tried.step)
    if not bracketed:
        return float(np.clip(secant if cubic_is_nearer else cubic, low, high))
    step = cubic if cubic_is_nearer else secant
    most = tried.step + _TOWARDS * (other.step - tried.step)
    return min(most, step) if tried.step > best.step else max(most, step)


def cubic_minimum(one: Point, two: Point) -> float:
    """The step at which the cubic with these values and slopes has its minimum; NaN if it has none.

    >>> cubic_minimum(Point(0.0, 9.0, -6.0), Point(4.0, 1.0, 2.0))
    3.0
    """
    theta = 3 * (one.value - two.value) / (two.step - one.step) + one.slope + two.slope
    scale = max(abs(theta), abs(one.slope), abs(two.slope))
    square = (theta / scale) ** 2 - (one.slope / scale) * (two.slope / scale)
    gamma = scale * float(np.sqrt(max(square, 0.0))) * (-1 if two.step < one.step else 1)
    divisor = 2 * gamma - one.slope + two.slope
    if square < 0 or divisor == 0:
        return float("nan")
    return one.step + (gamma - one.slope + theta) / divisor * (two.step - one.step)


def _secant(one: Point, two: Point) -> float:
    """Where the line through both slopes is zero."""
    return one.step + one.slope / (one.slope - two.slope) * (two.step - one.step)


# From points (r, n) of the functions with these numbers (r,) to their values (r,) and slopes (r, n).
Functions = Callable[[Array, Array], tuple[Array, Array]]
_MEMORY = 10  # pairs of differences
_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of a value, relative to it
_MOST_TRIALS = 20  # of a step, before the memory is dropped


def minimize_side_by_side(
    functions: Functions, start: Array, *, tol: float, max_iterations: int = 2000, deadline: float = np.inf
) -> Searches:
    """Minimise each of several smooth functions from its own start.

    Every function is searched as if it were alone, with separate steps; only the evaluations are shared. A search
    ends when no slope is larger than ``tol``, or when a step lowers neither the value nor, at
    the same value, the slope.

    Parameters
    ----------
    functions : callable
        Computes values and slopes of some of the functions.
    start : array of shape (n_functions, n)
        Where each search starts.
    tol : float
        The largest slope that counts as zero.
    max_iterations : int, default=2000
        How many steps a search may take.
    deadline : float, default=inf
        The time, by ``time.perf_counter``, after which no evaluation should end.

    Returns
    -------
    Searches
        With the minima, ``points`` of shape (n_functions, n), and whether a deadline ended a search.

    Examples
    --------
    >>> centres = np.array([[1.0, 2.0], [3.0, -4.0]])
    >>> def squares(points, which):
    ...     away = points - centres[which]
    ...     return (away**2).sum(axis=1), 2 * away
    >>> minimize_side_by_side(squares, np.zeros((2, 2)), tol=1e-8).points.round(6)
    array([[ 1.,  2.],
           [ 3., -4.]])
    """
    searches = Searches(functions, np.array(start, np.float64), tol)
    searches.run(max_iterations, deadline=deadline)
    return searches


class Searches:
    """Where each search is, and what it remembers; it can stop after some steps, and go on."""

    def __init__(self, functions: Functions, start: Array, tol: float) -> None:
        self._functions, self._tol = functions, tol
        n_searches, n = start.shape
        self.points, started = start, time.perf_counter()
        self._values, self._slopes = functions(start, np.arange(n_searches))
        self._longest = time.perf_counter() - started  # of the evaluations so far
        #: Whether a deadline ended a search.
        self.is_out_of_time = False
        self._moves, self._turns = np.zeros((2, n_searches, _MEMORY, n))  # newest last
        self._inverse = np.zeros((n_searches, _MEMORY))  # 1 / (move · turn); zero where nothing is remembered
        self._scale = np.ones(n_searches)
        self._directions, self._descents = np.zeros((n_searches, n)), np.zeros(n_searches)
        self._steps, self._n_done = np.ones(n_searches), np.zeros(n_searches, np.int64)
        self._ended, self._n_taken = np.zeros(n_searches, bool), np.zeros(n_searches, np.int64)
        self._n_trials, self._searches = np.zeros(n_searches, np.int64), dict[int, WolfeSearch]()

    def run(self, most: int, which: Array | None = None, deadline: float = np.inf) -> None:
        """Search until each has taken ``most`` steps in all, or has ended; some of them, or all if None.

        No evaluation begins that would not end before the deadline, a time of ``time.perf_counter``.
        """
        which = np.arange(len(self.points)) if which is None else which
        active = which[self._are_steep(which) & (self._n_taken[which] < most) & ~self._ended[which]]
        self._turn(active)
        while len(active):
            started = time.perf_counter()
            if find_workers().is_late(started + self._longest, deadline):
                self.is_out_of_time = True
                return
            trial = self.points[active] + self._steps[active, None] * self._directions[active]
            values, slopes = self._functions(trial, active)
            self._longest = max(self._longest, time.perf_counter() - started)
            taken, dropped = self._judge_steps(
                active, values, np.einsum("ij,ij->i", slopes, self._directions[active])
            )
            lower = self._gains(active[taken], values[taken], slopes[taken])
            self._move(active[taken], trial[taken], values[taken], slopes[taken])
            goes_on = np.ones(len(active), bool)
            moved = active[taken]
            goes_on[taken] = lower & self._are_steep(moved)
            lost = active[dropped]  # these found no step: they drop their memory, or end if they had none
            goes_on[dropped] = self._inverse[lost].any(axis=1)
            self._inverse[lost], self._scale[lost], self._n_done[lost] = 0.0, 1.0, 0
            self._ended[active[~goes_on]] = True
            goes_on[taken] &= self._n_taken[moved] < most
            self._turn(active[(taken | dropped) & goes_on])
            active = active[goes_on]

    def _are_steep(self, which: Array) -> Array:
        return np.asarray(np.abs(self._slopes[which]).max(axis=1, initial=0) > self._tol)

    def _gains(self, which: Array, values: Array, slopes: Array) -> Array:
        """Which of the new points are lower or, where values are the same but for rounding, flatter."""
        before = self._values[which]
        same = values <= before + _ROUNDING * np.abs(before)
        flatter = np.abs(slopes).max(axis=1, initial=0) < np.abs(self._slopes[which]).max(axis=1, initial=0)
        return np.asarray((values < before) | (same & flatter))

    def _judge_steps(self, active: Array, values: Array, slopes: Array) -> tuple[Array, Array]:
        """Which steps are accepted, and which searches for a step have failed; the others get their next step."""
        steps, descents = self._steps[active], self._descents[active]
        before, promised = self._values[active], steps * descents
        noise = _ROUNDING * np.abs(before)  # in which a smaller decrease could not be seen
        enough = values <= before + np.where(-promised < noise, noise, DECREASE * promised)
        taken = enough & (np.abs(slopes) <= -FLATTER * descents)
        dropped = np.zeros_like(taken)
        self._n_trials[active] += 1
        for place in np.flatnonzero(~taken).tolist():
            number, value = int(active[place]), float(values[place])
            if self._n_trials[number] >= _MOST_TRIALS or not np.isfinite(value):
                dropped[place] = True
                continue
            if number not in self._searches:
                first = float(self._values[number]), float(descents[place])
                self._searches[number] = WolfeSearch(*first, float(steps[place]))
            step, taken[place] = self._searches[number].update(float(steps[place]), value, float(slopes[place]))
            self._steps[number] = step
        return taken, dropped

    def _move(self, which: Array, points: Array, values: Array, slopes: Array) -> None:
        """Go to new points, and remember how slopes changed on the way, where they rose."""
        move, turn = points - self.points[which], slopes - self._slopes[which]
        product = np.einsum("ij,ij->i", move, turn)
        promised = -self._descents[which] * self._steps[which]
        kept = product > np.finfo(np.float64).eps * promised
        rose = which[kept]
        for memory, newest in ((self._moves, move), (self._turns, turn)):
            memory[rose, :-1] = memory[rose, 1:]
            memory[rose, -1] = newest[kept]
        self._inverse[rose, :-1] = self._inverse[rose, 1:]
        self._inverse[rose, -1] = 1 / product[kept]
        self._scale[rose] = product[kept] / np.einsum("ij,ij->i", turn[kept], turn[kept])
        self.points[which], self._values[which], self._slopes[which] = points, values, slopes
        self._n_done[which] += 1  # since the memory was dropped last
        self._n_taken[which] += 1

    def _turn(self, which: Array) -> None:
        """New directions, by the two loops of L-BFGS, and the first step to try along them."""
        direction, alphas = self._slopes[which], np.zeros((_MEMORY, len(which)))
        moves, turns, inverse = self._moves[which], self._turns[which], self._inverse[which]
        for k in reversed(range(_MEMORY)):
            alphas[k] = inverse[:, k] * np.einsum("ij,ij->i", moves[:, k], direction)
            direction = direction - alphas[k][:, None] * turns[:, k]
        direction = self._scale[which, None] * direction
        for k in range(_MEMORY):
            beta = inverse[:, k] * np.einsum("ij,ij->i", turns[:, k], direction)
            direction = direction + (alphas[k] - beta)[:, None] * moves[:, k]
        self._directions[which] = -direction
        self._descents[which] = -np.einsum("ij,ij->i", direction, self._slopes[which])
        length = np.sqrt(np.einsum("ij,ij->i", direction, direction))
        self._steps[which] = np.where(self._n_done[which] == 0, 1 / np.maximum(length, 1e-300), 1.0)
        self._n_trials[which] = 0
        for number in which.tolist():
            self._searches.pop(number, None)
