"""What is known of proportions: some classes, bounds, noise, or shares within a block."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.bags.checks import ROUNDING, check_noisy_proportions, check_proportions, check_switch
from llpgan.utils.arrays import check_argument, check_numbers

Table = NDArray[np.float64]
_LEAST = 1e-12
_ROUNDS = 100  # of estimating the overall shares


def labels_within(within: Table) -> NDArray[np.bool_]:
    """(n_bags,): whether what is known of a bag are shares within a subset.

    >>> labels_within(np.array([[0.4, 0.6, np.nan], [np.nan, np.nan, np.nan]]))
    array([ True, False])
    """
    return np.asarray(~np.isnan(within).all(axis=1))


def mass_of_subset(predicted: Table, within: Table) -> Table:
    """(n_bags,): Σ of the predictions in each bag's subset; 1 for bags without one.

    >>> mass_of_subset(np.array([[0.1, 0.3, 0.6]]), np.array([[0.5, 0.5, np.nan]]))
    array([0.4])
    """
    mass = np.where(np.isnan(within), 0, predicted).sum(axis=1)
    return np.where(labels_within(within), np.maximum(mass, _LEAST), 1.0)


def keep_mass(predicted: Table, within: Table) -> Table:
    """The predicted shares, with the mass of each bag's subset divided as it is known to be.

    >>> keep_mass(np.array([[0.1, 0.3, 0.6]]), np.array([[0.5, 0.5, np.nan]]))
    array([[0.2, 0.2, 0.6]])
    """
    mass = mass_of_subset(predicted, within)[:, None]
    return np.where(np.isnan(within), predicted, mass * np.nan_to_num(within))


def losses_within(predicted: Table, within: Table) -> Table:
    """(n_bags,): Σ_S r_k log(r_k / (p̄_k / p̄_S)); zero for bags of which something else is known.

    >>> losses_within(np.array([[0.1, 0.3, 0.6]]), np.array([[0.25, 0.75, np.nan]])).round(9)
    array([0.])
    """
    shares = np.maximum(predicted, _LEAST) / mass_of_subset(predicted, within)[:, None]
    known = np.nan_to_num(within)
    return np.asarray((known * np.log(np.maximum(known, _LEAST) / shares)).sum(axis=1))


def parse_within(
    table: Table, bag_ids: Sequence[Hashable], classes: Sequence[Hashable], tolerance: float
) -> Table:
    """Shares within the classes that are given, for bags in which some are NaN; they must sum to one."""
    known: NDArray[np.bool_] = ~np.isnan(table)
    within = np.where(np.all(known, axis=1, keepdims=True), np.nan, table)
    for bag in np.flatnonzero(known.sum(axis=1) == 0).tolist():
        raise ValueError(f"bag {bag_ids[bag]!r}: none of its shares is known; leave the bag out")
    for bag in np.flatnonzero(known.sum(axis=1) == 1).tolist():
        alone = classes[int(np.argmax(known[bag]))]
        raise ValueError(
            f"bag {bag_ids[bag]!r}: only class {alone!r} is given, and its share within itself is always 1, which "
            f"holds no information; leave the bag out"
        )
    for bag, column in np.argwhere(~np.isnan(within) & ~((within >= 0) & (within <= 1 + tolerance))):
        raise ValueError(
            f"bag {bag_ids[bag]!r}: the value {within[bag, column]:g} of class {classes[column]!r} is not a share "
            f"(counts go in as counts, percentages divided by 100)"
        )
    sums = np.where(labels_within(within), np.nansum(within, axis=1), 1.0)
    for bag in np.flatnonzero(np.abs(sums - 1) > tolerance + ROUNDING).tolist():
        raise ValueError(
            f"bag {bag_ids[bag]!r}: the shares within its given classes sum to {sums[bag]:.6g}, not 1; if "
            f"they are of the whole bag, and the rest is unknown, say so (partial)"
        )
    return within / sums[:, None]


def likely_shares(shares: Table, within: Table) -> Table:
    """One share vector per bag, to begin with: where only shares within are known, with the overall mass.

    The overall shares are those that are most likely if all bags had the same, found by going back and forth
    between them and the bags (expectation-maximisation).

    >>> within = np.array([[np.nan, np.nan, np.nan], [0.75, 0.25, np.nan]])
    >>> likely_shares(np.array([[0.3, 0.3, 0.4], [0, 0, 0]]), within).round(3)
    array([[0.3 , 0.3 , 0.4 ],
           [0.45, 0.15, 0.4 ]])
    """
    has_set = labels_within(within)
    overall = np.full(shares.shape[1], 1 / shares.shape[1]) if has_set.all() else shares[~has_set].mean(axis=0)
    found = shares
    for _ in range(_ROUNDS):
        filled = keep_mass(np.tile(np.maximum(overall, _LEAST), (len(shares), 1)), within)
        found = np.where(has_set[:, None], filled / filled.sum(axis=1, keepdims=True), shares)
        overall = found.mean(axis=0)
    return found


def unlinked_classes(within: Table) -> list[list[int]]:
    """The classes in groups that no bag compares; one group if every class can be compared with all others.

    >>> unlinked_classes(np.array([[0.5, 0.5, np.nan], [0.2, 0.8, np.nan]]))
    [[0, 1], [2]]
    """
    group = np.arange(within.shape[1])
    for pattern in np.unique(~np.isnan(within) | ~labels_within(within)[:, None], axis=0):
        group[np.isin(group, group[pattern])] = group[pattern].min()
    return [np.flatnonzero(group == first).tolist() for first in np.unique(group)]


_HALVINGS = 60  # of an interval: as far as double precision goes
_NEWTON_STEPS, _CLOSE = 1000, 1e-12  # how often at most, and how near the shares' sum is to one in the end
_FAR = 1.5  # from one half: bounds a little below 0 or above 1 are harmless, percentages are a mistake
_CHANCE = 8.0  # standard deviations that no noise has


@dataclass(frozen=True, eq=False)
class KnownShares:
    """What is known of each bag's shares.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_bags, n_classes)
        The smallest and largest share that is possible; equal where a share is known.
    sd : ndarray of shape (n_bags,) or None
        The standard deviation of noise in the given shares; None if they are exact.
    sizes : ndarray of shape (n_bags,)
        The number of rows of each bag, which noise is weighed against.
    within : ndarray of shape (n_bags, n_classes) or None
        The shares of the classes of a subset within it, NaN outside; rows of NaN for bags of which no such shares
        are given. None if no bag has any.

    Examples
    --------
    Of three classes the first has a share of 0.6, the others are unknown: what is left is divided as predicted.

    >>> known = KnownShares(np.array([[0.6, 0.0, 0.0]]), np.array([[0.6, 1.0, 1.0]]), None, np.array([10.0]))
    >>> known.targets(np.array([[0.2, 0.2, 0.6]])).round(3)
    array([[0.6, 0.1, 0.3]])
    """

    lower: Table
    upper: Table
    sd: Table | None
    sizes: Table
    within: Table | None = None

    def take_bags(self, bags: NDArray[np.int64]) -> KnownShares:
        """What is known of some of the bags."""
        return KnownShares(
            self.lower[bags],
            self.upper[bags],
            None if self.sd is None else self.sd[bags],
            self.sizes[bags],
            None if self.within is None else self.within[bags],
        )

    def append_labelled(self, shares: Table) -> KnownShares:
        """Append bags of one row whose shares are known exactly.

        >>> known = KnownShares(np.array([[0.0, 0.2]]), np.array([[0.8, 1.0]]), None, np.array([10.0]))
        >>> known.append_labelled(np.array([[1.0, 0.0]])).lower
        array([[0. , 0.2],
               [1. , 0. ]])
        """
        more = len(shares)
        return KnownShares(
            np.vstack([self.lower, shares]),
            np.vstack([self.upper, shares]),
            None if self.sd is None else np.append(self.sd, np.zeros(more)),
            np.append(self.sizes, np.ones(more)),
            None if self.within is None else np.vstack([self.within, np.full_like(shares, np.nan)]),
        )

    def targets(self, predicted: Table) -> Table:
        """For each bag the allowed share vector that is nearest to the mean prediction.

        Parameters
        ----------
        predicted : ndarray of shape (n_bags, n_classes)
            The mean prediction of each bag.

        Returns
        -------
        ndarray of shape (n_bags, n_classes)
        """
        predicted = np.maximum(predicted, _LEAST)
        if self.within is not None:
            has_set, kept = labels_within(self.within)[:, None], keep_mass(predicted, self.within)
            return np.where(has_set, kept, nearest_within(predicted, self.lower, self.upper))
        if self.sd is None:
            return nearest_within(predicted, self.lower, self.upper)
        exact = self.sd == 0
        found = remove_noise(predicted, self.lower, np.where(exact, 1.0, self.sd) ** 2 * self.sizes)
        return np.where(exact[:, None], self.lower, found)

    def losses(self, predicted: Table) -> Table:
        """The loss of each bag: how far its mean prediction is from what is allowed."""
        return self.pulls_and_losses(predicted)[1]

    def pulls_and_losses(self, predicted: Table) -> tuple[Table, Table]:
        """The targets whose cross-entropy has the slope of the loss, and the loss of each bag.

        These are the nearest allowed shares; of shares within a subset, these divided by its predicted mass, since
        the loss is per label in the subset.
        """
        predicted = np.maximum(predicted, _LEAST)
        targets = np.maximum(self.targets(predicted), 0)
        losses = np.sum(targets * np.log(np.maximum(targets, _LEAST) / predicted), axis=1)
        if self.sd is not None:
            variance = np.where(self.sd == 0, 1.0, self.sd) ** 2 * self.sizes
            losses = losses + np.sum((targets - self.lower) ** 2, axis=1) / (2 * variance)
        if self.within is not None:
            losses = np.where(labels_within(self.within), losses_within(predicted, self.within), losses)
            targets = targets / mass_of_subset(predicted, self.within)[:, None]
        return targets, np.asarray(losses)

    def distances(self, predicted: Table) -> Table:
        """The total variation distance of each bag's prediction and the nearest allowed shares.

        Of shares within a subset it is that within the subset, whatever its mass; 1 where the prediction has none.
        """
        found = np.abs(self.targets(predicted) - predicted).sum(axis=1) / 2
        if self.within is None:
            return np.asarray(found)
        mass = mass_of_subset(predicted, self.within)
        return np.where(labels_within(self.within), np.where(mass > _LEAST, found / mass, 1.0), found)


def nearest_within(predicted: Table, lower: Table, upper: Table) -> Table:
    """argmin KL(q ‖ predicted) over share vectors between bounds: clip(c · predicted), with c so that Σ q = 1.

    >>> nearest_within(np.array([[0.5, 0.5]]), np.array([[0.6, 0.0]]), np.array([[0.9, 1.0]]))
    array([[0.6, 0.4]])
    """
    low, high = np.full((2, len(predicted), 1), [[[-60.0]], [[60.0]]])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        too_much = np.clip(predicted * np.exp(middle), lower, upper).sum(axis=1, keepdims=True) > 1
        low, high = np.where(too_much, low, middle), np.where(too_much, middle, high)
    return np.clip(predicted * np.exp((low + high) / 2), lower, upper)


def remove_noise(predicted: Table, given: Table, variance: Table) -> Table:
    """argmin KL(q ‖ predicted) + ‖q − given‖² / (2 variance) over share vectors q.

    The minimum has log(q_k / predicted_k) + (q_k − given_k) / variance = μ for all k, with μ so that Σ q = 1.

    >>> remove_noise(np.array([[0.5, 0.5]]), np.array([[0.9, 0.1]]), np.array([0.001])).round(2)
    array([[0.9, 0.1]])
    """
    from scipy.special import wrightomega  # only here: bags are made without scipy

    scale = variance[:, None]
    shift = np.log(predicted) + given / scale - np.log(scale)  # q = scale · ω(shift + μ), as ω + log ω = z
    level = ((predicted - given) / scale).max(axis=1, keepdims=True)  # some q_k is not above the predicted one
    for _ in range(_NEWTON_STEPS):  # Σ q is convex and rises with μ: Newton's steps from above go down to the root
        omega = wrightomega(shift + level)
        excess = scale * omega.sum(axis=1, keepdims=True) - 1
        if np.abs(excess).max() < _CLOSE:
            break
        level = level - excess / (scale * (omega / (1 + omega)).sum(axis=1, keepdims=True))
    found = scale * wrightomega(shift + level)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def check_bounds(
    lower: Table, upper: Table, bag_ids: Sequence[Hashable], classes: Sequence[Hashable], tolerance: float
) -> None:
    """Refuse bounds that are no shares, that cross, or that no share vector can satisfy."""
    for name, bounds in (("lower", lower), ("upper", upper)):
        for bag, column in np.argwhere(~(np.isfinite(bounds) & (np.abs(bounds - 0.5) <= _FAR))):
            raise ValueError(
                f"bag {bag_ids[bag]!r}: the {name} bound {bounds[bag, column]:g} of class {classes[column]!r} is "
                f"not a share (percentages must be divided by 100)"
            )
    for bag, column in np.argwhere(~(lower <= upper)):
        raise ValueError(
            f"bag {bag_ids[bag]!r}: the lower bound {lower[bag, column]:g} of class {classes[column]!r} is above "
            f"its upper bound {upper[bag, column]:g}"
        )
    for bag in np.flatnonzero(lower.sum(axis=1) > 1 + tolerance).tolist():
        raise ValueError(f"bag {bag_ids[bag]!r}: no shares satisfy these bounds, the lower ones sum to above 1")
    for bag in np.flatnonzero(upper.sum(axis=1) < 1 - tolerance).tolist():
        raise ValueError(f"bag {bag_ids[bag]!r}: no shares satisfy these bounds, the upper ones sum to below 1")


def interval_middles(lower: Table, upper: Table) -> Table:
    """One share vector between the bounds, to begin with: the nearest to the mean of the bags' middles."""
    middles = (lower + upper) / 2
    overall = np.maximum(middles.mean(axis=0), _LEAST)
    found = nearest_within(np.tile(overall / overall.sum(), (len(lower), 1)), lower, upper)
    return found / found.sum(axis=1, keepdims=True)


