"""Time and memory of one training step, over a supervised step of the same network on the same instances."""

import multiprocessing
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from benchmarks.memory import peak_bytes
from benchmarks.rows import Row
from llpgan import DLLP, LLPGAN, Bags
from llpgan.estimators.deep import DeepClassifier, fabric_for
from llpgan.loading import BagDataset
from llpgan.networks import mnist_classifier
from llpgan.objectives import Objective

Step = Callable[[], object]
BAG_SIZE, BAGS_A_STEP = 16, 4
ROUNDS, STEPS_A_ROUND = 30, 5


def run() -> list[Row]:
    steps = {"supervised": supervised_step(), "LLP-GAN": step_of(LLPGAN()), "DLLP": step_of(DLLP())}
    steps |= {"bags together": steps["DLLP"], "bags one by one": one_by_one(DLLP())}
    seconds = timed_in_turns(steps)
    peaks = {name: in_a_new_process(name) for name in ("nothing", "supervised", "LLP-GAN", "DLLP")}
    return [
        ratio("LLP-GAN step / supervised step", seconds["LLP-GAN"], seconds["supervised"], at_most=3.5),
        ratio("DLLP step / supervised step", seconds["DLLP"], seconds["supervised"], at_most=1.1),
        ratio("four bags a step / one by one", seconds["bags together"], seconds["bags one by one"]),
        memory("supervised", peaks),
        memory("DLLP", peaks),
        memory("LLP-GAN", peaks),
    ]


def mnist_bags() -> Bags:
    """Instances of MNIST's shape; what is in them does not matter to time."""
    rng = np.random.default_rng(0)
    n = BAG_SIZE * BAGS_A_STEP
    pixels = rng.integers(256, size=(n, 1, 28, 28)).astype(np.uint8)
    return Bags.from_labels(pixels, np.arange(n) % 10, np.arange(n) // BAG_SIZE)


def supervised_step() -> Step:
    """A plain loop's step, with nothing of this library but the network."""
    network = mnist_classifier((1, 28, 28), 10)
    optimiser = torch.optim.AdamW(network.parameters(), 1e-3, betas=(0.5, 0.999), weight_decay=0, fused=True)
    pixels = torch.from_numpy(mnist_bags().instances)
    labels = torch.arange(len(pixels)) % 10

    def step() -> None:
        optimiser.zero_grad()
        cross_entropy(network(pixels / 127.5 - 1).logits, labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def step_of(model: DeepClassifier) -> Step:
    objective, dataset = prepared(model)
    batch = dataset.batch(range(BAGS_A_STEP))
    return lambda: objective.step(batch)


def one_by_one(model: DeepClassifier) -> Step:
    objective, dataset = prepared(model)
    batches = [dataset.batch([bag]) for bag in range(BAGS_A_STEP)]
    return lambda: [objective.step(batch) for batch in batches]


def prepared(model: DeepClassifier) -> tuple[Objective, BagDataset]:
    bags = mnist_bags()
    model._start(bags)
    return model._objective(bags, fabric_for("cpu", "32-true")), BagDataset(bags)


def timed_in_turns(steps: dict[str, Step]) -> dict[str, list[float]]:
    """Seconds of each step in each round; the steps take turns, so that a busy machine slows all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(ROUNDS):
        for name, step in steps.items():
            started = time.perf_counter()
            for _ in range(STEPS_A_ROUND):
                step()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def ratio(name: str, seconds: list[float], others: list[float], at_most: float | None = None) -> Row:
    ratios = [a / b for a, b in zip(seconds, others, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {"what": name, "ratio": middle, "quartiles": f"{low:.2f} to {high:.2f}", "at most": at_most}


def memory(name: str, peaks: dict[str, int]) -> Row:
    megabytes = (peaks[name] - peaks["nothing"]) / 2**20
    supervised = (peaks["supervised"] - peaks["nothing"]) / 2**20
    return {
        "what": f"peak memory of {name} steps / supervised",
        "ratio": megabytes / supervised,
        "quartiles": f"{megabytes:.0f} MB above what imports take",
        "at most": None,
    }


def in_a_new_process(name: str) -> int:
    """The peak memory of a process that imports everything and takes a few steps."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_after_steps, (name,))


def _peak_after_steps(name: str) -> int:
    steps: dict[str, Callable[[], Step]] = {
        "nothing": lambda: lambda: None,
        "supervised": supervised_step,
        "LLP-GAN": lambda: step_of(LLPGAN()),
        "DLLP": lambda: step_of(DLLP()),
    }
    step = steps[name]()
    for _ in range(STEPS_A_ROUND):
        step()
    return peak_bytes()
