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
        if codes is None:
            continue
        named = _named_after(name, classes) if codes.max() == 1 else ""
        if why := named or _shares_of(codes, bag_index, proportions, classes):
            kind = "categories" if values.is_text(table[name]) else "numbers"
            raise ValueError(
                f"column {name!r} looks like the label: {why}. Say so (label {name}), which keeps it out of the "
                f"features, or name it among the {kind} to learn from it all the same"
            )


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


def _shares_of(
    codes: NDArray[np.int64],
    bag_index: NDArray[np.int64],
    proportions: NDArray[np.float64],
    classes: Sequence[str],
) -> str:
    there = codes >= 0
    sizes = np.bincount(bag_index[there], minlength=len(proportions))
    known = sizes > 0
    found = []
    for value in range(codes.max() + 1):
        shares = np.bincount(bag_index[codes == value], minlength=len(proportions))[known] / sizes[known]
        found += [name for name, p in zip(classes, proportions[known].T, strict=True) if _same(shares, p)][:1]
    enough = 1 if codes.max() == 1 else codes.max() + 1  # of two values, one may be a class and one all others
    return f"it has the share of the class {found[0]!r} in every bag" if len(found) >= enough else ""


def _same(shares: NDArray[np.float64], of_class: NDArray[np.float64]) -> bool:
    return bool(np.ptp(of_class) > 0 and np.allclose(shares, of_class, atol=5e-4))
