"""Inspection of bags before training, and learning curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import clone

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.bags.fit_warnings import collect_trial_warnings
from llpgan.evaluation.scores import bag_scores
from llpgan.methods.base import LLPClassifier
from llpgan.utils.arrays import Array, to_frame
from llpgan.utils.messages import html_table

_ENOUGH_BAGS = 20  # with which 95 % intervals of accuracy without labels were measured to hold in 91 cases of 100
_SAME = 1e-3  # shares of two classes that go together this closely cannot be distinguished


@dataclass(frozen=True, eq=False)
class Inspection:
    """Sizes, mixture and information of bags.

    Attributes
    ----------
    n_bags : int
        The number of bags.
    effective_bags : float
        The number of bags of equal size with the same information, (Σm)² / Σm².
    smallest : int
        The number of rows of the smallest bag.
    median : float
        The number of rows of the median bag.
    largest : int
        The number of rows of the largest bag.
    purity : float
        The mean over rows of the proportion of the commonest class of their bag. 1 means that all labels are
        known.
    spread : float
        How much the proportions differ between bags, relative to random bags of the same sizes, which have 1.
    condition : float
        The condition number of ΠᵀDΠ, the system that mixes classes into bags. It is infinite if a class cannot be
        solved for.
    worth : ndarray of shape (n_classes,)
        The number of labelled rows of each class from which its mean could be estimated as precisely.
    rows : ndarray of shape (n_classes,)
        The number of rows of each class in the bags.
    worth_if_halved : float
        The sum of ``worth`` if every bag were split at random into two, which adds as much spread as random bags
        have.
    worth_if_purer : float
        The sum of ``worth`` if every bag were half as mixed.
    classes : tuple of str
        The names of the classes.
    unclear : tuple of str
        The pairs of classes that no bag distinguishes: their proportions rise and fall together, or do not change.
    """

    n_bags: int
    effective_bags: float
    smallest: int
    median: float
    largest: int
    purity: float
    spread: float
    condition: float
    worth: NDArray[np.float64]
    rows: NDArray[np.float64]
    worth_if_halved: float
    worth_if_purer: float
    classes: tuple[str, ...]
    unclear: tuple[str, ...]

    @property
    def total_worth(self) -> float:
        """The number of labelled rows from which all class means could be estimated as precisely."""
        return float(self.worth.sum())

    @property
    def can_judge(self) -> bool:
        """Whether the bags, if they are random, are enough and differ enough to evaluate single predictions."""
        return self.n_bags >= _ENOUGH_BAGS and self.spread > 0

    def to_frame(self) -> Any:
        """What the bags tell of each class, as a pandas frame with one row per class.

        Returns
        -------
        pandas.DataFrame
            The columns ``class``, ``rows`` and ``worth``.
        """
        return to_frame({"class": self.classes, "rows": self.rows.tolist(), "worth": self.worth.tolist()})

    def __repr__(self) -> str:
        return f"Inspection({self.n_bags} bags, worth about {self.total_worth:,.0f} labelled rows)"

    def _repr_html_(self) -> str:
        columns = {
            "class": self.classes,
            "rows": [f"{n:,.0f}" for n in self.rows],
            "worth in labelled rows": [f"{n:,.0f}" for n in self.worth],
        }
        note = (
            f"{self.smallest:,} to {self.largest:,} rows per bag; {100 * self.purity:.1f} % of a bag belongs to "
            f"its commonest class; shares differ {self.spread:.1f} times as much as in random bags."
        )
        return html_table(columns, f"{self.n_bags:,} bags", note=note)


def inspect_bags(bags: Bags) -> Inspection:
    """Compute from sizes and proportions alone how much bags can tell.

    Class means that are estimated from bag means are as precise as means over 1 / [(ΠᵀDΠ)⁻¹]_kk labelled rows of
    the class. These are all its rows if bags are pure, and about as many as there are bags if bags are random.

    Parameters
    ----------
    bags : Bags
        The bags. Their instances are not used.

    Returns
    -------
    Inspection
        The figures.

    Raises
    ------
    ValueError
        If less is known of the bags than all shares.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(2, size=1600)
    >>> found = inspect_bags(Bags.from_labels(np.zeros((1600, 1)), labels, np.arange(1600) // 16))
    >>> found.n_bags, found.rows, found.worth.round()
    (100, array([769., 831.]), array([83., 96.]))
    """
    refuse_other_than_bags(bags, "bags")
    if bags.share_constraints is not None:
        raise ValueError(
            "what bags can tell is computed from all their shares, and less is known of these (bounds, unknown "
            "shares, shares within some classes or noise); methods can learn from them"
        )
    bags = bags.drop_weightless()
    weights = bags.row_weights / bags.row_weights.max()  # whose squares do not overflow
    sizes = bags.totals * (weights.sum() ** 2 / (weights**2).sum() / bags.totals.sum())  # effective, (Σw)² / Σw²
    proportions, rows = bags.proportions, bags.prior * bags.sizes.sum()
    mixing = np.linalg.eigvalsh(_mixing(proportions, sizes))
    worth, spread = _class_worth(proportions, sizes), _proportion_spread(bags, sizes)
    pure = np.eye(bags.n_classes)[proportions.argmax(axis=1)]
    return Inspection(
        n_bags=bags.n_bags,
        effective_bags=float(sizes.sum() ** 2 / (sizes**2).sum()),
        smallest=int(bags.sizes.min()),
        median=float(np.median(bags.sizes)),
        largest=int(bags.sizes.max()),
        purity=float(np.average(proportions.max(axis=1), weights=sizes)),
        spread=spread,
        condition=float(mixing[-1] / mixing[0]) if mixing[0] > 1e-10 * mixing[-1] else float("inf"),
        worth=worth,
        rows=rows,
        worth_if_halved=float(np.minimum(worth * (1 + 1 / max(1.0, spread)), rows).sum()),
        worth_if_purer=float(_class_worth((proportions + pure) / 2, sizes).sum()),
        classes=tuple(str(name) for name in bags.classes.tolist()),
        unclear=_unclear(bags, sizes),
    )


def _mixing(proportions: Array, sizes: Array) -> Array:
    return proportions.T @ (proportions * sizes[:, None])


def _class_worth(proportions: Array, sizes: Array) -> Array:
    """Nothing for every class that takes part in a direction the bags do not show."""
    values, directions = np.linalg.eigh(_mixing(proportions, sizes))
    shown = values > 1e-10 * values[-1]
    hidden = (directions[:, ~shown] ** 2).sum(axis=1) > 1e-8
    noise = (directions[:, shown] ** 2 / values[shown]).sum(axis=1)
    return np.where(hidden, 0.0, 1 / noise)


def _proportion_spread(bags: Bags, sizes: Array) -> float:
    """Σ_b m_b |p_b − π|² over what it is on average in random bags, (B − 1)(1 − |π|²)."""
    found = (sizes[:, None] * (bags.proportions - bags.prior) ** 2).sum()
    usual = (bags.n_bags - 1) * (1 - (bags.prior**2).sum())
    return float(found / usual) if usual > 0 else 0.0


def _unclear(bags: Bags, sizes: Array) -> tuple[str, ...]:
    """Two classes whose shares keep one ratio through all bags look like one class."""
    weighted = bags.proportions * np.sqrt(sizes)[:, None]
    lengths = np.linalg.norm(weighted, axis=0)
    unit = weighted / np.where(lengths > 0, lengths, 1)
    alike = unit.T @ unit
    names = bags.classes.tolist()
    return tuple(
        f"{names[k]} and {names[other]}"
        for k in range(len(names))
        for other in range(k)
        if alike[k, other] > 1 - _SAME**2 / 2
    )


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
        return to_frame({name: [getattr(step, name) for step in self.steps] for name in Step._fields})

    def __repr__(self) -> str:
        errors = ", ".join(f"{step.error:.3f} with {step.n_bags}" for step in self.steps)
        return f"LearningCurve(bag error {errors} bags)"

    def _repr_html_(self) -> str:
        columns = {
            "bags": [f"{step.n_bags:,}" for step in self.steps],
            "bag error": [f"{100 * step.error:.1f} %" for step in self.steps],
            "standard deviation": [f"{100 * step.sd:.1f} %" for step in self.steps],
        }
        last = self.steps[-1].n_bags
        note = f"Extrapolated to {2 * last:,} bags: {100 * self.at(2 * last):.1f} %."
        return html_table(columns, "Bag error by the number of bags", note=note)


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
    found = {
        n: [_held_out_error(bags, o[n_held_out:][:n], o[:n_held_out], estimator) for o in orders] for n in counts
    }
    steps = [_step(n, [error for error in errors if error is not None]) for n, errors in found.items()]
    known = tuple(step for step in steps if step is not None)
    return LearningCurve(known, *_power_law(known)) if len(known) > 2 else None


def _held_out_error(bags: Bags, train: Array, test: Array, estimator: LLPClassifier | None) -> float | None:
    from llpgan.methods.mean_map import MeanMap

    model = MeanMap() if estimator is None else clone(estimator)
    held_out = bags.take_bags(test)
    try:
        with collect_trial_warnings():
            model.fit_bags(bags.take_bags(train))
    except ValueError:
        return None
    return float(bag_scores(held_out, model.predict_proba(held_out)).total_variation.mean())


def _step(n: int, errors: list[float]) -> Step | None:
    if not errors:
        return None
    return Step(n, float(np.mean(errors)), float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0)


def _power_law(steps: tuple[Step, ...]) -> tuple[float, float, float]:
    """Least squares; neither a nor b is negative, and the smallest of equally good powers is used."""
    n, errors = np.array([s.n_bags for s in steps], float), np.array([s.error for s in steps])
    fits = [nnls(np.column_stack([np.ones(len(n)), n**-power]), errors) for power in _POWERS]
    best = int(np.argmin([residual for _, residual in fits]))
    (floor, scale), _ = fits[best]
    return float(floor), float(scale), float(_POWERS[best])
