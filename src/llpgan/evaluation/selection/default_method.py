"""The method that is taken where a user names none, with the reason and about how long it will take."""

from dataclasses import dataclass
from math import prod

import numpy as np
from sklearn.base import clone

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import trials
from llpgan.bags.stored_instances import is_stored
from llpgan.estimators import estimator_class
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation.selection.candidates import OVERALL, seeded
from llpgan.evaluation.selection.comparing import compare
from llpgan.evaluation.selection.comparison import Comparison, Result

FEW_IMAGES = 5_000
SMALL_IMAGE = 3 * 32 * 32  # pixels in all channels, up to which a linear model and a small network are quick
_FOLDS = 3
_FEWEST_BAGS = 2 * _FOLDS
_TRIED = 256  # rows, to measure how long a network will take


@dataclass(frozen=True, eq=False)
class DefaultMethod:
    """An untrained method, why it was taken, and about how many seconds its training will take, if known."""

    method: LLPClassifier
    reason: str
    seconds: float | None = None


def default_method(bags: Bags, random_state: int = 0, time_limit: float | None = None) -> DefaultMethod:
    """The method for these bags: by held-out bags where images are few and small, else by a rule.

    A linear model, a small network and one that plays against a generator differ by much on images, and which
    is best depends on the images; on 5,000 small ones all three can be tried. A large data set takes its network
    too long for that, and there LLPGAN and DLLP come out alike (``docs/reproduction.md``): the quicker is taken.
    """
    if bags.instances.ndim == 2:
        why = "for tables it weighs trees and a linear model by held-out bags"
        return DefaultMethod(estimator_class("AutoLLP")(time_limit=time_limit), why, time_limit)
    if chooses_by_held_out_bags(bags):
        return _best_on_held_out_bags(bags, random_state)
    too_few = f"with fewer than {_FEWEST_BAGS} bags none can be held out to choose by, and"
    why = too_few if bags.n_bags < _FEWEST_BAGS else "for many or large images"
    return _timed(estimator_class("DLLP")(), bags, random_state, f"{why} it is the quickest network")


def chooses_by_held_out_bags(bags: Bags) -> bool:
    """Whether images are few and small enough to try several methods on them."""
    shape = bags.instances.shape[1:]
    few = len(bags.bag_index) <= FEW_IMAGES and bags.n_bags >= _FEWEST_BAGS
    return len(shape) == 3 and few and prod(shape) <= SMALL_IMAGE and not is_stored(bags.instances)


def _best_on_held_out_bags(bags: Bags, random_state: int) -> DefaultMethod:
    from llpgan.training.networks import mnist_classifier, mnist_generator

    methods = [
        estimator_class("BagLogistic")(),
        estimator_class("DLLP")(classifier=mnist_classifier),
        estimator_class("LLPGAN")(classifier=mnist_classifier, generator=mnist_generator),
    ]
    found = compare(bags, methods, cv=_FOLDS, random_state=random_state)
    seconds = next(result.seconds for result in found.results if result.name == found.chosen)
    part = (_FOLDS - 1) / _FOLDS
    return DefaultMethod(
        found.methods[found.chosen], _in_words(found), None if seconds is None else seconds / part
    )


def _in_words(found: Comparison) -> str:
    """The scores of the methods, and why some have none."""
    scores = {_short(result): result.score for result in found.results if result.score is not None}
    told = ", ".join(f"{name} {score:.3f}" for name, score in scores.items() if name != OVERALL)
    failed = "".join(f"; {_short(result)} failed: {result.failed}" for result in found.results if result.failed)
    return f"it meets held-out bags best: cross-entropy {told}, overall shares {scores[OVERALL]:.3f}{failed}"


def _short(result: Result) -> str:
    return result.name.split("(")[0]


def _timed(method: LLPClassifier, bags: Bags, random_state: int, reason: str) -> DefaultMethod:
    """With the time of all epochs, from that of one epoch, with images of full size, on a few bags."""
    from llpgan.estimators.training_setup import coarse_until_of, epochs_of, recipe_of
    from llpgan.training.coarse_images import work_share

    order = np.random.default_rng(random_state).permutation(bags.n_bags)
    n_bags = max(1, int(np.searchsorted(np.cumsum(bags.sizes[order]), _TRIED)))
    few = bags.subset(np.sort(order[:n_bags]))
    tried = seeded(clone(method), random_state).set_params(epochs=1)
    with trials():
        tried.fit_bags(few)
    each = tried.history_[0]["seconds"] / len(few.bag_index)
    tried.set_params(epochs=None)
    full_size = each * len(bags.bag_index) * epochs_of(tried, bags)
    share = work_share(coarse_until_of(tried), recipe_of(tried).coarsest)
    return DefaultMethod(method, reason, full_size * share)
