"""What the paper's lower bound learns, and the way back from it to a classifier."""

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]


def bound_optimum(posterior: Table, bag_size: float, prior: Table) -> Table:
    """η/m + (1 − 1/m)·π: what minimises the bound on random bags of m instances, where η is the posterior.

    An instance's own class is one of the m that its bag's proportions tell of; the rest tell only the prior.
    """
    return posterior / bag_size + (1 - 1 / bag_size) * prior


def undo_bound(probabilities: Table, bag_size: float, prior: Table) -> Table:
    """m·f − (m−1)·π, the inverse of :func:`bound_optimum`; clipped and renormalised where f is not exact.

    >>> undo_bound(np.array([[0.55, 0.45]]), bag_size=10, prior=np.array([0.5, 0.5])).round(2)
    array([[1., 0.]])
    """
    posterior = np.clip(bag_size * probabilities - (bag_size - 1) * prior, 0, 1)
    return posterior / posterior.sum(axis=1, keepdims=True)
