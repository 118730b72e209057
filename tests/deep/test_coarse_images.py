"""Images that are smaller in the first epochs: who sees them, and who is refused."""

import numpy as np
import pytest
import torch
from torch import nn

from llpgan import DLLP, LLPGAN, LLPVAT
from llpgan.deep.images import Scaling, set_image_scale, side_share
from llpgan.deep.loop import Plan
from llpgan.deep.networks import Classifier, cifar_classifier, mnist_classifier
from llpgan.methods.deep import find_recipe

pytestmark = pytest.mark.slow  # many seconds together


class Watched(nn.Module):
    """A network that notes the sides of the images it sees while it is trained."""

    def __init__(self, seen: list[tuple[int, ...]]) -> None:
        super().__init__()
        self.seen = seen
        self.network = Classifier(nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten()), nn.Linear(12, 2))

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self.training and torch.is_grad_enabled():
            self.seen.append(tuple(images.shape[2:]))
        return self.network(images)

    def __deepcopy__(self, memo: dict) -> "Watched":
        copied = Watched(self.seen)
        copied.load_state_dict(self.state_dict())
        return copied


@pytest.mark.parametrize(("share", "sides"), [(0.5, (4, 6)), (0.75, (6, 9)), (1.0, (8, 12))])
def test_a_smaller_image_shows_the_same(share, sides):
    scaling = Scaling(np.array(0.0), np.array(2.0))
    set_image_scale(nn.Sequential(scaling), share)
    slope = torch.linspace(0, 1, 8)[:, None].expand(1, 1, 8, 12)
    small = scaling(slope)
    assert small.shape[2:] == sides
    assert small.mean().item() == pytest.approx(0.25, abs=1e-6)
    assert (small[0, 0].diff(dim=0) > 0).all()
    np.testing.assert_allclose(small[0, 0, :, 0], small[0, 0, :, -1], rtol=1e-5)


@pytest.mark.parametrize("epochs", [1, 3, 10])
@pytest.mark.parametrize("coarse_until", [0.0, 0.3, 0.5, 0.7, 0.9])
def test_as_many_epochs_are_coarse_as_the_plan_says(epochs, coarse_until):
    plan = Plan(epochs=epochs, bags_a_step=1, seed=0, coarse_until=coarse_until)
    shares = [side_share(epoch / epochs, coarse_until) for epoch in range(epochs)]
    assert sum(share < 1 for share in shares) == plan.coarse_epochs
    assert shares == sorted(shares)


@pytest.mark.parametrize("method", [DLLP, LLPGAN, LLPVAT])
def test_the_first_epochs_see_half_the_size_and_predictions_the_full_one(method, bags_of_images):
    seen = []
    side = bags_of_images.instances.shape[2]
    model = method(classifier=Watched(seen), epochs=5, coarse_until=0.8, random_state=0).fit_bags(bags_of_images)
    in_an_epoch = len(seen) // 5
    assert in_an_epoch > 0
    shares = [0.5, 0.5, 0.5, 0.75, 1.0]
    assert seen == [(round(share * side),) * 2 for share in shares for _ in range(in_an_epoch)]
    assert all(part.side_share == 1 for part in model.classifier_.modules() if isinstance(part, Scaling))


def test_a_training_that_is_resumed_among_coarse_epochs_ends_alike(bags_of_images, tmp_path):
    def stop_in_the_second(model):
        if (tmp_path / "state").exists():
            raise KeyboardInterrupt
        return {}

    settings = {"classifier": Watched([]), "epochs": 3, "coarse_until": 0.66, "random_state": 0}
    whole = DLLP(**settings).fit_bags(bags_of_images)
    halted = DLLP(**settings, checkpoint=tmp_path / "state")
    with pytest.raises(KeyboardInterrupt):
        halted.fit_bags(bags_of_images, monitor=stop_in_the_second)
    resumed = halted.fit_bags(bags_of_images)
    instances = bags_of_images.instances
    np.testing.assert_array_equal(whole.predict_proba(instances), resumed.predict_proba(instances))


def test_patience_begins_after_the_coarse_epochs(bags_of_images):
    settings = {"classifier": Watched([]), "learning_rate": 1e-12, "validation_fraction": 0.5, "patience": 1}
    model = DLLP(epochs=10, coarse_until=0.4, random_state=0, **settings).fit_bags(bags_of_images)
    assert 4 < len(model.history_) < 10


def test_a_network_for_one_size_is_refused_before_training(bags_of_images):
    with pytest.raises(ValueError, match=r"coarse_until=0\.5 needs a network that takes images of any size"):
        DLLP(classifier=mnist_classifier, coarse_until=0.5).fit_bags(bags_of_images)


def test_rows_of_a_table_have_no_half_size(bags):
    with pytest.raises(ValueError, match=r"coarse_until=0\.5 is for images, not instances of shape \(3,\)"):
        DLLP(coarse_until=0.5).fit_bags(bags)


def test_all_epochs_coarse_is_refused(bags_of_images):
    with pytest.raises(ValueError, match="coarse_until"):
        DLLP(classifier=cifar_classifier, coarse_until=1.0).fit_bags(bags_of_images)


@pytest.mark.parametrize(("epochs", "at_most"), [(1, r"0\.0"), (3, r"0\.66"), (4, r"0\.75")])
def test_a_training_that_would_never_see_full_size_is_refused(epochs, at_most, bags_of_images):
    said = rf"coarse_until=0\.8 leaves none of {epochs} epochs .* coarse_until={at_most} or less"
    with pytest.raises(ValueError, match=said):
        DLLP(classifier=cifar_classifier, coarse_until=0.8, epochs=epochs).fit_bags(bags_of_images)


@pytest.mark.parametrize(
    ("shape", "settings", "coarse"),
    [
        ((3, 32, 32), {}, 0.75),
        ((3, 48, 64), {"epochs": 4}, 0.75),
        ((3, 48, 64), {"epochs": 3}, 0.0),
        ((3, 20, 32), {}, 0.0),
        ((1, 40, 40), {}, 0.8),
        ((1, 32, 31), {}, 0.0),
        ((1, 28, 28), {}, 0.0),
        ((5,), {}, 0.0),
        ((1, 32, 32), {"epochs": 9}, 0.0),
        ((3, 32, 32), {"coarse_until": 0.5}, 0.5),
        ((3, 32, 32), {"coarse_until": 0.0}, 0.0),
        ((3, 32, 32), {"classifier": cifar_classifier}, 0.0),
    ],
)
def test_photographs_are_coarse_first_unless_the_user_says_otherwise(shape, settings, coarse):
    model = DLLP(**settings)
    model.instance_shape_ = shape
    assert find_recipe(model).coarse_until == coarse
