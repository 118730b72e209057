"""AutoLLP: the default for tables."""

from __future__ import annotations

import time
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import collect_trial_warnings, reason_uninformative
from llpgan.methods.bag_boosting import BagBoosting, differ_by_chance
from llpgan.methods.bag_logistic import BagLogistic, count_splits, find_steps
from llpgan.methods.base import LLPClassifier
from llpgan.methods.boosting import bag_losses
from llpgan.methods.refinement import mixture_weights
from llpgan.utils.arrays import Array
from llpgan.utils.workers import find_workers, train_together

_TIMED_RESAMPLES = 10  # side by side; one resample alone takes as long as several
_SHARE_FOR_TREES = 2 / 3  # of the time limit
_LEAST_SECONDS, _LEAST_IF_NEEDED = 1e-3, 1.0  # of a part
_FEWEST_BAGS = 10  # for trees, under covariate shift
_FOR_FEW_BAGS = {"n_resamples": 20, "tol": 1e-3}  # a search that ends early does not get to their noise
_TREES_UNDER_LABEL_SHIFT = 2 / 3
_TREES_IN_FEW_RANDOM_BAGS = 1 / 5  # held-out bags cannot tell that trees find little in them
_COST_OF_REFINEMENT = 150  # resamples that take as long as that of a split, on few and on many bags
_FEWEST_TO_REFINE = 20  # resamples
_ADDITIVE = {"n_steps": 3, "n_resamples": 50}  # of the linear model whose scores rise and fall with a column
_FEW_BAGS = 30  # in which, if they are random, trees find little
_BAGS_FOR_STEPS = 4 / 3  # for each column and each step
_SHARE_FOR_LINES = 0.4  # of the time that is left, if an additive model follows


