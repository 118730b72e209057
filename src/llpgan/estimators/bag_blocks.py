"""Features of whole bags, block by block: in memory, or read from their file when they are asked for."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from llpgan.bags import Bags
from llpgan.bags.stored_instances import is_stored
from llpgan.utils.arrays import Array

# From instances as they come to their features.
FeaturesOf = Callable[[Array], Array]
Result = TypeVar("Result")
_ROWS_A_BLOCK = 4096  # about as many as fit into the caches of a processor, for some hundred scores each


@dataclass(frozen=True, eq=False)
class BagBlock:
    """Some bags that follow each other.

    Attributes
    ----------
    bags : slice
        Which bags these are.
    sizes : array of shape (n_bags,)
        How many rows each of them has.
    starts : array of shape (n_bags,)
        Where each of them starts among the rows of the block.
    shares : array of shape (n_rows,) or None
        How much each row counts in its bag, on average one; None where all count the same.
    read : callable
        Gives the features, (n_rows, n_features + 1), the last of which is one.
    """

    bags: slice
    sizes: Array
    starts: Array
    shares: Array | None
    read: Callable[[], Array]

    def sums(self, values: Array) -> Array:
        """(n_bags, ...): the sum over the rows of each bag."""
        return np.add.reduceat(values, self.starts, axis=0)

    def for_rows(self, values: Array) -> Array:
        """(n_rows, ...): what is given for bags, for each of their rows."""
        return np.repeat(values, self.sizes, axis=0)


def bag_blocks(
    bags: Bags, features_of: FeaturesOf, rows_a_block: int = _ROWS_A_BLOCK, *, keep: bool = True
) -> list[BagBlock]:
    """Divide bags into blocks of about so many rows, or of one larger bag.

    Instances in memory are turned into features once; those in a file are read, and turned, each time.

    Parameters
    ----------
    bags : Bags
        The bags.
    features_of : callable
        Turns instances into features.
    rows_a_block : int, default=4096
        The number of rows after which a block ends.
    keep : bool, default=True
        Whether features of instances in memory are kept; otherwise they are computed each time.

    Examples
    --------
    >>> bags = Bags.from_labels(np.array([[1.0], [2.0], [3.0]]), [0, 1, 1], groups=["a", "b", "a"])
    >>> (block,) = bag_blocks(bags, lambda instances: instances)
    >>> block.read()
    array([[1., 1.],
           [3., 1.],
           [2., 1.]])
    """
    kept = keep and not is_stored(bags.instances)
    read = _at_once(bags, features_of) if kept else _each_time(bags, features_of)
    shares = shares_of_rows(bags)
    return [_block(bags, part, shares, read) for part in bag_runs(bags, rows_a_block)]


def shares_of_rows(bags: Bags) -> Array | None:
    """How much each row counts in its bag, on average one; None where all count the same."""
    if bags.weights is None:
        return None
    return np.asarray(bags.weights * (bags.sizes / bags.totals)[bags.bag_index])


def in_threads(work: Callable[[BagBlock], Result], blocks: Sequence[BagBlock]) -> Iterator[Result]:
    """What becomes of each block, in their order, by as many threads as there are processors."""
    n_threads = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, len(blocks))
    if n_threads < 2:
        yield from map(work, blocks)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for first in range(0, len(blocks), 2 * n_threads):  # so that few results wait at a time
            yield from pool.map(work, blocks[first : first + 2 * n_threads])


def bag_runs(bags: Bags, rows_a_block: int) -> list[slice]:
    """Runs of bags of about so many rows."""
    numbers = (bags.starts + bags.sizes - 1) // rows_a_block
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    return [slice(first, stop) for first, stop in zip(firsts, [*firsts[1:], bags.n_bags], strict=True)]


def _block(bags: Bags, part: slice, shares: Array | None, read: Callable[[int, int], Array]) -> BagBlock:
    first = int(bags.starts[part.start])
    stop = int(bags.starts[part.stop - 1] + bags.sizes[part.stop - 1])
    return BagBlock(
        bags=part,
        sizes=bags.sizes[part],
        starts=bags.starts[part] - first,
        shares=None if shares is None else shares[bags.row_order[first:stop]],
        read=lambda: read(first, stop),
    )


def _each_time(bags: Bags, features_of: FeaturesOf) -> Callable[[int, int], Array]:
    def read(first: int, stop: int) -> Array:
        found = features_of(bags.instances[bags.row_order[first:stop]])
        return np.column_stack([found, np.ones(len(found))])

    return read


def _at_once(bags: Bags, features_of: FeaturesOf) -> Callable[[int, int], Array]:
    n_rows, n_features = len(bags.instances), int(np.prod(bags.instances.shape[1:]))
    table = np.ones((n_rows, n_features + 1))
    for first in range(0, n_rows, _ROWS_A_BLOCK):
        rows = bags.row_order[first : first + _ROWS_A_BLOCK]
        table[first : first + len(rows), :-1] = features_of(bags.instances[rows])
    return lambda first, stop: table[first:stop]
