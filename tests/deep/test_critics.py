"""Critics beside the classifier: their losses by hand, and one step of each player."""

import copy

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from llpgan import LLPGAN
from llpgan.deep.batches import BagDataset, Player
from llpgan.deep.images import Scaling
from llpgan.deep.losses import proportion_loss
from llpgan.deep.networks import mlp_generator
from llpgan.deep.objectives import (
    CRITICS,
    NOISES,
    CriticObjective,
    critic_head,
    gradient_penalty,
    hinge_loss,
    wasserstein_loss,
)
from tests.plain import plain_mlp

FABRIC = Fabric(accelerator="cpu", devices=1)
REAL, FAKE = torch.tensor([0.5, 2.0]), torch.tensor([-3.0, 0.25, 1.0])


def test_losses_by_a_loop():
    assert wasserstein_loss(REAL, FAKE).item() == pytest.approx((-3 + 0.25 + 1) / 3 - 2.5 / 2)
    hinges = sum(max(0, 1 - r) for r in (0.5, 2.0)) / 2 + sum(max(0, 1 + f) for f in (-3.0, 0.25, 1.0)) / 3
    assert hinge_loss(REAL, FAKE).item() == pytest.approx(hinges)


def test_the_penalty_of_a_linear_score_is_known():
    """c(x) = w·x has slope w everywhere; by x / scale it is w · scale."""
    weights, scale = torch.tensor([3.0, 4.0]), torch.tensor([2.0, 0.5])
    real, fake = torch.randn(5, 2), torch.randn(7, 2)
    penalty = gradient_penalty(lambda x: x @ weights, real, fake, torch.ones(2))
    assert penalty.item() == pytest.approx((5 - 1) ** 2)
    scaled = gradient_penalty(lambda x: x @ weights, real, fake, scale)
    assert scaled.item() == pytest.approx((np.hypot(6, 2) - 1) ** 2, rel=1e-5)


@pytest.mark.parametrize("kind", list(CRITICS))
def test_every_player_moves_and_the_step_improves_what_each_wants(bags, kind):
    torch.manual_seed(0)
    classifier = plain_mlp((3,), 2)
    networks = [classifier, critic_head(classifier, (3,)), mlp_generator((3,), 5)]
    before = copy.deepcopy(networks)
    players = [Player(network, lambda p: torch.optim.SGD(p, 0.01), FABRIC) for network in networks]
    objective = CriticObjective(
        **dict(zip(("classifier", "critic", "generator"), players, strict=True)),
        proportion_weight=2.0,
        noise=NOISES["uniform"],
        noise_size=5,
        kind=CRITICS[kind],
        scaling=Scaling(np.zeros(3), np.ones(3)),
    )
    batch = BagDataset(bags).batch(range(bags.n_bags))
    losses = objective.step(batch)
    assert all(torch.isfinite(loss) for loss in losses.values())
    assert ("penalty" in losses) == (kind == "wasserstein")
    for old, new in zip(before, networks, strict=True):
        moved = [not torch.equal(a, b) for a, b in zip(old.parameters(), new.parameters(), strict=True)]
        assert any(moved)
    logits, features = classifier(batch.instances)
    old_logits, old_features = before[0](batch.instances)
    after = proportion_loss(logits, batch.bag_index, batch.proportions)
    assert after < proportion_loss(old_logits, batch.bag_index, batch.proportions)
    assert networks[1](features).mean() > before[1](old_features).mean()  # real instances score higher


@pytest.mark.parametrize("kind", list(CRITICS))
def test_it_learns_in_mixed_precision_about_as_in_single_precision(blobs, kind):
    instances, labels, groups = blobs
    settings = dict(critic=kind, epochs=2, random_state=0, classifier=plain_mlp, generator=mlp_generator)
    mixed, single = (
        LLPGAN(**settings, precision=precision).fit(instances, labels, groups=groups).history_[-1]
        for precision in ("bf16-mixed", "32-true")
    )
    for name in mixed.keys() - {"seconds"}:
        assert mixed[name] == pytest.approx(single[name], rel=0.1, abs=0.05), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(CRITICS))
def test_it_learns_is_resumed_and_samples(tmp_path, blobs, kind):
    instances, labels, groups = blobs
    settings = dict(critic=kind, epochs=30, random_state=0)
    whole = LLPGAN(**settings).fit(instances, labels, groups=groups)
    assert whole.score(instances, labels) > 0.95
    assert whole.sample(3).shape == (3, 3)

    def stop(model):
        if not list(tmp_path.iterdir()):
            return {}
        raise KeyboardInterrupt

    from llpgan import Bags

    bags = Bags.from_labels(instances, labels, groups)
    with pytest.raises(KeyboardInterrupt):
        LLPGAN(**settings, checkpoint=tmp_path / "state").fit_bags(bags, monitor=stop)
    resumed = LLPGAN(**settings, checkpoint=tmp_path / "state").fit_bags(bags)
    np.testing.assert_array_equal(resumed.predict_proba(instances), whole.predict_proba(instances))


def test_a_critic_takes_whole_steps(bags):
    with pytest.raises(ValueError, match="takes a step whole"):
        LLPGAN(critic="hinge", max_instances_per_step=8).fit_bags(bags)
