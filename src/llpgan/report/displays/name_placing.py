"""Where to write the names of a few points, so that no name covers another, a ring, or a line to a name."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from llpgan.utils.arrays import Array

_ANGLES = np.deg2rad([30, 150, 210, 330, 60, 120, 240, 300, 0, 180, 78, 102, 258, 282])
_REACHES = (0.06, 0.10, 0.15, 0.21, 0.28)
_RING = 0.016
_COSTS = {"outside": 100.0, "name": 50.0, "line": 25.0, "ring": 20.0, "point": 1.0, "crossing": 0.7, "reach": 9.0}


class Box(NamedTuple):
    """A rectangle in units of the axes, which are a square from 0 to 1."""

    left: float
    bottom: float
    right: float
    top: float

    def covers(self, other: "Box") -> bool:
        """Whether the two overlap."""
        apart = self.left >= other.right or other.left >= self.right
        return not (apart or self.bottom >= other.top or other.bottom >= self.top)

    def holds(self, points: Array) -> Array:
        """Which points lie inside."""
        x, y = points[..., 0], points[..., 1]
        return (x > self.left) & (x < self.right) & (y > self.bottom) & (y < self.top)


class Placed(NamedTuple):
    """A name's box, and the line from the point's ring to it."""

    box: Box
    line: Array


def place_names(points: Array, sizes: Sequence[tuple[float, float]], others: Array) -> list[Placed]:
    """A place for each name, one after the other, that is cheap given the places before.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        The points to be named, in units of the axes.
    sizes : sequence of (width, height)
        Of the names, in the same units.
    others : ndarray of shape (m, 2)
        All points, which a name should not hide.

    Returns
    -------
    list of Placed

    Examples
    --------
    >>> two = place_names(np.array([[0.5, 0.5], [0.52, 0.5]]), [(0.2, 0.04)] * 2, np.empty((0, 2)))
    >>> two[0].box.covers(two[1].box)
    False
    """
    placed: list[Placed] = []
    for point, size in zip(points, sizes, strict=True):
        candidates = [_candidate(point, size, *where) for where in product(_REACHES, _ANGLES)]
        placed.append(min(candidates, key=lambda place: _cost(place, placed, points, others)))
    return placed


def _candidate(point: Array, size: tuple[float, float], reach: float, angle: float) -> Placed:
    """A name whose nearer end stands at this distance and angle."""
    way = np.array([np.cos(angle), np.sin(angle)])
    end = point + reach * way
    left = end[0] if way[0] > 0 else end[0] - size[0]
    box = Box(left, end[1] - size[1] / 2, left + size[0], end[1] + size[1] / 2)
    return Placed(box, np.array([point + _RING * way, end]))


def _cost(place: Placed, placed: Sequence[Placed], named: Array, others: Array) -> float:
    box, line = place
    steps = np.linspace(line[0], line[1], 24)
    cost = _COSTS["outside"] * float(box.left < 0 or box.right > 1.04 or box.bottom < 0.02 or box.top > 0.99)
    cost += _COSTS["reach"] * float(np.linalg.norm(line[1] - line[0]))
    cost += _COSTS["ring"] * float(_widened(box, _RING).holds(named).sum())
    cost += _COSTS["point"] * float(_widened(box, 0.01).holds(others).sum()) if len(others) else 0.0
    cost += _COSTS["crossing"] * _n_near(steps[4:], others)
    for other in placed:
        cost += _COSTS["name"] * box.covers(_widened(other.box, 0.008))
        cost += _COSTS["line"] * bool(
            _widened(box, 0.006).holds(np.linspace(other.line[0], other.line[1], 24)).any()
        )
        cost += _COSTS["line"] * bool(_widened(other.box, 0.006).holds(steps).any())
        cost += _COSTS["line"] * _cross(line, other.line)
    return cost


def _n_near(steps: Array, points: Array) -> int:
    """How many points a line touches."""
    if not len(points):
        return 0
    apart = np.abs(steps[:, None] - points[None]).max(axis=2)
    return int((apart < _RING / 2).any(axis=0).sum())


def _widened(box: Box, by: float) -> Box:
    return Box(box.left - by, box.bottom - by, box.right + by, box.top + by)


def _cross(line: Array, other: Array) -> bool:
    """Whether two segments cross: each has the other's ends on both sides."""
    return _side(line, other[0]) != _side(line, other[1]) and _side(other, line[0]) != _side(other, line[1])


def _side(line: Array, point: Array) -> bool:
    (x0, y0), (x1, y1) = line
    return bool((x1 - x0) * (point[1] - y0) > (y1 - y0) * (point[0] - x0))
