"""Bags that each step makes anew, with their losses: mixed bags (MixBag) and bags in groups (LLPFC)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor

from llpgan.bags import Bags
from llpgan.deep.batches import BagBatch, BagDataset, Rows
from llpgan.deep.losses import bag_means, log_bag_means
from llpgan.utils.arrays import Array

_SUM_WEIGHT = 1e3  # of Σ α = 1 relative to the fit to the prior: what is left of it is taken out by normalising
_RIDGE = 1e-4  # towards equal weights, where bags are alike and the fit leaves them open
_REGROUPING = 1  # tells the random numbers of groups from those of the steps' order


class MixedBags(BagDataset):
    """MixBag: some bags of a step are replaced by samples from them and from another bag.

    Parameters
    ----------
    bags, which, settings
        As in :class:`~llpgan.deep.batches.BagDataset`.
    mix_probability : float
        How often a bag is replaced.
    confidence : float
        Of the interval of a mixed bag's proportions.
    """

    def __init__(
        self,
        bags: Bags,
        which: Sequence[int] | Rows | None = None,
        *,
        mix_probability: float,
        confidence: float,
        **settings: Any,
    ) -> None:
        super().__init__(bags, which, **settings)
        self.mix_probability = mix_probability
        self.confidence = confidence

    def batch(self, items: Sequence[int] | Rows, rng: np.random.Generator | None = None) -> BagBatch:
        """Several bags as one batch; with random numbers, some of them mixed."""
        if rng is None or self.mix_probability == 0:
            return super().batch(items, rng)
        parts = [self._mix_bags(int(item), rng) for item in items]
        places, shares, margins = zip(*parts, strict=True)
        rows = np.concatenate(places)
        taken = [len(part) for part in places]
        return BagBatch(
            self._instances(rows),
            torch.from_numpy(np.repeat(np.arange(len(parts)), taken)),
            torch.from_numpy(np.stack(shares).astype(np.float32)),
            partial(interval_loss, margins=torch.from_numpy(np.stack(margins).astype(np.float32))),
        )

    def _mix_bags(self, item: int, rng: np.random.Generator) -> tuple[Rows, Any, Any]:
        """Places of the rows of one bag, or of samples from it and another, with proportions and margins."""
        bag, other = int(self.which[item]), self._other(item, rng)
        size = int(self.bags.sizes[bag])
        if rng.random() >= self.mix_probability or size < 2 or other is None:
            shares = self.bags.proportions[bag]
            return self.bags.starts[bag] + np.arange(size), shares, np.zeros_like(shares)
        other_size = int(self.bags.sizes[other])
        kept = int(rng.integers(1, size))
        added = min(size - kept, other_size)
        places = np.concatenate([self._sample(bag, kept, rng), self._sample(other, added, rng)])
        pair = self.bags.proportions[bag], self.bags.proportions[other]
        return places, *mixed_proportions(pair, (kept, added), (size, other_size), self.confidence)

    def _other(self, item: int, rng: np.random.Generator) -> int | None:
        """Any bag but this one, None if there is no other."""
        if len(self) < 2:
            return None
        place = int(rng.integers(len(self) - 1))
        return int(self.which[place + (place >= item)])

    def _sample(self, bag: int, n: int, rng: np.random.Generator) -> Rows:
        chosen = rng.choice(int(self.bags.sizes[bag]), n, replace=False)
        return self.bags.starts[bag] + np.sort(chosen)


def interval_loss(logits: Tensor, bag_index: Tensor, proportions: Tensor, margins: Tensor) -> Tensor:
    """−mean_i Σ_k 1[|p̄_ik − p_ik| ≥ h_ik] · p_ik log p̄_ik.

    The proportion loss without the classes whose mean prediction lies within the margin. With margins of zero it
    is the proportion loss.

    Parameters
    ----------
    logits, bag_index, proportions
        As in :class:`~llpgan.deep.losses.bag_losses.BagLoss`.
    margins : Tensor of shape (n_bags, n_classes)
        h, half the width of the interval around each proportion.

    Returns
    -------
    Tensor without dimensions

    References
    ----------
    Asanomi, Matsuo, Suehiro and Bise, "MixBag: bag-level data augmentation for learning from label proportions",
    2023.
    """
    log_means = log_bag_means(logits.log_softmax(1), bag_index, len(proportions))
    missed = (log_means.detach().exp() - proportions).abs() >= margins
    return -(torch.where(missed, proportions, 0.0) * log_means).sum(1).mean()


def mixed_proportions(
    proportions: tuple[Array, Array], taken: tuple[int, int], sizes: tuple[int, int], confidence: float
) -> tuple[Array, Array]:
    """What is known of a bag mixed from samples of two: its expected proportions, and their margins.

    A sample of g of m without replacement has class shares with the mean p and the variance p(1 − p)/g · (m −
    g)/(m − 1).

    Parameters
    ----------
    proportions : pair of arrays of shape (n_classes,)
        Of both bags.
    taken, sizes : pair of int
        How many instances each gives, of how many it has.
    confidence : float
        Of the interval, by the normal law: 0.99 for ± 2.58 standard deviations.

    Returns
    -------
    expected, margins : array of shape (n_classes,)

    Examples
    --------
    All of one bag and nothing of the other leave no doubt:

    >>> known, none = np.array([0.25, 0.75]), np.array([1.0, 0.0])
    >>> mixed_proportions((known, none), taken=(4, 0), sizes=(4, 4), confidence=0.99)
    (array([0.25, 0.75]), array([0., 0.]))
    """
    total = sum(taken)
    given, full = np.array(taken)[:, None], np.array(sizes)[:, None]
    shares = np.stack(proportions)
    variances = given * shares * (1 - shares) * (full - given) / np.maximum(full - 1, 1)
    deviations = np.sqrt(variances.sum(0)) / total
    return (given * shares).sum(0) / total, NormalDist().inv_cdf((1 + confidence) / 2) * deviations


class GroupedBags(BagDataset):
    """LLPFC: bags with the targets of groups, to which they are dealt anew after some epochs.

    Parameters
    ----------
    bags, which, settings
        As in :class:`~llpgan.deep.batches.BagDataset`.
    regroup_every : int
        After how many epochs.
    """

    def __init__(
        self,
        bags: Bags,
        which: Sequence[int] | Rows | None = None,
        *,
        regroup_every: int,
        **settings: Any,
    ) -> None:
        super().__init__(bags, which, **settings)
        if len(self) < bags.n_classes:
            raise ValueError(
                f"{len(self)} bags to learn from cannot tell the classes apart by groups of {bags.n_classes}, one "
                f"bag for each class: give {bags.n_classes} or more"
            )
        self.regroup_every = regroup_every

    def steps(self, bags_a_step: int, seed: int, epoch: int) -> Iterator[BagBatch]:
        """The batches of an epoch, with the targets of its groups: a function of seed and epoch alone."""
        rng = np.random.default_rng([seed, epoch // self.regroup_every, _REGROUPING])
        self._targets = grouped_targets(self.bags.proportions[self.which], self.bags.prior, rng)
        return super().steps(bags_a_step, seed, epoch)

    def batch(self, items: Sequence[int] | Rows, rng: np.random.Generator | None = None) -> BagBatch:
        """Several bags as one batch; with random numbers, with their targets."""
        batch = super().batch(items, rng)
        if rng is None:
            return batch
        rows, weights = (torch.from_numpy(part[np.asarray(items)]) for part in self._targets)
        return batch._replace(loss=partial(forward_corrected_loss, rows=rows, weights=weights))


def group_weights(proportions: Array, prior: Array) -> Array:
    """α on the simplex that minimises ‖Γᵀα − π‖²: the mixture of a group's bags that is most like all the data.

    Parameters
    ----------
    proportions : array of shape (n_slots, n_classes)
        Γ, the proportions of the group's bags.
    prior : array of shape (n_classes,)
        π.

    Returns
    -------
    array of shape (n_slots,)

    Examples
    --------
    >>> group_weights(np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([0.35, 0.65])).round(3)
    array([0.25, 0.75])
    """
    n = len(proportions)
    rows = np.vstack([proportions.T, np.full((1, n), _SUM_WEIGHT), _RIDGE * np.eye(n)])
    weights, _ = nnls(rows, np.concatenate([prior, [_SUM_WEIGHT], np.full(n, _RIDGE / n)]))
    return weights / weights.sum()


def transitions(proportions: Array, weights: Array) -> Array:
    """T_ij = Γ_ij α_i / (Γᵀα)_j: the chance that an instance of class j in a group is in its i-th bag.

    Parameters
    ----------
    proportions : array of shape (n_slots, n_classes)
        Γ.
    weights : array of shape (n_slots,)
        α.

    Returns
    -------
    array of shape (n_slots, n_classes)
        Columns sum to one; that of a class that the group does not have is zero.
    """
    shares = proportions * weights[:, None]
    total = shares.sum(0)
    return np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)


def grouped_targets(
    proportions: Array, prior: Array, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Every bag's row of T, and its weight K·α, after dealing the bags to groups at random.

    Where bags are left over, the last group is filled up with bags of others, whose own targets stay.

    Parameters
    ----------
    proportions : array of shape (n_bags, n_classes)
        Of at least as many bags as classes.
    prior : array of shape (n_classes,)
        π.
    rng : numpy.random.Generator
        Deals the bags.

    Returns
    -------
    rows : array of shape (n_bags, n_classes)
    weights : array of shape (n_bags,)
    """
    n_bags, n_classes = proportions.shape
    rows, weights = np.zeros((n_bags, n_classes), np.float32), np.zeros(n_bags, np.float32)
    order = rng.permutation(n_bags)
    for group in _cut_groups(order, n_classes):
        alpha = group_weights(proportions[group], prior)
        rows[group] = transitions(proportions[group], alpha)
        weights[group] = n_classes * alpha
    return rows, weights


