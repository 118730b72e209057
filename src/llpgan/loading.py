"""From bags to tensors: a dataset item is one bag, a step is a batch of several whole bags."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from llpgan.bags import Bags

INSTANCES_A_STEP = 64


class BagBatch(NamedTuple):
    """The instances of some bags, the bag of each, and the proportions ``(bags, classes)``."""

    instances: Tensor
    bag_index: Tensor
    proportions: Tensor


class BagDataset(Dataset[BagBatch]):
    """Some of the bags, or all, as batches; whole bags are gathered in one indexing, without a loop.

    >>> bags = Bags.from_labels([[1.0], [2.0], [3.0]], [0, 1, 1], groups=["a", "b", "a"])
    >>> BagDataset(bags)[0].instances
    tensor([[1.],
            [3.]])
    """

    def __init__(self, bags: Bags, which: Sequence[int] | NDArray[np.int64] | None = None) -> None:
        self.bags = bags
        self.which = np.arange(bags.n_bags) if which is None else np.asarray(which)

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, item: int) -> BagBatch:
        return self.__getitems__([item])

    def __getitems__(self, items: Sequence[int]) -> BagBatch:
        """Several bags as one batch: what a DataLoader asks for."""
        chosen = self.which[np.asarray(items)]
        sizes = self.bags.sizes[chosen]
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1]) + np.repeat(self.bags.starts[chosen] - (ends - sizes), sizes)
        return BagBatch(
            as_tensor(self.bags.instances[self.bags.row_order[places]]),
            torch.from_numpy(np.repeat(np.arange(len(chosen)), sizes)),
            torch.from_numpy(self.bags.proportions[chosen].astype(np.float32)),
        )


class BagSampler(Sampler[list[int]]):
    """Bags in a new order each epoch, dealt to steps of nearly equal numbers of bags: none is left out.

    The order is a function of seed and epoch alone, so that a resumed run goes on as it would have.
    """

    def __init__(self, n_bags: int, bags_a_step: int, seed: int) -> None:
        self.n_bags = n_bags
        self.n_steps = -(-n_bags // bags_a_step)
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return self.n_steps

    def __iter__(self) -> Iterator[list[int]]:
        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.n_bags)
        for step in np.array_split(order, self.n_steps):
            yield step.tolist()


def bag_loader(dataset: BagDataset, sampler: Sampler[list[int]]) -> DataLoader[BagBatch]:
    """A loader of the sampler's steps."""
    return DataLoader(dataset, batch_sampler=sampler, collate_fn=_as_it_is)


def usual_bags_a_step(bags: Bags) -> int:
    """As many bags as have some 64 instances together, at least one."""
    return max(1, round(INSTANCES_A_STEP / float(bags.sizes.mean())))


def as_tensor(instances: NDArray[Any]) -> Tensor:
    """A tensor of the rows: bytes stay bytes, for networks to scale on their device; the rest is float32."""
    return torch.from_numpy(np.ascontiguousarray(instances, _tensor_dtype(instances)))


def _tensor_dtype(instances: NDArray[Any]) -> np.dtype[Any]:
    return instances.dtype if instances.dtype == np.uint8 else np.dtype(np.float32)


def _as_it_is(batch: Any) -> Any:
    return batch
