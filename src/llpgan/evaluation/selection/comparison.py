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
    """The result of one method in a comparison.

    Attributes
    ----------
    name : str
        The name of the method, with the settings that differ from the defaults.
    score : float or None
        The mean score over held-out bags. None if a fold failed.
    worse_by : float or None
        The difference to the score of the best method.
    error : float or None
        The standard error of ``worse_by``, computed from differences bag by bag.
    seconds : float or None
        The mean time of a fold.
    failed : str or None
        The reason why there is no score.
    notes : tuple of str
        The warnings of the method.
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
    """Methods compared by cross-validation on held-out bags.

    Attributes
    ----------
    methods : dict
        The untrained estimators by name.
    rows : sequence of dict
        One row per method and fold, in the order of folds and methods.
    score : str
        The score by which methods are compared, see :class:`~llpgan.evaluation.BagScores`. Lower is better.
    prefer_simple : bool
        Whether the simplest of the methods close to the best is selected, instead of the best.
    """

    methods: dict[str, LLPClassifier]
    rows: Sequence[Row]
    score: str
    prefer_simple: bool = False

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """The result of each method, the best first and those that failed last."""
        found = (self._result(name) for name in [*self.methods, OVERALL])
        return tuple(sorted(found, key=lambda result: np.inf if result.score is None else result.score))

    @property
    def judged(self) -> tuple[str, ...]:
        """The names of the methods that no fold failed for."""
        return tuple(name for name in self.methods if name in self._by_bag)

    @property
    def best(self) -> str:
        """The method with the lowest score."""
        if not self.judged:
            why = "; ".join(f"{row['method']}: {row['failed']}" for row in self.rows if "failed" in row)
            raise ValueError(f"no method could be judged: {why}")
        return min(self.judged, key=lambda name: float(np.mean(self._by_bag[name])))

    @property
    def chosen(self) -> str:
        """The name of the selected method: the best, or with ``prefer_simple`` the simplest close to it."""
        return self.simplest if self.prefer_simple else self.best

    @property
    def simplest(self) -> str:
        """The simplest method within one standard error of the best, bag by bag.

        :data:`~llpgan.evaluation.selection.SIMPLEST_FIRST` defines which method is simpler. Time does not matter,
        so that the same data give the same selection. Of two settings of one method, the first is selected.
        """
        near = [name for name in self.methods if self.is_near(name)]
        return min(near, key=lambda name: simplicity(self.methods[name]))  # the first of equals

    @property
    def beats_overall_shares(self) -> bool:
        """Whether the selected method beats the overall proportions on held-out bags by a standard error."""
        rise, error = self._paired(OVERALL, self.chosen)
        return rise > error

    def refit(self, bags: Bags) -> LLPClassifier:
        """Train the selected method on all bags.

        Parameters
        ----------
        bags : Bags
            The bags.

        Returns
        -------
        LLPClassifier
            The fitted model.
        """
        model: LLPClassifier = clone(self.methods[self.chosen])
        return model.fit_bags(bags)

    def is_near(self, name: str) -> bool:
        """Return whether a method is within one standard error of the best.

        Parameters
        ----------
        name : str
            The name of the method.

        Returns
        -------
        bool
            Whether it is; False if it failed.
        """
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
        found = f"chosen: {self.chosen}" if self.judged else "none could be judged"
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
