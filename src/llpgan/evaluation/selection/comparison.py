"""What a comparison found: the score of each method on bags it had not seen, how sure it is, and which to take."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from llpgan.bags import Bags
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation.selection.candidates import OVERALL, simplicity
from llpgan.evaluation.selection.trials import Row
from llpgan.training.epoch_choice import paired_error
from llpgan.utils.frames import frame


@dataclass(frozen=True)
class Result:
    """How a method did.

    Attributes:
        name: the method, and its settings where they are not the usual ones.
        score: the mean over held-out bags; None where a fold failed.
        worse_by: how much larger it is than the best method's.
        error: the standard error of ``worse_by``, bag by bag: what is hard for all methods is no difference.
        seconds: that a fold took on average.
        failed: why there is no score.
        notes: what the method warned of.
    """

    name: str
    score: float | None = None
    worse_by: float | None = None
    error: float | None = None
    seconds: float | None = None
    failed: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods judged by bags that they had not seen; no label was needed.

    Attributes:
        methods: untrained, by name.
        rows: one for each method and fold, in the order of folds and methods.
        score: which score counts, see :class:`~llpgan.evaluation.BagScores`; the lower, the better.
        prefer_simple: whether the simplest of the methods near the best is chosen, instead of the best.
    """

    methods: dict[str, LLPClassifier]
    rows: Sequence[Row]
    score: str
    prefer_simple: bool = False

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """Of each method, the best first, and those that failed last."""
        found = (self._result(name) for name in [*self.methods, OVERALL])
        return tuple(sorted(found, key=lambda result: np.inf if result.score is None else result.score))

    @property
    def best(self) -> str:
        """The method with the lowest score."""
        names = [name for name in self.methods if name in self._by_bag]
        if not names:
            why = "; ".join(f"{row['method']}: {row['failed']}" for row in self.rows if "failed" in row)
            raise ValueError(f"no method could be judged: {why}")
        return min(names, key=lambda name: float(np.mean(self._by_bag[name])))

    @property
    def chosen(self) -> str:
        """The best; or the simplest of those near it, where that is preferred."""
        return self.simplest if self.prefer_simple else self.best

    @property
    def simplest(self) -> str:
        """The simplest method within one standard error of the best, bag by bag.

        :data:`~llpgan.evaluation.selection.candidates.SIMPLEST_FIRST` says which method is simpler, not seconds,
        so that the same data gives the same choice; of two settings of one method, the one named first.
        """
        near = [name for name in self.methods if self.is_near(name)]
        return min(near, key=lambda name: simplicity(self.methods[name]))  # the first of equals

    @property
    def beats_overall_shares(self) -> bool:
        """Whether the chosen method meets new bags better, by a standard error, than the overall shares do."""
        rise, error = self._paired(OVERALL, self.chosen)
        return rise > error

    def refit(self, bags: Bags) -> LLPClassifier:
        """The chosen method, trained on all bags."""
        model: LLPClassifier = clone(self.methods[self.chosen])
        return model.fit_bags(bags)

    def is_near(self, name: str) -> bool:
        """Whether a method is within one standard error of the best."""
        best = self.best
        if name not in self._by_bag:
            return False
        rise, error = self._paired(name, best)
        return rise <= error

    def to_frame(self) -> Any:
        """The results as a pandas frame: one row per method, the best first.

        Returns
        -------
        pandas.DataFrame
            The columns of :class:`Result`, and ``chosen``.
        """
        shown = ("name", "score", "worse_by", "error", "seconds", "failed")
        columns = {name: [getattr(result, name) for result in self.results] for name in shown}
        return frame({**columns, "chosen": [result.name == self.chosen for result in self.results]})

    def __repr__(self) -> str:
        judged = any(name in self._by_bag for name in self.methods)
        found = f"chosen: {self.chosen}" if judged else "none could be judged"
        return f"Comparison({', '.join(self.methods)}; {found})"

    def _repr_html_(self) -> str:
        from llpgan.evaluation.selection.comparison_view import as_html

        return as_html(self)

    @cached_property
    def _by_bag(self) -> dict[str, NDArray[np.float64]]:
        """The mean score of each bag, of the methods that no fold failed for."""
        names = [*self.methods, OVERALL]
        rows = {name: [row for row in self.rows if row["method"] == name] for name in names}
        return {
            name: _mean_by_bag(found, self.score)
            for name, found in rows.items()
            if found and not any("failed" in row for row in found)
        }

    def _paired(self, name: str, other: str) -> tuple[float, float]:
        """By how much a method is worse than another, and the standard error of that."""
        losses, others = self._by_bag[name], self._by_bag[other]
        return float((losses - others).mean()), paired_error(losses, others)

    def _result(self, name: str) -> Result:
        rows = [row for row in self.rows if row["method"] == name]
        notes = tuple(sorted({note for row in rows for note in row.get("notes", ())}))
        seconds = float(np.mean([row["seconds"] for row in rows])) if rows else None
        if name not in self._by_bag:
            reasons: list[Any] = [row["failed"] for row in rows if "failed" in row]
            return Result(name, failed=reasons[0] if reasons else "not tried", seconds=seconds, notes=notes)
        worse_by, error = self._paired(name, self.best)
        return Result(name, float(self._by_bag[name].mean()), worse_by, error, seconds, notes=notes)


def _mean_by_bag(rows: Sequence[Row], score: str) -> NDArray[np.float64]:
    """Each bag's mean over the folds that held it out, in the order of bags."""
    bags = np.concatenate([row["bags"] for row in rows])
    values = np.concatenate([row[score] for row in rows])
    _, place = np.unique(bags, return_inverse=True)
    return np.bincount(place, values) / np.bincount(place)
