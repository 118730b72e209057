"""From bags to tensors: a step is a batch of several whole bags, or of samples from them."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llpgan.bags import Bags
from llpgan.bags.known_shares import KnownShares
from llpgan.bags.sorted_rows import rows_of_bags
from llpgan.training.chunked_gradients import ChunkedInstances, Instances, as_tensor
from llpgan.training.prefetching import read_ahead

INSTANCES_A_STEP = 64
_PHOTOS_A_STEP, _FEWEST_BAGS_OF_PHOTOS = (64, 256, 1024), 8
Rows = NDArray[np.int64]
Share = Callable[[int], slice]


class BagBatch(NamedTuple):
    """The instances of some bags, the bag of each, and the bags' proportions ``(bags, classes)``.

    Where these are samples from bags, also the bags' full sizes; of mixed bags how far each share is uncertain
    ``(bags, classes)``; of bags in groups the chance of each class to be in this bag ``(bags, classes)``, and the
    bags' weights; of weighted rows the logarithms of their weights, whose mean in a bag is one; and what is known
    of the shares, where that is less than all of them. Where several processes train together, the instances are
    this one's share; the rest is of the whole step.
    """

    instances: Instances
    bag_index: Tensor
    proportions: Tensor
    full_sizes: Tensor | None = None
    margins: Tensor | None = None
    slot_rows: Tensor | None = None
    slot_weights: Tensor | None = None
    log_weights: Tensor | None = None
    known: KnownShares | None = None
    bag_weights: Tensor | None = None

    def to(self, device: torch.device) -> "BagBatch":
        """The batch on a device."""
        moved = [part if part is None or isinstance(part, KnownShares) else part.to(device) for part in self]
        return BagBatch(*moved)  # type: ignore[arg-type]


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
    ) -> None:
        self.bags = bags
        self.which = np.arange(bags.n_bags) if which is None else np.asarray(which)
        self.at_once = at_once
        self.mini_bag_size = mini_bag_size
        self.share = share or slice

    def __len__(self) -> int:
        return len(self.which)

    def batch(self, items: Sequence[int] | Rows, rng: np.random.Generator | None = None) -> BagBatch:
        """Several bags as one batch; with random numbers, samples from those that are larger than a mini-bag."""
        chosen = self.which[np.asarray(items)]
        sizes = self.bags.sizes[chosen]
        if rng is None or self.mini_bag_size is None or sizes.max() <= self.mini_bag_size:
            places, taken, full_sizes = rows_of_bags(self.bags.starts[chosen], sizes), sizes, None
        else:
            places, taken = _sampled(self.bags.starts[chosen], sizes, self.mini_bag_size, rng)
            full_sizes = torch.from_numpy(sizes)
        return BagBatch(
            self._instances(self.bags.row_order[places[self.share(len(places))]]),
            torch.from_numpy(np.repeat(np.arange(len(chosen)), taken)),
            torch.from_numpy(self.bags.proportions[chosen].astype(np.float32)),
            full_sizes,
            log_weights=self._log_weights(places),
            known=None if self.bags.known is None else self.bags.known.of(chosen),
            bag_weights=self._bag_weights(chosen),
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

    def _instances(self, rows: Rows) -> Instances:
        if self.at_once is None or len(rows) <= self.at_once:
            return as_tensor(self.bags.instances[rows])
        return ChunkedInstances(self.bags.instances, rows, self.at_once)


def usual_bags_a_step(bags: Bags, mini_bag_size: int | None = None) -> int:
    """As many bags as have some 64 instances together, at least one."""
    sizes = bags.sizes if mini_bag_size is None else np.minimum(bags.sizes, mini_bag_size)
    return max(1, round(INSTANCES_A_STEP / float(sizes.mean())))


def photo_bags_a_step(bags: Bags, mini_bag_size: int | None = None) -> int:
    """As many bags as have 64 (of few images) to 256 instances; eight if they are not too large."""
    sizes = bags.sizes if mini_bag_size is None else np.minimum(bags.sizes, mini_bag_size)
    mean, (least, most, limit) = float(sizes.mean()), _PHOTOS_A_STEP
    several = min(_FEWEST_BAGS_OF_PHOTOS, int(limit / mean), bags.n_bags // 10)
    return max(1, several, round(min(max(sizes.sum() / 20, least), most) / mean))


def _sampled(starts: Rows, sizes: Rows, at_most: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Places of a sample without replacement from each bag that is larger, and how many each gave."""
    taken = np.minimum(sizes, at_most)
    parts = [
        start + (np.sort(rng.choice(size, n, replace=False)) if n < size else np.arange(size))
        for start, size, n in zip(starts.tolist(), sizes.tolist(), taken.tolist(), strict=True)
    ]
    return np.concatenate(parts), taken
