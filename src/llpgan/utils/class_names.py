"""Classes by name: labels and columns of users beside the classes of a model."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.utils import array_input
from llpgan.utils.arrays import Array
from llpgan.utils.suggestions import did_you_mean


def matched_labels(labels: Any, classes: Array, name: str) -> Array:
    """The labels as the classes have them: the same values, or the same in words (0 and '0').

    A label that is no class stays as it is, and is then never right; where all are such, that is an error.

    >>> matched_labels([1, 0, 1], np.array(["0", "1"]), "y").tolist()
    ['1', '0', '1']
    """
    found, index = np.unique(array_input.labels(labels, name), return_inverse=True)
    values = found.tolist()
    places = [_place(value, classes.tolist()) for value in values]
    if all(place is None for place in places):
        raise ValueError(f"{name}: no label is one of the classes {_few(classes)}; there are {_few(found)}")
    named = np.empty(len(values), dtype=object)
    known = classes.tolist()
    named[:] = [value if place is None else known[place] for value, place in zip(values, places, strict=True)]
    return named[index]


def matched_columns(table: Any, classes: Array, name: str) -> NDArray[np.float64]:
    """The proportions of each row in the order of the classes: a frame's by the names of its columns.

    >>> import pandas as pd
    >>> matched_columns(pd.DataFrame({"yes": [0.75], "no": [0.25]}), np.array(["no", "yes"]), "y")
    array([[0.25, 0.75]])
    """
    with array_input.argument(name):
        rows = array_input.numbers(table, name).astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(classes):
            raise ValueError(
                f"proportions need one column for each of the {len(classes)} classes {_few(classes)}, got an "
                f"array of shape {rows.shape}"
            )
        if not array_input.is_frame(table):
            return rows
        return rows[:, [_column_of(cls, list(table.columns)) for cls in classes.tolist()]]


def _column_of(name: Hashable, columns: Sequence[Hashable]) -> int:
    place = _place(name, columns)
    if place is None:
        raise ValueError(f"no column for the class {name!r}{did_you_mean(name, columns)}")
    return place


def _place(name: Hashable, names: Sequence[Hashable]) -> int | None:
    """Where a name is among others: itself, or the only one that reads the same."""
    if name in names:
        return names.index(name)
    alike = [place for place, other in enumerate(names) if _text(other) == _text(name)]
    return alike[0] if len(alike) == 1 else None


def _text(name: Any) -> str:
    """0, 0.0 and '0' read the same."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _few(names: Array) -> str:
    shown = ", ".join(map(repr, names.tolist()[:5]))
    return shown + (" ..." if len(names) > 5 else "")
