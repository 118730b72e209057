"""The methods since the paper, all alike: DLLP where their own part is off; chunks, resume, saved models."""

import numpy as np
import pytest
import torch

import llpgan
from llpgan import DLLP, DSQ, LLPDC, LLPFC, LLPGAN, LLPVAT, ROT, CountLLP, MixBag, MomentMatching
from llpgan.deep.losses import PROPORTION_LOSSES, BagLoss
from llpgan.deep.losses.moments import MomentLoss
from llpgan.methods.deep import find_recipe, make_plan
from tests.deep.test_distributed import script_of, torchrun
from tests.plain import plain_mlp

METHODS = [MomentMatching, CountLLP, DSQ, ROT, LLPVAT, LLPDC, MixBag, LLPFC]
each_method = pytest.mark.parametrize("method", METHODS)
WITHOUT_ITS_PART = [
    MomentMatching(order=1),
    MomentMatching(order=1, form="joint"),
    ROT(transport_weight=0.0),
    LLPVAT(smoothness_weight=0.0),
    LLPDC(self_training_weight=0.0),
    MixBag(mix_probability=0.0),
]
LATER_LOSSES = [name for name, loss in PROPORTION_LOSSES.items() if isinstance(loss, BagLoss)]


def weights_of(model):
    return model.classifier_.state_dict()


def assert_same_weights(one, other):
    for name, value in weights_of(one).items():
        assert torch.equal(value, weights_of(other)[name]), name


@pytest.mark.parametrize("method", WITHOUT_ITS_PART, ids=repr)
def test_without_its_own_part_a_method_is_dllp_to_the_bit(method, bags):
    settings = {"epochs": 4, "random_state": 0, "entropy_weight": 0.1, "bags_per_step": 3}
    assert_same_weights(method.set_params(**settings).fit_bags(bags), DLLP(**settings).fit_bags(bags))


def test_order_one_is_dllp_to_the_bit_on_samples_too(bags):
    settings = {"epochs": 4, "random_state": 0, "mini_bag_size": 4}
    assert_same_weights(MomentMatching(order=1, **settings).fit_bags(bags), DLLP(**settings).fit_bags(bags))


@each_method
def test_with_its_own_part_it_is_another_training(method, bags):
    settings = {"epochs": 4, "random_state": 0}
    one, other = weights_of(method(**settings).fit_bags(bags)), weights_of(DLLP(**settings).fit_bags(bags))
    assert any(not torch.equal(value, other[name]) for name, value in one.items())


@each_method
def test_a_training_in_chunks_ends_with_the_same_model(method, bags):
    settings = {
        "classifier": plain_mlp,
        "epochs": 4,
        "precision": "64-true",
        "random_state": 0,
        "bags_per_step": 3,
    }
    if method is LLPVAT:  # an adversary's random start is drawn for a chunk at a time
        settings["smoothness_weight"] = 0.0
    whole, chunked = (
        method(**settings, max_instances_per_step=size).fit_bags(bags).predict_proba(bags.instances)
        for size in (None, 5)
    )
    np.testing.assert_allclose(chunked, whole, rtol=1e-6)


@each_method
def test_a_stopped_training_goes_on_where_it_was(method, bags, tmp_path):
    settings = {"epochs": 6, "random_state": 0}
    if method is LLPFC:
        settings["regroup_every"] = 2

    class StoppedError(Exception):
        pass

    epochs = iter(range(10))

    def stop_after_three(model):
        if next(epochs) == 3:
            raise StoppedError
        return {}

    with pytest.raises(StoppedError):
        method(checkpoint=tmp_path / "run.ckpt", **settings).fit_bags(bags, monitor=stop_after_three)
    resumed = method(checkpoint=tmp_path / "run.ckpt", **settings).fit_bags(bags)
    assert len(resumed.history_) == 6
    assert_same_weights(resumed, method(**settings).fit_bags(bags))


@each_method
def test_a_saved_model_predicts_the_same(method, bags, tmp_path):
    model = method(epochs=2, random_state=0).fit_bags(bags)
    expected = model.predict_proba(bags.instances)
    llpgan.save(model, tmp_path / "model")
    loaded = llpgan.load(tmp_path / "model")
    assert type(loaded) is method
    np.testing.assert_array_equal(loaded.predict_proba(bags.instances), expected)


@pytest.mark.parametrize("loss", LATER_LOSSES)
@pytest.mark.parametrize("method", [DLLP, LLPGAN])
def test_any_loss_is_a_proportion_loss(method, loss, blobs):
    instances, labels, groups = blobs
    model = method(proportion_loss=loss, epochs=15, learning_rate=0.01, random_state=0, bags_per_step=5)
    assert model.fit(instances, labels, groups=groups).score(instances, labels) > 0.9


def test_a_loss_with_settings_is_a_proportion_loss(bags):
    settings = {"epochs": 3, "random_state": 0}
    by_hand = DLLP(proportion_loss=MomentLoss(order=3), **settings).fit_bags(bags)
    assert_same_weights(by_hand, MomentMatching(order=3, **settings).fit_bags(bags))


