"""The loop: averages, held-out bags, checkpoints, and a resume that ends as if nothing had happened."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from llpgan import DLLP, LLPGAN
from llpgan.bags.fit_warnings import kept_epoch
from llpgan.deep.batches import BagDataset
from llpgan.deep.loop import Checkpoint, Plan, score_held_out_bags
from llpgan.deep.losses import proportion_loss
from llpgan.evaluation import bag_scores
from tests.plain import plain_mlp

METHODS = [DLLP, LLPGAN]


def weights_of(model):
    return {name: value.clone() for name, value in model.classifier_.state_dict().items()}


def assert_same_weights(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_identical_weights(method, bags):
    first, second = (method(epochs=5, random_state=0).fit_bags(bags) for _ in range(2))
    assert_same_weights(weights_of(first), weights_of(second))


@pytest.mark.parametrize("method", METHODS)
def test_training_leaves_the_callers_random_state_alone(method, bags):
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    expected = torch.rand(1), np.random.rand()  # noqa: NPY002
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    method(epochs=2, random_state=3).fit_bags(bags)
    assert (torch.rand(1), np.random.rand()) == expected  # noqa: NPY002


@pytest.mark.parametrize("method", METHODS)
def test_a_stopped_training_goes_on_where_it_was(method, bags, tmp_path):
    class StoppedError(Exception):
        pass

    def stop_after_three(model):
        if stop_after_three.epochs == 3:
            raise StoppedError
        stop_after_three.epochs += 1
        return {}

    stop_after_three.epochs = 0
    settings = {"epochs": 6, "random_state": 0, "validation_fraction": 0.2}
    whole = method(**settings).fit_bags(bags)
    resumed = method(**settings, checkpoint=tmp_path / "run.ckpt")
    with pytest.raises(StoppedError):
        resumed.fit_bags(bags, monitor=stop_after_three)
    resumed.fit_bags(bags)
    assert_same_weights(weights_of(whole), weights_of(resumed))
    without_time = [{k: v for k, v in row.items() if k != "seconds"} for row in resumed.history_]
    assert without_time == [{k: v for k, v in row.items() if k != "seconds"} for row in whole.history_]


TRAINING = """
    import sys
    import numpy as np, torch
    import llpgan
    torch.set_num_threads(1)
    method, checkpoint, out = sys.argv[1:]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(640, 5)), rng.integers(2, size=640)
    model = getattr(llpgan, method)(epochs=30, random_state=0, checkpoint=checkpoint or None)
    print("start", flush=True)
    model.fit(X, y, groups=np.arange(640) // 16)
    torch.save(model.classifier_.state_dict(), out)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["DLLP", "LLPGAN"])
def test_killed_at_random_steps_and_resumed_it_ends_with_the_same_weights(method, tmp_path, rng):
    script = tmp_path / "training.py"
    script.write_text(textwrap.dedent(TRAINING))

    def start(checkpoint, out):
        arguments = [sys.executable, script, method, checkpoint, out]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)

    assert start("", tmp_path / "whole.pt").wait() == 0
    checkpoint, kills = tmp_path / "run.ckpt", 0
    for pause in rng.uniform(0.05, 0.6, size=1):
        process = start(checkpoint, tmp_path / "resumed.pt")
        process.stdout.readline()
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        while process.poll() is None and (not checkpoint.exists() or checkpoint.stat().st_mtime_ns == before):
            time.sleep(0.01)
        time.sleep(pause)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
    assert kills > 0
    assert start(checkpoint, tmp_path / "resumed.pt").wait() == 0
    whole, resumed = (torch.load(tmp_path / name, weights_only=True) for name in ("whole.pt", "resumed.pt"))
    assert_same_weights(whole, resumed)


def test_a_finished_training_is_not_run_again(bags, tmp_path):
    settings = {"epochs": 3, "random_state": 0, "checkpoint": tmp_path / "run.ckpt"}
    first = DLLP(**settings).fit_bags(bags)
    again = DLLP(**settings).fit_bags(bags, monitor=lambda model: pytest.fail("it trained"))
    assert_same_weights(weights_of(first), weights_of(again))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"epochs": 4}, "epochs was 3, is 4"), ({"learning_rate": 0.1}, "learning_rate was None, is 0.1")],
)
def test_the_checkpoint_of_another_training_is_refused(change, message, bags, tmp_path):
    settings = {"epochs": 3, "random_state": 0, "checkpoint": tmp_path / "run.ckpt"}
    DLLP(**settings).fit_bags(bags)
    with pytest.raises(ValueError, match=message):
        DLLP(**{**settings, **change}).fit_bags(bags)


class Brighter:
    """A change of instances that is an object, as those of torchvision are."""

    def __call__(self, instances):
        return instances + 1

    def once(self, instances):
        return instances + 1


