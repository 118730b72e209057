"""The temperature of a deep model, fitted on held-out bags."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import collect_trial_warnings
from llpgan.bags.on_disk import StoredInstances
from llpgan.deep.batches import BagDataset
from llpgan.deep.epochs import paired_error
from llpgan.utils.arrays import Array

if TYPE_CHECKING:
    from llpgan.methods.deep import DeepClassifier


N_FOLDS = 3
_MOST_BAGS = 200
_LEAST_SIZE = 32
_CALMEST, _N_SPREADS = 0.1, 40
_LEAST = np.finfo(np.float64).tiny


def few_large_bags(bags: Bags) -> bool:
    """Whether networks need a temperature: a table in memory, with 6 to 200 bags of 32 rows or more on average."""
    in_memory = not isinstance(bags.instances, StoredInstances)
    few = 2 * N_FOLDS <= bags.n_bags <= _MOST_BAGS
    return in_memory and bags.instances.ndim == 2 and few and bool(bags.sizes.mean() >= _LEAST_SIZE)


def fewest_to_calibrate(n_bags: int) -> int:
    """The number of bags of which each part leaves so many to learn from, and two or more to predict.

    >>> fewest_to_calibrate(1), fewest_to_calibrate(5)
    (6, 8)
    """
    return max(2 * N_FOLDS, -(-n_bags * N_FOLDS // (N_FOLDS - 1)))


def apply_temperature(probabilities: Array, temperature: float) -> Array:
    """p^(1/T), renormalised: the softmax of logits divided by T. The most probable class stays the same.

    >>> apply_temperature(np.array([[0.1, 0.9]]), temperature=2.0)
    array([[0.25, 0.75]])
    """
    if temperature == 1:
        return probabilities
    softened = probabilities ** (1 / temperature)
    return softened / softened.sum(axis=1, keepdims=True)


def fit_temperature(
    model: "DeepClassifier", training: BagDataset, held_out_bags: BagDataset | None, seed: int
) -> float:
    """The temperature, 1 or higher, of a network that was trained on all of these bags.

    Copies of it are trained without one part of the bags each, and predict that part. Held-out bags choose their
    epochs as they chose the network's. Logits are compared in units of their spread, since a copy that has seen
    fewer bags is less sure. See :func:`smallest_spread` for the choice.
    """
    bags, judging = (
        _take_dataset_bags(training),
        None if held_out_bags is None else _take_dataset_bags(held_out_bags),
    )
    unit_logits = np.empty((len(bags.instances), bags.n_classes))
    for held_out in np.array_split(np.random.default_rng(seed).permutation(bags.n_bags), N_FOLDS):
        rows = np.flatnonzero(np.isin(bags.bag_index, held_out))
        others = bags.take_bags(np.setdiff1d(np.arange(bags.n_bags), held_out))
        copied = _fit_copy(model, others, judging, seed)
        logits = _logits(copied._probabilities(bags.instances[rows]))
        unit_logits[rows] = logits / (_logit_spread(logits) or 1.0)
    spread = _logit_spread(_logits(model._probabilities(bags.instances)))
    return spread / smallest_spread(bags, unit_logits, spread)


def smallest_spread(bags: Bags, unit_logits: Array, spread: float) -> float:
    """The smallest spread of logits, up to the given one, that the bags do not find worse than the best.

    That is: whose cross-entropy with the proportions is within one standard error, bag by bag, of the least. Bags
    tell little of how sure single predictions may be, so that the least alone would rest on chance; among those
    that they cannot tell apart, the calmest does no harm.

    Parameters
    ----------
    bags : Bags
        With their proportions.
    unit_logits : ndarray
        ``(N, K)``, of networks that have not seen the bag of the row; their spread is 1.
    spread : float
        The largest that is tried.
    """
    if spread <= _CALMEST:
        return spread
    spreads = np.geomspace(_CALMEST, spread, _N_SPREADS)
    losses = np.array([_bag_cross_entropies(bags, each * unit_logits) for each in spreads])
    best = losses[losses.mean(axis=1).argmin()]
    excess = losses.mean(axis=1) - best.mean()
    allowed = [excess[i] <= paired_error(losses[i], best) for i in range(len(spreads))]
    return float(spreads[allowed.index(True)])


def _take_dataset_bags(dataset: BagDataset) -> Bags:
    """The bags of which a dataset makes batches."""
    return dataset.bags if len(dataset) == dataset.bags.n_bags else dataset.bags.take_bags(dataset.which)


def _fit_copy(model: "DeepClassifier", bags: Bags, held_out: Bags | None, seed: int) -> Any:
    alone: dict[str, Any] = {"calibrate": False, "checkpoint": None, "tensorboard": None, "random_state": seed}
    with collect_trial_warnings():
        return clone(model).set_params(**alone, validation_fraction=0.0).fit_bags(bags, held_out=held_out)


def _bag_cross_entropies(bags: Bags, logits: Array) -> Array:
    """The cross-entropy of each bag's proportions and mean prediction."""
    means = np.maximum(bags.means(np.asarray(softmax(logits, axis=1))), _LEAST)
    return np.asarray(-(bags.proportions * np.log(means)).sum(axis=1))


def _logits(probabilities: Array) -> Array:
    logs = np.log(np.maximum(probabilities, _LEAST))
    return logs - logs.mean(axis=1, keepdims=True)


def _logit_spread(logits: Array) -> float:
    return float(np.sqrt(np.mean(logits**2)))
