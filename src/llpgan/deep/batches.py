"""Batches of whole bags, and bag transforms."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llpgan.bags import Bags
from llpgan.bags.grouping import rows_of_bags
from llpgan.bags.known_shares import KnownShares
from llpgan.deep.chunks import ChunkedInstances, Instances, as_tensor, read_ahead
from llpgan.deep.losses.bag_losses import mixed_proportions
from llpgan.deep.losses.label_noise import grouped_targets

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
    share_constraints: KnownShares | None = None
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
            places, taken = _sample_places(self.bags.starts[chosen], sizes, self.mini_bag_size, rng)
            full_sizes = torch.from_numpy(sizes)
        return BagBatch(
            self._instances(self.bags.row_order[places[self.share(len(places))]]),
            torch.from_numpy(np.repeat(np.arange(len(chosen)), taken)),
            torch.from_numpy(self.bags.proportions[chosen].astype(np.float32)),
            full_sizes,
            log_weights=self._log_weights(places),
            share_constraints=None
            if self.bags.share_constraints is None
            else self.bags.share_constraints.take_bags(chosen),
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


_REGROUPING = 1  # tells the random numbers of groups from those of the steps' order


class MixedBags(BagDataset):
    """MixBag: some bags of a step are replaced by samples from them and from another bag.

    Parameters
    ----------
    bags, which, settings
        As in :class:`~llpgan.deep.batches.BagDataset`.
    mix_probability : float
        How often a bag is replaced.
    confidence : float
        Of the interval of a mixed bag's proportions.
    """

    def __init__(
        self,
        bags: Bags,
        which: Sequence[int] | Rows | None = None,
        *,
        mix_probability: float,
        confidence: float,
        **settings: Any,
    ) -> None:
        super().__init__(bags, which, **settings)
        self.mix_probability = mix_probability
        self.confidence = confidence

    def batch(self, items: Sequence[int] | Rows, rng: np.random.Generator | None = None) -> BagBatch:
        """Several bags as one batch; with random numbers, some of them mixed."""
        if rng is None or self.mix_probability == 0:
            return super().batch(items, rng)
        parts = [self._mix_bags(int(item), rng) for item in items]
        places, shares, margins = zip(*parts, strict=True)
        rows = np.concatenate(places)
        taken = [len(part) for part in places]
        return BagBatch(
            self._instances(self.bags.row_order[rows[self.share(len(rows))]]),
            torch.from_numpy(np.repeat(np.arange(len(parts)), taken)),
            torch.from_numpy(np.stack(shares).astype(np.float32)),
            margins=torch.from_numpy(np.stack(margins).astype(np.float32)),
        )

    def _mix_bags(self, item: int, rng: np.random.Generator) -> tuple[Rows, Any, Any]:
        """Places of the rows of one bag, or of samples from it and another, with proportions and margins."""
        bag, other = int(self.which[item]), self._other(item, rng)
        size = int(self.bags.sizes[bag])
        if rng.random() >= self.mix_probability or size < 2 or other is None:
            shares = self.bags.proportions[bag]
            return self.bags.starts[bag] + np.arange(size), shares, np.zeros_like(shares)
        other_size = int(self.bags.sizes[other])
        kept = int(rng.integers(1, size))
        added = min(size - kept, other_size)
        places = np.concatenate([self._sample(bag, kept, rng), self._sample(other, added, rng)])
        pair = self.bags.proportions[bag], self.bags.proportions[other]
        return places, *mixed_proportions(pair, (kept, added), (size, other_size), self.confidence)

    def _other(self, item: int, rng: np.random.Generator) -> int | None:
        """Any bag but this one, None if there is no other."""
        if len(self) < 2:
            return None
        place = int(rng.integers(len(self) - 1))
        return int(self.which[place + (place >= item)])

    def _sample(self, bag: int, n: int, rng: np.random.Generator) -> Rows:
        chosen = rng.choice(int(self.bags.sizes[bag]), n, replace=False)
        return self.bags.starts[bag] + np.sort(chosen)


class GroupedBags(BagDataset):
    """LLPFC: bags with the targets of groups, to which they are dealt anew after some epochs.

    Parameters
    ----------
    bags, which, settings
        As in :class:`~llpgan.deep.batches.BagDataset`.
    regroup_every : int
        After how many epochs.
    """

    def __init__(
        self,
        bags: Bags,
        which: Sequence[int] | Rows | None = None,
        *,
        regroup_every: int,
        **settings: Any,
    ) -> None:
        super().__init__(bags, which, **settings)
        if len(self) < bags.n_classes:
            raise ValueError(
                f"{len(self)} bags to learn from cannot tell the classes apart by groups of {bags.n_classes}, one "
                f"bag for each class: give {bags.n_classes} or more"
            )
        self.regroup_every = regroup_every

    def steps(self, bags_a_step: int, seed: int, epoch: int) -> Iterator[BagBatch]:
        """The batches of an epoch, with the targets of its groups: a function of seed and epoch alone."""
        rng = np.random.default_rng([seed, epoch // self.regroup_every, _REGROUPING])
        self._targets = grouped_targets(self.bags.proportions[self.which], self.bags.prior, rng)
        return super().steps(bags_a_step, seed, epoch)

    def batch(self, items: Sequence[int] | Rows, rng: np.random.Generator | None = None) -> BagBatch:
        """Several bags as one batch; with random numbers, with their targets."""
        batch = super().batch(items, rng)
        if rng is None:
            return batch
        rows, weights = (torch.from_numpy(part[np.asarray(items)]) for part in self._targets)
        return batch._replace(slot_rows=rows, slot_weights=weights)
