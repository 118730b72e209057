"""Large bags in chunks: the time of exact gradients in bounded memory, and the memory of one bag of a million."""

from benchmarks.rows import Row
from benchmarks.speed.growth import METHODS, N_FEATURES, synthetic_bags, train
from benchmarks.speed.measure import (
    Work,
    bytes_now,
    forget_peak,
    make_objective,
    peak_bytes,
    ratio_row,
    run_in_new_process,
    time_in_turns,
)
from llpgan import Bags
from llpgan.deep.batches import BagDataset

TIMED = {(16_384, 2_048): 15, (65_536, 8_192): 9}  # bag size and chunk: rounds
MILLION, AT_ONCE = 1_000_000, 8_192


def run() -> list[Row]:
    rows = [time_row(method, *sizes, rounds) for method in METHODS for sizes, rounds in TIMED.items()]
    return rows + [run_in_new_process(memory_row, method) for method in METHODS]


def time_row(method: str, bag_size: int, at_once: int, rounds: int) -> Row:
    """Steps of one whole bag, and the same steps in chunks."""
    bags = synthetic_bags(bag_size, bag_size, classes=4)
    works = {"whole": make_step(method, bags, None), "chunked": make_step(method, bags, at_once)}
    seconds = time_in_turns(works, rounds)
    what = f"{method}, time of a bag of {bag_size:,} in chunks of {at_once:,} / whole"
    row = ratio_row(what, seconds["chunked"], seconds["whole"], at_most=1.5)
    return row | settings(bag_size, at_once)


def make_step(method: str, bags: Bags, at_once: int | None) -> Work:
    model = METHODS[method](max_instances_per_step=at_once, random_state=0)
    objective = make_objective(model, bags)
    dataset = BagDataset(bags, at_once=at_once)
    return lambda: objective.step(dataset.batch([0]))


def memory_row(method: str) -> Row:
    """The peak of two epochs on one bag of a million instances, above what stood in memory before."""
    train(method, synthetic_bags(64, 16, 2), epochs=1)  # libraries, which belong to no job
    bags = synthetic_bags(MILLION, MILLION, classes=4)
    before = bytes_now()
    forget_peak()
    train(method, bags, epochs=2, max_instances_per_step=AT_ONCE)
    above = peak_bytes() - before
    return {
        "what": f"{method}, GB above the data, a bag of {MILLION:,} in chunks of {AT_ONCE:,}",
        "ratio": round(above / 1e9, 3),
        "quartiles": f"data of {bags.instances.nbytes / 1e9:.2f} GB",
        "bar": "below 1",
        "rounds": 1,
    } | settings(MILLION, AT_ONCE)


def settings(bag_size: int, at_once: int) -> Row:
    return {"settings": {"bag_size": bag_size, "max_instances_per_step": at_once, "features": N_FEATURES}}
