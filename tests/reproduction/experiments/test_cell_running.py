"""The runner may be killed at any moment, and any number of them may run side by side."""

import json
import multiprocessing
import random
import signal
import sys
import time

import pytest
from reproduction.commands import main

# Children of a process that has loaded all: a start then takes milliseconds, and so kills come in time.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    ["reproduction.commands", "llpgan.methods.llp_gan", "llpgan.methods.dllp", "sklearn.datasets"]
)


def reproduce(out, said):
    with said.open("w") as sys.stderr, (out / "table").open("w") as sys.stdout:
        sys.exit(main(["table1", "--preset", "smoke", "--out", str(out)]))


def started(out, name="one"):
    process = processes.Process(target=reproduce, args=(out, out / name))
    process.start()
    return process


def rows_of(out):
    return [json.loads(line) for line in (out / "smoke" / "rows.jsonl").read_text().splitlines()]


def without_times(row):
    history = [{name: value for name, value in epoch.items() if name != "seconds"} for epoch in row["history"]]
    return {**row, "history": history, "seconds": None}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    assert main(["table1", "--preset", "smoke", "--out", str(out)]) == 0
    return [without_times(row) for row in rows_of(out)]


@pytest.mark.slow
def test_killed_ten_times_it_ends_with_the_rows_of_one_run(tmp_path, uninterrupted):
    rng = random.Random(0)
    seen = {}
    for _ in range(10):
        process = started(tmp_path)
        work = tmp_path / "smoke"
        before = _state(work)
        deadline = time.monotonic() + 60
        while process.is_alive() and _state(work) == before and time.monotonic() < deadline:
            time.sleep(0.01)  # until it has begun to work
        time.sleep(rng.uniform(0, 0.15))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        for path in work.glob("rows/[!.]*.json"):  # a row that is there is whole, and never written again
            assert seen.setdefault(path.name, path.stat().st_mtime_ns) == path.stat().st_mtime_ns
            json.loads(path.read_text())
    process = started(tmp_path)
    process.join()
    assert process.exitcode == 0, (tmp_path / "one").read_text()
    assert [without_times(row) for row in rows_of(tmp_path)] == uninterrupted
    for path in (tmp_path / "smoke" / "rows").iterdir():
        assert path.name not in seen or path.stat().st_mtime_ns == seen[path.name]
    left = {path.suffix for path in (tmp_path / "smoke" / "work").iterdir()}
    assert left == {".lock"}


@pytest.mark.slow
def test_two_side_by_side_share_the_cells(tmp_path, uninterrupted):
    both = [started(tmp_path, name) for name in ("one", "two")]
    for process in both:
        process.join()
    said = [(tmp_path / name).read_text() for name in ("one", "two")]
    assert [process.exitcode for process in both] == [0, 0], said
    ran = [line.split(" ", 1)[1] for text in said for line in text.splitlines() if ": error" in line]
    assert len(ran) == len(uninterrupted)  # no cell was run by both
    assert [without_times(row) for row in rows_of(tmp_path)] == uninterrupted


def _state(folder):
    """What changes when a runner gets on: rows and checkpoints."""
    paths = [*folder.glob("rows/*"), *folder.glob("work/*.checkpoint")]
    return {(path.name, _changed(path)) for path in paths}


def _changed(path):
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None