def forward_corrected_loss(
    logits: Tensor, bag_index: Tensor, proportions: Tensor, rows: Tensor, weights: Tensor
) -> Tensor:
    """mean_i w_i · mean_j −log (t_i · f(x_ij)): the cross-entropy of the bag as a noisy label, forward-corrected.

    Parameters
    ----------
    logits, bag_index, proportions
        As in :class:`~llpgan.deep.losses.bag_losses.BagLoss`. The proportions are in ``rows`` already.
    rows : Tensor of shape (n_bags, n_classes)
        t_i, the bag's row of T.
    weights : Tensor of shape (n_bags,)
        w_i = K·α_i, so that a group's instances count as if its bags had shares α. A bag of weight zero tells
        nothing.

    Returns
    -------
    Tensor without dimensions

    References
    ----------
    Zhang, Wang and Scott, "Learning from label proportions by learning with label noise", 2022.
    """
    counts = weights > 0
    log_rows = rows.masked_fill(~counts[:, None], 1.0).log()[bag_index]
    nll = -(logits.log_softmax(1) + log_rows).logsumexp(1)
    return (weights * bag_means(nll[:, None], bag_index, len(proportions))[:, 0]).mean()


def _cut_groups(order: NDArray[np.int64], size: int) -> Sequence[NDArray[np.int64]]:
    """Groups of a size; an incomplete one comes first, filled up from the others, which then overwrite it."""
    n_whole = len(order) // size * size
    whole = list(order[:n_whole].reshape(-1, size))
    if n_whole == len(order):
        return whole
    left = order[n_whole:]
    return [np.concatenate([left, order[: size - len(left)]]), *whole]