@dataclass(kw_only=True, eq=False, repr=False)
class AutoLLP(LLPClassifier):
    """Boosted trees and logistic regression on bags, weighted by held-out bags.

    What is tried depends on how bags differ (see :func:`~llpgan.methods.bag_boosting.shift_evidence`):

    - Under label shift each row tells something, and
      :class:`~llpgan.methods.bag_boosting.BagBoosting` learns most of it. It counts for two thirds,
      :class:`~llpgan.methods.bag_logistic.BagLogistic`, which does not rest on that assumption, for a third.
    - Under covariate shift fewer than ten bags are learned by BagLogistic alone. Of more bags both methods learn.
      If bags differ by more than chance, there are two kinds of trees: those that split at all features, and those
      that split at few of them. If there are four bags for three columns and steps, there are two kinds of
      BagLogistic: one whose scores are linear, and one whose scores have steps, ``n_steps=3``, so that they can
      rise and fall with a column. Each method has predictions for bags that parts of it have not seen. The weights
      are those with which the mean of all matches these bags best (see
      :func:`~llpgan.methods.refinement.mixture_weights`). They are drawn towards equal weights of trees and linear
      models, or towards a fifth for trees if there are fewer than 30 bags that differ by chance.

    BagLogistic has ``refine=True``, which needs ten bags. See ``docs/methods/auto_llp.md`` for how these shares
    were chosen.

    Parameters
    ----------
    time_limit : float, default=300.0
        How many seconds training may take. Trees stop growing after two thirds of it. Each linear model is refined
        if the remaining time allows it, and gets the number of resamples that it allows. It is left out if there
        is not even time for ten. ``chosen_`` says what was left out. None means no limit.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the methods. Pass an integer for the same result in every call, unless the time
        limit ends training.

    Attributes
    ----------
    models_ : list of LLPClassifier
        The trained methods that have a weight.
    weights_ : array of shape (n_models,)
        The weight of each in the mean of probabilities.
    tried_ : list of dict
        What was tried: method, seconds, weight, the cross-entropy of held-out bags if it is known, and what the
        time limit left out.
    chosen_ : str
        A description of ``tried_``.
    {inherited}

    See Also
    --------
    BagLogistic : A linear classifier with the cross-entropy of bags.
    BagBoosting : Boosted trees alone.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = AutoLLP(random_state=0).fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    >>> [row["method"] for row in model.tried_]
    ['BagLogistic']
    """

    time_limit: float | None = 300.0
    random_state: int | np.random.RandomState | None = None

    takes_weights: ClassVar = True
    takes_partial: ClassVar = True
    takes_bag_weights: ClassVar = True

    _parameter_constraints: ClassVar = {
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    @train_together
    def fit_bags(self, bags: Bags) -> Self:
        """Learn from bags.

        Parameters
        ----------
        bags : Bags
            The bags.

        Returns
        -------
        Self
            The fitted estimator.
        """
        started = time.perf_counter()
        bags = self._start(bags)
        trained, without = self._train(bags, np.inf if self.time_limit is None else started + self.time_limit)
        weights, losses = _weigh_parts([model for model, _ in trained], bags)
        usual = _usual_linear(bags, 0)
        self.tried_ = [
            {
                "method": _name_part(model),
                "seconds": round(seconds, 2),
                "weight": round(weight, 3),
                "held_out_loss": None if loss is None else round(loss, 5),
                "left_out": _describe_left_out(model, usual),
            }
            for (model, seconds), weight, loss in zip(trained, weights.tolist(), losses, strict=True)
        ]
        self.models_, self.weights_ = [model for model, _ in trained], weights
        parts = []
        for row in self.tried_:
            loss = row["held_out_loss"]
            known = "" if loss is None else f", cross-entropy of held-out bags {loss:.4f}"
            left_out = "" if row["left_out"] is None else f", {row['left_out']}"
            parts.append(
                f"{row['method']} with weight {row['weight']:.2f}{known}, {row['seconds']:.1f} s{left_out}"
            )
        self.chosen_ = "; ".join([*parts, *without])
        return self._finish(bags)

    def _train(self, bags: Bags, deadline: float) -> tuple[list[tuple[Any, float]], list[str]]:
        """Trees, a linear model or both, trained, how long each took, and which one there was no time for."""
        seed = find_workers().from_first(lambda: int(check_random_state(self.random_state).randint(2**31)))
        if reason_uninformative(bags) is not None:
            return [_fit_part(BagBoosting(random_state=seed), bags)], []  # which then are the overall shares
        trained, kinds = [], _kinds_of_trees(bags, seed)
        for number, trees in enumerate(kinds):
            if np.isfinite(deadline):
                now = find_workers().from_first(time.perf_counter)
                share = _SHARE_FOR_TREES / (len(kinds) - number * _SHARE_FOR_TREES)  # of what is left
                trees.set_params(time_limit=max(_LEAST_SECONDS, share * (deadline - now)))
            trained.append(_fit_part(trees, bags))
            if not trees.can_split_:  # trees would only pull the linear model to the overall shares
                trained = []
                break
        left_out = []
        kinds_of_linear = _kinds_of_linear(bags, seed, [model for model, _ in trained])
        for number, linear in enumerate(kinds_of_linear):
            share = _SHARE_FOR_LINES if number < len(kinds_of_linear) - 1 else 1.0
            found = _fit_in_time(linear, bags, deadline, share, needed=not trained)
            if found is None:
                left_out.append(f"{_name_part(linear)} left out, for which there was no time")
            else:
                trained.append(found)
        return trained, left_out

    def _probabilities(self, instances: Array) -> Array:
        parts = [w * model._probabilities(instances) for w, model in zip(self.weights_, self.models_, strict=True)]
        return np.asarray(sum(parts))


def _fit_part(model: LLPClassifier, bags: Bags) -> tuple[LLPClassifier, float]:
    """The trained method, without the preprocessing, which is the whole's; and how long it took."""
    started = time.perf_counter()
    with collect_trial_warnings():
        model.fit_bags(bags)
    model.encoder_ = None
    return model, time.perf_counter() - started


def _kinds_of_trees(bags: Bags, seed: int) -> list[BagBoosting]:
    """Untrained trees; two kinds for bags that differ beyond chance, in which either kind can be much better."""
    trees = BagBoosting(random_state=seed)
    shift = trees.shift_of(bags)
    if shift == "covariate" and bags.n_bags < _FEWEST_BAGS:
        return []
    if shift == "label" or differ_by_chance(bags):
        return [trees.set_params(bag_shift=shift)]
    few = {"bag_shift": shift, "n_models": trees.n_models // 2}
    return [clone(trees).set_params(max_features=1.0, **few), clone(trees).set_params(**few)]


def _kinds_of_linear(bags: Bags, seed: int, trees: list[Any]) -> list[BagLogistic]:
    """Untrained; with trees under covariate shift two kinds, if bags are a third more than columns and steps."""
    linear = _usual_linear(bags, seed)
    if not trees or trees[0].bag_shift_ == "label":
        return [linear]
    n_columns, n_steps = _count_with_steps(bags)
    if n_steps == 0 or bags.n_bags < _BAGS_FOR_STEPS * (n_columns + n_steps):
        return [linear]
    return [linear, clone(linear).set_params(**_ADDITIVE)]


def _count_with_steps(bags: Bags) -> tuple[int, int]:
    """How many columns a table has, and how many steps; no steps for instances of another kind."""
    n_columns = int(np.prod(bags.instances.shape[1:]))
    if bags.instances.ndim > 2 or n_columns >= bags.n_bags:  # which is too many already
        return n_columns, 0
    return n_columns, len(find_steps(bags, np.asarray, _ADDITIVE["n_steps"]).columns)


def _usual_linear(bags: Bags, seed: int) -> BagLogistic:
    """The linear model without a time limit."""
    model = BagLogistic(random_state=seed)
    if bags.n_bags < _FEWEST_BAGS:
        return model.set_params(**_FOR_FEW_BAGS)
    return model.set_params(refine=True)


def _fit_in_time(
    linear: BagLogistic, bags: Bags, deadline: float, share: float, *, needed: bool
) -> tuple[LLPClassifier, float] | None:
    """Train with refinement and as many resamples as a share of the remaining time allows.

    None if there is not even time for few resamples, unless the model is needed.
    """
    if np.isfinite(deadline):
        clock = find_workers().from_first  # of several workers, the clock of the first one counts
        remaining = clock(lambda: deadline - time.perf_counter())
        if remaining <= 0 and not needed:
            return None
        few = clone(linear).set_params(n_resamples=_TIMED_RESAMPLES, refine=False)
        least = _LEAST_IF_NEEDED if needed else _LEAST_SECONDS
        timed = _fit_part(few.set_params(time_limit=max(least, remaining / 2)), bags)
        if few.is_out_of_time_ and not needed:
            return None
        remaining = share * clock(lambda: deadline - time.perf_counter())
        n_possible = clock(lambda: int(_TIMED_RESAMPLES * max(0.0, remaining) / timed[1]))
        if n_possible <= _TIMED_RESAMPLES:
            return timed
        n_each = n_possible // count_splits(bags) - _COST_OF_REFINEMENT
        if linear.refine and n_each >= _FEWEST_TO_REFINE:
            n_possible = n_each
        else:
            linear.set_params(refine=False)
        linear.set_params(n_resamples=min(linear.n_resamples, n_possible), time_limit=remaining)
    return _fit_part(linear, bags)


def _weigh_parts(models: list[Any], bags: Bags) -> tuple[Array, list[float | None]]:
    """The weights of trees and linear model, and the loss of held-out bags of each."""
    if len(models) == 1:
        return np.ones(1), [None]
    if models[0].bag_shift_ == "label":
        return np.array([_TREES_UNDER_LABEL_SHIFT, 1 - _TREES_UNDER_LABEL_SHIFT]), [None, None]
    means = np.array([model.held_out_means_ for model in models])
    known = np.isfinite(means).all(axis=(0, 2))
    losses = [
        float(bag_losses(bags, np.nan_to_num(each))[known].mean()) if known.any() else None for each in means
    ]
    of_trees = _TREES_IN_FEW_RANDOM_BAGS if bags.n_bags < _FEW_BAGS and differ_by_chance(bags) else 1 / 2
    are_trees = np.array([hasattr(model, "bag_shift_") for model in models])
    n_trees = int(are_trees.sum())
    priors = np.where(are_trees, of_trees / max(1, n_trees), (1 - of_trees) / max(1, len(models) - n_trees))
    return mixture_weights(bags, means, priors / priors.sum()), losses


def _name_part(model: LLPClassifier) -> str:
    kind = ", all features" if getattr(model, "max_features", None) == 1.0 else ""
    return f"{type(model).__name__}{', steps' if getattr(model, 'n_steps', 0) else kind}"


def _describe_left_out(model: LLPClassifier, usual: BagLogistic) -> str | None:
    """What the time limit left out of a method; None if nothing."""
    if getattr(model, "n_steps", 0):
        usual = clone(usual).set_params(**_ADDITIVE)
    is_linear = isinstance(model, type(usual))
    if not is_linear:
        return "stopped growing by the time limit" if model.is_out_of_time_ else None
    left_out = ["the last steps"] if model.is_out_of_time_ else []
    if model.n_resamples < usual.n_resamples:
        left_out.append(f"{model.n_resamples} of {usual.n_resamples} resamples")
    if usual.refine and not model.refine:
        left_out.append("no refinement")
    return f"{' and '.join(left_out)} by the time limit" if left_out else None
