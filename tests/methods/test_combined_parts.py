"""Losses of bags, terms on single instances and LLP-GAN's game, combined."""

import numpy as np
import pytest
import torch

import llpgan
from llpgan import DLLP, LLPDC, LLPFC, LLPGAN, LLPVAT, ROT, MixBag, MomentMatching
from llpgan.deep.losses.bag_losses import CountLoss, EasyLoss
from llpgan.deep.losses.moments import MomentLoss
from llpgan.deep.losses.self_labels import AssignmentLoss, TransportLoss
from llpgan.deep.objectives import INSTANCE_TERMS, Entropy, SelfTraining, Smoothness
from llpgan.methods.base import changed_settings
from tests.deep.test_distributed import script_of, torchrun
from tests.methods.test_methods_since import assert_same_weights, ragged_bags
from tests.plain import plain_mlp

SETTINGS = {"epochs": 4, "random_state": 0}
PRESETS = {
    "entropy": (DLLP(entropy_weight=0.2), Entropy(weight=0.2)),
    "smoothness": (LLPVAT(smoothness_weight=0.3, length=0.5), Smoothness(weight=0.3, length=0.5)),
    "self_training": (LLPDC(soft=True, ramp_until=0.5), SelfTraining(soft=True, ramp_until=0.5)),
}


@pytest.mark.parametrize("name", INSTANCE_TERMS)
def test_a_published_method_is_dllp_with_its_term_to_the_bit(name, bags):
    method, term = PRESETS[name]
    by_hand = DLLP(instance_terms=term, **SETTINGS).fit_bags(bags)
    assert_same_weights(method.set_params(**SETTINGS).fit_bags(bags), by_hand)


@pytest.mark.parametrize("critic", [None, "hinge"])
@pytest.mark.parametrize("name", INSTANCE_TERMS)
def test_a_term_changes_llp_gan_unless_its_weight_is_zero(name, critic, bags):
    _, term = PRESETS[name]
    plain, without, beside = (
        LLPGAN(instance_terms=terms, critic=critic, **SETTINGS).fit_bags(bags)
        for terms in ((), type(term)(weight=0.0), [term])
    )
    assert_same_weights(plain, without)
    assert term.column not in plain.history_[0]
    assert beside.history_[0][term.column] > 0
    with pytest.raises(AssertionError):
        assert_same_weights(plain, beside)


def test_terms_combine_with_each_other_and_with_any_loss(blobs):
    instances, labels, groups = blobs
    model = LLPGAN(
        proportion_loss="counts",
        instance_terms=("smoothness", "self_training"),
        learning_rate=0.01,
        random_state=0,
    )
    model.set_params(epochs=15, bags_per_step=5).fit(instances, labels, groups=groups)
    assert model.score(instances, labels) > 0.9
    assert {"smoothness", "self_training_loss", "generator_loss"} <= model.history_[0].keys()


@pytest.mark.parametrize("method", [ROT, MixBag, LLPFC, LLPVAT])
def test_methods_with_a_part_of_their_own_take_terms(method, bags):
    model = method(instance_terms="self_training", **SETTINGS).fit_bags(bags)
    assert "self_training_loss" in model.history_[0]


@pytest.mark.parametrize("method", [DLLP, LLPGAN])
def test_terms_in_chunks_end_with_the_same_model(method):
    bags = ragged_bags()
    whole, chunked = (
        method(
            classifier=plain_mlp,
            instance_terms=[SelfTraining(view=torch.neg), "entropy"],
            precision="64-true",
            bags_per_step=4,
            max_instances_per_step=size,
            **SETTINGS,
        )
        .fit_bags(bags)
        .predict_proba(bags.instances)
        for size in (None, 5)
    )
    np.testing.assert_allclose(chunked, whole, rtol=1e-6)


TRAINING = """
    import os, sys
    import torch
    from tests.methods.test_combined_parts import game_with_terms
    torch.set_num_threads(1)
    torch.save(game_with_terms().classifier_.state_dict(), f"{sys.argv[1]}/{os.environ['RANK']}.pt")
"""


