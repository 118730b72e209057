"""The history of a training: its epochs, the one that is kept, and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from llpgan.bags.bags import Bags
from llpgan.bags.known_shares import unlinked_classes
from llpgan.utils.arrays import Array, to_frame
from llpgan.utils.messages import html_table

History = Sequence[Mapping[str, float]]
Check = Callable[[History], str | None]  # what is wrong in a history, in words

_MANY = 20  # epochs that a state must last: a slow start takes a dozen
_SINCE = 10  # epochs since the best on held-out bags
_FEW = 5  # epochs that are taken together, against chance
_RISE = 0.01  # of the held-out loss, below which none would be missed
_SURE = 0.02  # a loss below it: right on all but 2 in 100
_FOOLED = 2.0  # a loss above it: wrong on more than 86 in 100
_CONSTANT = 1e-3
_JUDGED_BY = 5_000  # rows
_FEWEST_BAGS = 50  # fewer whole bags than these would not show how bags differ
_EXPLAINED = 0.1  # of how bags differ: with less, a method has learned next to nothing
_SURELY = 3.0  # standard errors
_ALIKE = 1e-9  # squared differences between bags: with less, all are alike
_LOST = 0.01  # spread of features or logits, relative to their size; one part in 256 is bfloat16's resolution
WHAT_TO_TRY = (
    "try a smaller learning_rate, and look for values that are not finite in a loss or network of your own"
)


class TrainingWarning(UserWarning):
    """Warning that something went wrong in training, so that the model may be useless."""


class UninformativeBagsWarning(TrainingWarning):
    """Warning that no method can tell the classes apart from these bags."""


class TrainingError(ValueError):
    """Error of a training that ended in weights or predictions that are not finite."""


@contextmanager
def collect_trial_warnings() -> Iterator[None]:
    """Fits that are a means to an end: what would be said of each does not concern the user.

    >>> with collect_trial_warnings():
    ...     warnings.warn("nothing was learned", TrainingWarning)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        yield


class Watcher:
    """Listens to a training, and warns once of each thing that goes wrong.

    A loss that is not finite ends the training, unless held-out bags may have kept an epoch before it.

    Parameters
    ----------
    coarse_epochs : int, default=0
        The number of first epochs that see smaller images. The loss of held-out bags, which are judged at full
        size, rises in these epochs without overfitting.
    """

    def __init__(self, coarse_epochs: int = 0) -> None:
        self.history: list[Mapping[str, float]] = []
        self.left: list[Check] = [*CHECKS, partial(describe_overfitting, since=coarse_epochs + 1)]

    def __call__(self, row: Mapping[str, float]) -> None:
        """Take in an epoch's row."""
        self.history.append(row)
        if "held_out_loss" not in row and (lost := describe_lost_numbers(self.history)) is not None:
            raise TrainingError(lost)
        for check in list(self.left):
            if (said := check(self.history)) is not None:
                self.left.remove(check)
                warnings.warn(said, TrainingWarning, stacklevel=2)


def describe_lost_numbers(history: History) -> str | None:
    """A loss that is no number any more.

    >>> describe_lost_numbers([{"epoch": 3, "proportion_loss": float("nan")}])[:61]
    'epoch 3: the proportion loss is nan, and the training is lost'
    """
    row = history[-1]
    for name in row:
        if name.endswith("_loss") and not np.isfinite(row[name]):
            what = f"epoch {row['epoch']:.0f}: the {name.replace('_', ' ')} is {row[name]}"
            return f"{what}, and the training is lost; {WHAT_TO_TRY}"
    return None


def refuse_lost(method: str, weights: Mapping[str, Array]) -> None:
    """Refuse a model with weights that are not finite."""
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise TrainingError(f"{method}: {name} is not finite, and the training is lost; {WHAT_TO_TRY}")


def reason_uninformative(bags: Bags) -> str | None:
    """Why these bags are uninformative, if they are: all have the same proportions.

    >>> reason_uninformative(Bags.from_labels(np.zeros((4, 1)), [0, 1, 1, 0], groups=[0, 0, 1, 1]))[:58]
    'all 2 bags have the same proportions: they tell how common'
    """
    if not bags.have_equal_shares:
        return None
    meaning = (
        "a single bag tells"
        if bags.n_bags == 1
        else f"all {bags.n_bags} bags have the same proportions: they tell"
    )
    return (
        f"{meaning} how common the classes are, but nothing about which instances belong to them; no prediction "
        f"from such bags is better than chance: give bags whose proportions differ"
    )


