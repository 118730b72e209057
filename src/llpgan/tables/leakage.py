"""Columns that give the label away."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from llpgan.utils.messages import warn_user

_SHORT = 3  # letters; a shorter class name is in too many words
_BAGS = 10  # fewer can be met by chance
_NEARLY_ALL = 0.98  # of the differences between bags, that no honest column alone explains
_MUCH = 0.75  # of them, where the column has hardly more values than there are classes
MORE_VALUES = 2  # than classes: votes for others, and none


def refuse_leaking_counts(
    name: str,
    text: bool,
    counts: NDArray[np.int64],
    proportions: NDArray[np.float64],
    classes: Sequence[str],
) -> None:
    """Refuse a column of two values that is named after a class; and one whose values have the classes' shares.

    The latter may have as many values as there are classes. ``counts`` (bags, values) says how many rows have each
    of the column's values; rows where it is missing do not count.
    """
    words = set(re.split(r"[\W_]+", name.casefold()))
    named = [c for c in classes if len(str(c)) >= _SHORT and str(c).casefold() in words]
    n_values = counts.shape[1]
    why = f"it is named after the class {named[0]!r}" if named and n_values == 2 else ""
    sizes = counts.sum(axis=1)
    known = sizes > 0
    differing = [(c, p) for c, p in zip(classes, proportions[known].T, strict=True) if np.ptp(p) > 0]
    found: list[str] = []
    for of_value in counts.T:
        shares = of_value[known] / sizes[known]
        found += [c for c, p in differing if np.allclose(shares, p, atol=5e-4)][:1]
    enough = 1 if n_values == 2 else n_values  # of two values, one may be a class and one all others
    if len(found) >= enough:
        why = why or f"it has the share of the class {found[0]!r} in every bag"
    if why:
        kind = "categories (categories)" if text else "numbers (numbers)"
        raise ValueError(
            f"column {name!r} looks like the label: {why}. Name it as the label (label), which keeps it out of "
            f"the features, or among the {kind} to keep it as a feature"
        )


def warn_of_determining(
    means: Mapping[str, NDArray[np.float64]], proportions: NDArray[np.float64], sizes: NDArray[np.int64]
) -> None:
    """Warn of columns whose means over bags (bags, encoded columns) nearly determine the bags' shares."""
    for name, of_column in means.items():
        if (explained := explained_by_values(of_column, proportions, sizes)) > _NEARLY_ALL:
            _warn(name, explained)


def warn_of_likely_label(name: str, counts: NDArray[np.int64], proportions: NDArray[np.float64]) -> bool:
    """Warn of a column with few values whose shares follow the classes'; gives whether there was reason to.

    It may be the label under another name also where it does not determine the shares: rows that are a sample have
    other shares than the population that the bags' proportions are of.
    """
    if counts.shape[1] > proportions.shape[1] + MORE_VALUES:
        return False
    sizes = counts.sum(axis=1)
    known = sizes > 0
    shares = counts[known, :-1] / sizes[known, None]
    explained = explained_by_values(shares, proportions[known], sizes[known])
    if explained > _MUCH:
        _warn(name, explained)
    return explained > _MUCH


def explained_by_values(
    values: NDArray[np.float64], proportions: NDArray[np.float64], weights: NDArray[np.int64]
) -> float:
    """R² of the bags' shares by values of the bags, adjusted for how many there are; 0 where bags are too few.

    >>> shares = np.linspace(0.2, 0.8, 12)
    >>> round(explained_by_values(3 * shares[:, None], np.column_stack([shares, 1 - shares]), np.full(12, 5)), 3)
    1.0
    """
    values = values[:, np.ptp(values, axis=0) > 0]
    n_bags, n_values = values.shape
    if n_values == 0 or n_bags < max(_BAGS, 3 * (n_values + 1)):
        return 0.0
    root = np.sqrt(weights / weights.sum())[:, None]
    around = proportions - np.average(proportions, axis=0, weights=weights)
    centred = values - np.average(values, axis=0, weights=weights)
    slopes = np.linalg.lstsq(root * centred, root * around, rcond=None)[0]
    total, left = np.sum((root * around) ** 2), np.sum((root * (around - centred @ slopes)) ** 2)
    if total < 1e-12:  # bags with the same shares tell nothing
        return 0.0
    return float(1 - left / total * (n_bags - 1) / (n_bags - 1 - n_values))


def _warn(name: str, explained: float) -> None:
    warn_user(
        f"column {name!r} may be the label under another name: averaged by bag, it explains "
        f"{100 * explained:.0f} % of the differences between the bags' shares. If it tells the class of a row, "
        f"leave it out (drop) or name it the label (label); else name it among the numbers or categories"
    )