def game_with_terms():
    settings = {"classifier": plain_mlp, "bags_per_step": 4, "precision": "64-true", "proportion_loss": "counts"}
    terms = [SelfTraining(soft=True, view=torch.neg), "entropy"]
    return LLPGAN(instance_terms=terms, **settings, **SETTINGS).fit_bags(ragged_bags())


@pytest.mark.slow
def test_two_processes_end_with_the_weights_of_one(tmp_path):
    process = torchrun(script_of(TRAINING, tmp_path), tmp_path)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    for name, value in game_with_terms().classifier_.state_dict().items():
        torch.testing.assert_close(first[name], second[name], rtol=0, atol=0)
        torch.testing.assert_close(first[name], value, rtol=1e-6, atol=1e-6)


def test_parts_with_settings_of_their_own_are_saved(bags, tmp_path):
    terms = ["smoothness", SelfTraining(soft=True)]
    model = LLPGAN(proportion_loss=MomentLoss(order=3), instance_terms=terms, **SETTINGS).fit_bags(bags)
    llpgan.save(model, tmp_path / "model")
    loaded = llpgan.load(tmp_path / "model")
    assert loaded.instance_terms == ("smoothness", SelfTraining(soft=True))
    assert loaded.proportion_loss == MomentLoss(order=3)
    np.testing.assert_array_equal(loaded.predict_proba(bags.instances), model.predict_proba(bags.instances))


def test_a_view_of_the_users_own_is_not_needed_to_predict_and_can_be_given_again(bags, tmp_path):
    term = SelfTraining(view=torch.neg)
    model = DLLP(instance_terms=term, **SETTINGS).fit_bags(bags)
    llpgan.save(model, tmp_path / "model")
    with pytest.warns(UserWarning, match="instance_terms of the training is code of your own"):
        loaded = llpgan.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(bags.instances), model.predict_proba(bags.instances))
    assert llpgan.load(tmp_path / "model", instance_terms=term).instance_terms is term


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DLLP(instance_terms="smooth"), "'instance_terms' parameter of DLLP must be"),
        (
            DLLP(instance_terms=["smooth"]),
            "there is no term 'smooth'; give one of entropy, smooth",
        ),
        (
            LLPVAT(instance_terms="smoothness"),
            "LLPVAT has the term Smoothness twice: leave it out",
        ),
        (LLPGAN(instance_terms=SelfTraining(view="shifts")), "view='shifts' is for images"),
        (DLLP(proportion_loss=EasyLoss(prior=(1.0,))), r"prior=\(1.0,\): give one share for each of"),
        (LLPGAN(proportion_loss=CountLoss), "proportion_loss=CountLoss is a class: give an object, as CountLoss"),
    ],
)
def test_settings_that_do_not_go_together_are_refused_with_a_message(model, message, bags):
    with pytest.raises(ValueError, match=message):
        model.fit_bags(bags)


@pytest.mark.parametrize(
    "method",
    [
        ROT(hard=np.True_, transport_weight=np.float32(0.3), sinkhorn_iterations=np.int64(9)),
        LLPDC(soft=np.True_, confidence=np.float64(0.5)),
        MomentMatching(order=np.int64(2)),
    ],
    ids=repr,
)
def test_settings_may_be_numpy_s(method, bags):
    assert method.set_params(epochs=1, random_state=0).fit_bags(bags).history_