def reason_unlinked_classes(bags: Bags) -> str | None:
    """Why the mass of some classes cannot be learned: all bags give only shares within subsets without them.

    >>> shares = {"a": [0.5, 0.5, np.nan], "b": [0.2, 0.8, np.nan]}
    >>> reason_unlinked_classes(Bags.from_arrays([[1.0], [2.0]], ["a", "b"], shares, within=True))[:55]
    'no bag shows how common class 2 is next to classes 0, 1'
    """
    if bags.share_constraints is None or bags.share_constraints.within is None:
        return None
    first, *others = (bags.classes[group].tolist() for group in unlinked_classes(bags.share_constraints.within))
    if not others:
        return None
    named = [f"class{'es' if len(g) > 1 else ''} {', '.join(map(str, g))}" for g in (others[0], first)]
    return (
        f"no bag shows how common {named[0]} {'are' if len(others[0]) > 1 else 'is'} next to {named[1]}: all give "
        f"only shares within classes; the model cannot learn how to tell these apart. Give some bags with the "
        f"shares of all classes"
    )


def describe_dead_generator(history: History) -> str | None:
    """The classifier tells every generated instance from a real one, epoch after epoch."""
    if not _holds_for_long(history, "real_loss", lambda loss: loss < _SURE):
        return None
    if not _holds_for_long(history, "fake_loss", lambda loss: loss < _SURE):
        return None
    return (
        f"for {_MANY} epochs the classifier has recognized all generated instances: the generator has stopped "
        f"learning, and LLPGAN is little more than DLLP; try generator_loss='nonsaturating', a larger "
        f"generator, or a smaller learning_rate"
    )


def describe_winning_generator(history: History) -> str | None:
    """The classifier takes what is generated for real, epoch after epoch."""
    if not _holds_for_long(history, "fake_loss", lambda loss: loss > _FOOLED):
        return None
    return (
        f"for {_MANY} epochs the classifier has taken generated instances for real ones, and learns nothing from "
        f"the generator; try generator_loss='feature_matching', or a smaller generator"
    )


def describe_overfitting(history: History, since: int = 1) -> str | None:
    """Held-out bags get worse, by two standard errors, while those in training get better, since an epoch."""
    history = [row for row in history if row["epoch"] >= since]
    if not history or any("held_out_loss" not in row for row in history):
        return None
    best = int(np.argmin([row["held_out_loss"] for row in history]))
    if len(history) - best <= _SINCE or not _rose(history, best):
        return None
    rise = _mean(history[-_FEW:], "held_out_loss") - history[best]["held_out_loss"]
    return (
        f"since epoch {history[best]['epoch']:.0f} the loss of held-out bags has risen by {rise:.3g} while that "
        f"of the others fell: the network memorizes the training bags; use fewer epochs (or patience), and try "
        f"more weight_decay, a smaller classifier or more bags"
    )


def describe_equal_instances(instances: Array) -> str | None:
    """Identical instances, from which nothing can be learned.

    >>> describe_equal_instances(np.zeros((3, 2)))[:36]
    'all of 3 instances looked at are the'
    """
    if len(instances) < 2 or (instances != instances[:1]).any():
        return None
    return (
        f"all of {len(instances)} instances looked at are the same, so that nothing can be learned from them: "
        "check the columns or image files that they come from"
    )


def describe_lost_signal(spread: float) -> str | None:
    """First weights with which a classifier hardly tells instances apart.

    >>> describe_lost_signal(0.5)
    """
    if spread >= _LOST:
        return None
    return (
        f"before training, the classifier's features or logits of different instances differ by only {spread:.1g} "
        f"of their size: proportions of bags are too weak a signal to pull them apart. Give the network first "
        f"weights that keep differences (llpgan.deep.networks.settle_weights(network, instances)), or a norm "
        f"after each layer"
    )


CHECKS: tuple[Check, ...] = (
    describe_lost_numbers,
    describe_dead_generator,
    describe_winning_generator,
)


def describe_collapse(method: str, probabilities: Array, prior: Array, classes: Array) -> str | None:
    """Identical predictions, or predictions without a class that many instances have.

    A class is missed where its share is at least half of an equal one; a rarer one may rightly never be the most
    probable.

    >>> sure = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> describe_collapse("DLLP", sure, np.array([0.5, 0.5]), np.array(["no", "yes"]))[:59]
    "DLLP never predicts 'yes', a class of 50 % of the instances"
    """
    reason = (
        "; the bags may differ too little in their proportions, or there are too few; try another method "
        "(llpgan compare) or another seed"
    )
    predicted = np.bincount(probabilities.argmax(axis=1), minlength=len(prior))
    if (predicted > 0).sum() == 1 and np.ptp(probabilities, axis=0).max() < _CONSTANT:
        return f"{method} predicts the same for every instance{reason}"
    missed = np.flatnonzero((predicted == 0) & (prior >= 0.5 / len(prior)))
    if len(missed) == 0:
        return None
    name, percent = classes.tolist()[missed[0]], 100 * prior[missed[0]]
    return f"{method} never predicts {name!r}, a class of {percent:.0f} % of the instances{reason}"


