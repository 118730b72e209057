"""Commands on large tables that are killed or run out of disk at random times, and are then started again.

A worker of a training in two processes is killed: the run must end within a minute, name what was killed and say
how to go on, and the second start must give the model of a run that nothing disturbs. ``store`` and ``predict``
are killed as a whole, and their disk (a ``tmpfs``, which takes root) is filled: a second start must give the same
files.
"""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet

from benchmarks.rows import RESULTS, Row, describe_versions, measure_rows
from benchmarks.speed.tables_larger_than_memory import write_files
from llpgan import load
from llpgan.tables.store import open_store

N_ROWS, N_KILLS, DISK_BYTES = 400_000, 4, 60_000_000
LLPGAN = [sys.executable, "-m", "llpgan"]
TOGETHER = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "llpgan"]
OF_KILLS = ("killed", "seconds until the end", "names the worker", "says how to go on")
OF_FULL_DISKS = ("exit code", "message", "left", "made")
METHODS = {
    "BagLogistic": ["--method", "BagLogistic", "--method.n_resamples", "20"],
    "BagBoosting": ["--method", "BagBoosting", "--method.max_rounds", "20"],
}
STORE = ["store", "rows", "--bag", "bag", "--counts", "results.parquet", "--to", "new_store"]
PREDICT = ["predict", "model", "rows", "--out", "new_predictions"]


def run() -> list[Row]:
    """One row for each run that was disturbed; those that the file has are not repeated."""
    cells = [(what, number) for what in (*METHODS, "store", "predict") for number in range(N_KILLS)]
    cells += [("store, disk full", 0), ("predict, disk full", 0)]
    with TemporaryDirectory() as temporary:
        os.chdir(temporary)
        return measure_rows(RESULTS / "soak.jsonl", ("what", "number"), cells, disturb)


def disturb(what: str, number: int) -> Row:
    """Start a command, disturb it, and start it again."""
    prepare()
    command, is_training = what.split(",")[0], what in METHODS
    words = [*TOGETHER, *fit_words(command, "new_model")] if is_training else [*LLPGAN, *command_words(command)]
    reference = digest(command)
    chance = random.Random(f"{what} {number}")
    is_full = what.endswith("disk full")
    row = fill_disk(words, command) if is_full else kill(words, chance, is_training)
    started = time.monotonic()
    subprocess.run(words, check=True, capture_output=True)
    row |= {"seconds of the second start": round(time.monotonic() - started, 1)}
    row |= {"the same": digest(command, "new_") == reference, "left over": leftovers()}
    for path in Path().glob("new_*"):
        shutil.rmtree(path)
    return {**dict.fromkeys(OF_KILLS + OF_FULL_DISKS), **row, **describe_versions()}


def command_words(command: str) -> list[str]:
    return STORE if command == "store" else PREDICT


def fit_words(method: str, out: str) -> list[str]:
    return ["fit", "store", *METHODS[method], "--report", "false", "--out", out]


def prepare() -> None:
    """The tables, and what commands make of them if nothing disturbs them."""
    if Path("predictions").exists():
        return
    write_files(Path(), N_ROWS, rows_a_file=N_ROWS // 40)
    subprocess.run([*LLPGAN, *STORE[:-1], "store"], check=True, capture_output=True)
    for method in METHODS:
        subprocess.run([*LLPGAN, *fit_words(method, method)], check=True, capture_output=True)
    shutil.copytree("BagLogistic", "model")
    subprocess.run([*LLPGAN, *PREDICT[:-1], "predictions"], check=True, capture_output=True)


def digest(command: str, prefix: str = "") -> str:
    """Of what a command has made, to six digits for a model."""
    if command in METHODS:
        model = load(f"{prefix}model" if prefix else command)
        values = model.predict_encoded(open_store("store").instances[:50_000])[:, 1].round(6)
    elif command == "store":
        values = np.asarray(open_store(f"{prefix}store").instances)
    else:
        values = pyarrow.parquet.read_table(f"{prefix}predictions", columns=["p_yes"])["p_yes"].to_numpy()
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def leftovers() -> int:
    """How many files of unfinished work there are."""
    return len(list(Path().glob(".llpgan-*")))


def kill(words: list[str], chance: random.Random, is_training: bool) -> Row:
    """Kill one worker of a training, or the whole command, at a random time after it has begun to work."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(process, (lambda: len(busy_workers(process.pid)) == 2) if is_training else leftovers)
    time.sleep(chance.uniform(0, 8) if is_training else chance.uniform(0, 1))
    killed = chance.choice(busy_workers(process.pid)) if is_training else process.pid
    if process.poll() is not None:
        return {"killed": False}
    os.kill(killed, signal.SIGKILL)
    started = time.monotonic()
    _, printed = process.communicate()
    row: Row = {"killed": True, "seconds until the end": round(time.monotonic() - started, 1)}
    if is_training:
        row |= {"names the worker": f"pid: {killed}" in printed or "lost process" in printed}
        row |= {"says how to go on": "start the same command again" in printed}
    return row


def wait_until(process: "subprocess.Popen[str]", is_ready: Callable[[], object]) -> None:
    while not is_ready() and process.poll() is None:
        time.sleep(0.02)


def busy_workers(launcher: int) -> list[int]:
    """The workers of torchrun that have opened the store."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return [int(child) for child in children if has_opened(child, "instances.npy")]


def has_opened(process: str, name: str) -> bool:
    try:
        return any(file.readlink().name == name for file in Path(f"/proc/{process}/fd").iterdir())
    except OSError:  # it has ended
        return False


def fill_disk(words: list[str], command: str) -> Row:
    """Fill the disk that a command writes to, while it writes; then make room again."""
    disk, here = Path("disk"), Path.cwd()
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)], check=True)
    try:
        for name in ("rows", "results.parquet", "model"):
            (disk / name).symlink_to(here / name)
        process = subprocess.Popen(words, cwd=disk, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_until(process, lambda: list(disk.glob(".llpgan-*new_*/*")))
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file:
            while process.poll() is None:
                try:
                    file.write(bytes(2**16))
                except OSError:
                    time.sleep(0.02)
        printed = process.communicate()[1].strip().splitlines()
        filler.unlink()
        left = sorted(file.name for file in disk.glob(".llpgan-*"))
        subprocess.run(words, cwd=disk, check=True, capture_output=True)
        made = f"new_{'store' if command == 'store' else 'predictions'}"
        return {
            "exit code": process.returncode,
            "message": printed[-1],
            "left": left,
            "made": (disk / made).is_dir(),
        }
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
        disk.rmdir()
