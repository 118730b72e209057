"""The rows that trees learn from: all at once if they are few, else block by block from memory or their file."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llpgan.bags import Bags
from llpgan.estimators.bag_blocks import FeaturesOf, bag_runs
from llpgan.estimators.shift_losses import ShiftLoss
from llpgan.utils.arrays import Array

ROWS_FOR_SPLITS = 2**19  # of more rows, as many at equal steps choose the splits; all give leaves their values
_ROWS_A_BLOCK = 2**18

# From the bags of a block to their loss.
LossOf = Callable[[Bags], ShiftLoss]


@dataclass(frozen=True, eq=False)
class BoostingBlock:
    """Some of the bags.

    Attributes
    ----------
    bags : Bags
        Without their instances if there are other blocks.
    first_bag, first_row : int
        How many bags, and rows, other blocks have before.
    loss : ShiftLoss
        Of these bags.
    for_splits : array of int or slice
        The rows that choose splits.
    read : callable
        Gives the features of all rows, (n_rows, n_features).
    """

    bags: Bags
    first_bag: int
    first_row: int
    loss: ShiftLoss
    for_splits: Array | slice
    read: Callable[[], Array]


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """All rows.

    Attributes
    ----------
    bags : Bags
        All bags.
    blocks : list of BoostingBlock
        Their parts.
    units_are_bags : bool
        Whether bags can be held out; else rows can.
    """

    bags: Bags
    blocks: list[BoostingBlock]
    units_are_bags: bool

    @property
    def n_units(self) -> int:
        """How many units there are that can be held out."""
        return self.bags.n_bags if self.units_are_bags else len(self.bags.bag_index)

    @property
    def are_kept(self) -> bool:
        """Whether they are few enough to keep in memory what is computed of them."""
        return len(self.blocks) == 1

    def for_splits(self) -> Array:
        """(n, n_features): the features of the rows that choose splits."""
        parts = [block.read()[block.for_splits] for block in self.blocks]
        return parts[0] if self.are_kept else np.concatenate([part.astype(np.float32) for part in parts])


def boosting_rows(bags: Bags, features_of: FeaturesOf, loss_of: LossOf, *, units_are_bags: bool) -> BoostingRows:
    """Prepare the rows of bags for boosting.

    Parameters
    ----------
    bags : Bags
        The bags.
    features_of : callable
        Turns instances into features.
    loss_of : callable
        Gives the loss of some of the bags.
    units_are_bags : bool
        Whether bags can be held out; else rows can.
    """
    n_rows = len(bags.bag_index)
    if n_rows <= ROWS_FOR_SPLITS:
        table = np.asfortranarray(features_of(bags.instances))
        whole = BoostingBlock(bags, 0, 0, loss_of(bags), slice(None), lambda: table)
        return BoostingRows(bags, [whole], units_are_bags)
    chosen = np.arange(ROWS_FOR_SPLITS) * n_rows // ROWS_FOR_SPLITS
    blocks = [_block(bags, part, features_of, loss_of, chosen) for part in bag_runs(bags, _ROWS_A_BLOCK)]
    return BoostingRows(bags, blocks, units_are_bags)


def _block(bags: Bags, part: slice, features_of: FeaturesOf, loss_of: LossOf, chosen: Array) -> BoostingBlock:
    first = int(bags.starts[part.start])
    stop = int(bags.starts[part.stop - 1] + bags.sizes[part.stop - 1])
    some = _without_instances(bags, part, first, stop)
    own = chosen[slice(*np.searchsorted(chosen, [first, stop]))] - first
    return BoostingBlock(
        some,
        part.start,
        first,
        loss_of(some),
        own,
        lambda: features_of(bags.instances[bags.row_order[first:stop]]),
    )


def _without_instances(bags: Bags, part: slice, first: int, stop: int) -> Bags:
    """Bags that follow each other, with their rows in order, and nothing in the rows."""
    which = np.arange(bags.n_bags)[part]
    return Bags(
        instances=np.broadcast_to(np.int8(0), (stop - first, 1)),
        bag_index=np.repeat(np.arange(len(which)), bags.sizes[part]),
        proportions=bags.proportions[part],
        bag_ids=bags.bag_ids[part],
        classes=bags.classes,
        weights=None if bags.weights is None else bags.weights[bags.row_order[first:stop]],
        known=None if bags.known is None else bags.known.of(which),
        bag_weights=None if bags.bag_weights is None else bags.bag_weights[part],
    )