def from_partial(
    table: Table, bag_ids: Sequence[Hashable], classes: Sequence[Hashable], tolerance: float
) -> tuple[Table, Table]:
    """Bounds of shares of which some are not known, NaN: each of those is at most what the known ones leave.

    A row without NaN is a full vector, which must sum to one.
    """
    unknown = np.isnan(table)
    for bag in np.flatnonzero(unknown.all(axis=1)).tolist():
        raise ValueError(f"bag {bag_ids[bag]!r}: none of its shares is known; leave the bag out")
    known = np.where(unknown, 0.0, table)
    for bag, column in np.argwhere(~((known >= 0) & (known <= 1))):
        raise ValueError(
            f"bag {bag_ids[bag]!r}: the value {table[bag, column]:g} of class {classes[column]!r} is not a share"
        )
    full = np.asarray(~unknown.any(axis=1))
    known[full] = _check_full_rows(table, full, bag_ids, classes, tolerance)
    left = 1 - known.sum(axis=1)
    for bag in np.flatnonzero((left < 0) & ~full).tolist():
        raise ValueError(
            f"bag {bag_ids[bag]!r}: its known shares sum to {1 - left[bag]:.6g}: nothing is left for the others"
        )
    alone = unknown & (unknown.sum(axis=1) == 1)[:, None]  # what is left is then known too
    lower = np.where(alone, left[:, None], known)
    return lower, np.where(unknown, left[:, None], known)


