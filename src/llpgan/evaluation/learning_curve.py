"""What more bags would bring: held-out bag error against the number of bags, extended by a power law."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.base import clone

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation.bag_scores import bag_scores
from llpgan.utils.arrays import Array
from llpgan.utils.frames import frame

_SHARES = (0.25, 0.5, 0.75, 1.0)
_POWERS = np.linspace(0.25, 1.5, 26)


class Step(NamedTuple):
    """So many bags to learn from, and the bag error on bags held out: the mean over draws, and its sd."""

    n_bags: int
    error: float
    sd: float


@dataclass(frozen=True)
class LearningCurve:
    """Bag error against the number of bags, and the law a + b · n^(−c) through it.

    Attributes:
        steps: from few bags to many.
        floor: a, what remains however many bags there are: their own chance, and what the method cannot do.
        scale: b; 0 where more bags did not help.
        power: c.
    """

    steps: tuple[Step, ...]
    floor: float
    scale: float
    power: float

    def at(self, n_bags: float) -> float:
        """The bag error to expect with so many bags: a guess, the bolder the farther it is from the steps."""
        return self.floor + self.scale * float(n_bags) ** -self.power

    def to_frame(self) -> Any:
        """The steps as a pandas frame, with one row per number of bags.

        Returns
        -------
        pandas.DataFrame
        """
        return frame({name: [getattr(step, name) for step in self.steps] for name in Step._fields})


def learning_curve(
    bags: Bags, estimator: LLPClassifier | None = None, *, repeats: int = 5, random_state: int = 0
) -> LearningCurve | None:
    """Refit on some of the bags, and see how well others are met; None where there are fewer than 16 bags.

    In each repeat a quarter of the bags is held out, and a quarter, a half, three quarters and all of the others
    are learned from; ``estimator`` should be quick, and is MeanMap unless given. Draws that it refuses (such as
    bags that all have the same proportions) are left out.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1280, 4))
    >>> bags = Bags.from_labels(X, X[:, 0] > 0, np.arange(1280) // 16)
    >>> curve = learning_curve(bags)
    >>> [step.n_bags for step in curve.steps], curve.at(240) <= curve.at(60) <= curve.at(15)
    ([15, 30, 45, 60], True)
    """
    refuse_other_than_bags(bags, "bags")
    if bags.n_bags < 16:
        return None
    rng = np.random.default_rng(random_state)
    orders = [rng.permutation(bags.n_bags) for _ in range(repeats)]
    n_held_out = bags.n_bags // 4
    counts = [max(2, round(share * (bags.n_bags - n_held_out))) for share in _SHARES]
    found = {n: [_error(bags, o[n_held_out:][:n], o[:n_held_out], estimator) for o in orders] for n in counts}
    steps = [_step(n, [error for error in errors if error is not None]) for n, errors in found.items()]
    known = tuple(step for step in steps if step is not None)
    return LearningCurve(known, *_power_law(known)) if len(known) > 2 else None


def _error(bags: Bags, train: Array, test: Array, estimator: LLPClassifier | None) -> float | None:
    from llpgan.estimators.mean_map import MeanMap

    model = MeanMap() if estimator is None else clone(estimator)
    held_out = bags.subset(test)
    try:
        model.fit_bags(bags.subset(train))
    except ValueError:
        return None
    return float(bag_scores(held_out, model.predict_proba(held_out)).total_variation.mean())


def _step(n: int, errors: list[float]) -> Step | None:
    if not errors:
        return None
    return Step(n, float(np.mean(errors)), float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0)


def _power_law(steps: tuple[Step, ...]) -> tuple[float, float, float]:
    """Least squares; neither a nor b is negative, and of equally good powers the smallest is taken."""
    n, errors = np.array([s.n_bags for s in steps], float), np.array([s.error for s in steps])
    fits = [nnls(np.column_stack([np.ones(len(n)), n**-power]), errors) for power in _POWERS]
    best = int(np.argmin([residual for _, residual in fits]))
    (floor, scale), _ = fits[best]
    return float(floor), float(scale), float(_POWERS[best])
