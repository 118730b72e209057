"""An epoch in several processes over the same in one, each on one thread: at best one over their number."""

import json
import os
import statistics
import subprocess
import sys

import torch

from benchmarks.rows import Row
from benchmarks.speed.measure import CIFAR, MNIST, image_bags
from llpgan import DLLP, LLPGAN
from llpgan.methods.deep import DeepClassifier

JOBS = {  # a step of MNIST's network is little work for the gradients that are sent, one of CIFAR's is much
    "DLLP, MNIST": (DLLP, MNIST, 32),
    "DLLP, CIFAR": (DLLP, CIFAR, 4),
    "LLPGAN, CIFAR": (LLPGAN, CIFAR, 4),
}
ROUNDS, BAG_SIZE = 3, 64
_MARK = "seconds of an epoch: "


def run() -> list[Row]:
    """Runs of one and of two processes take turns, so that a busy machine slows both alike."""
    rounds = [(measure(1), measure(2)) for _ in range(ROUNDS)]
    return [make_ratio_row(job, rounds) for job in JOBS]


def make_ratio_row(job: str, rounds: list[tuple[dict[str, float], dict[str, float]]]) -> Row:
    ratios = [two[job] / one[job] for one, two in rounds]
    return {
        "what": f"{job}, an epoch in two processes / in one",
        "ratio": round(statistics.median(ratios), 3),
        "quartiles": f"{min(ratios):.2f} to {max(ratios):.2f}",
        "bar": "",
        "rounds": ROUNDS,
        "settings": {"bags": JOBS[job][2], "bag_size": BAG_SIZE, "threads": 1, "cores": os.cpu_count()},
    }


def measure(count: int) -> dict[str, float]:
    """Seconds of an epoch of each job in so many processes."""
    command = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}", "-m", __name__]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    return dict(json.loads(line.removeprefix(_MARK)))


def epochs() -> dict[str, float]:
    """In one of the processes: the quickest of three epochs, the first of which also warms up."""
    torch.set_num_threads(1)
    return {name: time_epochs(*job) for name, job in JOBS.items()}


def time_epochs(method: type[DeepClassifier], shape: tuple[int, ...], n_bags: int) -> float:
    model = method(epochs=3, random_state=0).fit_bags(image_bags(shape, n_bags, BAG_SIZE))
    return min(row["seconds"] for row in model.history_)


if __name__ == "__main__":
    seconds = epochs()
    if os.environ.get("RANK", "0") == "0":
        print(_MARK + json.dumps(seconds), flush=True)
