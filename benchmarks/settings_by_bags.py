"""Which settings held-out bags choose for the networks of Table 1. No label is looked at but to make bags.

20,000 images of MNIST, a fifth of the bags held out, 15 epochs as in the ``cpu`` preset; draws of the bags that
the tables do not have. What counts is the divergence of the held-out bags' proportions from the mean predictions
after the last epoch: without a label, nothing else is known of a setting.
"""

import statistics
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from scipy.special import entr

from benchmarks.label_free_real import folder_of
from benchmarks.rows import RESULTS, Row, as_markdown, measured_rows, write_aside
from llpgan.bagging import into_bags, random_bags
from llpgan.bags import Bags
from llpgan.datasets import load_mnist
from llpgan.estimators.deep import DeepClassifier

N_ROWS, EPOCHS, HELD_OUT = 20_000, 15, 0.2
Settings = Mapping[str, Any]


def compared(
    name: str,
    method: type[DeepClassifier],
    candidates: Mapping[str, Settings],
    bag_sizes: Sequence[int],
    draws: Sequence[int],
) -> list[Row]:
    """Rows in ``results/NAME.jsonl``, kept from run to run, and their table, a row a candidate."""
    torch.set_num_threads(1)  # two methods side by side are quicker than two threads

    def measured(candidate: str, bag_size: int, draw: int) -> Row:
        return _measured(method, candidates[candidate], bag_size, draw)

    cells = product(candidates, bag_sizes, draws)
    cells_by_draw = sorted(cells, key=lambda cell: cell[2])  # a whole comparison first, then a second
    rows = measured_rows(RESULTS / f"{name}.jsonl", ("candidate", "bag_size", "draw"), cells_by_draw, measured)
    shown = [row for row in rows if row["draw"] in draws]
    summary = [_summarised(shown, candidate, bag_sizes) for candidate in candidates]
    about = (
        f"{method.__name__} on 20,000 images of MNIST: the divergence of held-out bags' proportions from the mean "
        f"predictions after {EPOCHS} epochs, in thousandths of a nat, over {len(draws)} draw(s) of the bags, "
        f"and the geometric mean over bag sizes, which weighs them alike; made from `{name}.jsonl`."
    )
    write_aside(RESULTS / f"{name}.md", as_markdown("Settings by held-out bags", about, summary))
    return summary


def _measured(method: type[DeepClassifier], settings: Settings, bag_size: int, draw: int) -> Row:
    training, held_out = _bags(bag_size, draw)
    model = method(epochs=EPOCHS, random_state=draw, **settings).fit_bags(training, held_out=held_out)
    entropy = float(entr(held_out.proportions).sum(axis=1).mean())
    return {
        "divergence": [round(row["held_out_loss"] - entropy, 7) for row in model.history_],
        "settings": {name: repr(value) for name, value in model.get_params().items()},
    }


def _bags(bag_size: int, draw: int) -> tuple[Bags, Bags]:
    mnist = load_mnist(folder_of("mnist"))
    rows = np.random.default_rng(draw).permutation(len(mnist.labels))[:N_ROWS]
    bags = into_bags(mnist.instances[rows], mnist.labels[rows], random_bags(N_ROWS, bag_size, draw))
    n_held_out = round(HELD_OUT * bags.n_bags)
    return bags.subset(np.arange(n_held_out, bags.n_bags)), bags.subset(np.arange(n_held_out))


def _summarised(rows: Sequence[Row], candidate: str, bag_sizes: Sequence[int]) -> Row:
    own = [row for row in rows if row["candidate"] == candidate]
    means = [
        statistics.fmean(1000 * row["divergence"][-1] for row in own if row["bag_size"] == size)
        for size in bag_sizes
    ]
    return {
        "settings": candidate,
        **{f"bags of {size}": f"{mean:.2f}" for size, mean in zip(bag_sizes, means, strict=True)},
        "mean": f"{statistics.geometric_mean(means):.2f}",
    }
