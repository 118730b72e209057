"""Batches of whole bags, each with its loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llpgan.bags import Bags
from llpgan.bags.grouping import rows_of_bags
from llpgan.deep.chunks import ChunkedInstances, Instances, as_tensor, read_ahead
from llpgan.deep.losses import BagLoss, ProportionLoss, proportion_loss
from llpgan.deep.losses.bag_losses import allowed_loss

INSTANCES_A_STEP = 64
_PHOTOS_A_STEP, _FEWEST_BAGS_OF_PHOTOS = (64, 256, 1024), 8
Rows = NDArray[np.int64]
Share = Callable[[int], slice]


class BagBatch(NamedTuple):
    """The instances of some bags, the bag of each, the bags' proportions ``(bags, classes)``, and their loss.

    The loss is a function of logits, bag index and proportions. What else it depends on, such as weights of rows,
    are keyword arguments of a partial function. If several processes train together, the instances are the share
    of this one; the rest is of the whole step.
    """

    instances: Instances
    bag_index: Tensor
    proportions: Tensor
    loss: ProportionLoss = proportion_loss

    def to(self, device: torch.device) -> BagBatch:
        """The batch on a device."""
        loss = self.loss
        if isinstance(loss, partial):
            moved = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in loss.keywords.items()}
            loss = partial(loss.func, **moved)
        return BagBatch(self.instances.to(device), self.bag_index.to(device), self.proportions.to(device), loss)


class BagDataset:
    """Some of the bags, or all, as batches; whole bags are gathered in one indexing, without a loop.

    Parameters
    ----------
    bags : Bags
        All of them.
    which : sequence of int, Rows, default=None
        The positions of some; None for all.
    at_once : int, default=None
        Larger batches are not read at once, but in chunks of this size when they are needed.
    mini_bag_size : int, default=None
        A batch made with random numbers has a sample of this size from each larger bag.
    share : Share, default=None
        Of how many instances of a batch are read, of those that it has; None for all.
    loss : ProportionLoss, default=proportion_loss
        The loss of the bags.

    Examples
    --------
    >>> bags = Bags.from_labels([[1.0], [2.0], [3.0]], [0, 1, 1], groups=["a", "b", "a"])
    >>> BagDataset(bags).batch([0]).instances
    tensor([[1.],
            [3.]])
    """

    def __init__(
        self,
        bags: Bags,
        which: Sequence[int] | Rows | None = None,
        *,
        at_once: int | None = None,
        mini_bag_size: int | None = None,
        share: Share | None = None,
        loss: ProportionLoss = proportion_loss,
    ) -> None:
        self.bags = bags
        self.which = np.arange(bags.n_bags) if which is None else np.asarray(which)
        self.at_once = at_once
        self.mini_bag_size = mini_bag_size
        self.share = share or slice
        self.loss = loss

    def __len__(self) -> int:
        return len(self.which)

    def batch(self, items: Sequence[int] | Rows, rng: np.random.Generator | None = None) -> BagBatch:
        """Several bags as one batch; with random numbers, samples from those that are larger than a mini-bag."""
        chosen = self.which[np.asarray(items)]
        sizes = self.bags.sizes[chosen]
        if rng is None or self.mini_bag_size is None or sizes.max() <= self.mini_bag_size:
            places, taken, loss = rows_of_bags(self.bags.starts[chosen], sizes), sizes, self.loss
        else:
            places, taken = _sample_places(self.bags.starts[chosen], sizes, self.mini_bag_size, rng)
            loss = self.loss  # of the user's functions, none asks for the sizes
            if isinstance(loss, BagLoss) or loss is proportion_loss:
                loss = partial(loss, full_sizes=torch.from_numpy(sizes))
        weights: dict[str, Any] = {
            "log_weights": self._log_weights(places),
            "bag_weights": self._bag_weights(chosen),
        }
        if self.bags.share_constraints is not None:
            constraints = self.bags.share_constraints.take_bags(chosen)
            loss = partial(allowed_loss, share_constraints=constraints, **weights)
        elif any(part is not None for part in weights.values()):
            loss = partial(proportion_loss, **weights)
        return BagBatch(
            self._instances(places),
            torch.from_numpy(np.repeat(np.arange(len(chosen)), taken)),
            torch.from_numpy(self.bags.proportions[chosen].astype(np.float32)),
            loss,
        )

    def steps(self, bags_a_step: int, seed: int, epoch: int) -> Iterator[BagBatch]:
        """The batches of an epoch: bags in a new order, dealt to steps of nearly equal numbers; none is left out.

        All is a function of seed and epoch alone, so that a resumed run goes on as it would have.
        """
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(self))
        batches = (self.batch(items, rng) for items in np.array_split(order, self.n_steps(bags_a_step)))
        yield from read_ahead(batches, self.bags.instances)

    def n_steps(self, bags_a_step: int) -> int:
        """Into how many steps an epoch is dealt."""
        return -(-len(self) // bags_a_step)

    def _bag_weights(self, chosen: Rows) -> Tensor | None:
        """How much bags count, on average one."""
        weights = self.bags.uneven_bag_weights
        return None if weights is None else torch.from_numpy((weights / weights.mean())[chosen].astype(np.float32))

    def _log_weights(self, places: Rows) -> Tensor | None:
        if self.bags.uneven_weights is None:
            return None
        rows = self.bags.row_order[places]
        bags = self.bags.bag_index[rows]
        shares = self.bags.uneven_weights[rows] * (self.bags.sizes / self.bags.totals)[bags]
        with np.errstate(divide="ignore"):  # a row of weight zero is not there
            return torch.from_numpy(np.log(shares).astype(np.float32))

    def _instances(self, places: Rows) -> Instances:
        """The share of this process of the instances at these places in the order of bags."""
        rows = self.bags.row_order[places[self.share(len(places))]]
        if self.at_once is None or len(rows) <= self.at_once:
            return as_tensor(self.bags.instances[rows])
        return ChunkedInstances(self.bags.instances, rows, self.at_once)


def default_bags_per_step(bags: Bags, mini_bag_size: int | None = None) -> int:
    """As many bags as have some 64 instances together, at least one."""
    sizes = bags.sizes if mini_bag_size is None else np.minimum(bags.sizes, mini_bag_size)
    return max(1, round(INSTANCES_A_STEP / float(sizes.mean())))


def photo_bags_a_step(bags: Bags, mini_bag_size: int | None = None) -> int:
    """As many bags as have 64 (of few images) to 256 instances; eight if they are not too large."""
    sizes = bags.sizes if mini_bag_size is None else np.minimum(bags.sizes, mini_bag_size)
    mean, (least, most, limit) = float(sizes.mean()), _PHOTOS_A_STEP
    several = min(_FEWEST_BAGS_OF_PHOTOS, int(limit / mean), bags.n_bags // 10)
    return max(1, several, round(min(max(sizes.sum() / 20, least), most) / mean))


def _sample_places(starts: Rows, sizes: Rows, at_most: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Places of a sample without replacement from each bag that is larger, and how many each gave."""
    taken = np.minimum(sizes, at_most)
    parts = [
        start + (np.sort(rng.choice(size, n, replace=False)) if n < size else np.arange(size))
        for start, size, n in zip(starts.tolist(), sizes.tolist(), taken.tolist(), strict=True)
    ]
    return np.concatenate(parts), taken
