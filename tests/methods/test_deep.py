"""Settings of the deep methods: each does what it says, and is refused where it makes no sense."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

from llpgan import DLLP, LLPGAN, Bags
from llpgan.deep.images import Unscaling
from llpgan.deep.losses import proportion_bound, undo_bound
from llpgan.deep.networks import ladder_mnist_classifier, mlp_classifier, mlp_generator
from llpgan.methods.deep import count_epochs, find_recipe, make_adam, make_checkpoint

METHODS = [DLLP, LLPGAN]


@pytest.fixture
def images(rng):
    """Left half bright or right half bright, as bytes, in bags of four."""
    labels = np.arange(48) % 2
    pixels = rng.integers(0, 60, size=(48, 1, 8, 8))
    pixels[labels == 0, :, :, :4] += 150
    pixels[labels == 1, :, :, 4:] += 150
    return pixels.astype(np.uint8), labels, rng.permutation(48) // 4


@pytest.mark.parametrize("method", METHODS)
def test_images_as_bytes(method, images):
    pixels, labels, groups = images
    model = method(epochs=40, random_state=0).fit(pixels, labels, groups=groups)
    assert model.score(pixels, labels) > 0.9
    assert model.n_features_in_ == 1


def test_masks_of_zeros_and_ones_are_learned_as_bytes(images):
    pixels, labels, groups = images
    masks = (pixels > 100).astype(np.uint8)
    assert DLLP(epochs=40, random_state=0).fit(masks, labels, groups=groups).score(masks, labels) > 0.9


def test_generated_images_stand_in_the_range_of_the_real_ones(images):
    pixels, labels, groups = images
    fakes = LLPGAN(epochs=2, random_state=0).fit(pixels, labels, groups=groups).sample(9, random_state=0)
    assert fakes.shape == (9, 1, 8, 8)
    assert fakes.min() >= 0
    assert fakes.max() <= 255


@pytest.mark.parametrize(
    ("shape", "message"),
    [((48, 8, 8), r"X\[:, None\]"), ((48, 8, 8, 3), r"channels last: X.transpose\(0, 3, 1, 2\)")],
)
def test_images_of_another_layout_are_refused_with_a_message(shape, message):
    with pytest.raises(ValueError, match=message):
        DLLP().fit(np.zeros(shape, np.uint8), np.arange(48) % 2)


def test_samples_of_a_table_look_like_its_rows(blobs):
    instances, labels, groups = blobs
    model = LLPGAN(epochs=60, random_state=0).fit(1000 + 10 * instances, labels, groups=groups)
    fakes = model.sample(500, random_state=1)
    assert fakes.shape == (500, 3)
    np.testing.assert_allclose(fakes.mean(), (1000 + 10 * instances).mean(), atol=15)
    np.testing.assert_array_equal(fakes, model.sample(500, random_state=1))


@pytest.mark.parametrize("n", [-1, 0, 1.5, "3"])
def test_samples_of_no_number_are_refused(n, bags):
    with pytest.raises((TypeError, ValueError), match=r"^n (== .*must be >= 1|must be an instance of)"):
        LLPGAN(epochs=1, random_state=0).fit_bags(bags).sample(n)


@pytest.mark.parametrize(
    "betas", [(0.5,), (), (0.5, 0.9, 0.99), (0.5, 1.0), (-0.1, 0.9), (0.5, float("nan")), ("a", "b")]
)
def test_wrong_betas_are_refused_before_training(betas, bags):
    with pytest.raises(ValueError, match=r"betas=.*two numbers from 0 to below 1"):
        DLLP(betas=betas).fit_bags(bags)


@pytest.mark.parametrize("make", [print, len, dict, lambda shape: nn.Linear(3, 2), lambda *_: "network"])
def test_what_makes_no_network_is_refused_before_training(make, bags):
    with pytest.raises(TypeError, match="classifier is a module, or a function"):
        DLLP(classifier=make).fit_bags(bags)
    with pytest.raises(TypeError, match="generator is a module, or a function"):
        LLPGAN(generator=make).fit_bags(bags)


def test_samples_need_a_fitted_model():
    with pytest.raises(NotFittedError):
        LLPGAN().sample(1)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_without_groups_it_is_a_supervised_classifier(method, rng):
    """Labels that no bag of two or more could tell: each row's own."""
    instances = rng.normal(size=(200, 2))
    labels = (instances[:, 0] > 0).astype(int)
    assert method(random_state=0).fit(instances, labels).score(instances, labels) > 0.95


def test_a_module_of_your_own_is_copied_and_trained_from_its_weights(bags):
    network = mlp_classifier((3,), 2, hidden=(4,))
    before = network.head.weight.clone()
    model = DLLP(classifier=network, epochs=1, learning_rate=1e-6, random_state=0).fit_bags(bags)
    assert torch.equal(network.head.weight, before)
    torch.testing.assert_close(model.classifier_[1].head.weight, before, atol=1e-4, rtol=0)


