"""Columns that look like the label are refused: a model that sees them learns nothing else."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from llpgan.sources import values

_SHORT = 3  # letters; a shorter class name is in too many words


def refuse_leak(
    table: pa.Table,
    names: Sequence[str],
    bag_index: NDArray[np.int64],
    proportions: NDArray[np.float64],
    classes: Sequence[str],
) -> None:
    """Refuse a column of two values that is named after a class; and one whose values have the classes' shares.

    The latter may have as many values as there are classes. Rows where a column is missing do not count.
    """
    for name in names:
        codes = _codes(name, table[name], max(2, len(classes)))
        if codes is not None:
            there = codes >= 0
            counts = counts_by_bag(bag_index[there], codes[there], len(proportions))
            refuse_leaking_counts(name, values.is_text(table[name]), counts, proportions, classes)


def refuse_leaking_counts(
    name: str,
    text: bool,
    counts: NDArray[np.int64],
    proportions: NDArray[np.float64],
    classes: Sequence[str],
) -> None:
    """The same for one column, of which it is known how many rows (bags, values) have each of its values."""
    named = _named_after(name, classes) if counts.shape[1] == 2 else ""
    if why := named or _shares_of(counts, proportions, classes):
        raise ValueError(
            f"column {name!r} looks like the label: {why}. Say so (label {name}), which keeps it out of the "
            f"features, or name it among the {'categories' if text else 'numbers'} to learn from it all the same"
        )


def counts_by_bag(bag_index: NDArray[np.int64], codes: NDArray[np.int64], n_bags: int) -> NDArray[np.int64]:
    """(bags, codes): how many rows of each bag have each code.

    >>> counts_by_bag(np.array([0, 0, 1]), np.array([1, 1, 0]), 2)
    array([[0, 2],
           [1, 0]])
    """
    n_codes = int(codes.max()) + 1 if len(codes) else 0
    return np.bincount(bag_index * n_codes + codes, minlength=n_bags * n_codes).reshape(n_bags, n_codes)


def _codes(name: str, column: pa.ChunkedArray, most: int) -> NDArray[np.int64] | None:
    """The values of a column that has two to so many, as 0, 1, ...; -1 where there is none."""
    if values.has_more_values_than(column, most) or not values.has_more_values_than(column, 1):
        return None
    codes = values.plain(values.as_text(name, column)).combine_chunks().dictionary_encode()
    return np.asarray(codes.indices.fill_null(-1), dtype=np.int64)


def _named_after(name: str, classes: Sequence[str]) -> str:
    words = set(re.split(r"[\W_]+", name.casefold()))
    named = [c for c in classes if len(str(c)) >= _SHORT and str(c).casefold() in words]
    return f"it is named after the class {named[0]!r}" if named else ""


def _shares_of(counts: NDArray[np.int64], proportions: NDArray[np.float64], classes: Sequence[str]) -> str:
    sizes = counts.sum(axis=1)
    known = sizes > 0
    found = []
    for of_value in counts.T:
        shares = of_value[known] / sizes[known]
        found += [name for name, p in zip(classes, proportions[known].T, strict=True) if _same(shares, p)][:1]
    enough = 1 if counts.shape[1] == 2 else counts.shape[1]  # of two values, one may be a class and one all others
    return f"it has the share of the class {found[0]!r} in every bag" if len(found) >= enough else ""


def _same(shares: NDArray[np.float64], of_class: NDArray[np.float64]) -> bool:
    return bool(np.ptp(of_class) > 0 and np.allclose(shares, of_class, atol=5e-4))
