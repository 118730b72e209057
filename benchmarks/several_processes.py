"""An epoch in several processes over the same in one, each on one thread: at best one over their number."""

import json
import os
import statistics
import subprocess
import sys

import torch

from benchmarks.rows import Row
from benchmarks.shapes import MNIST, image_bags
from llpgan import DLLP, LLPGAN

METHODS = {"DLLP": DLLP, "LLPGAN": LLPGAN}
ROUNDS, BAGS, BAG_SIZE = 3, 48, 64
_MARK = "seconds of an epoch: "


def run() -> list[Row]:
    """Runs of one and of two processes take turns, so that a busy machine slows both alike."""
    rounds = [(measured(1), measured(2)) for _ in range(ROUNDS)]
    return [row_of(method, rounds) for method in METHODS]


def row_of(method: str, rounds: list[tuple[dict[str, float], dict[str, float]]]) -> Row:
    ratios = [two[method] / one[method] for one, two in rounds]
    return {
        "what": f"{method}, an epoch in two processes / in one, MNIST network",
        "ratio": round(statistics.median(ratios), 3),
        "quartiles": f"{min(ratios):.2f} to {max(ratios):.2f}",
        "bar": "",
        "rounds": ROUNDS,
        "settings": {"bags": BAGS, "bag_size": BAG_SIZE, "threads": 1, "cores": os.cpu_count()},
    }


def measured(count: int) -> dict[str, float]:
    """Seconds of an epoch of each method in so many processes."""
    command = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}", "-m", __name__]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    return dict(json.loads(line.removeprefix(_MARK)))


def epochs() -> dict[str, float]:
    """In one of the processes: the quickest of three epochs, the first of which also warms up."""
    torch.set_num_threads(1)
    bags = image_bags(MNIST, BAGS, BAG_SIZE)
    models = {name: method(epochs=3, random_state=0).fit_bags(bags) for name, method in METHODS.items()}
    return {name: min(row["seconds"] for row in model.history_) for name, model in models.items()}


if __name__ == "__main__":
    seconds = epochs()
    if os.environ.get("RANK", "0") == "0":
        print(_MARK + json.dumps(seconds), flush=True)
