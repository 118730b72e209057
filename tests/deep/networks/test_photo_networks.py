"""The default for photographs: whitened patches, statistics of real images only, mirrors, and the same weights."""

import numpy as np
import pytest
import torch
from torch import nn

from llpgan import DLLP, LLPGAN, Bags, load, save
from llpgan.deep.networks import learn_patches, photo_classifier, photo_generator
from llpgan.deep.networks.photo import PhotoClassifier, Whitening
from llpgan.persistence.onnx import to_onnx

pytestmark = pytest.mark.slow  # many seconds together
BRIEF = {"epochs": 6, "bags_per_step": 1, "random_state": 0}


@pytest.fixture(scope="module")
def photos():
    """Red and green noise of 24 x 24 pixels in bags of eight."""
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    images = rng.integers(0, 120, (40, 3, 24, 24))
    images[np.arange(40), labels] += 100
    return Bags.from_labels(images.astype(np.uint8), labels, groups=rng.permutation(40) // 8)


@pytest.fixture(scope="module")
def fitted(photos):
    return DLLP(**BRIEF).fit_bags(photos)


@pytest.mark.parametrize("stride", [1, 2])
def test_whitened_patches_have_unit_covariance(stride):
    images = torch.randn(64, 3, 16, 16).cumsum(3) + torch.tensor([1.0, 5.0, -3.0]).view(3, 1, 1)
    whitening = Whitening(3, stride=stride)
    whitening.learn(images)
    half = whitening(images).transpose(0, 1).flatten(1)[:12].double()
    torch.testing.assert_close(torch.cov(half), torch.eye(12, dtype=torch.float64), atol=0.05, rtol=0)
    torch.testing.assert_close(half.mean(1), torch.zeros(12, dtype=torch.float64), atol=1e-3, rtol=0)
    torch.testing.assert_close(whitening(images)[:, 12:], -whitening(images)[:, :12])


def test_constant_images_are_whitened_to_zero():
    whitening = Whitening(3)
    whitening.learn(torch.full((8, 3, 8, 8), 0.5))
    assert whitening(torch.full((1, 3, 8, 8), 0.5)).abs().max() < 1e-3


def test_learn_patches_leaves_other_networks_alone():
    network = nn.Linear(2, 2)
    before = network.weight.clone()
    learn_patches(network, torch.randn(4, 2))
    assert torch.equal(network.weight, before)


@pytest.mark.parametrize("shape", [(3, 24, 24), (3, 32, 32), (4, 24, 31), (3, 64, 48), (3, 128, 128), (3, 20, 20)])
def test_images_of_any_size_have_logits_and_features(shape):
    logits, features = photo_classifier(shape, 5)(torch.randn(2, *shape))
    assert logits.shape == (2, 5) and features.shape == (2, 256)
    assert photo_generator(shape, 7)(torch.randn(2, 7)).shape == (2, *shape)


def test_convolutions_begin_as_the_identity():
    network = photo_classifier((3, 32, 32), 10)
    second = [layer for layer in network.modules() if isinstance(layer, nn.Conv2d)][2]
    image = torch.randn(1, 64, 9, 9)
    torch.testing.assert_close(second(image), image)


def test_mirror_images_have_the_same_prediction_if_training_mirrors(photos, fitted):
    mirrored = np.ascontiguousarray(photos.instances[..., ::-1])
    difference = np.abs(fitted.predict_proba(photos.instances) - fitted.predict_proba(mirrored)).max()
    assert difference < 1e-6
    plain = DLLP(epochs=1, augment="shifts", random_state=0).fit_bags(photos)
    assert np.abs(plain.predict_proba(photos.instances) - plain.predict_proba(mirrored)).max() > 1e-4


def test_red_and_green_are_distinguished(photos, fitted):
    assert isinstance(fitted.classifier_[1], PhotoClassifier)
    found = fitted.predict(photos.instances)
    assert (found == (photos.instances[:, 1].mean((1, 2)) > photos.instances[:, 0].mean((1, 2)))).mean() > 0.95


def test_the_same_seed_gives_the_same_weights(photos, fitted):
    again = DLLP(**BRIEF).fit_bags(photos)
    for name, value in again.classifier_.state_dict().items():
        assert torch.equal(value, fitted.classifier_.state_dict()[name]), name


@pytest.mark.parametrize("method", [DLLP, LLPGAN])
def test_a_resumed_training_ends_with_the_same_weights(method, photos, tmp_path):
    def stop(model):
        if (tmp_path / "state").exists():
            raise KeyboardInterrupt
        return {}

    few = {"epochs": 3, "coarse_until": 0.5, "random_state": 0, "classifier": photo_classifier}
    whole = method(**few).fit_bags(photos)
    halted = method(**few, checkpoint=tmp_path / "state")
    with pytest.raises(KeyboardInterrupt):
        halted.fit_bags(photos, monitor=stop)
    resumed = halted.fit_bags(photos)
    for name, value in whole.classifier_.state_dict().items():
        assert torch.equal(value, resumed.classifier_.state_dict()[name]), name


@pytest.mark.parametrize("settings", [{}, {"critic": "wasserstein"}])
def test_statistics_of_generated_images_never_reach_prediction(photos, settings):
    seen = []

    class Blinding(nn.Module):
        """Makes images far brighter than any real one."""

        def __init__(self):
            super().__init__()
            self.level = nn.Parameter(torch.tensor(1e4))

        def forward(self, noise):
            return self.level.expand(len(noise), 3, 24, 24) + noise[:, :1, None, None]

    def watch(model):
        norms = [layer for layer in model.classifier_.modules() if isinstance(layer, nn.BatchNorm2d)]
        seen.append(norms[0].running_mean.abs().max().item())
        return {}

    LLPGAN(generator=Blinding(), epochs=2, random_state=0, **settings).fit_bags(photos, monitor=watch)
    assert max(seen) < 100


def test_a_saved_model_and_its_graph_agree_with_the_model(photos, fitted, tmp_path):
    expected = fitted.predict_proba(photos.instances)
    save(fitted, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(photos.instances), expected)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(fitted).SerializeToString())
    outputs = session.run(None, {session.get_inputs()[0].name: photos.instances})
    found = next(output for output in outputs if output.shape == expected.shape)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_chunks_are_refused(photos):
    with pytest.raises(ValueError, match="max_instances_per_step=8 would change what batch norm computes"):
        DLLP(max_instances_per_step=8).fit_bags(photos)


def test_predictions_see_full_size_with_held_out_bags(photos):
    model = DLLP(epochs=4, validation_fraction=0.25, random_state=0).fit_bags(photos)
    assert all(getattr(part, "side_share", 1.0) == 1.0 for part in model.classifier_.modules())