def test_easyllp_knows_the_prior_of_its_bags(bags):
    model = DLLP(proportion_loss="easyllp", epochs=1, random_state=0).fit_bags(bags)
    np.testing.assert_allclose(model.bag_loss().prior, bags.prior)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            DSQ(bags_per_step=1),
            "bags_per_step=1: this proportion_loss compares the bags of a step; give 3 or more",
        ),
        (DLLP(proportion_loss="dsq", bags_per_step=2), "bags_per_step=2"),
        (DLLP(proportion_loss="counts", mini_bag_size=4), "needs whole bags: leave mini_bag_size at None"),
        (CountLLP(mini_bag_size=4), "'mini_bag_size' parameter of CountLLP must be None"),
        (MixBag(proportion_loss="moments"), "'proportion_loss' parameter of MixBag must be"),
        (LLPVAT(augment=lambda x: x, max_instances_per_step=4), "set augment or max_instances_per_step to None"),
        (MomentMatching(order=0), "'order' parameter of MomentMatching"),
        (ROT(transport_weight=1.5), "'transport_weight' parameter of ROT"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_settings_that_do_not_go_together_are_refused_with_a_message(model, message, bags):
    with pytest.raises(ValueError, match=message):
        model.set_params(random_state=0, epochs=2).fit_bags(bags)


@pytest.mark.parametrize("model", [DLLP(proportion_loss="easyllp"), MomentMatching(), MixBag(), LLPFC()], ids=repr)
def test_weighted_rows_are_refused_with_a_message(model, blobs):
    bags = llpgan.Bags.from_labels(*blobs, weights=np.arange(1.0, 81.0))
    with pytest.raises(ValueError, match="weigh"):
        model.fit_bags(bags)


def test_dsq_takes_three_bags_a_step_where_the_usual_number_is_lower(blobs):
    instances, labels, _ = blobs
    bags = llpgan.Bags.from_labels(instances, labels, np.arange(80) // 40)
    model = DSQ(epochs=1, random_state=0).fit_bags(bags)
    assert make_plan(model, find_recipe(model), bags, seed=0).bags_a_step == 3
    assert np.isfinite(model.history_[0]["proportion_loss"])


@pytest.mark.parametrize("loss", LATER_LOSSES)
def test_losses_say_whether_they_grow_with_the_bag(loss):
    """Beside the cross-entropy, in bags of 4 and of 64: alike, or some sixteen times as large in the latter."""
    of_loss = PROPORTION_LOSSES[loss]
    ratio = size_beside_cross_entropy(of_loss, 64) / size_beside_cross_entropy(of_loss, 4)
    assert (ratio > 4) == of_loss.grows_with_bags


def size_beside_cross_entropy(loss, bag_size, n_bags=60):
    """The length of the gradient in units of that of the cross-entropy, for predictions that are mostly right."""
    rng = torch.Generator().manual_seed(0)
    labels = torch.randint(3, (n_bags * bag_size,), generator=rng)
    bag_index = torch.arange(n_bags).repeat_interleave(bag_size)
    known = torch.nn.functional.one_hot(labels, 3).double()
    proportions = known.view(n_bags, bag_size, 3).mean(1)
    logits = 2 * known + torch.randn(known.shape, generator=rng, dtype=torch.double)

    def length(of_bags):
        given = logits.clone().requires_grad_()
        of_bags(given, bag_index, proportions).backward()
        return given.grad.norm()

    return length(loss.knowing((1 / 3, 1 / 3, 1 / 3))) / length(PROPORTION_LOSSES["exact"])


def test_other_terms_keep_their_weight_with_a_loss_that_grows_with_bags(bags):
    settings = {"epochs": 2, "random_state": 0, "proportion_loss": "counts"}
    assert_same_weights(
        LLPGAN(**settings).fit_bags(bags), LLPGAN(proportion_weight=1.0, **settings).fit_bags(bags)
    )
    size, counts = float(bags.sizes.mean()), PROPORTION_LOSSES["counts"]
    settings["proportion_loss"] = lambda *step: counts(*step)  # of which nothing is known
    assert_same_weights(
        LLPVAT(**settings | {"proportion_loss": "counts"}, entropy_weight=0.1).fit_bags(bags),
        LLPVAT(**settings, entropy_weight=0.1 * size, smoothness_weight=0.05 * size).fit_bags(bags),
    )


TRAINING = """
    import os, sys
    import torch
    import llpgan
    from tests.methods.test_methods_since import METHODS, SHARED, ragged_bags
    torch.set_num_threads(1)
    for method in METHODS:
        model = method(**SHARED).fit_bags(ragged_bags())
        torch.save(model.classifier_.state_dict(), f"{sys.argv[1]}/{method.__name__}{os.environ['RANK']}.pt")
"""
SHARED = {"classifier": plain_mlp, "epochs": 3, "bags_per_step": 4, "random_state": 0, "precision": "64-true"}


def ragged_bags():
    """Bags of 1 to 12 instances: a step's halves cut some of them in two."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), np.arange(1, 13))
    return llpgan.Bags.from_labels(rng.normal(size=(len(groups), 3)), rng.integers(3, size=len(groups)), groups)


@pytest.mark.slow
def test_two_processes_end_with_the_weights_of_one(tmp_path):
    """An adversary's random starts are each process's own; both still end with the same weights."""
    process = torchrun(script_of(TRAINING, tmp_path), tmp_path)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    for method in METHODS:
        first, second = (torch.load(tmp_path / f"{method.__name__}{i}.pt", weights_only=True) for i in range(2))
        alone = weights_of(method(**SHARED).fit_bags(ragged_bags()))
        for name, value in alone.items():
            torch.testing.assert_close(first[name], second[name], rtol=0, atol=0)
            if method is not LLPVAT:
                torch.testing.assert_close(first[name], value, rtol=1e-6, atol=1e-6)
