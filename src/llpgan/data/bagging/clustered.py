"""Rows into bags of their likes."""

import numpy as np
from numpy.typing import ArrayLike

from llpgan.data.bagging.labelled_rows import BagOfRow


def clustered_bags(instances: ArrayLike, n_bags: int, seed: int) -> BagOfRow:
    """Divide rows into bags by k-means clustering, so that bags differ in their instances.

    Every row is in a bag. Bags differ in size, and there are fewer than ``n_bags`` if clusters stay empty.

    Parameters
    ----------
    instances : array-like of shape (n_samples, ...)
        The instances. Standardize their columns first, because distances depend on their scales.
    n_bags : int
        The number of clusters.
    seed : int
        The seed of the clustering.

    Returns
    -------
    ndarray of shape (n_samples,)
        The bag of each row.

    Examples
    --------
    >>> clustered_bags([[0.0], [9.0], [0.1], [9.1]], n_bags=2, seed=0)
    array([0, 1, 0, 1])
    """
    from sklearn.cluster import MiniBatchKMeans

    rows = np.asarray(instances, dtype=np.float32)
    if not 1 <= n_bags <= len(rows):
        raise ValueError(f"{n_bags} bags of {len(rows)} instances: there must be 1 to {len(rows)} bags")
    clusters = MiniBatchKMeans(n_bags, random_state=seed, n_init=3).fit_predict(rows.reshape(len(rows), -1))
    return _numbered_by_appearance(clusters)


def _numbered_by_appearance(clusters: BagOfRow) -> BagOfRow:
    _, first, index = np.unique(clusters, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[index]
