"""Many minimisations at once: L-BFGS on functions that cost little more together than one does alone.

References
----------
D. C. Liu, J. Nocedal (1989). On the limited memory BFGS method for large scale optimization. Mathematical
Programming 45.
"""

from collections.abc import Callable

import numpy as np

from llpgan.estimators.wolfe_search import DECREASE, FLATTER, WolfeSearch
from llpgan.utils.arrays import Array

# From points (r, n) of the functions with these numbers (r,) to their values (r,) and slopes (r, n).
Functions = Callable[[Array, Array], tuple[Array, Array]]
_MEMORY = 10  # pairs of differences
_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of a value, relative to it
_MOST_TRIALS = 20  # of a step, before the memory is dropped


def minimized(functions: Functions, start: Array, *, tol: float, max_iterations: int = 2000) -> Array:
    """Minimise each of several smooth functions from its own start.

    Every function is searched as if it were alone, by steps of its own; only the evaluations are shared. A search
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

    Returns
    -------
    array of shape (n_functions, n)
        The minima.

    Examples
    --------
    >>> centres = np.array([[1.0, 2.0], [3.0, -4.0]])
    >>> def squares(points, which):
    ...     away = points - centres[which]
    ...     return (away**2).sum(axis=1), 2 * away
    >>> minimized(squares, np.zeros((2, 2)), tol=1e-8).round(6)
    array([[ 1.,  2.],
           [ 3., -4.]])
    """
    searches = _Searches(functions, np.array(start, np.float64), tol)
    searches.run(max_iterations)
    return searches.points


class _Searches:
    """Where each search is, and what it remembers."""

    def __init__(self, functions: Functions, start: Array, tol: float) -> None:
        self._functions, self._tol = functions, tol
        n_searches, n = start.shape
        self.points = start
        self._values, self._slopes = functions(start, np.arange(n_searches))
        self._moves, self._turns = np.zeros((2, n_searches, _MEMORY, n))  # newest last
        self._inverse = np.zeros((n_searches, _MEMORY))  # 1 / (move · turn); zero where nothing is remembered
        self._scale = np.ones(n_searches)
        self._directions, self._descents = np.zeros((n_searches, n)), np.zeros(n_searches)
        self._steps, self._n_done = np.ones(n_searches), np.zeros(n_searches, np.int64)
        self._n_trials, self._searches = np.zeros(n_searches, np.int64), dict[int, WolfeSearch]()

    def run(self, most: int) -> None:
        """Until each has ended."""
        active = np.flatnonzero(self._are_steep(np.arange(len(self.points))))
        self._turn(active)
        while len(active):
            trial = self.points[active] + self._steps[active, None] * self._directions[active]
            values, slopes = self._functions(trial, active)
            taken, dropped = self._judged(active, values, np.einsum("ij,ij->i", slopes, self._directions[active]))
            lower = self._gains(active[taken], values[taken], slopes[taken])
            self._move(active[taken], trial[taken], values[taken], slopes[taken])
            goes_on = np.ones(len(active), bool)
            moved = active[taken]
            goes_on[taken] = lower & self._are_steep(moved) & (self._n_done[moved] < most)
            goes_on[dropped] = self._forget(active[dropped])
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

    def _judged(self, active: Array, values: Array, slopes: Array) -> tuple[Array, Array]:
        """Which steps are taken, and which searches for a step have failed; the others get their next step."""
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
            step, taken[place] = self._searches[number].told(float(steps[place]), value, float(slopes[place]))
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
        self._n_done[which] += 1

    def _forget(self, which: Array) -> Array:
        """Drop the memory of searches that found no step; False for those that had none."""
        had_some = self._inverse[which].any(axis=1)
        self._inverse[which], self._scale[which], self._n_done[which] = 0.0, 1.0, 0
        return np.asarray(had_some)

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
