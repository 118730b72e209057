"""What is compared: methods with their settings, by name, the simplest first."""

from collections.abc import Iterable
from inspect import signature
from typing import Self

import numpy as np
from sklearn.base import clone

from llpgan.bags import Bags
from llpgan.estimators import METHODS, estimator_class
from llpgan.estimators.base import LLPClassifier
from llpgan.utils.addresses import without_addresses
from llpgan.utils.arrays import Array

#: Methods from the simplest to the most complex: one convex problem before several, all of them before trees and a
#: network, and one network before two that play against each other. :attr:`Comparison.simplest` uses this order.
SIMPLEST_FIRST = (
    "MeanMap",
    "LaplacianMeanMap",
    "InvCal",
    "AlternatingMeanMap",
    "BagLogistic",
    "ConvSVM",
    "AlterSVM",
    "BagBoosting",
    "AutoLLP",
    "DLLP",
    "MomentMatching",
    "CountLLP",
    "DSQ",
    "ROT",
    "MixBag",
    "LLPFC",
    "LLPDC",
    "LLPVAT",
    "LLPGAN",
)
#: The methods that :func:`compare` tries by default: each takes at most minutes on tens of thousands of rows.
QUICK = ("MeanMap", "LaplacianMeanMap", "InvCal", "AlternatingMeanMap", "BagLogistic", "BagBoosting", "DLLP")
OVERALL = "overall shares"


class OverallShares(LLPClassifier):
    """Baseline that ignores the features: it predicts the overall proportion of each class for every instance.

    Attributes
    ----------
    shares_ : ndarray of shape (n_classes,)
        The proportions of the classes among all instances.
    {inherited}
    """

    def fit_bags(self, bags: Bags) -> Self:
        """Note the shares."""
        self._start(bags)
        self.shares_ = bags.prior
        return self

    def _probabilities(self, instances: Array) -> Array:
        return np.tile(self.shares_, (len(instances), 1))


def candidates(methods: Iterable[str | LLPClassifier] | None, random_state: int) -> dict[str, LLPClassifier]:
    """Untrained methods by name, with the seed where they take one; those of :data:`QUICK` if none are given.

    A name tells the settings that differ from the usual ones.

    >>> from llpgan import InvCal
    >>> list(candidates(["MeanMap", InvCal(kernel="rbf")], random_state=0))
    ['MeanMap', "InvCal(kernel='rbf')"]
    """
    given = [_made(method) for method in (QUICK if methods is None else methods)]
    named = {name_of(method): seeded(method, random_state) for method in given}
    if not named:
        raise ValueError(f"no method to compare: name some of {', '.join(METHODS)}")
    if len(named) < len(given):
        raise ValueError(f"the same method is given twice, among {', '.join(name_of(method) for method in given)}")
    return named


def name_of(method: LLPClassifier) -> str:
    """The method, and the settings that differ from the usual ones; 3.0 does not differ from 3.

    >>> from llpgan import InvCal
    >>> name_of(InvCal(kernel="rbf", degree=3.0))
    "InvCal(kernel='rbf')"
    """
    usual = {name: parameter.default for name, parameter in signature(type(method)).parameters.items()}
    settings = {name: value for name, value in method.get_params(deep=False).items() if value != usual.get(name)}
    told = ", ".join(f"{name}={getattr(value, '__name__', repr(value))}" for name, value in settings.items())
    return type(method).__name__ + (f"({without_addresses(' '.join(told.split()))})" if told else "")


def simplicity(method: LLPClassifier) -> int:
    """Its place in :data:`SIMPLEST_FIRST`; methods of a user's own come last."""
    name = type(method).__name__
    return SIMPLEST_FIRST.index(name) if name in SIMPLEST_FIRST else len(SIMPLEST_FIRST)


def _made(method: str | LLPClassifier) -> LLPClassifier:
    if isinstance(method, LLPClassifier):
        return method
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r}: name some of {', '.join(METHODS)}")
    made: LLPClassifier = estimator_class(method)()
    return made


def seeded(method: LLPClassifier, random_state: int) -> LLPClassifier:
    """An untrained copy with this seed, where the method takes one and has none of its own.

    >>> from llpgan import BagLogistic
    >>> seeded(BagLogistic(), 7), seeded(BagLogistic(random_state=0), 7)
    (BagLogistic(random_state=7), BagLogistic(random_state=0))
    """
    copied: LLPClassifier = clone(method)
    settings = copied.get_params(deep=False)
    if "random_state" in settings and settings["random_state"] is None:
        copied.set_params(random_state=random_state)
    return copied
