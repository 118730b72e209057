"""Images that are shifted and mirrored at random: what may change and what may not."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from llpgan import DLLP, LLPDC, LLPGAN
from llpgan.deep.batches import apply_chunked
from llpgan.deep.images import (
    random_distortions,
    random_distortions_and_flips,
    random_flips,
    random_shifts,
    random_shifts_and_flips,
)
from llpgan.deep.networks import cifar_classifier

pytestmark = pytest.mark.slow  # many seconds together


@pytest.mark.parametrize(
    "augment",
    [random_shifts, random_flips, random_shifts_and_flips, random_distortions, random_distortions_and_flips],
)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_shape_and_type_stay(augment, dtype):
    images = torch.arange(2 * 3 * 8 * 16).reshape(2, 3, 8, 16).to(dtype)
    changed = augment(images)
    assert changed.shape == images.shape
    assert changed.dtype == dtype


def test_shifted_images_hold_their_middle_within_an_eighth_of_a_side():
    torch.manual_seed(0)
    images = torch.zeros(200, 1, 16, 16)
    images[:, :, 8, 8] = 1
    places = random_shifts(images)[:, 0].nonzero()[:, 1:]
    assert len(places) == 200
    assert set((places - 8).flatten().tolist()) == {-2, -1, 0, 1, 2}


def test_all_channels_of_an_image_move_together():
    torch.manual_seed(0)
    grey = torch.rand(20, 1, 16, 16).expand(20, 3, 16, 16)
    for augment in (random_shifts, random_flips, random_distortions):
        changed = augment(grey)
        assert torch.equal(changed[:, 0], changed[:, 2])


def test_distorted_images_hold_their_middle_near_the_middle():
    torch.manual_seed(0)
    images = torch.zeros(300, 1, 29, 29)
    images[:, :, 12:17, 12:17] = 1
    changed = random_distortions(images)
    blank = changed[:, 0, 13:16, 13:16].mean((1, 2)) < 0.2
    weight = changed[:, 0].clamp_min(0)
    place = torch.arange(29.0)
    rows = (weight.sum(2) * place).sum(1) / weight.sum((1, 2))
    assert ((rows - 14).abs()[~blank] < 29 / 7).all()
    assert 0 < blank.sum() < 150  # a rectangle hides it in some
    assert (changed.flatten(1) != images.flatten(1)).any(1).all()


def test_weaker_distortions_move_less_and_blank_fewer():
    torch.manual_seed(0)
    images = torch.rand(200, 1, 16, 16).cumsum(3)  # brighter to the right, so that every change shows
    differences = [
        (random_distortions(images, strength) - images).abs().mean() for strength in (0.0, 0.25, 0.5, 1.0)
    ]
    assert differences == sorted(differences)
    assert differences[0] < 1e-4


def test_half_of_the_images_are_mirrored():
    torch.manual_seed(0)
    images = torch.zeros(400, 1, 4, 4)
    images[..., 0] = 1
    mirrored = random_flips(images)[:, 0, 0, 3]
    assert 150 < mirrored.sum() < 250
    assert torch.equal(random_flips(images).sum(dim=(1, 2, 3)), images.sum(dim=(1, 2, 3)))


@pytest.mark.parametrize("method", [DLLP, LLPGAN])
def test_networks_see_changed_images_and_predict_from_unchanged_ones(method, coloured, bags_of_images):
    seen = []

    def noted(images):
        seen.append(images.clone())
        return images

    model = method(epochs=2, augment=noted, random_state=0).fit_bags(bags_of_images)
    assert sum(map(len, seen)) == 2 + 2 * 96  # two to try the function on
    n_calls = len(seen)
    model.predict(coloured[0])
    assert len(seen) == n_calls


def test_augmented_chunks_train_as_a_whole_step_does(bags_of_images):
    def darker(images):
        return images // 2

    settings = {"augment": darker, "precision": "32-true", "random_state": 0, "epochs": 2}
    without_dropout = partial(cifar_classifier, dropout=(0, 0, 0))
    whole, chunked = (
        DLLP(classifier=without_dropout, max_instances_per_step=most, **settings).fit_bags(bags_of_images)
        for most in (None, 24)
    )
    instances = bags_of_images.instances
    np.testing.assert_allclose(whole.predict_proba(instances), chunked.predict_proba(instances), atol=1e-4)


def test_the_same_seed_changes_images_alike(bags_of_images):
    first, second = (
        DLLP(epochs=1, augment="shifts_and_flips", random_state=0).fit_bags(bags_of_images) for _ in range(2)
    )
    instances = bags_of_images.instances
    np.testing.assert_array_equal(first.predict_proba(instances), second.predict_proba(instances))


def test_rows_of_a_table_cannot_be_shifted(bags):
    with pytest.raises(ValueError, match=r"augment='shifts' is for images, not instances of shape \(3,\)"):
        DLLP(augment="shifts").fit_bags(bags)


def test_a_function_that_changes_the_shape_is_refused(bags_of_images):
    with pytest.raises(ValueError, match=r"augment made .* of instances"):
        DLLP(augment=lambda images: images[:, :, ::2], epochs=1).fit_bags(bags_of_images)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize(
    "method", [partial(DLLP, augment=torch.zero_), partial(LLPDC, view=torch.zero_)], ids=["augment", "view"]
)
def test_a_function_that_writes_into_its_argument_leaves_the_instances_as_they_are(method, dtype, bags_of_images):
    images = bags_of_images.instances.astype(dtype)
    method(epochs=1, random_state=0).fit_bags(replace(bags_of_images, instances=images))
    np.testing.assert_array_equal(images, bags_of_images.instances)


def test_a_view_that_writes_into_its_argument_leaves_the_step_as_it_is():
    step = torch.ones(2, 1, 4, 4)
    assert apply_chunked(step, torch.zero_).sum() == 0
    assert step.sum() == 32


def test_shifts_by_a_part_of_the_side_move_no_further():
    spot = torch.zeros(200, 1, 28, 28)
    spot[:, :, 14, 14] = 1
    moved = random_shifts(spot, part=28)
    assert (moved[:, :, 13:16, 13:16].sum((1, 2, 3)) == 1).all()
    assert not torch.equal(moved, spot)
