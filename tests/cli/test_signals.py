"""Commands that a signal ends at any moment leave nothing half-written and nothing behind."""

import multiprocessing
import os
import signal
import sys
import time

import numpy as np
import pytest

from llpgan import load
from llpgan.cli import main
from llpgan.tables.store import open_store

N_MOMENTS = int(os.environ.get("LLPGAN_SIGNALS", "0"))  # such as 100: each runs a command
BAGS = ["--bag", "town", "--proportions", "towns.csv"]
COMMANDS = {
    "fit": ["fit", "people.csv", *BAGS, "--method", "MeanMap", "--out", "out", "--overwrite"],
    "predict": ["predict", "model", "people.csv", "--out", "out.csv", "--overwrite"],
    "store": ["store", "people.csv", *BAGS, "--to", "out", "--overwrite"],
    "compare": ["compare", "people.csv", *BAGS, "--methods", "MeanMap,BagLogistic", "--out", "out", "--overwrite"],
}
SIGNALS = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129}


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """Two thousand people of forty towns, and a trained model."""
    monkeypatch.chdir(tmp_path)
    towns = np.repeat(np.arange(40), 50)
    ages = rng.uniform(20, 80, 2000) + 20 * (towns % 2)
    rows = "\n".join(f"{age:.2f},{rng.integers(9)},t{town}" for age, town in zip(ages, towns, strict=True))
    (tmp_path / "people.csv").write_text(f"age,size,town\n{rows}\n")
    shares = [(ages[towns == town] > 55).mean() for town in range(40)]
    lines = "\n".join(f"t{town},{1 - share},{share}" for town, share in enumerate(shares))
    (tmp_path / "towns.csv").write_text(f"town,no,yes\n{lines}\n")
    assert main.main(["fit", "people.csv", *BAGS, "--method", "MeanMap", "--out", "model"]) == 0
    return tmp_path


def run(words):
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115, for the whole process
    for number in SIGNALS:  # which nohup and shells ignore in the background
        signal.signal(number, signal.SIG_DFL)
    sys.exit(main.main(words))


def is_whole(path):
    """Whether an output can be read as a whole."""
    if path.suffix == ".csv":
        return len(path.read_text().splitlines()) == 2001
    if (path / "store.json").exists():
        return len(open_store(path).instances) == 2000
    model = path if (path / "model.json").exists() else path / "model"
    return not model.exists() or load(model).predict_proba("people.csv").shape == (2000, 2)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or N_MOMENTS == 0, reason="takes minutes: set LLPGAN_SIGNALS=100 on POSIX")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_leaves_nothing_half_written(name, folder, rng):
    context = multiprocessing.get_context("fork")  # which has imported everything
    started = time.perf_counter()
    process = context.Process(target=run, args=(COMMANDS[name],))
    process.start()
    process.join()
    seconds = time.perf_counter() - started
    assert process.exitcode == 0
    before = {path.name for path in folder.iterdir()}
    out = folder / ("out.csv" if name == "predict" else "out")
    ended = []
    for moment in range(-(-N_MOMENTS // len(COMMANDS))):
        number = list(SIGNALS)[moment % len(SIGNALS)]
        process = context.Process(target=run, args=(COMMANDS[name],))
        process.start()
        time.sleep(rng.uniform(0.02, 1) * seconds)
        if process.is_alive():
            os.kill(process.pid, number)
        process.join(600)
        unstarted = -number  # a command that had not begun yet
        assert process.exitcode in (0, SIGNALS[number], unstarted), f"{name} ended by {number!r}"
        ended.append(process.exitcode)
        left = {path.name for path in folder.rglob("*") if path.name.startswith(".llpgan")}
        assert not left, f"{name} left {left} at signal {number!r}"
        assert {path.name for path in folder.iterdir()} == before
        assert is_whole(out)
    assert set(ended) != {0}
    assert main.main(COMMANDS[name]) == 0