def _check_full_rows(
    table: Table,
    full: NDArray[np.bool_],
    bag_ids: Sequence[Hashable],
    classes: Sequence[Hashable],
    tolerance: float,
) -> Table:
    """The rows in which all shares are known, normalized; refused if they do not sum to one."""
    ids = [name for name, is_full in zip(bag_ids, full.tolist(), strict=True) if is_full]
    return check_proportions(table[full], ids, tolerance, classes)


def noise_sd(given: float | Sequence[float] | Table, n_bags: int) -> Table:
    """The standard deviation of noise in each bag's shares, given for all bags or for each."""
    with check_argument("proportions_sd"):
        found = check_numbers(np.atleast_1d(np.asarray(given)), "proportions_sd").astype(np.float64)
    if found.shape not in ((1,), (n_bags,)) or not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError(
            f"proportions_sd must be one number, or one for each of the {n_bags} bags, and not negative, "
            f"got {given!r}"
        )
    return np.broadcast_to(found, (n_bags,)).copy()


def refuse_other_than_noise(
    given: Table, noise: Table, bag_ids: Sequence[Hashable], classes: Sequence[Hashable], tolerance: float
) -> None:
    """Refuse noisy shares that are further from shares than their noise can bring them."""
    away = np.maximum(given - 1, -given)
    for bag, column in np.argwhere(away > _CHANCE * noise[:, None] + tolerance):
        raise ValueError(
            f"bag {bag_ids[bag]!r}: the value {given[bag, column]:g} of class {classes[column]!r} is further "
            f"from a share than noise of standard deviation {noise[bag]:g} explains (percentages must be divided "
            f"by 100)"
        )
    sums = given.sum(axis=1)
    for bag in np.flatnonzero(
        np.abs(sums - 1) > _CHANCE * noise * np.sqrt(given.shape[1]) + tolerance + ROUNDING
    ).tolist():
        raise ValueError(
            f"bag {bag_ids[bag]!r}: proportions sum to {sums[bag]:.6g}, further from 1 than noise of standard "
            f"deviation {noise[bag]:g} explains"
        )


