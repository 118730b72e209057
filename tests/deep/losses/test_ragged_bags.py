import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from llpgan.deep.losses.bag_losses import log_of_rest, merges, whole_counts


@given(st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_merging_visits_every_member_once(sizes):
    sets = [{(bag, i)} for bag, size in enumerate(sizes) for i in range(size)]
    for left, right, _ in merges(torch.tensor(sizes)):
        sets.append(set())
        sets = [sets[a] | sets[b] for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    assert sets == [{(bag, i) for i in range(size)} for bag, size in enumerate(sizes)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_whole_shares_are_kept_in_either_precision(dtype):
    sizes = torch.arange(1, 2000)
    counts = torch.stack([sizes // 3, sizes // 5, sizes - sizes // 3 - sizes // 5], 1)
    torch.testing.assert_close(whole_counts((counts / sizes[:, None]).to(dtype), sizes), counts)


def test_shares_that_are_not_whole_are_rounded_by_largest_remainder():
    found = whole_counts(torch.tensor([[0.34, 0.33, 0.33], [0.05, 0.05, 0.9]]), torch.tensor([10, 2]))
    assert found.tolist() == [[4, 3, 3], [0, 0, 2]]


def test_the_rest_keeps_its_digits_where_a_class_is_sure():
    rest = log_of_rest(torch.tensor([[50.0, 0.0, 0.0]]))
    torch.testing.assert_close(rest[0, 0], torch.tensor(2.0).log() - 50)
    torch.testing.assert_close(rest[0, 1].item(), -torch.exp(torch.tensor(-50.0)).item(), rtol=0, atol=1e-6)