def explained_difference(proportions: Array, predicted: Array, prior: Array, noise: Array | float = 0.0) -> float:
    """How much of the differences between bags is explained: 1 is all of it, 0 what the overall shares explain.

    Parameters
    ----------
    proportions : ndarray
        The proportions of each bag.
    predicted : ndarray
        The mean prediction of each bag, or of a sample of it.
    prior : ndarray
        The overall shares.
    noise : ndarray or float, default=0.0
        The expected squared error of each bag's mean prediction, where it is a sample's.

    Examples
    --------
    >>> proportions = np.array([[0.2, 0.8], [0.6, 0.4]])
    >>> explained_difference(proportions, proportions, prior=np.array([0.4, 0.6]))
    1.0
    """
    differences = ((proportions - prior) ** 2).sum(axis=1).mean()
    if differences < _ALIKE:
        return 1.0  # nothing is left to be explained
    missed = (((proportions - predicted) ** 2).sum(axis=1) - noise).mean()
    return float(1 - missed / differences)


def describe_poor_fit(method: str, explained: float) -> str | None:
    """A warning if bags are fitted hardly better than by the overall shares, which ignore the features.

    >>> describe_poor_fit("DLLP", 0.02)[:65]
    'DLLP fits the bags that it learned from hardly better than the ov'
    >>> describe_poor_fit("DLLP", 0.5)
    """
    if explained >= _EXPLAINED:
        return None
    return (
        f"{method} fits the bags that it learned from hardly better than the overall shares, which ignore the "
        f"features: it explains {max(0.0, explained):.0%} of the differences between bags, and has learned next "
        f"to nothing. Try another method (llpgan compare), more epochs, another learning_rate, or features that "
        f"have to do with the classes"
    )


def describe_little_learned(
    method: str, bags: Bags, probabilities: Array, prior: Array, missing: Array | float = 0.0
) -> str | None:
    """Why not to rely on predictions of the instances of these bags: they are all alike, or hardly match the bags.

    Parameters
    ----------
    method : str
        Which made them.
    bags : Bags
        Those that it learned from, or some of them.
    probabilities : ndarray
        The predictions.
    prior : ndarray
        The overall shares.
    missing : ndarray or float, default=0.0
        The share of each bag's rows that is missing, where bags are samples.
    """
    if (collapse := describe_collapse(method, probabilities, prior, bags.classes)) is not None:
        return collapse
    means = bags.means(probabilities)
    given, noise = bags.nearest_shares(means), sampling_noise(bags, probabilities, missing)
    if beats_prior_in_small_bags(bags.totals, given, means, prior):
        return None
    return describe_poor_fit(method, explained_difference(given, means, prior, noise))


def beats_prior_in_small_bags(sizes: Array, proportions: Array, predicted: Array, prior: Array) -> bool:
    """Whether bags differ mainly by the chance of their few rows, and predictions surely beat the prior.

    Of such differences even the best model explains only a small part: of bags of one row, as much as of labels.

    >>> labels = np.eye(2)[np.tile([0, 1], 500)]
    >>> slightly_right = 0.5 + 0.1 * (labels - 0.5)
    >>> beats_prior_in_small_bags(np.ones(1000), labels, slightly_right, np.array([0.5, 0.5]))
    True
    >>> beats_prior_in_small_bags(np.full(1000, 100), labels, slightly_right, np.array([0.5, 0.5]))
    False
    """
    differences = ((proportions - prior) ** 2).sum(axis=1)
    by_chance = (prior * (1 - prior)).sum() / sizes
    gains = differences - ((proportions - predicted) ** 2).sum(axis=1)
    error = gains.std() / np.sqrt(len(gains))
    return bool(by_chance.mean() > differences.mean() / 2 and gains.mean() > _SURELY * error)