def parse_known_shares(
    tables: Mapping[str, Table],
    bag_ids: Sequence[Hashable],
    classes: Sequence[Hashable],
    sizes: Table,
    *,
    partial: bool,
    within: bool,
    sd: Any,
    tolerance: float,
) -> tuple[Table, KnownShares | None]:
    """One share vector per bag, and what is known of it where that is less than the full, exact vector."""
    check_switch(partial, "partial")
    check_switch(within, "within")
    given = tables.get("proportions")
    noise = None if sd is None else noise_sd(sd, len(bag_ids))
    if within:
        refuse_beside_within(given, noise, partial=partial)
        assert given is not None
        return _parse_subsets(given, bag_ids, classes, sizes, tolerance)
    if "lower" in tables or "upper" in tables:
        if given is not None or noise is not None:
            raise ValueError("give either proportions (or counts), with or without noise, or bounds, not both")
        shape = next(iter(tables.values())).shape
        for name, table in tables.items():
            if table.shape != shape or table.shape[1] != len(classes):
                raise ValueError(f"{name} has the shape {table.shape}, but there must be {len(classes)} classes")
        lower, upper = tables.get("lower", np.zeros(shape)), tables.get("upper", np.ones(shape))
        check_bounds(lower, upper, bag_ids, classes, tolerance)
    elif given is not None and partial and np.isnan(given).any():
        if noise is not None:
            raise ValueError("proportions_sd needs full vectors of shares: leave it away where some are unknown")
        lower, upper = from_partial(given, bag_ids, classes, tolerance)
    elif given is not None and noise is not None:
        shares = check_noisy_proportions(given, bag_ids, classes)
        refuse_other_than_noise(shares, noise, bag_ids, classes, tolerance)
        return interval_middles(*(2 * (np.clip(shares, 0, 1),))), KnownShares(shares, shares, noise, sizes)
    else:
        assert given is not None
        return given, None
    return interval_middles(lower, upper), KnownShares(lower, upper, None, sizes)


