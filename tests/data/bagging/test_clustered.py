"""Clustered bags hold likes, and every row."""

import numpy as np
import pytest

from llpgan.data.bagging import clustered_bags


def test_blobs_far_apart_become_the_bags(rng):
    blob = rng.integers(5, size=200)
    bag_of_row = clustered_bags(rng.normal(size=(200, 2)) + 100 * blob[:, None], n_bags=5, seed=0)
    assert len(set(zip(blob.tolist(), bag_of_row.tolist(), strict=True))) == 5
    assert bag_of_row[0] == 0  # numbered by appearance


def test_images_are_taken_and_the_seed_decides(rng):
    images = rng.integers(256, size=(60, 1, 4, 4), dtype=np.uint8)
    first = clustered_bags(images, n_bags=6, seed=3)
    assert first.tolist() == clustered_bags(images, n_bags=6, seed=3).tolist()
    assert first.dtype == np.int64 and sorted(set(first.tolist())) == list(range(first.max() + 1))


def test_empty_clusters_leave_no_gap():
    assert set(clustered_bags(np.ones((6, 1)), n_bags=3, seed=0).tolist()) == {0}


@pytest.mark.parametrize("n_bags", [0, 4])
def test_more_bags_than_instances(n_bags):
    with pytest.raises(ValueError, match=f"{n_bags} bags of 3 instances: there must be 1 to 3"):
        clustered_bags(np.eye(3), n_bags, seed=0)
