"""The step along a direction of descent, by the method of Moré and Thuente.

References
----------
J. J. Moré, D. J. Thuente (1994). Line search algorithms with guaranteed sufficient decrease. ACM Transactions on
Mathematical Software 20(3).
"""

from dataclasses import dataclass

import numpy as np

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

    def tilted(self, slope: float) -> "Point":
        """The same of the function less a line through zero."""
        return Point(self.step, self.value - self.step * slope, self.slope - slope)


class WolfeSearch:
    """The search for one step: it is told what was found at a step, and says at which to look next.

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
    ...     step, done = search.told(step, (step - 3) ** 2, 2 * (step - 3))
    >>> abs(step - 3) < 1
    True
    """

    def __init__(self, value: float, slope: float, step: float) -> None:
        self._first = self._best = self._other = Point(0.0, value, slope)
        self._bracketed, self._seeks_decrease = False, True
        self._low, self._high = 0.0, step + _FURTHER_MOST * step
        self._width = self._width_before = np.inf

    def told(self, step: float, value: float, slope: float) -> tuple[float, bool]:
        """Take the value and slope at a step; return the next step, or the same one if the search is over."""
        found, needed = Point(step, value, slope), DECREASE * self._first.slope
        enough = value <= self._first.value + step * needed
        if self._seeks_decrease and enough and slope >= 0:
            self._seeks_decrease = False
        if self._is_over(found, enough):
            return step, True
        if self._seeks_decrease and value <= self._best.value and not enough:
            self._take(found, tilt=needed)
        else:
            self._take(found, tilt=0.0)
        return self._next, False

    def _is_over(self, found: Point, enough: bool) -> bool:
        if enough and abs(found.slope) <= -FLATTER * self._first.slope:
            return True
        outside = found.step <= self._low or found.step >= self._high
        return self._bracketed and (outside or self._high - self._low <= _NARROW * self._high)

    def _take(self, found: Point, tilt: float) -> None:
        """Narrow the interval by what was found, and choose the next step in it."""
        best, other, tried = (point.tilted(tilt) for point in (self._best, self._other, found))
        step, brackets = next_step(best, other, tried, self._bracketed, self._low, self._high)
        if tried.value > best.value:
            self._other = found
        else:
            if np.sign(tried.slope) != np.sign(best.slope):
                self._other = self._best
            self._best = found
        self._bracketed = brackets
        self._next = self._within(step, found.step)

    def _within(self, step: float, last: float) -> float:
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
        cubic, secant = cubic_minimum(best, tried), _parabola(best, tried)
        nearer = abs(cubic - best.step) < abs(secant - best.step)
        return (cubic if nearer else cubic + (secant - cubic) / 2), True
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


def _parabola(one: Point, two: Point) -> float:
    """The minimum of the parabola with both values and the first slope."""
    width = two.step - one.step
    return one.step + one.slope / ((one.value - two.value) / width + one.slope) / 2 * width


def _secant(one: Point, two: Point) -> float:
    """Where the line through both slopes is zero."""
    return one.step + one.slope / (one.slope - two.slope) * (two.step - one.step)