def refuse_beside_within(given: Any, noise: Any, *, partial: bool) -> None:
    """Refuse shares within subsets together with another way of saying less than all shares."""
    if partial:
        raise ValueError(
            "the given shares are either those of the whole bag (partial) or those within the classes that are "
            "given (within), not both"
        )
    if given is None:
        raise ValueError("shares within the given classes (within) are proportions or counts, not bounds")
    if noise is not None:
        raise ValueError(
            "noise of known size (proportions_sd) needs shares of the whole bag, not within classes (within)"
        )


def _parse_subsets(
    given: Table, bag_ids: Sequence[Hashable], classes: Sequence[Hashable], sizes: Table, tolerance: float
) -> tuple[Table, KnownShares | None]:
    """Shares within the classes that are given; a row without NaN is a full vector."""
    if not np.isnan(given).any():
        return given, None
    within = parse_within(given, bag_ids, classes, tolerance)
    full = ~labels_within(within)
    shares = np.zeros_like(given)
    if full.any():
        shares[full] = _check_full_rows(given, full, bag_ids, classes, tolerance)
    lower = np.where(full[:, None], shares, 0.0)
    upper = np.where(full[:, None], shares, np.where(np.isnan(within), 1.0, within))
    return likely_shares(shares, within), KnownShares(lower, upper, None, sizes, within)
