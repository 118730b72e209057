"""Which settings held-out bags choose for the networks of the paper's tables. Labels only make bags.

A fifth of the bags is held out; bags are draws that the tables do not have. What counts is the divergence of the
held-out bags' proportions from the mean predictions after the last epoch: without a label, nothing else is known
of a setting.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.base import clone

from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan.bags import Bags
from llpgan.data.bagging import into_bags, random_bags
from llpgan.deep.losses.bag_losses import count_loss
from llpgan.methods.deep import DeepClassifier

HELD_OUT = 0.2
TEMPERATURES = (0.7, 1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0)
Array = NDArray[Any]


@dataclass(frozen=True)
class Data:
    """Labelled instances to make bags of, drawn anew for each draw, and what to call them."""

    title: str
    rows: Callable[[int], tuple[Array, Array]]  # from a draw to instances and labels

    def bags(self, bag_size: int, draw: int) -> tuple[Bags, Bags]:
        """Bags to learn from, and held-out ones."""
        instances, labels = self.rows(draw)
        bags = into_bags(instances, labels, random_bags(len(labels), bag_size, draw))
        n_held_out = round(HELD_OUT * bags.n_bags)
        return bags.take_bags(np.arange(n_held_out, bags.n_bags)), bags.take_bags(np.arange(n_held_out))


def compare_settings(
    name: str,
    data: Data,
    candidates: Mapping[str, DeepClassifier],
    bag_sizes: Sequence[int],
    draws: Sequence[int],
) -> list[Row]:
    """Rows in ``results/NAME.jsonl``, kept from run to run, and their table, a row a candidate."""
    torch.set_num_threads(1)  # two methods side by side are quicker than two threads

    def measured(candidate: str, bag_size: int, draw: int) -> Row:
        return _measure(candidates[candidate], *data.bags(bag_size, draw), draw)

    cells = product(candidates, bag_sizes, draws)
    cells_by_draw = sorted(cells, key=lambda cell: cell[2])  # a whole comparison first, then a second
    rows = measure_rows(RESULTS / f"{name}.jsonl", ("candidate", "bag_size", "draw"), cells_by_draw, measured)
    shown = [row for row in rows if row["draw"] in draws]
    summary = [_summarize(shown, candidate, bag_sizes) for candidate in candidates]
    methods = " and ".join(sorted({type(candidate).__name__ for candidate in candidates.values()}))
    epochs = " or ".join(sorted({str(candidate.epochs) for candidate in candidates.values()}))
    about = (
        f"{methods} on {data.title}: the divergence of held-out bags' proportions from the mean predictions after "
        f"{epochs} epochs, in thousandths of a nat, over {len(draws)} draw(s) of the bags, and the geometric mean "
        f"over bag sizes, which weighs them alike. Counts: −log likelihood of the class counts of a held-out bag "
        f"in nats, a figure for each bag size, where it was measured; made from `{name}.jsonl`."
    )
    title = f"Settings by held-out bags: {name.replace('_', ' ')}"
    write_whole(RESULTS / f"{name}.md", as_markdown(title, about, summary))
    return summary


def _measure(candidate: DeepClassifier, training: Bags, held_out: Bags, draw: int) -> Row:
    model = clone(candidate).set_params(random_state=draw).fit_bags(training, held_out=held_out)
    entropy = float(entr(held_out.proportions).sum(axis=1).mean())
    return {
        "divergence": [round(row["held_out_loss"] - entropy, 7) for row in model.history_],
        "count_loss": round(_count_loss(model, held_out), 4),
        "settings": {name: getattr(value, "__name__", repr(value)) for name, value in model.get_params().items()},
    }


def _count_loss(model: DeepClassifier, held_out: Bags) -> float:
    """−log likelihood of a held-out bag's counts, with the temperature that suits them best.

    The divergence sees a bag's mean alone; this also asks whether each prediction is as sure as it can be.
    """
    rows = np.concatenate([held_out.rows_of(bag) for bag in range(held_out.n_bags)])
    bag_index = torch.arange(held_out.n_bags).repeat_interleave(torch.from_numpy(held_out.sizes))
    posteriors = torch.from_numpy(model.predict_proba(np.asarray(held_out.instances[rows])))
    logits, proportions = posteriors.clamp_min(1e-12).log(), torch.from_numpy(held_out.proportions)
    return min(count_loss(logits / t, bag_index, proportions).item() for t in TEMPERATURES)


def _summarize(rows: Sequence[Row], candidate: str, bag_sizes: Sequence[int]) -> Row:
    own = [row for row in rows if row["candidate"] == candidate]
    means = [
        statistics.fmean(1000 * row["divergence"][-1] for row in own if row["bag_size"] == size)
        for size in bag_sizes
    ]
    return {
        "settings": candidate,
        **{f"bags of {size}": f"{mean:.2f}" for size, mean in zip(bag_sizes, means, strict=True)},
        "mean": f"{statistics.geometric_mean(means):.2f}",
        "counts": " ".join(f"{row['count_loss']:.2f}" for row in own if "count_loss" in row),
    }
