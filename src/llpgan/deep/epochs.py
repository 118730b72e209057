"""The history of epochs, and the choice among them: nothing here loads torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from llpgan.utils.arrays import Array, to_frame
from llpgan.utils.messages import html_table

_LEAST = np.finfo(np.float64).eps


def bag_cross_entropy(proportions: Array, predicted: Array) -> float:
    """−Σ_k p_k log p̄_k of one bag, for its mean prediction p̄: the cross-entropy of ``evaluation.bag_scores``.

    >>> round(bag_cross_entropy(np.array([0.5, 0.5]), np.array([0.5, 0.5])), 4)
    0.6931
    """
    return float(-(proportions * np.log(np.maximum(predicted, _LEAST))).sum())


def paired_error(losses: Array, others: Array) -> float:
    """The standard error of the mean difference of losses, bag by bag; 0 where there is but one bag.

    >>> paired_error(np.array([1.0, 3.0]), np.array([0.0, 0.0]))
    1.0
    """
    differences = np.asarray(losses) - np.asarray(others)
    if len(differences) < 2:
        return 0.0
    return float(differences.std(ddof=1) / np.sqrt(len(differences)))


def kept_epoch(history: Sequence[Mapping[str, float]]) -> int | None:
    """The epoch whose weights are kept; None where no bags were held out, and the last one counts.

    It is the last whose ``held_out_loss`` is within ``held_out_error``, one standard error bag by bag, of the best
    until then. Later weights are averaged over more steps at a smaller rate, so that an earlier epoch is to be
    preferred only where bags show that it is better, and not by chance.

    >>> kept_epoch([
    ...     {"epoch": 1, "held_out_loss": 0.5, "held_out_error": 0.0},
    ...     {"epoch": 2, "held_out_loss": 0.6, "held_out_error": 0.2},
    ...     {"epoch": 3, "held_out_loss": 0.9, "held_out_error": 0.2},
    ... ])
    2
    """
    best, kept = np.inf, None
    for row in history:
        if "held_out_loss" not in row:
            return None
        best = min(best, row["held_out_loss"])
        if row["held_out_loss"] - best <= row["held_out_error"]:
            kept = int(row["epoch"])
    return kept


class EpochHistory(list[dict[str, float]]):
    """One dict per epoch, as ``history_`` of a trained model has them.

    Examples
    --------
    >>> EpochHistory([{"epoch": 1, "proportion_loss": 0.7}]).to_frame().columns.tolist()
    ['epoch', 'proportion_loss']
    """

    def to_frame(self) -> Any:
        """The history as a pandas frame: one row per epoch, one column per figure; NaN where there is none.

        Returns
        -------
        pandas.DataFrame
        """
        names = dict.fromkeys(name for row in self for name in row)
        return to_frame({name: [row.get(name) for row in self] for name in names})

    def _repr_html_(self) -> str:
        names = dict.fromkeys(name for row in self for name in row)
        last = self[::-1]
        columns = {
            name.replace("_", " "): [f"{row[name]:.4g}" if name in row else "" for row in last] for name in names
        }
        return html_table(columns, f"{len(self):,} epochs, the last one first")
