"""What samples from bags cost, with and without the correction of their bias: digits in bags of 128, over seeds.

As many epochs more as a sample is smaller than half the bag, so that all see about half the instances of the whole
bags' run. Rows in ``results/mini_bags.jsonl``, and their table. Rows that are there already are not run again.
"""

import statistics
from itertools import product

import torch
from torch import Tensor

from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan import DLLP
from llpgan.data.bagging import random_bags
from llpgan.deep.losses import proportion_loss
from reproduction.datasets import load_digits

BAG_SIZE, EPOCHS = 128, 100
KINDS = [("whole bags", None), *product(("corrected", "left as it is"), (8, 16, 32, 64))]
SEEDS = range(3)


def run() -> list[Row]:
    torch.set_num_threads(1)  # small networks: a second thread only waits
    cells = ((kind, size, seed) for seed, (kind, size) in product(SEEDS, KINDS))
    rows = measure_rows(RESULTS / "mini_bags.jsonl", ("bias", "mini_bag_size", "seed"), cells, measure)
    summary = [summarize(rows, kind, size) for kind, size in KINDS]
    about = (
        "Test accuracy of DLLP on digits in bags of 128, with samples from each bag; made from `mini_bags.jsonl`."
    )
    write_whole(RESULTS / "mini_bags.md", as_markdown("Mini-bags", about, summary))
    return summary


def measure(kind: str, mini_bag_size: int | None, seed: int) -> Row:
    digits = load_digits(seed)
    epochs = EPOCHS if mini_bag_size is None else EPOCHS * BAG_SIZE // (2 * mini_bag_size)
    loss = uncorrected_loss if kind == "left as it is" else "exact"
    model = DLLP(mini_bag_size=mini_bag_size, epochs=epochs, proportion_loss=loss, random_state=seed)
    model.fit(digits.instances, digits.labels, groups=random_bags(len(digits.labels), BAG_SIZE, seed))
    return {"epochs": epochs, "accuracy": model.score(digits.test_instances, digits.test_labels)}


def uncorrected_loss(logits: Tensor, bag_index: Tensor, proportions: Tensor) -> Tensor:
    """The exact loss of a sample as if it were a bag: a loss of the user's own is taken as it is."""
    return proportion_loss(logits, bag_index, proportions)


def summarize(rows: list[Row], kind: str, size: int | None) -> Row:
    found = [100 * r["accuracy"] for r in rows if (r["bias"], r["mini_bag_size"]) == (kind, size)]
    return {
        "sample of each bag": BAG_SIZE if size is None else size,
        "bias of sampling": kind if size else "none",
        "accuracy (%)": f"{statistics.mean(found):.1f}",
        "sd over seeds": f"{statistics.stdev(found):.1f}",
        "seeds": len(found),
    }
