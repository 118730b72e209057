"""Warnings while training: each is provoked, said once, and not said of a training that goes well."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from llpgan import DLLP, LLPGAN, BagLogistic, Bags, MeanMap
from llpgan.bags.fit_warnings import (
    TrainingError,
    TrainingWarning,
    UninformativeBagsWarning,
    Watcher,
    describe_collapse,
    explained_difference,
    sample_bags,
    sampling_noise,
)
from tests.plain import plain_mlp


def warnings_of(rows, coarse_epochs=0):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watcher = Watcher(coarse_epochs)
        for epoch, row in enumerate(rows, start=1):
            watcher({"epoch": epoch, **row})
    return [str(warning.message) for warning in caught]


def training_warnings(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(w.message) for w in caught if issubclass(w.category, TrainingWarning)]


def test_a_generator_that_died_is_warned_of_once():
    said = warnings_of([{"real_loss": 0.001, "fake_loss": 0.003}] * 30)
    assert len(said) == 1
    assert "the generator has stopped learning" in said[0]


def test_a_generator_that_won_is_warned_of_once():
    said = warnings_of([{"real_loss": 0.1, "fake_loss": 3.0}] * 30)
    assert len(said) == 1
    assert "learns nothing from the generator" in said[0]


@pytest.mark.parametrize(("real", "fake"), [(0.3, 0.3), (0.69, 0.69), (0.1, 0.01), (0.001, 0.5)])
def test_players_that_play_are_left_alone(real, fake):
    assert warnings_of([{"real_loss": real, "fake_loss": fake}] * 30) == []


def test_a_bad_start_is_not_a_state():
    assert (
        warnings_of([{"real_loss": 0.1, "fake_loss": 3.0}] * 19 + [{"real_loss": 0.4, "fake_loss": 0.4}] * 19)
        == []
    )


def losses(training, held_out, error=0.01):
    pairs = zip(training, held_out, strict=True)
    return [{"proportion_loss": t, "held_out_loss": h, "held_out_error": error} for t, h in pairs]


def test_bags_learned_by_heart_are_warned_of_once():
    epochs = np.arange(30)
    said = warnings_of(losses(0.9 - 0.02 * epochs, 0.6 + 0.01 * np.abs(epochs - 8)))
    assert len(said) == 1
    assert said[0].startswith("since epoch 9 the loss of held-out bags has risen by")


def test_a_rise_within_chance_or_shared_by_training_is_no_overfitting():
    epochs = np.arange(30)
    held_out = 0.6 + 0.01 * np.abs(epochs - 8)
    assert warnings_of(losses(0.9 - 0.02 * epochs, held_out, error=0.5)) == []
    assert warnings_of(losses(0.5 + 0.02 * epochs, held_out)) == []
    assert warnings_of(losses(0.9 - 0.02 * epochs, 0.9 - 0.01 * epochs)) == []


def test_held_out_bags_of_full_size_do_not_judge_coarse_epochs():
    epochs = np.arange(30)
    rises = losses(0.9 - 0.02 * epochs, 0.6 + 0.01 * np.abs(epochs - 8))
    assert warnings_of(rises, coarse_epochs=25) == []
    (said,) = warnings_of(rises, coarse_epochs=10)
    assert said.startswith("since epoch 11 the loss of held-out bags has risen by")


def test_a_training_that_is_resumed_after_its_coarse_epochs_is_warned_of_overfitting():
    epochs = np.arange(30)
    rises = losses(0.9 - 0.02 * epochs, 0.6 + 0.01 * np.abs(epochs - 8))
    watcher = Watcher(coarse_epochs=100)
    with pytest.warns(TrainingWarning, match="since epoch 109 the loss of held-out bags has risen"):
        for epoch, row in enumerate(rises, start=101):
            watcher({"epoch": epoch, **row})


def test_a_loss_that_is_no_number_ends_the_training():
    watcher = Watcher()
    watcher({"epoch": 1, "proportion_loss": 0.5})
    with pytest.raises(TrainingError, match=r"epoch 2: the proportion loss is nan.*smaller learning_rate"):
        watcher({"epoch": 2, "proportion_loss": float("nan")})


def test_a_loss_that_is_no_number_only_warns_if_held_out_bags_may_have_kept_an_epoch():
    lost = {"proportion_loss": float("nan"), "held_out_loss": float("nan"), "held_out_error": 0.0}
    said = warnings_of([{**lost, "proportion_loss": 0.5, "held_out_loss": 0.5}] + [lost] * 3)
    assert len(said) == 1
    assert "epoch 2: the proportion loss is nan, and the training is lost" in said[0]


@pytest.mark.parametrize("method", [DLLP, LLPGAN])
def test_a_training_that_ends_in_nan_is_an_error(method, bags):
    with pytest.raises(TrainingError, match="the training is lost; try a smaller learning_rate"):
        method(learning_rate=1e30, epochs=3, random_state=0).fit_bags(bags)


def test_an_epoch_that_held_out_bags_kept_outlives_a_loss_that_is_no_number(bags):
    """The loss of your own turns to NaN when the network has been trained for three epochs."""
    calls = []

    def loss(posteriors, bag_index, proportions):
        calls.append(None)
        broken = len(calls) > 3 * 8
        return DLLP().bag_loss()(posteriors, bag_index, proportions) * (float("nan") if broken else 1.0)

    model = DLLP(proportion_loss=loss, epochs=6, bags_per_step=1, validation_fraction=0.2, random_state=0)
    with pytest.warns(TrainingWarning, match="epoch 4: the proportion loss is nan"):
        model.fit_bags(bags)
    assert np.isfinite(model.predict_proba(bags.instances)).all()


def test_a_generator_whose_weights_are_not_finite_is_an_error(bags):
    def noise(n, size, device):
        return torch.full((n, size), float("inf"), device=device)

    with pytest.raises(TrainingError, match="the training is lost"):
        LLPGAN(noise=noise, epochs=2, random_state=0).fit_bags(bags)


def test_uninformative_bags_are_warned_of_once_and_before_training(rng):
    instances = rng.normal(size=(40, 2))
    alike = Bags.from_labels(instances, np.tile([0, 0, 0, 1], 10), np.arange(40) // 4)
    single = Bags.from_arrays(instances, np.zeros(40), [[0.75, 0.25]])
    for bags, words in ((alike, "all 10 bags have the same proportions"), (single, "a single bag tells")):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UninformativeBagsWarning)
            with pytest.raises(UninformativeBagsWarning, match=words):
                DLLP(epochs=1).fit_bags(bags)
        assert len(training_warnings(lambda bags=bags: DLLP(epochs=2, random_state=0).fit_bags(bags))) == 1


def test_a_class_that_is_gone_is_named_unless_it_is_rare():
    never = np.array([[0.9, 0.1], [0.6, 0.4]])
    names = np.array(["no", "yes"])
    assert "DLLP never predicts 'yes', a class of 40 %" in describe_collapse(
        "DLLP", never, np.array([0.6, 0.4]), names
    )
    assert describe_collapse("DLLP", never, np.array([0.8, 0.2]), names) is None
    assert "predicts the same" in describe_collapse("DLLP", never[:1].repeat(3, 0), np.array([0.8, 0.2]), names)


class Blind(nn.Module):
    """A classifier that does not look at its instances."""

    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(2))

    def forward(self, instances):
        logits = self.logits.expand(len(instances), 2)
        return logits + 0 * instances.sum(1, keepdim=True), logits


def test_constant_predictions_of_a_network_are_warned_of(bags):
    before, after = training_warnings(lambda: DLLP(classifier=Blind(), epochs=2, random_state=0).fit_bags(bags))
    assert before.startswith("before training, the classifier's features or logits")
    assert after.startswith("DLLP predicts the same for every instance")


def test_constant_predictions_of_a_classical_method_are_warned_of(rng):
    bags = Bags.from_labels(np.ones((40, 2)), rng.integers(2, size=40), np.arange(40) // 8)
    said = training_warnings(lambda: MeanMap().fit_bags(bags))
    assert len(said) == 1
    assert said[0].startswith("MeanMap predicts the same for every instance")


def test_a_network_that_learns_bags_by_heart_is_warned_of(rng):
    """Proportions that follow from nothing."""
    proportions = np.column_stack([shares := rng.random(60), 1 - shares])
    bags = Bags.from_arrays(rng.normal(size=(240, 20)), np.repeat(np.arange(60), 4), proportions)
    model = DLLP(classifier=plain_mlp, epochs=30, learning_rate=0.01, validation_fraction=0.5, random_state=0)
    assert any("memorizes the training bags" in said for said in training_warnings(lambda: model.fit_bags(bags)))


def test_a_generator_that_cannot_learn_is_warned_of(bags):
    """One that makes the same far point whatever it is told."""

    class Far(nn.Module):
        def __init__(self):
            super().__init__()
            self.nothing = nn.Parameter(torch.zeros(()))

        def forward(self, noise):
            return 100 + 0 * self.nothing + torch.zeros(len(noise), 3)

    model = LLPGAN(classifier=plain_mlp, generator=Far(), epochs=40, proportion_weight=0.01, random_state=0)
    assert any("stopped learning" in said for said in training_warnings(lambda: model.fit_bags(bags)))


def test_a_training_that_goes_well_is_left_alone(bags):
    for method in (DLLP, LLPGAN):
        assert training_warnings(lambda m=method: m(epochs=30, random_state=0).fit_bags(bags)) == []


def test_bags_that_are_matched_hardly_better_than_by_the_overall_shares_are_warned_of(rng):
    """Labels that follow from nothing, in large bags."""
    bags = Bags.from_labels(rng.normal(size=(3000, 2)), rng.integers(2, size=3000), np.arange(3000) // 100)
    (said,) = training_warnings(lambda: BagLogistic().fit_bags(bags))
    assert said.startswith("BagLogistic fits the bags that it learned from hardly better than the overall shares")


def test_bags_that_are_matched_give_no_warning(bags):
    assert training_warnings(lambda: BagLogistic().fit_bags(bags)) == []


@pytest.mark.parametrize(("n_bags", "size"), [(3000, 40), (60, 2000), (4, 30_000)])
def test_what_was_learned_from_many_rows_is_judged_by_some(n_bags, size, rng):
    labels = rng.random(n_bags * size) < np.repeat(rng.random(n_bags), size)
    bags = Bags.from_labels(
        labels[:, None] + 0.1 * rng.normal(size=(len(labels), 1)), labels, np.repeat(np.arange(n_bags), size)
    )
    shown, missing = sample_bags(bags)
    assert len(shown.instances) <= 5_000
    probabilities = np.column_stack([shown.instances < 0.5, shown.instances >= 0.5]).astype(float)
    noise = sampling_noise(shown, probabilities, missing)
    assert explained_difference(shown.proportions, shown.means(probabilities), bags.prior, noise) == pytest.approx(
        1, abs=0.02
    )
    blind = np.tile(bags.prior, (len(shown.instances), 1))
    assert explained_difference(shown.proportions, shown.means(blind), bags.prior) == pytest.approx(0, abs=0.02)
