"""Fingerprints of bags, by which a model knows the bags that it was trained on."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from llpgan.bags.bags import Bags

MOST_FINGERPRINTS = 4096  # of the bags; those with the smallest numbers, whatever the order
_MOST_ROWS = 8  # of each bag: in two of few columns, many bags agree by chance


def fingerprint_bags(bags: Bags) -> NDArray[np.int64]:
    """Compute a number for each bag from its size, its proportions, and up to eight of its rows.

    Of many bags, only the smallest 4,096 numbers are kept: two sets of bags that share some of theirs share some
    of the smallest ones as well.

    >>> X, y, bag = np.arange(8.0)[:, None], [0, 1] * 4, [0, 0, 1, 1, 2, 2, 3, 3]
    >>> whole = Bags.from_labels(X, y, bag)
    >>> count_shared_bags(fingerprint_bags(whole), fingerprint_bags(whole.take_bags([1, 2])))
    2
    """
    keys = [
        _hash(size.tobytes() + shares.tobytes())
        for size, shares in zip(bags.sizes, np.round(bags.proportions, 9) + 0.0, strict=True)
    ]
    kept = np.argsort(keys, kind="stable")[:MOST_FINGERPRINTS]  # few rows are read where there are many bags
    of_bags = [
        rows[np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(int)] for rows in map(bags.rows_of, kept.tolist())
    ]
    places, order = np.unique(np.ravel(of_bags), return_inverse=True)
    rows = np.asarray(bags.instances[places], dtype=np.float64)[order.ravel()].reshape(len(kept), -1)
    return np.sort(
        [_hash(keys[bag].to_bytes(8, "little") + row.tobytes()) for bag, row in zip(kept, rows, strict=True)]
    )


def _hash(content: bytes) -> int:
    """A number of 63 bits."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little") >> 1


def count_shared_bags(some: NDArray[np.int64], others: NDArray[np.int64]) -> int:
    """Count the fingerprints that two sets of bags have in common."""
    return len(np.intersect1d(some, others))
