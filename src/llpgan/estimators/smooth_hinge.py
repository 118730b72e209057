"""The hinge with its corner rounded: smooth, so that one solver serves, from any start."""

import numpy as np

from llpgan.utils.arrays import Array


def positive_part(values: Array, width: float) -> tuple[Array, Array]:
    """max(0, z) and its slope, a parabola where |z| < width (Chapelle, 2007).

    It is nowhere below max(0, z), and above it by width / 4 at most.

    >>> positive_part(np.array([-1.0, 0.0, 1.0]), width=0.1)
    (array([0.   , 0.025, 1.   ]), array([0. , 0.5, 1. ]))
    """
    inside = np.clip(values + width, 0.0, 2 * width)
    return inside**2 / (4 * width) + np.maximum(values - width, 0.0), inside / (2 * width)