@pytest.mark.parametrize("make", [Brighter, lambda: Brighter().once, lambda: partial(Brighter())])
def test_settings_that_are_objects_do_not_keep_a_training_from_going_on(make, bags, tmp_path):
    settings = {"checkpoint": tmp_path / "state", "classifier": plain_mlp, "epochs": 2, "random_state": 0}
    first, second = (DLLP(augment=make(), **settings).fit_bags(bags) for _ in range(2))
    assert first.history_ == second.history_


def test_a_checkpoint_of_other_bags_is_refused(bags, blobs, tmp_path):
    instances, labels, groups = blobs
    settings = {"epochs": 1, "random_state": 0, "checkpoint": tmp_path / "run.ckpt"}
    DLLP(**settings).fit_bags(bags)
    with pytest.raises(ValueError, match="belongs to another training"):
        DLLP(**settings).fit(instances + 1, labels, groups=groups)


def test_a_checkpoint_judged_by_other_held_out_bags_is_refused(bags, tmp_path):
    model = DLLP(epochs=2, checkpoint=tmp_path / "run.pt", random_state=0)
    one, other = bags.take_bags([0]), bags.take_bags([1])
    model.fit_bags(bags, held_out=one)
    for held_out in (other, None):
        with pytest.raises(ValueError, match=r"belongs to another training \(held_out was"):
            model.fit_bags(bags, held_out=held_out)
    model.fit_bags(bags, held_out=one)


def test_a_checkpoint_of_a_version_with_other_settings_is_refused_by_their_names(tmp_path):
    Checkpoint(tmp_path / "run.ckpt", {"old": "1", "same": "2"}).save({})
    with pytest.raises(ValueError, match="new was unknown, is 3; old was 1, is unknown"):
        Checkpoint(tmp_path / "run.ckpt", {"new": "3", "same": "2"}).load()


def test_a_checkpoint_needs_a_seed(bags, tmp_path):
    with pytest.raises(ValueError, match="integer random_state"):
        DLLP(checkpoint=tmp_path / "run.ckpt").fit_bags(bags)


def test_a_file_that_is_no_checkpoint_is_refused(bags, tmp_path):
    file = tmp_path / "run.ckpt"
    file.write_text("hello")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        DLLP(checkpoint=file, random_state=0).fit_bags(bags)
    assert file.read_text() == "hello"


def test_a_checkpoint_never_runs_code(tmp_path):
    class Malicious:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    file = tmp_path / "run.ckpt"
    torch.save({"fingerprint": {}, "state": Malicious()}, file)
    with pytest.raises(ValueError, match="is not a checkpoint"):
        Checkpoint(file, {}).load()
    assert not (tmp_path / "ran").exists()


def test_a_save_that_fails_leaves_the_last_checkpoint(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", {})
    checkpoint.save({"epoch": 1})
    with pytest.raises(Exception, match="pickle"):
        checkpoint.save({"epoch": lambda: None})
    assert checkpoint.load() == {"epoch": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["run.ckpt"]


def test_the_epoch_that_held_out_bags_choose_is_kept(bags):
    model = DLLP(epochs=12, learning_rate=0.1, validation_fraction=0.3, random_state=0)
    states = []
    model.fit_bags(bags, monitor=lambda m: states.append(weights_of(m)) or {})
    assert len(model.history_) == 12
    assert_same_weights(weights_of(model), states[kept_epoch(model.history_) - 1])


@pytest.mark.parametrize("loss", ["exact", "moments"])
def test_held_out_bags_are_judged_as_evaluation_judges_them(bags, loss):
    found = []
    model = DLLP(epochs=3, proportion_loss=loss, random_state=0)

    def score(model):
        return found.append(bag_scores(bags, model.predict_proba(bags.instances)).cross_entropy.mean()) or {}

    model.fit_bags(bags, held_out=bags, monitor=score)
    np.testing.assert_allclose([row["held_out_loss"] for row in model.history_], found, rtol=1e-6)


def test_patience_stops_after_epochs_without_improvement(bags):
    model = DLLP(epochs=200, learning_rate=0.05, validation_fraction=0.3, patience=3, random_state=0).fit_bags(
        bags
    )
    losses = [row["held_out_loss"] for row in model.history_]
    assert len(losses) < 200
    assert len(losses) == int(np.argmin(losses)) + 1 + 3


def test_held_out_bags_can_be_given(bags):
    model = DLLP(epochs=2, random_state=0).fit_bags(bags, held_out=bags)
    network = plain_mlp((3,), 2)
    dataset = BagDataset(bags)
    batch = dataset.batch(range(10))
    expected = proportion_loss(network(batch.instances)[0], batch.bag_index, batch.proportions).item()
    losses = score_held_out_bags(network, dataset, torch.device("cpu"))
    assert np.mean(losses) == pytest.approx(expected, rel=1e-5)
    assert "held_out_loss" in model.history_[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"patience": 3}, "patience looks at held-out bags"),
        ({"validation_fraction": 0.01}, "holds out no bag"),
        ({"validation_fraction": 0.99}, "leaves no bag"),
    ],
)
def test_held_out_bags_that_cannot_be(settings, message, bags):
    with pytest.raises(ValueError, match=message):
        DLLP(**settings).fit_bags(bags)