def sample_bags(bags: Bags) -> tuple[Bags, Array | float]:
    """Rows to judge by what was learned from large data, and the share of each bag's rows that is missing.

    All bags if they have no more than 5,000 rows, else some whole ones, drawn with a fixed seed; of 50 large bags
    a part of each, spread evenly.
    """
    if len(bags.bag_index) <= _JUDGED_BY:
        return bags, 0.0
    drawn = np.random.default_rng(0).permutation(bags.n_bags)
    n_whole = int(np.searchsorted(np.cumsum(bags.sizes[drawn]), _JUDGED_BY, side="right"))
    if n_whole >= min(_FEWEST_BAGS, bags.n_bags):
        return bags.take_bags(np.sort(drawn[:n_whole])), 0.0
    chosen = np.sort(drawn[:_FEWEST_BAGS])
    at_most = _JUDGED_BY // len(chosen)
    rows = [bags.rows_of(bag)[:: -(-int(bags.sizes[bag]) // at_most)] for bag in chosen.tolist()]
    part = bags.take_rows(np.sort(np.concatenate(rows)))
    return part, 1 - part.sizes / bags.sizes[chosen]


def sampling_noise(bags: Bags, probabilities: Array, missing: Array | float) -> Array:
    """The expected squared error of each bag's mean prediction, where a share of its rows is missing."""
    sizes = bags.sizes
    variance = bags.means(probabilities**2) - bags.means(probabilities) ** 2
    return variance.sum(axis=1) / np.maximum(sizes - 1, 1) * missing


def sample_rows(instances: Array, n: int) -> Array:
    """About so many instances, spread evenly."""
    return np.asarray(instances[:: max(1, len(instances) // n)])


def _holds_for_long(history: History, name: str, holds: Callable[[float], bool]) -> bool:
    losses = [row[name] for row in history[-_MANY:] if name in row]
    return len(losses) == _MANY and all(holds(loss) for loss in losses)


def _rose(history: History, best: int) -> bool:
    last = history[-_FEW:]
    rise = _mean(last, "held_out_loss") - history[best]["held_out_loss"]
    error = _mean(last, "held_out_error")
    near_best = history[max(0, best - _FEW // 2) : best + _FEW // 2 + 1]
    fell = _mean(last, "proportion_loss") < _mean(near_best, "proportion_loss")
    return fell and error > 0 and rise > max(2 * error, _RISE)


def _mean(rows: History, name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


_LEAST = np.finfo(np.float64).eps


def bag_cross_entropy(proportions: Array, predicted: Array) -> float:
    """−Σ_k p_k log p̄_k of one bag, for its mean prediction p̄: the cross-entropy of ``evaluation.bag_scores``.

    >>> round(bag_cross_entropy(np.array([0.5, 0.5]), np.array([0.5, 0.5])), 4)
    0.6931
    """
    return float(-(proportions * np.log(np.maximum(predicted, _LEAST))).sum())


def paired_error(losses: Array, others: Array) -> float:
    """The standard error of the mean difference of losses, bag by bag; 0 where there is but one bag.

    >>> paired_error(np.array([1.0, 3.0]), np.array([0.0, 0.0]))
    1.0
    """
    differences = np.asarray(losses) - np.asarray(others)
    if len(differences) < 2:
        return 0.0
    return float(differences.std(ddof=1) / np.sqrt(len(differences)))


def kept_epoch(history: Sequence[Mapping[str, float]]) -> int | None:
    """The epoch whose weights are kept; None where no bags were held out, and the last one counts.

    It is the last whose ``held_out_loss`` is within ``held_out_error``, one standard error bag by bag, of the best
    until then. Later weights are averaged over more steps at a smaller rate, so that an earlier epoch is to be
    preferred only where bags show that it is better, and not by chance.

    >>> kept_epoch([
    ...     {"epoch": 1, "held_out_loss": 0.5, "held_out_error": 0.0},
    ...     {"epoch": 2, "held_out_loss": 0.6, "held_out_error": 0.2},
    ...     {"epoch": 3, "held_out_loss": 0.9, "held_out_error": 0.2},
    ... ])
    2
    """
    best, kept = np.inf, None
    for row in history:
        if "held_out_loss" not in row:
            return None
        best = min(best, row["held_out_loss"])
        if row["held_out_loss"] - best <= row["held_out_error"]:
            kept = int(row["epoch"])
    return kept


class EpochHistory(list[dict[str, float]]):
    """One dict per epoch, as ``history_`` of a trained model has them.

    Examples
    --------
    >>> EpochHistory([{"epoch": 1, "proportion_loss": 0.7}]).to_frame().columns.tolist()
    ['epoch', 'proportion_loss']
    """

    def to_frame(self) -> Any:
        """The history as a pandas frame: one row per epoch, one column per figure; NaN where there is none.

        Returns
        -------
        pandas.DataFrame
        """
        names = dict.fromkeys(name for row in self for name in row)
        return to_frame({name: [row.get(name) for row in self] for name in names})

    def _repr_html_(self) -> str:
        names = dict.fromkeys(name for row in self for name in row)
        last = self[::-1]
        columns = {
            name.replace("_", " "): [f"{row[name]:.4g}" if name in row else "" for row in last] for name in names
        }
        return html_table(columns, f"{len(self):,} epochs, the last one first")
