"""Batches hold whole bags, each bag once an epoch, in an order that seed and epoch alone decide."""

import itertools

import numpy as np
import torch

from llpgan import Bags
from llpgan.loading import BagDataset, BagSampler, as_tensor, bag_loader, usual_bags_a_step


def ragged_bags():
    groups = np.array([2, 0, 1, 2, 2, 0])
    return Bags.from_labels(np.arange(6.0)[:, None], [0, 1, 1, 0, 1, 0], groups)


def test_a_batch_holds_whole_bags():
    batch = BagDataset(ragged_bags()).__getitems__([2, 0])
    assert batch.instances.ravel().tolist() == [0, 3, 4, 1, 5]
    assert batch.bag_index.tolist() == [0, 0, 0, 1, 1]
    torch.testing.assert_close(batch.proportions, torch.tensor([[2 / 3, 1 / 3], [0.5, 0.5]]))


def test_a_dataset_of_some_bags():
    dataset = BagDataset(ragged_bags(), [1])
    assert len(dataset) == 1
    assert dataset[0].instances.ravel().tolist() == [2]


def test_every_bag_comes_once_an_epoch_in_even_steps():
    sampler = BagSampler(10, bags_a_step=4, seed=0)
    steps = list(sampler)
    assert len(steps) == len(sampler) == 3
    assert sorted(map(len, steps)) == [3, 3, 4]
    assert sorted(itertools.chain(*steps)) == list(range(10))


def test_the_order_is_a_function_of_seed_and_epoch():
    sampler = BagSampler(50, bags_a_step=50, seed=0)
    first = list(sampler)
    sampler.epoch = 1
    assert list(sampler) != first
    sampler.epoch = 0
    assert list(sampler) == first
    assert list(BagSampler(50, bags_a_step=50, seed=1)) != first


def test_the_loader_gives_batches():
    bags = ragged_bags()
    batches = list(bag_loader(BagDataset(bags), BagSampler(3, 2, seed=0)))
    assert sum(len(batch.instances) for batch in batches) == 6


def test_bytes_stay_bytes_and_the_rest_is_float():
    assert as_tensor(np.zeros((2, 2), np.uint8)).dtype == torch.uint8
    for dtype in (np.int64, np.float64, np.float16, bool):
        assert as_tensor(np.zeros((2, 2), dtype)).dtype == torch.float32


def test_a_step_has_some_64_instances():
    def step(size):
        return usual_bags_a_step(Bags.from_labels(np.zeros((256, 1)), np.arange(256) % 2, np.arange(256) // size))

    assert [step(size) for size in (1, 16, 64, 128)] == [64, 4, 1, 1]
