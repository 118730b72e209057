"""AutoLLP: the default for tables."""

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
from llpgan.methods.bag_boosting import BagBoosting
from llpgan.methods.bag_logistic import BagLogistic
from llpgan.methods.base import LLPClassifier
from llpgan.methods.boosting import bag_losses
from llpgan.utils.arrays import Array
from llpgan.utils.workers import find_workers, train_together

_LEAST_RESAMPLES = 3
_SHARE_FOR_TREES, _LEAST_SECONDS = 2 / 3, 1e-3  # of the time limit
_FEWEST_BAGS = 10  # for trees, under covariate shift
_FOR_FEW_BAGS = {"n_resamples": 20, "tol": 1e-3}  # a search that ends early does not get to their noise
_BAGS_FOR_EQUAL_SHARES = 50  # with so many bags trees count as much as the linear model; with more, more
_BAGS_TO_LEAVE_OUT = 30  # fewer cannot tell that a method is worse
_STANDARD_ERRORS = 2.0  # by which a method must be worse to be left out,
_LEAST_SHARE = 2 / 3  # and how much of what the other explains it must explain to be kept
_TREES_UNDER_LABEL_SHIFT = 2 / 3


@dataclass(kw_only=True, eq=False, repr=False)
class AutoLLP(LLPClassifier):
    """Boosted trees and logistic regression on bags, combined by what can be known without labels.

    What is tried depends on how bags differ (see :func:`~llpgan.methods.diagnostics.shift_evidence`):

    - Under label shift each row tells something, and
      :class:`~llpgan.methods.bag_boosting.BagBoosting` learns most of it. It counts for two thirds,
      :class:`~llpgan.methods.bag_logistic.BagLogistic`, which does not rest on that assumption, for a third.
    - Under covariate shift fewer than ten bags are learned by BagLogistic alone. Of more bags both methods learn.
      Trees need more bags than a linear model: of n bags, they count for n / (n + 50). Each method has predictions
      for bags that parts of it have not seen. From thirty bags on, a method is dropped if it explains less than
      two thirds of what the other does of how these bags differ from the overall shares, beyond chance.

    See ``docs/methods/auto_llp.md`` for how these shares were chosen.

    Parameters
    ----------
    time_limit : float, default=300.0
        How many seconds training may take. Trees stop growing after two thirds of it. The linear model gets the
        number of resamples that the remaining time allows, and is left out if that is fewer than three.
        ``chosen_`` says what was left out. None means no limit.
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
        self.tried_ = [
            {
                "method": type(model).__name__,
                "seconds": round(seconds, 2),
                "weight": round(weight, 3),
                "held_out_loss": None if loss is None else round(loss, 5),
                "left_out": _describe_left_out(model, bags),
            }
            for (model, seconds), weight, loss in zip(trained, weights.tolist(), losses, strict=True)
        ]
        self.models_ = [model for (model, _), weight in zip(trained, weights, strict=True) if weight > 0]
        self.weights_ = weights[weights > 0]
        self.chosen_ = "; ".join([*map(_describe_part, self.tried_), *without])
        return self._finish(bags)

    def _train(self, bags: Bags, deadline: float) -> tuple[list[tuple[Any, float]], list[str]]:
        """Trees, a linear model or both, trained, how long each took, and which one there was no time for."""
        seed = find_workers().from_first(lambda: int(check_random_state(self.random_state).randint(2**31)))
        trees = BagBoosting(random_state=seed)
        if np.isfinite(deadline):
            trees.set_params(time_limit=max(_LEAST_SECONDS, _SHARE_FOR_TREES * (deadline - time.perf_counter())))
        if reason_uninformative(bags) is not None:
            return [_fit_part(trees, bags)], []  # which then are the overall shares
        trained = []
        if bags.n_bags >= _FEWEST_BAGS or trees.shift_of(bags) == "label":
            trained.append(_fit_part(trees, bags))
            if not trees.can_split_:  # trees would only pull the linear model to the overall shares
                trained = []
        linear = _fit_in_time(_usual_linear(bags, seed), bags, deadline, needed=not trained)
        if linear is None:
            return trained, ["BagLogistic left out, for which there was no time"]
        return [*trained, linear], []

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


def _usual_linear(bags: Bags, seed: int) -> BagLogistic:
    """The linear model without a time limit."""
    model = BagLogistic(random_state=seed)
    return model.set_params(**_FOR_FEW_BAGS) if bags.n_bags < _FEWEST_BAGS else model


def _fit_in_time(
    linear: BagLogistic, bags: Bags, deadline: float, *, needed: bool
) -> tuple[LLPClassifier, float] | None:
    """Train with as many resamples as there is time for; None if not even for a few, unless needed."""
    if np.isfinite(deadline):
        clock = find_workers().from_first  # of several workers, the clock of the first one counts
        if clock(time.perf_counter) >= deadline and not needed:
            return None
        _, each = _fit_part(clone(linear).set_params(n_resamples=1), bags)
        n_possible = clock(lambda: int(min(linear.n_resamples, max(0.0, deadline - time.perf_counter()) / each)))
        if n_possible < _LEAST_RESAMPLES and not needed:
            return None
        linear.set_params(n_resamples=max(1, n_possible))
    return _fit_part(linear, bags)


def _weigh_parts(models: list[Any], bags: Bags) -> tuple[Array, list[float | None]]:
    """The weights of trees and linear model, and the loss of held-out bags of each."""
    if len(models) == 1:
        return np.ones(1), [None]
    if models[0].bag_shift_ == "label":
        return np.array([_TREES_UNDER_LABEL_SHIFT, 1 - _TREES_UNDER_LABEL_SHIFT]), [None, None]
    means = np.array([models[0].held_out_means_, models[1].held_out_means_])
    known = np.isfinite(means).all(axis=(0, 2))
    trees = bags.n_bags / (bags.n_bags + _BAGS_FOR_EQUAL_SHARES)
    if not known.any():
        return np.array([trees, 1 - trees]), [None, None]
    shares = np.broadcast_to(bags.prior, means[0].shape)
    losses = np.array([bag_losses(bags, np.nan_to_num(each)) for each in (*means, shares)])[:, known]
    worse = _find_much_worse(losses[2] - losses[0], losses[2] - losses[1])
    weights = np.array([trees, 1 - trees]) if worse is None else np.arange(2) != worse
    return weights.astype(np.float64), losses[:2].mean(axis=1).tolist()


def _find_much_worse(one: Array, other: Array) -> int | None:
    """The number of the method, 0 or 1, that explains much less of the bags than the other; None if neither does.

    Parameters
    ----------
    one, other : arrays of shape (n_bags,)
        By how much each method matches each bag better than the overall shares do.

    Examples
    --------
    >>> _find_much_worse(np.tile([0.3, 0.1, 0.3], 10), np.tile([0.2, 0.3, 0.2], 10))
    >>> _find_much_worse(np.tile([0.1, 0.0, 0.1], 10), np.tile([0.2, 0.3, 0.2], 10))
    0
    >>> _find_much_worse(np.tile([0.1, 0.0, 0.1], 9), np.tile([0.2, 0.3, 0.2], 9))  # of too few bags
    """
    if len(one) < _BAGS_TO_LEAVE_OUT:
        return None
    worse = other - one
    error = _STANDARD_ERRORS * worse.std() / np.sqrt(len(worse))
    if worse.mean() > error and one.mean() < _LEAST_SHARE * other.mean():
        return 0
    if -worse.mean() > error and other.mean() < _LEAST_SHARE * one.mean():
        return 1
    return None


def _describe_left_out(model: LLPClassifier, bags: Bags) -> str | None:
    """What the time limit left out of a method; None if nothing."""
    if getattr(model, "is_out_of_time_", False):
        return "stopped growing by the time limit"
    usual = _usual_linear(bags, 0)
    if isinstance(model, type(usual)) and model.n_resamples < usual.n_resamples:
        return f"{model.n_resamples} of {usual.n_resamples} resamples by the time limit"
    return None


def _describe_part(row: dict[str, Any]) -> str:
    loss = "" if row["held_out_loss"] is None else f", cross-entropy of held-out bags {row['held_out_loss']:.4f}"
    left_out = "" if row["left_out"] is None else f", {row['left_out']}"
    return f"{row['method']} with weight {row['weight']:.2f}{loss}, {row['seconds']:.1f} s{left_out}"
