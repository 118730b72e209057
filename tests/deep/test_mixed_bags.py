"""Mixed bags have the rows, proportions and margins that they say; grouped bags the targets of their groups."""

import numpy as np
import pytest
import torch

from llpgan import Bags
from llpgan.deep.batches import BagDataset
from llpgan.deep.mixed_bags import GroupedBags, MixedBags, grouped_targets


@pytest.fixture
def ragged():
    """Bags of 1 to 6 rows; a row's number is its only feature, its label whether it is even."""
    sizes = np.arange(1, 7)
    rows = np.arange(sizes.sum())
    return Bags.from_labels(rows[:, None].astype(float), rows % 2, np.repeat(np.arange(6), sizes))


def mixed(bags, probability, **settings):
    return MixedBags(bags, mix_probability=probability, confidence=0.99, **settings)


def test_mixed_bags_keep_their_size_or_fall_short_of_small_partners(ragged):
    batch = mixed(ragged, 1.0).batch(range(6), np.random.default_rng(0))
    sizes = torch.bincount(batch.bag_index).numpy()
    assert (sizes <= ragged.sizes).all()
    assert (sizes >= 1).all()
    assert sizes[0] == 1


def test_a_mixed_bag_is_of_two_bags_and_no_row_comes_twice(ragged):
    dataset = mixed(ragged, 1.0)
    for seed in range(20):
        batch = dataset.batch([5], np.random.default_rng(seed))
        rows = batch.instances[:, 0].long().numpy()
        origins = set(ragged.bag_index[rows].tolist())
        assert 5 in origins
        assert len(origins) == 2
        assert len(set(rows.tolist())) == len(rows)


def test_the_expected_proportions_are_those_of_many_mixed_bags(ragged):
    """Over many draws the true shares differ from the stated ones by chance alone, within margins mostly."""
    dataset, rng = mixed(ragged, 1.0), np.random.default_rng(0)
    gaps, inside = [], []
    for _ in range(500):
        batch = dataset.batch([5], rng)
        share = (batch.instances[:, 0] % 2).mean().item()
        gaps.append(share - batch.proportions[0, 1].item())
        inside.append(abs(gaps[-1]) <= batch.loss.keywords["margins"][0, 1].item() + 1e-6)
    assert abs(np.mean(gaps)) < 3 * np.std(gaps) / np.sqrt(len(gaps))
    assert np.mean(inside) > 0.97


def test_bags_that_are_not_mixed_are_whole_and_certain(ragged):
    plain, never = BagDataset(ragged), mixed(ragged, 1e-12)
    expected, found = plain.batch([3, 1]), never.batch([3, 1], np.random.default_rng(0))
    torch.testing.assert_close(found.instances, expected.instances)
    torch.testing.assert_close(found.proportions, expected.proportions)
    assert found.loss.keywords["margins"].eq(0).all()


def test_a_single_bag_has_no_partner(ragged):
    batch = mixed(ragged, 1.0, which=[5]).batch([0], np.random.default_rng(0))
    assert len(batch.instances) == 6
    assert batch.loss.keywords["margins"].eq(0).all()


def test_a_step_is_a_function_of_seed_and_epoch(ragged):
    one, other = (list(mixed(ragged, 0.5).steps(2, seed=3, epoch=4)) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        assert torch.equal(a.instances, b.instances)
        assert torch.equal(a.loss.keywords["margins"], b.loss.keywords["margins"])


def test_large_steps_of_mixed_bags_are_read_in_chunks(ragged):
    batch = mixed(ragged, 1.0, at_once=4).batch(range(6), np.random.default_rng(0))
    whole = mixed(ragged, 1.0).batch(range(6), np.random.default_rng(0))
    assert torch.equal(torch.cat(list(batch.instances.parts())), whole.instances)


def test_grouped_bags_keep_their_targets_until_they_are_dealt_anew(ragged):
    def targets(epoch):
        batches = list(GroupedBags(ragged, regroup_every=2).steps(6, seed=1, epoch=epoch))
        rows = torch.cat([batch.loss.keywords["rows"] for batch in batches])
        weights = torch.cat([batch.loss.keywords["weights"] for batch in batches])
        return sorted(map(tuple, torch.cat([rows, weights[:, None]], 1).tolist()))

    assert targets(0) == targets(1)
    assert targets(1) != targets(2)


def test_a_grouped_bag_has_the_target_of_its_place(ragged):
    dataset = GroupedBags(ragged, which=[4, 2, 1], regroup_every=1)
    list(dataset.steps(3, seed=1, epoch=0))
    rows, weights = grouped_targets(ragged.proportions[[4, 2, 1]], ragged.prior, np.random.default_rng([1, 0, 1]))
    batch = dataset.batch([2, 0], np.random.default_rng(0))
    np.testing.assert_array_equal(batch.loss.keywords["rows"], rows[[2, 0]])
    np.testing.assert_array_equal(batch.loss.keywords["weights"], weights[[2, 0]])
    assert batch.bag_index.tolist() == [0] * 2 + [1] * 5


def test_fewer_bags_than_classes_cannot_be_grouped():
    bags = Bags.from_labels(np.zeros((6, 1)), [0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match=r"2 bags to learn from cannot .* groups of 3.* give 3 or more"):
        GroupedBags(bags, regroup_every=1)
