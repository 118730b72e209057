"""How alike bags are, by their means: the graph that Laplacian MeanMap smooths over."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph

from llpgan.utils.arrays import Array

# From the bags' means (n, d) to a symmetric matrix (n, n) of weights, dense or sparse; its diagonal is not used.
Similarity = Callable[[Array], Any]


def exponential(bag_means: Array, bandwidth: float | None = None) -> Array:
    """exp(−‖μ_i − μ_j‖ / σ) for all pairs of bags; σ is their median distance unless given.

    >>> exponential(np.array([[0.0], [1.0]]), bandwidth=1.0).round(2)
    array([[1.  , 0.37],
           [0.37, 1.  ]])
    """
    distances = pairwise_distances(bag_means)
    between = distances[np.triu_indices_from(distances, k=1)]
    width = bandwidth or (np.median(between) if between.any() else 1.0) or between.max()
    return np.exp(-distances / width)


def nearest(bag_means: Array, n_neighbors: int = 5) -> sparse.csr_array:
    """One for bags of which either is among the nearest of the other, else zero: a sparse matrix.

    >>> nearest(np.array([[0.0], [1.0], [5.0]]), n_neighbors=1).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    graph = sparse.csr_array(kneighbors_graph(bag_means, min(n_neighbors, len(bag_means) - 1)))
    return graph.maximum(graph.T)


SIMILARITIES: dict[str, Similarity] = {"exponential": exponential, "nearest": nearest}
