"""The temperature of a deep model, fitted on held-out bags."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import clone

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import collect_trial_warnings, paired_error
from llpgan.bags.on_disk import StoredInstances
from llpgan.deep.batches import BagDataset
from llpgan.deep.losses.bag_losses import largest_bag, log_count_probability, log_of_rest, whole_counts
from llpgan.utils.arrays import Array
from llpgan.utils.messages import format_seconds
from llpgan.utils.workers import processes

if TYPE_CHECKING:
    from llpgan.methods.deep import DeepClassifier


N_FOLDS = 3
LEAST_HELD_OUT = 20  # bags whose counts choose a temperature: six were seen to choose one of 32
HIGHEST = 5.0  # temperature that counts may choose
_N_TEMPERATURES = 17
_AT_ONCE = 4096  # instances whose counts are compared together
_MOST_BAGS = 200
_LEAST_SIZE = 32
_CALMEST, _N_SPREADS = 0.1, 40
_LEAST = np.finfo(np.float64).tiny


def few_large_bags(bags: Bags) -> bool:
    """Whether networks need a temperature: a table in memory, with 6 to 200 bags of 32 rows or more on average."""
    in_memory = not isinstance(bags.instances, StoredInstances)
    few = 2 * N_FOLDS <= bags.n_bags <= _MOST_BAGS
    return in_memory and bags.instances.ndim == 2 and few and bool(bags.sizes.mean() >= _LEAST_SIZE)


def can_count(held_out: BagDataset) -> bool:
    """Whether the class counts of these bags can choose a temperature: of images, all known, in enough bags."""
    bags = held_out.bags
    known = bags.share_constraints is None and bags.uneven_weights is None
    is_small = int(bags.sizes[held_out.which].max()) <= largest_bag(bags.n_classes)
    return bags.instances.ndim > 2 and known and is_small and len(held_out) >= LEAST_HELD_OUT


def plan_calibration(
    model: DeepClassifier, training: BagDataset, held_out: BagDataset | None, fewest: int, seed: int
) -> Callable[[float], float] | None:
    """How to find the temperature after a training, from the seconds that it took; None for no calibration.

    Held-out bags of images need no further training: they choose it by :func:`choose_by_counts`. Without them, or
    for tables, copies are trained on parts of the bags (:func:`fit_temperature`), on images only if this is asked
    for.

    Parameters
    ----------
    model : DeepClassifier
        Not yet trained.
    training, held_out : BagDataset
        The bags to train with, and those that judge each epoch.
    fewest : int
        The number of bags that the method needs.
    seed : int
        Of the copies, and of their bags.
    """
    fewest = fewest_to_calibrate(fewest)
    if model.calibrate and processes()[0] > 1:
        raise ValueError("calibrate=True trains in one process alone: set calibrate=False")
    if model.calibrate is False or processes()[0] > 1:
        return None
    if held_out is not None and can_count(held_out):

        def choose(seconds: float) -> float:
            bags = _take_dataset_bags(held_out)
            return choose_by_counts(bags, model._probabilities(bags.instances))

        return choose
    if model.calibrate and len(training) < fewest:
        raise ValueError(f"calibrate=True needs {fewest} bags at least, here are {len(training)}")
    suits = few_large_bags(training.bags) and training.bags.share_constraints is None and len(training) >= fewest
    return partial(fit_temperature, model, training, held_out, seed) if model.calibrate or suits else None


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
    model: DeepClassifier, training: BagDataset, held_out_bags: BagDataset | None, seed: int, seconds: float
) -> float:
    """The temperature, 1 or higher, of a network that was trained on all of these bags in so many seconds.

    Copies of it are trained without one part of the bags each, and predict that part. Held-out bags choose their
    epochs as they chose the network's. Of images, the counts of these bags choose (:func:`choose_by_counts`); a
    third of the bags is enough if there are many. Of tables, logits are compared in units of their spread, since
    a copy that has seen fewer bags is less sure. See :func:`smallest_spread` for the choice.
    """
    bags, judging = _take_dataset_bags(training), held_out_bags and _take_dataset_bags(held_out_bags)
    folds = np.array_split(np.random.default_rng(seed).permutation(bags.n_bags), N_FOLDS)
    by_counts = bags.instances.ndim > 2
    if by_counts and len(folds[-1]) >= LEAST_HELD_OUT:
        folds = folds[:1]
    logits = np.empty((len(bags.instances), bags.n_classes))
    alone: dict[str, Any] = {"calibrate": False, "checkpoint": None, "tensorboard": None, "verbose": False}
    for i, held_out in enumerate(folds):
        left = (len(folds) - i) * seconds * (1 - 1 / N_FOLDS)
        model.report_phase(f"calibrating, copy {i + 1} of {len(folds)}, about {format_seconds(left)} left")
        rows = np.flatnonzero(np.isin(bags.bag_index, held_out))
        others = bags.take_bags(np.setdiff1d(np.arange(bags.n_bags), held_out))
        with collect_trial_warnings():
            copied = clone(model).set_params(**alone, validation_fraction=0.0, random_state=seed)
            copied.fit_bags(others, held_out=judging)
        logits[rows] = _logits(copied._probabilities(bags.instances[rows]))
        if not by_counts:
            logits[rows] /= _logit_spread(logits[rows]) or 1.0
    if by_counts:
        seen = np.sort(np.concatenate(folds))
        rows = np.flatnonzero(np.isin(bags.bag_index, seen))
        return choose_by_counts(bags.take_bags(seen), softmax(logits[rows], axis=1))
    spread = _logit_spread(_logits(model._probabilities(bags.instances)))
    return spread / smallest_spread(bags, logits, spread)


def choose_by_counts(bags: Bags, probabilities: Array) -> float:
    """The temperature, 1 to 5, by the likelihood of the class counts of these bags.

    The number of members of a class in a bag is a sum of independent instances (Poisson–binomial), so that its
    chance differences from the sum of the posteriors show how sure these may be. Of the temperatures whose mean
    loss over bags is within one standard error of the lowest, it is the lowest: few bags change little.

    Parameters
    ----------
    bags : Bags
        With their proportions; the network has not seen them.
    probabilities : ndarray
        ``(N, K)``, of the instances of these bags.
    """
    logits, temperatures = _logits(probabilities), np.geomspace(1, HIGHEST, _N_TEMPERATURES)
    losses = np.array([temperature_losses(bags, logits, temperature) for temperature in temperatures])
    return float(temperatures[_first_allowed(losses)])


def temperature_losses(bags: Bags, logits: Array, temperature: float) -> Array:
    """−Σ_k log P(S_k = m·p_k) of each bag, S_k the number of its members of class k, from divided logits."""
    scaled = torch.from_numpy(logits[bags.row_order] / temperature)
    sizes = torch.from_numpy(bags.sizes.astype(np.int64))
    counts = whole_counts(torch.from_numpy(np.asarray(bags.proportions)), sizes)
    found = []
    for part in np.array_split(np.arange(bags.n_bags), -(-len(scaled) // _AT_ONCE)):
        members = scaled[bags.starts[part[0]] : bags.starts[part[-1]] + bags.sizes[part[-1]]]
        both = members.log_softmax(1), log_of_rest(members)
        found.append(-log_count_probability(*both, sizes[part], counts[part]).sum(1))
    return np.asarray(torch.cat(found))


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
    means = (bags.means(np.asarray(softmax(each * unit_logits, axis=1))) for each in spreads)
    losses = np.array([-(bags.proportions * np.log(np.maximum(mean, _LEAST))).sum(axis=1) for mean in means])
    return float(spreads[_first_allowed(losses)])


def _first_allowed(losses: Array) -> int:
    """The first row of losses by bag whose mean is within one standard error, bag by bag, of the lowest."""
    best = losses[losses.mean(axis=1).argmin()]
    return next(i for i, row in enumerate(losses) if (row - best).mean() <= paired_error(row, best))


def _take_dataset_bags(dataset: BagDataset) -> Bags:
    """The bags of which a dataset makes batches."""
    return dataset.bags if len(dataset) == dataset.bags.n_bags else dataset.bags.take_bags(dataset.which)


def _logits(probabilities: Array) -> Array:
    logs = np.log(np.maximum(probabilities, _LEAST))
    return logs - logs.mean(axis=1, keepdims=True)


def _logit_spread(logits: Array) -> float:
    return float(np.sqrt(np.mean(logits**2)))