def test_held_out_bags_of_other_instances_are_refused(bags_of_images):
    """A network that takes images of any size would judge its epochs by them."""
    smaller = replace(bags_of_images, instances=bags_of_images.instances[:, :, ::2])
    with pytest.raises(ValueError, match=r"instances of shape \(3, 8, 16\), but this DLLP was trained"):
        DLLP(epochs=1).fit_bags(bags_of_images, held_out=smaller)
    darker = replace(bags_of_images, instances=bags_of_images.instances / 255)
    with pytest.warns(UserWarning, match="the values of these images go up to"):
        DLLP(epochs=1, random_state=0).fit_bags(bags_of_images, held_out=darker)


def test_the_rate_is_full_and_then_falls_to_zero():
    plan = Plan(epochs=10, bags_a_step=1, seed=0, decay_from=0.5)
    assert [plan.lr_factor(p) for p in (0, 0.4, 0.5, 0.75, 1)] == [1, 1, 1, 0.5, 0]
    assert Plan(epochs=10, bags_a_step=1, seed=0, decay_from=1).lr_factor(0.99) == 1


def test_the_rate_rises_before_it_falls():
    plan = Plan(epochs=10, bags_a_step=1, seed=0, warm_up=0.2, decay_from=0.6)
    assert [plan.lr_factor(p) for p in (0, 0.1, 0.2, 0.5, 0.8, 1)] == pytest.approx([0, 0.5, 1, 1, 0.5, 0])


def test_a_rising_rate_changes_weights_less(bags):
    def weights(**settings):
        model = DLLP(epochs=1, decay_from=1, average=0, random_state=0, **settings).fit_bags(bags)
        return model.classifier_[1].head.weight

    first = weights(learning_rate=1e-12)
    assert (weights(warm_up=0.9) - first).norm() < 0.8 * (weights() - first).norm()


def test_without_average_the_last_weights_predict(bags):
    """With a rate of (almost) zero in the end, average and weights agree; without decay they do not."""
    plain = DLLP(epochs=3, decay_from=1, average=0, random_state=0).fit_bags(bags)
    averaged = DLLP(epochs=3, decay_from=1, average=0.999, random_state=0).fit_bags(bags)
    assert not torch.equal(plain.classifier_[1].head.weight, averaged.classifier_[1].head.weight)


def test_history_has_a_row_an_epoch(bags):
    rows = LLPGAN(epochs=3, random_state=0).fit_bags(bags).history_
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert rows[0].keys() == {"epoch", "proportion_loss", "real_loss", "fake_loss", "generator_loss", "seconds"}


@pytest.mark.parametrize("method", METHODS)
def test_a_monitor_sees_a_model_that_predicts_and_changes_nothing(method, bags, blobs):
    unseen = method(epochs=3, random_state=0).fit_bags(bags)
    seen = method(epochs=3, random_state=0).fit_bags(
        bags, monitor=lambda model: {"score": model.score(*blobs[:2])}
    )
    assert_same_weights(weights_of(unseen), weights_of(seen))
    assert seen.history_[-1]["score"] == seen.score(*blobs[:2])


def test_silent_unless_asked(bags, capfd):
    DLLP(epochs=2, random_state=0).fit_bags(bags)
    assert capfd.readouterr() == ("", "")
    DLLP(epochs=2, random_state=0, verbose=True).fit_bags(bags)
    shown = capfd.readouterr().err
    assert "DLLP: epoch 2 of 2" in shown
    assert "proportion 0." in shown


def test_tensorboard_gets_every_row(bags, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = DLLP(epochs=3, random_state=0, tensorboard=tmp_path).fit_bags(bags)
    log = EventAccumulator(str(tmp_path)).Reload()
    written = [event.value for event in log.Scalars("proportion_loss")]
    np.testing.assert_allclose(written, [row["proportion_loss"] for row in model.history_], rtol=1e-5)


@pytest.mark.slow
def test_a_full_disk_under_tensorboard_is_one_error_with_the_name_of_the_file(tmp_path):
    """A limit on the size of files fails as a full disk does."""
    script = (
        "import resource, numpy as np; from llpgan import DLLP\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))\n"
        f"DLLP(epochs=20, tensorboard={str(tmp_path)!r}).fit(np.arange(8.)[:, None], [0, 1] * 4, [0, 0, 1, 1] * 2)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Exception in thread" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(r"OSError: .*events\.out\.tfevents\S+ cannot be written: File too large", last)


@pytest.mark.parametrize("before", [False, True])
def test_denormals_are_zero_while_it_trains_and_then_as_before(bags, before):
    if not torch.set_flush_denormal(before):
        pytest.skip("this processor cannot")

    def small():
        return (torch.tensor(1e-38) * 0.1).item()

    seen = []
    try:
        DLLP(epochs=1, random_state=0).fit_bags(bags, monitor=lambda model: seen.append(small()) or {})
        assert (seen, small() == 0) == ([0.0], before)
    finally:
        torch.set_flush_denormal(False)
