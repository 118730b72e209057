"""Two processes train as one: the same weights, also where a bag lies on both; a lost one is told."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from llpgan import DLLP, LLPGAN, Bags
from llpgan.deep.devices import Ranks
from llpgan.deep.networks import ladder_mnist_classifier
from llpgan.utils.workers import explain_lost_workers
from tests.plain import plain_mlp

TRAINING = """
    import os, sys, time
    import numpy as np, torch
    from llpgan import DLLP, LLPGAN
    from tests.deep.test_distributed import SETTINGS, ragged_bags
    torch.set_num_threads(1)
    folder = sys.argv[1]
    for method in (DLLP, LLPGAN):
        model = method(**SETTINGS).fit_bags(ragged_bags())
        if os.environ["RANK"] == "0":
            torch.save(model.classifier_.state_dict(), f"{folder}/{method.__name__}.pt")
"""
PHOTOS = """
    import os, sys
    import torch
    from llpgan import LLPGAN
    from tests.deep.test_distributed import PHOTO_SETTINGS, few_photos
    torch.set_num_threads(1)
    model = LLPGAN(**PHOTO_SETTINGS).fit_bags(few_photos())
    if os.environ["RANK"] == "0":
        torch.save(model.classifier_.state_dict(), f"{sys.argv[1]}/photos.pt")
"""
LONG = """
    import os, sys, time
    from pathlib import Path
    import torch
    from llpgan import LLPGAN
    from tests.deep.test_distributed import LONG_SETTINGS, ragged_bags
    torch.set_num_threads(1)
    folder, pause = Path(sys.argv[1]), float(sys.argv[2])
    (folder / f"pid{os.environ['RANK']}").write_text(str(os.getpid()))
    model = LLPGAN(**LONG_SETTINGS, checkpoint=folder / "run.ckpt")
    try:
        model.fit_bags(ragged_bags(), monitor=lambda model: time.sleep(pause) or {})
    except ConnectionError as error:
        (folder / "told").write_text(str(error))
        raise
    if os.environ["RANK"] == "0":
        torch.save(model.classifier_.state_dict(), folder / "weights.pt")