def test_smoothness_can_have_its_full_weight_from_the_start(bags):
    method, term = LLPVAT(ramp_until=0, **SETTINGS), DLLP(instance_terms=Smoothness(ramp_until=0), **SETTINGS)
    assert_same_weights(*(model.fit_bags(bags) for model in (method, term)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LLPDC(), "bag 7 has 5,004 instances; SelfTraining is for bags of up to 4,096"),
        (DLLP(proportion_loss="assignment"), "bag 7 has 5,004 instances; AssignmentLoss is for bags of up to"),
        (MomentMatching(order=50), "bag 7 has 5,004 instances; MomentLoss is for bags of up to 44: .* settings"),
        (DLLP(proportion_loss="counts", mini_bag_size=8), "mini_bag_size=8: CountLoss needs whole bags"),
        (DLLP(proportion_loss="dsq", mini_bag_size=8), "mini_bag_size=8: DebiasedSquareLoss needs whole bags"),
    ],
    ids=repr,
)
def test_a_bag_that_is_too_large_is_refused_before_training_starts(model, message):
    groups = np.append(np.arange(200) // 4, np.full(5000, 7))
    bags = llpgan.Bags.from_labels(np.ones((5200, 2)), np.arange(5200) % 3 % 2, groups)
    seen = []
    with pytest.raises(ValueError, match=message):
        model.set_params(augment=seen.append, random_state=0).fit_bags(bags)
    assert seen == []


def test_the_report_shows_the_settings_of_parts():
    model = LLPGAN(instance_terms=[Entropy(weight=0.2)], proportion_loss=MomentLoss(order=3))
    told = {setting.name: setting.value for setting in changed_settings(model)}
    assert told["instance_terms"] == "[Entropy(weight=0.2, ramp_until=0.0)]"
    assert told["proportion_loss"].startswith("MomentLoss(order=3")
    assert not any(setting.differs for setting in changed_settings(LLPGAN(instance_terms=[])))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Entropy(weight=-1), "weight=-1: give a number, zero or more"),
        (lambda: Entropy(weight="a"), "weight='a': give a number, zero or more"),
        (lambda: Smoothness(weight=np.inf), "weight=inf: give a number, zero or more"),
        (lambda: Smoothness(length=np.inf), "length=inf: give a number above 0, or None"),
        (lambda: SelfTraining(soft="no"), "soft='no': give True or False"),
        (lambda: SelfTraining(view=["shifts"]), r"view=\['shifts'\]: give a function"),
        (lambda: Smoothness(length=0), "length=0: give a number above 0, or None"),
        (lambda: Smoothness(ramp_until=2), "ramp_until=2: give a number from 0 to 1"),
        (lambda: SelfTraining(confidence=1.5), "confidence=1.5: give a number from 0 to 1"),
        (lambda: SelfTraining(view="mirrors"), "view='mirrors': give a function, or one of shifts"),
        (lambda: AssignmentLoss(weight=-0.5), "weight=-0.5: give a number, zero or more"),
        (lambda: AssignmentLoss(confidence=7), "confidence=7: give a number from 0 to 1"),
        (lambda: CountLoss(heads="tanh"), "heads='tanh': give one of softmax, sigmoid"),
        (lambda: EasyLoss(prior=(-1.0, 2.0)), r"prior=\(-1.0, 2.0\): give shares that sum to 1, or None"),
        (lambda: EasyLoss(prior=(0.5, 0.6)), r"prior=\(0.5, 0.6\): give shares that sum to 1, or None"),
        (lambda: MomentLoss(order=2.5), "order=2.5: give a whole number, one or more"),
        (lambda: TransportLoss(weight=-1), "weight=-1: give a number from 0 to 1"),
        (lambda: TransportLoss(hard="no"), "hard='no': give True or False"),
        (lambda: TransportLoss(epsilon=0), "epsilon=0: give a number above 0"),
        (lambda: TransportLoss(relaxation=None), "relaxation=None: give a number above 0, or inf"),
        (lambda: TransportLoss(n_iterations=0), "n_iterations=0: give a whole number, one or more"),
    ],
)
def test_wrong_settings_of_a_loss_or_term_are_refused_with_a_message(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_weights_and_partial_shares_are_refused_where_a_term_does_not_respect_them(blobs):
    weighted = llpgan.Bags.from_labels(*blobs, weights=np.arange(1.0, 81.0))
    with pytest.raises(ValueError, match="weights, which the term Smoothness does not support"):
        DLLP(instance_terms="smoothness").fit_bags(weighted)
    instances, _, groups = blobs
    shares = {bag: [0.5, np.nan, np.nan] for bag in np.unique(groups)}
    partial = llpgan.Bags.from_arrays(instances, groups, shares, partial=True)
    with pytest.raises(ValueError, match="less is known than all shares, which the term SelfTraining"):
        DLLP(instance_terms="self_training").fit_bags(partial)
    assert DLLP(instance_terms="smoothness", epochs=1).fit_bags(partial).history_[0]["smoothness"] > 0
