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
    """Refuse a column of two values that is named after a class, or whose mean in each bag is a class's share."""
    for name in names:
        numbers = _two_values(name, table[name])
        if numbers is None:
            continue
        why = _named_after(name, classes) or _shares_of(numbers, bag_index, proportions, classes)
        if why:
            raise ValueError(
                f"column {name!r} looks like the label: {why}. Say so (label {name}), which keeps it out of the "
                f"features, or name it among the numbers to learn from it all the same"
            )


def _two_values(name: str, column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    """The column as zeros and ones where that is what it has, or two texts."""
    if column.null_count or values.has_more_values_than(column, 2) or not values.has_more_values_than(column, 1):
        return None
    text = values.plain(values.as_text(name, column)).to_numpy()
    return np.array(text != text[0], dtype=np.float64)


def _named_after(name: str, classes: Sequence[str]) -> str:
    words = set(re.split(r"[\W_]+", name.casefold()))
    named = [c for c in classes if len(str(c)) >= _SHORT and str(c).casefold() in words]
    return f"it is named after the class {named[0]!r}" if named else ""


def _shares_of(
    numbers: NDArray[np.float64],
    bag_index: NDArray[np.int64],
    proportions: NDArray[np.float64],
    classes: Sequence[str],
) -> str:
    if np.ptp(proportions, axis=0).max() == 0:
        return ""
    means = np.bincount(bag_index, numbers) / np.bincount(bag_index)
    for shares, name in zip(proportions.T, classes, strict=True):
        if np.allclose(means, shares, atol=5e-4) or np.allclose(1 - means, shares, atol=5e-4):
            return f"its mean in every bag is the share of the class {name!r}"
    return ""
