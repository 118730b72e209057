"""The method that is taken where none is named."""

import re
from dataclasses import replace

import numpy as np
import pytest

from llpgan import DLLP, AutoLLP, BagLogistic, Bags
from llpgan.bags.on_disk import StoredInstances
from llpgan.evaluation import choose as module
from llpgan.evaluation.choose import (
    are_photographs,
    chooses_by_held_out_bags,
    default_method,
    default_with_features,
)
from llpgan.tables.streams import ImageEncoder


@pytest.fixture
def grey(rng):
    """Small images of two classes, one of them brighter, in twelve bags of eight."""
    labels = rng.integers(0, 2, 96)
    return Bags.from_labels(
        rng.normal(size=(96, 1, 8, 8)) + labels[:, None, None, None], labels, np.arange(96) // 8
    )


def test_tables_are_learned_by_the_automatic_choice(bags):
    found = default_method(bags, time_limit=9.0)
    assert isinstance(found.method, AutoLLP)
    assert found.method.time_limit == found.seconds == 9
    assert "tables" in found.reason


def test_stores_and_weighted_rows_are_too(bags, tmp_path):
    np.save(tmp_path / "rows.npy", bags.instances)
    stored = replace(bags, instances=StoredInstances(tmp_path / "rows.npy"))
    for some in (stored, replace(bags, weights=1.0 + np.arange(len(bags.instances)) % 2)):
        assert isinstance(default_method(some).method, AutoLLP)


@pytest.mark.slow
def test_few_images_are_learned_by_what_held_out_bags_choose_with_the_same_seed_the_same(grey):
    found, again = (default_method(grey, random_state=3) for _ in range(2))
    assert found.reason == again.reason
    assert repr(found.method) == repr(again.method)
    assert found.seconds > 0
    for told in ("held-out bags", "BagLogistic", "DLLP", "LLPGAN", "overall shares"):
        assert told in found.reason
    instances, labels = grey.instances, grey.instances.mean(axis=(1, 2, 3)) > 0.5
    assert (found.method.fit_bags(grey).predict(instances) == labels).mean() > 0.9


def test_a_network_that_fails_is_reported_with_the_reason(grey):
    last = replace(grey, instances=grey.instances.transpose(0, 2, 3, 1))
    reason = default_method(last).reason
    for method in ("DLLP", "LLPGAN"):
        assert re.search(f"; {method} failed: .*channels last: X.transpose", reason)


def test_many_or_large_images_are_learned_by_a_network_whose_time_is_announced(grey, monkeypatch):
    monkeypatch.setattr(module, "FEW_IMAGES", 50)
    assert not chooses_by_held_out_bags(grey)
    found = default_method(grey)
    assert isinstance(found.method, DLLP)
    assert found.seconds > 0


def test_few_bags_are_not_called_many_images(grey):
    found = default_method(grey.take_bags(range(3)))
    assert isinstance(found.method, DLLP)
    assert found.reason.startswith("with fewer than 6 bags none can be held out")


@pytest.mark.parametrize(
    ("shape", "n_bags", "by_bags"),
    [((3, 32, 32), 12, True), ((3, 64, 64), 12, False), ((1, 8, 8), 5, False), ((8,), 12, False)],
)
def test_methods_are_tried_on_small_images_in_enough_bags(shape, n_bags, by_bags):
    n = 2 * n_bags
    bags = Bags.from_labels(np.zeros((n, *shape)), np.arange(n) % 2, np.arange(n) // 2)
    assert chooses_by_held_out_bags(bags) == by_bags


@pytest.mark.parametrize("are_good", [True, False])
def test_features_are_used_if_they_predict_held_out_bags(grey, monkeypatch, are_good):
    monkeypatch.setattr(module, "FEW_IMAGES", 0)  # so that nothing is tried on pixels
    labels = grey.instances.mean(axis=(1, 2, 3)) > 0.5
    good = labels[:, None] + np.random.default_rng(0).normal(size=(96, 3)) / 10
    features = replace(grey, instances=good if are_good else np.ones((96, 3)), tolerance=0.01)
    found, is_better = default_with_features(grey, features)
    assert is_better == are_good
    assert isinstance(found.method, BagLogistic if are_good else DLLP)
    assert ("held-out bags" in found.reason) == are_good


def test_photographs_are_images_in_colour_of_some_size(grey):
    def bags(*shape):
        return replace(
            grey, instances=np.zeros((96, *shape)), encoder=ImageEncoder("image", shape), tolerance=0.01
        )

    assert are_photographs(bags(3, 24, 30))
    assert not are_photographs(bags(3, 20, 30))
    assert not are_photographs(bags(1, 30, 30))
    assert not are_photographs(grey)
