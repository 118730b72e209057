"""What more bags would bring: held-out bag error against the number of bags, extended by a power law."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.base import clone

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.bags.fit_warnings import trials
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation.bag_scores import bag_scores
from llpgan.utils.arrays import Array
from llpgan.utils.frames import frame

_SHARES = (0.25, 0.5, 0.75, 1.0)
_POWERS = np.linspace(0.25, 1.5, 26)


class Step(NamedTuple):
    """The bag error on held-out bags after learning from a number of bags.

    Attributes
    ----------
    n_bags : int
        The number of training bags.
    error : float
        The mean bag error over the random draws.
    sd : float
        The standard deviation over the random draws.
    """

    n_bags: int
    error: float
    sd: float


@dataclass(frozen=True)
class LearningCurve:
    """Bag error as a function of the number of bags, with the fitted power law a + b · n^(−c).

    Attributes
    ----------
    steps : tuple of Step
        The measured errors, from few bags to many.
    floor : float
        The term a, which remains with any number of bags: the noise of the proportions, and what the method cannot
        learn.
    scale : float
        The factor b. It is 0 if more bags did not help.
    power : float
        The exponent c.
    """

    steps: tuple[Step, ...]
    floor: float
    scale: float
    power: float

    def at(self, n_bags: float) -> float:
        """Extrapolate the bag error to a number of bags.

        The further the number is from the measured steps, the less reliable is the result.

        Parameters
        ----------
        n_bags : float
            The number of bags.

        Returns
        -------
        float
            The expected bag error.
        """
        return self.floor + self.scale * float(n_bags) ** -self.power

    def to_frame(self) -> Any:
        """The steps as a pandas frame, with one row per number of bags.

        Returns
        -------
        pandas.DataFrame
            One row per entry.
        """
        return frame({name: [getattr(step, name) for step in self.steps] for name in Step._fields})


def learning_curve(
    bags: Bags, estimator: LLPClassifier | None = None, *, repeats: int = 5, random_state: int = 0
) -> LearningCurve | None:
    """Fit an estimator on parts of the bags, and measure the bag error on held-out bags.

    In each repeat a quarter of the bags is held out, and the estimator learns from a quarter, a half, three
    quarters and all of the others. Draws that it refuses, such as bags that all have the same proportions, are
    left out.

    Parameters
    ----------
    bags : Bags
        The bags.
    estimator : LLPClassifier, default=None
        The method, which should be fast. None means ``MeanMap()``.
    repeats : int, default=5
        The number of random draws.
    random_state : int, default=0
        The seed of the draws.

    Returns
    -------
    LearningCurve or None
        The curve; None if there are fewer than 16 bags.

    Examples
    --------
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
        with trials():
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
