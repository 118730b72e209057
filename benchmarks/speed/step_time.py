"""Time and memory of one training step, over a supervised step of the same network on the same instances."""

import torch
from torch.nn.functional import cross_entropy

from benchmarks.rows import Row
from benchmarks.speed.measure import (
    CIFAR,
    MNIST,
    Work,
    image_bags,
    make_objective,
    peak_bytes,
    ratio_row,
    run_in_new_process,
    time_in_turns,
)
from llpgan import DLLP, LLPGAN
from llpgan.deep.batches import BagBatch, BagDataset
from llpgan.deep.networks import ACTIVATIONS, default_pair
from llpgan.deep.networks.parts import use_channels_last
from llpgan.deep.objectives import Objective
from llpgan.methods.deep import DeepClassifier

BAG_SIZE, BAGS_A_STEP = 16, {"MNIST": 4, "CIFAR": 16}
SHAPES = {"MNIST": MNIST, "CIFAR": CIFAR}
AT_MOST = {"MNIST": 3.2, "CIFAR": 2.5}
ROUNDS = {"MNIST": (30, 5), "CIFAR": (15, 1)}  # and steps in each
METHODS = {"DLLP": DLLP, "LLP-GAN": LLPGAN}
FEWER_FAKES = {"a half": 0.5, "a quarter": 0.25}


def run() -> list[Row]:
    times = [row for data in SHAPES for row in times_on(data)] + [bfloat16_row("CIFAR")]
    peaks = {name: run_in_new_process(peak_after_steps, name) for name in ("nothing", "supervised", *METHODS)}
    rows = times + [memory_row(name, peaks) for name in ("supervised", *METHODS)]
    return [row | {"settings": {"bag_size": BAG_SIZE, "bags_per_step": BAGS_A_STEP}} for row in rows]


def times_on(data: str) -> list[Row]:
    works: dict[str, Work] = {"supervised": supervised_step(data)}
    works |= {name: make_step(method(), data) for name, method in METHODS.items()}
    works |= {part: make_step(LLPGAN(fakes_per_instance=share), data) for part, share in FEWER_FAKES.items()}
    works["one by one"] = one_by_one(DLLP(), data)
    seconds = time_in_turns(works, *ROUNDS[data])
    return [
        ratio_row(
            f"LLP-GAN step / supervised, {data}", seconds["LLP-GAN"], seconds["supervised"], at_most=AT_MOST[data]
        ),
        *(
            ratio_row(
                f"LLP-GAN step with {part} of the fakes / supervised, {data}", seconds[part], seconds["supervised"]
            )
            for part in FEWER_FAKES
        ),
        ratio_row(f"DLLP step / supervised, {data}", seconds["DLLP"], seconds["supervised"], at_most=1.1),
        ratio_row(f"DLLP, all bags in a step / one by one, {data}", seconds["DLLP"], seconds["one by one"]),
    ]


def bfloat16_row(data: str) -> Row:
    works = {precision: make_step(DLLP(), data, precision) for precision in ("bf16-mixed", "32-true")}
    seconds = time_in_turns(works, *ROUNDS[data])
    what = f"DLLP step in bf16-mixed / in 32 bit, {data}"
    return ratio_row(what, seconds["bf16-mixed"], seconds["32-true"], at_most=0.65)


def supervised_step(data: str) -> Work:
    """A plain loop's step, with nothing of this library but the network, its layout and its optimiser."""
    pair = default_pair(SHAPES[data])
    activation = ACTIVATIONS[pair.activation]
    network = use_channels_last(pair.classifier(SHAPES[data], 10, activation))
    optimiser = torch.optim.AdamW(network.parameters(), 1e-3, betas=(0.5, 0.999), weight_decay=0, fused=True)
    pixels = torch.from_numpy(image_bags(SHAPES[data], BAGS_A_STEP[data], BAG_SIZE).instances)
    labels = torch.arange(len(pixels)) % 10

    def step() -> None:
        optimiser.zero_grad()
        cross_entropy(network(pixels / 127.5 - 1).logits, labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def make_step(model: DeepClassifier, data: str, precision: str = "32-true") -> Work:
    objective, dataset = prepare(model, data, precision)
    batch = dataset.batch(range(BAGS_A_STEP[data]))
    return lambda: objective.step(batch)


def one_by_one(model: DeepClassifier, data: str) -> Work:
    objective, dataset = prepare(model, data)
    batches: list[BagBatch] = [dataset.batch([bag]) for bag in range(BAGS_A_STEP[data])]
    return lambda: [objective.step(batch) for batch in batches]


def prepare(model: DeepClassifier, data: str, precision: str = "32-true") -> tuple[Objective, BagDataset]:
    bags = image_bags(SHAPES[data], BAGS_A_STEP[data], BAG_SIZE)
    return make_objective(model, bags, precision), BagDataset(bags)


def memory_row(name: str, peaks: dict[str, int]) -> Row:
    megabytes = (peaks[name] - peaks["nothing"]) / 1e6
    supervised = (peaks["supervised"] - peaks["nothing"]) / 1e6
    return {
        "what": f"peak memory of {name} steps / supervised, MNIST",
        "ratio": round(megabytes / supervised, 3),
        "quartiles": f"{megabytes:.0f} MB",
        "bar": "",
        "rounds": 1,
    }


def peak_after_steps(name: str) -> int:
    """Of a process that imports everything and takes a few steps."""
    if name != "nothing":
        step = supervised_step("MNIST") if name == "supervised" else make_step(METHODS[name](), "MNIST")
        for _ in range(5):
            step()
    return peak_bytes()
