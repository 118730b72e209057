"""The share of the machine's matrix-multiply peak that a training step of the CIFAR network reaches."""

import statistics

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.rows import Row
from benchmarks.speed.measure import CIFAR, Work, time_in_turns
from llpgan.deep.networks import cifar_classifier
from llpgan.deep.networks.parts import use_channels_last

N, SIDE, ROUNDS = 64, 2048, 15


def run() -> list[Row]:
    left, right, product = (torch.randn(SIDE, SIDE) for _ in range(3))
    works: dict[str, Work] = {
        "matmul": lambda: torch.mm(left, right, out=product),
        "contiguous": training_step(cifar_classifier(CIFAR, 10)),
        "channels last": training_step(use_channels_last(cifar_classifier(CIFAR, 10))),
    }
    operations = {name: count_operations(work) for name, work in works.items()}
    seconds = time_in_turns(works, ROUNDS)
    return [
        peak_row("CIFAR step, weights contiguous (before) / peak", "contiguous", operations, seconds),
        peak_row("CIFAR step, weights channels last (after) / peak", "channels last", operations, seconds),
    ]


def training_step(network: nn.Module) -> Work:
    optimiser = torch.optim.AdamW(network.parameters(), fused=True)
    instances, labels = torch.randn(N, *CIFAR), torch.arange(N) % 10

    def step() -> None:
        optimiser.zero_grad()
        cross_entropy(network(instances)[0], labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def count_operations(work: Work) -> int:
    """Additions and multiplications in products and convolutions, forwards and backwards."""
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def peak_row(what: str, name: str, operations: dict[str, int], seconds: dict[str, list[float]]) -> Row:
    rates, peak = ([operations[key] / took / 1e9 for took in seconds[key]] for key in (name, "matmul"))
    low, middle, high = statistics.quantiles([a / b for a, b in zip(rates, peak, strict=True)], n=4)
    return {
        "what": what,
        "share of peak": round(middle, 3),
        "quartiles": f"{low:.2f} to {high:.2f}",
        "rounds": len(rates),
        "gigaflops a second": round(statistics.median(rates), 1),
        "peak": round(statistics.median(peak), 1),
        "gigaflops an instance": round(operations[name] / N / 1e9, 3),
        "settings": {"instances": N, "matrix_side": SIDE},
    }