@pytest.mark.parametrize("shape", [(5,), (1, 8, 8)], ids=["table", "images"])
def test_training_continues_from_the_networks_of_a_fitted_model(shape):
    rng = np.random.default_rng(0)
    X = 100 + 50 * rng.normal(size=(64, *shape))  # far from the range that networks like
    bags = Bags.from_labels(X, (X.mean(tuple(range(1, X.ndim))) > 100).astype(int), np.arange(64) // 8)
    first = LLPGAN(epochs=3, average=0.0, random_state=0).fit_bags(bags)
    again = LLPGAN(
        classifier=first.classifier_, generator=first.generator_, epochs=1, learning_rate=1e-12, random_state=0
    ).fit_bags(bags)
    np.testing.assert_allclose(again.predict_proba(X), first.predict_proba(X), atol=1e-5)
    for weights, before in zip(again.generator_.parameters(), first.generator_.parameters(), strict=True):
        torch.testing.assert_close(weights, before)
    assert sum(isinstance(part, Unscaling) for part in again.generator_.modules()) == 1


def test_a_function_that_makes_the_network(images):
    pixels, labels, groups = images
    model = DLLP(classifier=ladder_mnist_classifier, epochs=2, random_state=0).fit(pixels, labels, groups=groups)
    assert any(isinstance(module, nn.BatchNorm2d) for module in model.classifier_.modules())


def test_a_generator_of_your_own(bags):
    model = LLPGAN(generator=mlp_generator((3,), 7, hidden=(4,)), noise_size=7, epochs=1).fit_bags(bags)
    assert model.generator_[0][0][0].in_features == 7


@pytest.mark.parametrize("activation", [("relu", nn.ReLU), ("leaky_relu", nn.LeakyReLU)])
def test_activation_of_both_networks(activation, bags):
    name, kind = activation
    model = LLPGAN(activation=name, epochs=1).fit_bags(bags)
    for network in (model.classifier_, model.generator_):
        used = {type(m) for m in network.modules() if isinstance(m, nn.ReLU | nn.LeakyReLU)}
        assert used == {kind}


@pytest.mark.slow
@pytest.mark.parametrize("generator_loss", ["feature_matching_pull_away", "saturating", "nonsaturating"])
def test_other_objectives_of_the_generator(generator_loss, bags, blobs):
    model = LLPGAN(generator_loss=generator_loss, proportion_weight=5, random_state=0).fit_bags(bags)
    assert model.score(*blobs[:2]) > 0.9


def test_an_objective_and_a_noise_of_your_own(bags):
    def loss(real, fake):
        return (real.features - fake.features).abs().mean()

    def noise(n, size, device):
        return torch.ones(n, size, device=device)

    model = LLPGAN(generator_loss=loss, noise=noise, epochs=1, random_state=0).fit_bags(bags)
    assert np.ptp(model.sample(4), axis=0).max() == 0


def test_samples_of_normal_noise_have_the_shape_of_instances(bags):
    model = LLPGAN(noise="normal", epochs=1, random_state=0).fit_bags(bags)
    assert model.sample(4).shape == (4, 3)


def test_entropy_makes_predictions_more_confident(rng):
    """Two classes on top of each other: the proportions leave every instance at one half."""
    bags = Bags.from_arrays(rng.normal(size=(64, 2)), np.arange(64) // 8, np.full((8, 2), 0.5))
    unsure, sure = (
        DLLP(entropy_weight=weight, epochs=30, random_state=0).fit_bags(bags).predict_proba(bags.instances)
        for weight in (0.0, 2.0)
    )
    assert sure.max(axis=1).mean() > unsure.max(axis=1).mean() + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_bound_s_bias_can_be_taken_out_of_predictions(method, rng):
    """Unbalanced classes in random bags: the bound alone says the larger class everywhere."""
    labels = (rng.random(1600) < 0.2).astype(int)
    instances = rng.normal(size=(1600, 2)) + 4 * labels[:, None]
    bags = Bags.from_labels(instances, labels, np.arange(1600) // 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it never predicts the smaller class
        model = method(proportion_loss=proportion_bound, epochs=30, random_state=0).fit_bags(bags)
    raw = model.predict_proba(instances)
    assert (raw.argmax(1) == 0).all()
    assert (undo_bound(raw, 8, bags.prior).argmax(1) == labels).mean() > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["bf16-mixed", "64-true"])
@pytest.mark.parametrize("method", METHODS)
def test_precision(method, precision, blobs, bags):
    model = method(precision=precision, device="cpu", epochs=60, random_state=0).fit_bags(bags)
    assert model.score(*blobs[:2]) > 0.9


@pytest.mark.parametrize("device", ["nowhere", "cuda:99"])
def test_a_device_that_is_not_there(device, bags):
    with pytest.raises(ValueError, match=device):
        DLLP(device=device).fit_bags(bags)


@pytest.mark.parametrize(
    "setting",
    [
        {"epochs": 0},
        {"learning_rate": 0},
        {"learning_rate": -1.0},
        {"proportion_loss": "exakt"},
        {"activation": "tanh"},
        {"average": 1.0},
        {"bags_per_step": 0},
        {"validation_fraction": 1.0},
        {"random_state": "zero"},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_named(setting, bags):
    with pytest.raises(ValueError, match=f"'{next(iter(setting))}' parameter of DLLP"):
        DLLP(**setting).fit_bags(bags)


@pytest.mark.parametrize("setting", [{"proportion_weight": 0}, {"noise": "pink"}, {"noise_size": 0}], ids=str)
def test_settings_of_llp_gan_that_make_no_sense_are_named(setting, bags):
    with pytest.raises(ValueError, match=f"'{next(iter(setting))}' parameter of LLPGAN"):
        LLPGAN(**setting).fit_bags(bags)


def test_held_out_bags_of_other_classes_are_refused(bags):
    other = Bags.from_arrays(np.zeros((2, 3)), [0, 1], [[1, 0, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match="held-out bags have classes"):
        DLLP().fit_bags(bags, held_out=other)


def test_a_network_of_ours_is_the_same_setting_in_another_process(bags, tmp_path):
    """A function's repr has an address: the checkpoint of a killed process could never be continued."""
    model = DLLP(classifier=mlp_classifier, checkpoint=tmp_path / "state", random_state=0)
    assert make_checkpoint(model, bags).fingerprint["classifier"] == "llpgan.deep.networks.parts.mlp_classifier"


def test_a_checkpoint_continues_after_its_network_moved_to_another_module(bags, tmp_path):
    """Checkpoints of before 0.3 name the classifier as it was then."""
    model = DLLP(classifier=mlp_classifier, checkpoint=tmp_path / "state", epochs=1, random_state=0)
    checkpoint = make_checkpoint(model, bags)
    checkpoint.fingerprint["classifier"] = "llpgan.deep.networks.dense.mlp_classifier"
    checkpoint.save({"epoch": 0})
    assert make_checkpoint(model, bags).load() == {"epoch": 0}


def test_a_monitor_that_samples_changes_nothing(bags):
    seen = []

    def watch(model):
        seen.append(model.sample(2, random_state=0))
        return {}

    watched = LLPGAN(epochs=3, random_state=0).fit_bags(bags, monitor=watch)
    alone = LLPGAN(epochs=3, random_state=0).fit_bags(bags)
    np.testing.assert_array_equal(watched.predict_proba(bags.instances), alone.predict_proba(bags.instances))
    np.testing.assert_array_equal(seen[-1], watched.sample(2, random_state=0))
    assert not np.array_equal(seen[0], seen[-1])


@pytest.mark.parametrize("method", [DLLP, LLPGAN])
@pytest.mark.parametrize(("shape", "most"), [((1, 8, 8), 5.0), ((3, 16, 16), 5.0), ((5,), 16.0)])
def test_on_images_a_large_gradient_after_small_ones_moves_a_weight_by_few_rates(method, shape, most):
    model = method(learning_rate=1.0)
    model.instance_shape_ = shape
    weight = nn.Parameter(torch.zeros(1))
    optimiser = make_adam(model, find_recipe(model), [weight])
    for gradient in [1e-6] * 5000 + [1.0]:
        before = weight.item()
        weight.grad = torch.full((1,), gradient)
        optimiser.step()
    assert abs(weight.item() - before) == pytest.approx(most, rel=0.02)


@pytest.mark.parametrize(
    ("shape", "n_bags", "settings", "epochs"),
    [
        ((2,), 10, {}, 100),
        ((2,), 500, {}, 6),  # of 64 rows: one bag a step
        ((2,), 500, {"bags_per_step": 10}, 60),
        ((2,), 9000, {}, 5),
        ((2,), 9000, {"epochs": 7}, 7),
        ((1, 2, 1), 9000, {}, 100),
    ],
)
def test_tables_of_many_bags_have_fewer_epochs(shape, n_bags, settings, epochs):
    rows = np.zeros((64 * n_bags, *shape), np.float32)
    bags = Bags.from_labels(rows, np.arange(len(rows)) % 2, np.arange(len(rows)) // 64)
    model = DLLP(**settings)
    model.instance_shape_ = shape
    assert count_epochs(model, find_recipe(model), bags) == epochs


def test_without_a_number_of_epochs_the_usual_one_is_run(bags):
    assert len(DLLP(random_state=0, calibrate=False).fit_bags(bags.take_bags([0, 1])).history_) == 100
