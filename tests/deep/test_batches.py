"""Batches hold whole bags, each bag once an epoch, in an order that seed and epoch alone decide."""

import itertools

import numpy as np
import torch

from llpgan import Bags
from llpgan.deep.batches import BagDataset, ChunkedInstances, as_tensor, default_bags_per_step
from llpgan.deep.losses import proportion_loss


def ragged_bags():
    groups = np.array([2, 0, 1, 2, 2, 0])
    return Bags.from_labels(np.arange(6.0)[:, None], [0, 1, 1, 0, 1, 0], groups)


def test_a_batch_holds_whole_bags():
    batch = BagDataset(ragged_bags()).batch([2, 0])
    assert batch.instances.ravel().tolist() == [0, 3, 4, 1, 5]
    assert batch.bag_index.tolist() == [0, 0, 0, 1, 1]
    torch.testing.assert_close(batch.proportions, torch.tensor([[2 / 3, 1 / 3], [0.5, 0.5]]))


def test_a_dataset_of_some_bags():
    dataset = BagDataset(ragged_bags(), [1])
    assert len(dataset) == 1
    assert dataset.batch([0]).instances.ravel().tolist() == [2]


def bags_of_steps(n_bags, bags_a_step, seed=0, epoch=0):
    """The bags of each step, where every instance is named after its bag."""
    bags = Bags.from_labels(np.arange(float(n_bags))[:, None], np.arange(n_bags) % 2, groups=np.arange(n_bags))
    return [batch.instances.ravel().tolist() for batch in BagDataset(bags).steps(bags_a_step, seed, epoch)]


def test_every_bag_comes_once_an_epoch_in_even_steps():
    steps = bags_of_steps(10, bags_a_step=4)
    assert sorted(map(len, steps)) == [3, 3, 4]
    assert sorted(itertools.chain(*steps)) == list(range(10))


def test_the_order_is_a_function_of_seed_and_epoch():
    first = bags_of_steps(50, 50)
    assert bags_of_steps(50, 50) == first
    assert bags_of_steps(50, 50, epoch=1) != first
    assert bags_of_steps(50, 50, seed=1) != first


def test_large_batches_are_read_when_they_are_needed():
    dataset = BagDataset(ragged_bags(), at_once=2)
    large, small = dataset.batch([2]), dataset.batch([0])
    assert isinstance(large.instances, ChunkedInstances)
    assert [part.ravel().tolist() for part in large.instances.parts()] == [[0, 3], [4]]
    assert small.instances.ravel().tolist() == [1, 5]


def test_a_share_of_a_batch_has_all_its_bags():
    halves = [
        BagDataset(ragged_bags(), share=share).batch([2, 0])
        for share in (lambda n: slice(0, 3), lambda n: slice(3, n))
    ]
    assert [half.instances.ravel().tolist() for half in halves] == [[0, 3, 4], [1, 5]]
    assert all(half.bag_index.tolist() == [0, 0, 0, 1, 1] for half in halves)


def test_mini_bags_are_samples_without_replacement(rng):
    bags = Bags.from_labels(np.arange(30.0)[:, None], np.arange(30) % 2, groups=np.repeat([0, 1, 2], [20, 3, 7]))
    dataset = BagDataset(bags, mini_bag_size=5)
    batches = [dataset.batch([0, 1, 2], rng) for _ in range(200)]
    for batch in batches:
        assert batch.bag_index.tolist() == [0] * 5 + [1] * 3 + [2] * 5
        assert batch.loss.keywords["full_sizes"].tolist() == [20, 3, 7]
        assert len(set(batch.instances.ravel().tolist())) == 13
    first = np.concatenate([batch.instances[:5, 0].numpy() for batch in batches])
    assert np.bincount(first.astype(int), minlength=20).min() > 20  # 50 expected: every one comes
    assert dataset.batch([0]).loss is proportion_loss  # without random numbers, bags are whole


def test_bytes_stay_bytes_and_the_rest_is_float():
    assert as_tensor(np.zeros((2, 2), np.uint8)).dtype == torch.uint8
    for dtype in (np.int64, np.float64, np.float16, bool):
        assert as_tensor(np.zeros((2, 2), dtype)).dtype == torch.float32


def test_a_step_has_some_64_instances():
    def step(size):
        return default_bags_per_step(
            Bags.from_labels(np.zeros((256, 1)), np.arange(256) % 2, np.arange(256) // size)
        )

    assert [step(size) for size in (1, 16, 64, 128)] == [64, 4, 1, 1]
