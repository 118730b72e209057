"""Batches whose bags are not those of the data: mixed from two, or dealt to groups."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from llpgan.bags import Bags
from llpgan.training.batches import BagBatch, BagDataset, Rows
from llpgan.training.losses.intervals import mixed_proportions
from llpgan.training.losses.label_noise import grouped_targets

_REGROUPING = 1  # tells the random numbers of groups from those of the steps' order


class MixedBags(BagDataset):
    """MixBag: some bags of a step are replaced by samples from them and from another bag.

    Parameters
    ----------
    bags, which, settings
        As in :class:`~llpgan.training.batches.BagDataset`.
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
        parts = [self._mixed(int(item), rng) for item in items]
        places, shares, margins = zip(*parts, strict=True)
        rows = np.concatenate(places)
        taken = [len(part) for part in places]
        return BagBatch(
            self._instances(self.bags.row_order[rows[self.share(len(rows))]]),
            torch.from_numpy(np.repeat(np.arange(len(parts)), taken)),
            torch.from_numpy(np.stack(shares).astype(np.float32)),
            margins=torch.from_numpy(np.stack(margins).astype(np.float32)),
        )

    def _mixed(self, item: int, rng: np.random.Generator) -> tuple[Rows, Any, Any]:
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
        As in :class:`~llpgan.training.batches.BagDataset`.
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
