"""Shares within a subset of the classes: the ratios among some classes are known, but not how many rows they have.

An official result gives the votes among candidates, and nobody counted who abstained. Of such a bag the classes of
a subset S have the shares r_k *within* S, Σ_{k in S} r_k = 1, and the mass of S is unknown. The labels of the rows
in S are a draw from r, and so the loss of a classifier whose mean prediction in the bag is p̄ is their likelihood,

    loss = −Σ_{k in S} r_k log(p̄_k / p̄_S) + Σ_{k in S} r_k log r_k,    p̄_S = Σ_{k in S} p̄_k:

the divergence of r from the predicted shares within S. It is the same for any mass of S, which other bags must
tell. The share vector that is nearest to p̄ in this sense is p̄ outside S and p̄_S · r_k within: the predicted mass
is kept, and divided as it is known to be. With S all classes it is the ordinary loss.

Tables here have one row per bag and one column per class; they are NaN outside S, and in the whole row of a bag of
which something else is known.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from llpgan.bags import validation

Table = NDArray[np.float64]
_LEAST = 1e-12
_ROUNDS = 100  # of estimating the overall shares


def told_within(within: Table) -> NDArray[np.bool_]:
    """(n_bags,): whether what is known of a bag are shares within a subset.

    >>> told_within(np.array([[0.4, 0.6, np.nan], [np.nan, np.nan, np.nan]]))
    array([ True, False])
    """
    return np.asarray(~np.isnan(within).all(axis=1))


def mass_of_subset(predicted: Table, within: Table) -> Table:
    """(n_bags,): Σ of the predictions in each bag's subset; 1 for bags without one.

    >>> mass_of_subset(np.array([[0.1, 0.3, 0.6]]), np.array([[0.5, 0.5, np.nan]]))
    array([0.4])
    """
    mass = np.where(np.isnan(within), 0, predicted).sum(axis=1)
    return np.where(told_within(within), np.maximum(mass, _LEAST), 1.0)


def with_mass_kept(predicted: Table, within: Table) -> Table:
    """The predicted shares, with the mass of each bag's subset divided as it is known to be.

    >>> with_mass_kept(np.array([[0.1, 0.3, 0.6]]), np.array([[0.5, 0.5, np.nan]]))
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


def parsed_within(
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
            f"tells nothing; leave the bag out"
        )
    for bag, column in np.argwhere(~np.isnan(within) & ~((within >= 0) & (within <= 1 + tolerance))):
        raise ValueError(
            f"bag {bag_ids[bag]!r}: the value {within[bag, column]:g} of class {classes[column]!r} is not a share "
            f"(counts go in as counts, percentages divided by 100)"
        )
    sums = np.where(told_within(within), np.nansum(within, axis=1), 1.0)
    for bag in np.flatnonzero(np.abs(sums - 1) > tolerance + validation.ROUNDING).tolist():
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
    told = told_within(within)
    overall = np.full(shares.shape[1], 1 / shares.shape[1]) if told.all() else shares[~told].mean(axis=0)
    found = shares
    for _ in range(_ROUNDS):
        filled = with_mass_kept(np.tile(np.maximum(overall, _LEAST), (len(shares), 1)), within)
        found = np.where(told[:, None], filled / filled.sum(axis=1, keepdims=True), shares)
        overall = found.mean(axis=0)
    return found


def unlinked_classes(within: Table) -> list[list[int]]:
    """The classes in groups that no bag compares; one group if every class can be compared with all others.

    >>> unlinked_classes(np.array([[0.5, 0.5, np.nan], [0.2, 0.8, np.nan]]))
    [[0, 1], [2]]
    """
    group = np.arange(within.shape[1])
    for pattern in np.unique(~np.isnan(within) | ~told_within(within)[:, None], axis=0):
        group[np.isin(group, group[pattern])] = group[pattern].min()
    return [np.flatnonzero(group == first).tolist() for first in np.unique(group)]
