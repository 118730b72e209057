"""The memory that a step takes for each instance, by network: what ``max_instances_per_step`` is chosen by."""

import numpy as np

from benchmarks.rows import Row
from benchmarks.speed.measure import (
    CIFAR,
    MNIST,
    bytes_now,
    forget_peak,
    make_objective,
    peak_bytes,
    run_in_new_process,
)
from llpgan import DLLP, LLPGAN, Bags
from llpgan.deep.batches import BagDataset

METHODS = {"DLLP": DLLP, "LLPGAN": LLPGAN}
NETWORKS: dict[str, tuple[int, ...]] = {"table of 20 columns": (20,), "MNIST": MNIST, "CIFAR": CIFAR}
FEW, MANY = 64, 320


def run() -> list[Row]:
    return [memory_of_instances(method, network) for network in NETWORKS for method in METHODS]


def memory_of_instances(method: str, network: str) -> Row:
    """What a step of many takes above one of few, for each instance more."""
    few, many = (run_in_new_process(peak_of_steps, method, NETWORKS[network], n) for n in (FEW, MANY))
    return {
        "method": method,
        "network": network,
        "kB an instance": round((many - few) / (MANY - FEW) / 1e3),
        "instances in a GB": round(1e9 * (MANY - FEW) / (many - few)),
        "settings": {"from": FEW, "to": MANY},
    }


def peak_of_steps(method: str, shape: tuple[int, ...], n: int) -> int:
    """Of two steps of one bag, above what stood in memory before."""
    instances = np.random.default_rng(0).standard_normal((n, *shape), np.float32)
    bags = Bags.from_labels(instances, np.arange(n) % 10, np.zeros(n, int))
    model = METHODS[method](random_state=0)
    objective = make_objective(model, bags)
    batch = BagDataset(bags).batch([0])
    before = bytes_now()
    forget_peak()
    for _ in range(2):
        objective.step(batch)
    return peak_bytes() - before