"""
SETTINGS = {"classifier": plain_mlp, "epochs": 5, "bags_per_step": 3, "random_state": 0, "average": 0.0}
LONG_SETTINGS = {**SETTINGS, "epochs": 12, "precision": "64-true"}


PHOTO_SETTINGS = {"epochs": 2, "bags_per_step": 2, "augment": None, "average": 0.0, "precision": "32-true"}
PHOTO_SETTINGS["random_state"] = 0


def few_photos():
    """Four bags of five, of which processes take different numbers of images."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (20, 3, 24, 24), dtype=np.uint8)
    return Bags.from_labels(images, np.arange(20) % 3, np.arange(20) // 5)


def ragged_bags():
    """Twelve bags, dealt to four steps an epoch; one has more instances than features are kept of."""
    rng = np.random.default_rng(0)
    sizes = np.array([2500, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    groups = np.repeat(np.arange(12), sizes)
    return Bags.from_labels(rng.normal(size=(len(groups), 3)), rng.integers(3, size=len(groups)), groups)


def torchrun(script, *arguments, processes=2):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."]), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*launcher, script, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def script_of(text, tmp_path):
    path = tmp_path / "training.py"
    path.write_text(textwrap.dedent(text))
    return path


@pytest.mark.slow
def test_two_processes_end_with_the_weights_of_one(tmp_path):
    """After 20 steps; the steps' halves cut bags in two."""
    process = torchrun(script_of(TRAINING, tmp_path), tmp_path)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    for method in (DLLP, LLPGAN):
        alone = method(**SETTINGS).fit_bags(ragged_bags()).classifier_.state_dict()
        together = torch.load(tmp_path / f"{method.__name__}.pt", weights_only=True)
        for name, value in alone.items():
            torch.testing.assert_close(together[name], value, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_batch_statistics_of_photographs_are_those_of_the_whole_step(tmp_path):
    process = torchrun(script_of(PHOTOS, tmp_path), tmp_path)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    alone = LLPGAN(**PHOTO_SETTINGS).fit_bags(few_photos()).classifier_.state_dict()
    together = torch.load(tmp_path / "photos.pt", weights_only=True)
    for name, value in alone.items():
        torch.testing.assert_close(together[name], value, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_a_lost_process_ends_the_run_with_a_word_and_another_number_of_them_goes_on(tmp_path):
    script, checkpoint = script_of(LONG, tmp_path), tmp_path / "run.ckpt"
    process = torchrun(script, tmp_path, 0.3)
    while not checkpoint.exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    os.kill(int((tmp_path / "pid1").read_text()), signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0, said
    told = tmp_path / "told"  # unless torchrun ended the other before it saw
    assert "goes on from" in told.read_text() if told.exists() else "SIGKILL" in said
    resumed = torchrun(script, tmp_path, 0, processes=3)
    _, said = resumed.communicate(timeout=120)
    assert resumed.returncode == 0, said
    alone = LLPGAN(**LONG_SETTINGS).fit_bags(ragged_bags()).classifier_.state_dict()
    for name, value in torch.load(tmp_path / "weights.pt", weights_only=True).items():
        torch.testing.assert_close(value, alone[name], rtol=1e-6, atol=1e-6)


def test_batch_norm_is_refused_in_several_processes(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    images = np.zeros((4, 1, 28, 28))
    model = DLLP(classifier=ladder_mnist_classifier, activation="relu")
    with pytest.raises(ValueError, match="several processes would change what batch norm computes"):
        model.fit_bags(Bags.from_labels(images, [0, 1, 0, 1], groups=[0, 0, 1, 1]))


@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_shares_are_even_and_whole(n):
    fabrics = [SimpleNamespace(world_size=3, global_rank=rank) for rank in range(3)]
    shares = [range(n)[Ranks(fabric).share(n)] for fabric in fabrics]
    assert [i for share in shares for i in share] == list(range(n))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.slow
def test_fit_in_two_processes_saves_one_model(tmp_path):
    rows = "x,bag\n" + "".join(f"{i % 7}.5,{'ab'[i % 2]}\n" for i in range(40))
    (tmp_path / "rows.csv").write_text(rows)
    (tmp_path / "shares.csv").write_text("bag,no,yes\na,0.5,0.5\nb,0.25,0.75\n")
    tables = [tmp_path / "rows.csv", "--proportions", tmp_path / "shares.csv", "--bag", "bag"]
    options = ["--method", "DLLP", "--method.epochs", 2, "--out", tmp_path / "model"]
    process = torchrun("-m", "llpgan", "fit", *tables, *options)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert said.count("saved ") == 1
    assert (tmp_path / "model" / "report.html").exists()


def test_dropout_s_numbers_are_a_function_of_seed_step_and_rank():
    def drawn(seed, rank):
        fabric = SimpleNamespace(world_size=2, global_rank=rank, device=torch.device("cpu"))
        ranks, found = Ranks(fabric), []
        with torch.random.fork_rng():
            ranks.begin_epoch(seed)
            for _ in range(2):
                with ranks.own_random():
                    found.append(torch.rand(1).item())
            return [*found, torch.rand(1).item()]

    first = drawn(5, rank=0)
    assert drawn(5, rank=0) == first
    assert len({*first[:2], *drawn(5, rank=1)[:2], *drawn(6, rank=0)[:2]}) == 6
    assert drawn(5, rank=1)[2] == first[2]  # what all ranks draw is the same


def test_a_training_begins_the_epochs_of_its_players(bags, monkeypatch):
    begun = []
    monkeypatch.setattr(Ranks, "begin_epoch", lambda ranks, seed: begun.append(ranks))
    used = []
    monkeypatch.setattr(Ranks, "own_random", lambda ranks: used.append(ranks) or nullcontext())
    LLPGAN(epochs=2, random_state=0).fit_bags(bags)
    assert len(begun) == 2
    assert set(used) == set(begun)


def test_a_lost_connection_is_explained():
    several, alone = (Ranks(SimpleNamespace(world_size=n, global_rank=0)) for n in (2, 1))
    lost = RuntimeError("[gloo/transport/tcp/pair.cc:534] Connection closed by peer")
    words = pytest.raises(ConnectionError, match=r"process 0 of 2 lost another process.*: start it again")
    with words, explain_lost_workers(several, "start it again"):
        raise lost
    for ranks, error in ((alone, lost), (several, RuntimeError("mat1 and mat2 shapes cannot be multiplied"))):
        with pytest.raises(RuntimeError) as caught, explain_lost_workers(ranks, "start it again"):
            raise error
        assert caught.value is error
