"""Labels as users have them, and the classes of a model: the same names, or numbers that count the classes."""

import warnings
from collections.abc import Sequence

import numpy as np

from llpgan.utils.arrays import Array


def labels_as_classes(labels: Array, classes: Array, column: str, names: Sequence[str] = ()) -> Array:
    """The class of each label.

    Parameters
    ----------
    labels : ndarray
        The labels of all rows.
    classes : ndarray
        The classes of the model.
    column : str
        The column of the labels, for messages.
    names : sequence of str, default=()
        The classes of the different values, in their sorted order, for labels with other names.

    Examples
    --------
    >>> labels_as_classes(np.array(["no", "yes"]), np.array(["no", "yes"]), "vote")
    array(['no', 'yes'], dtype='<U3')
    >>> labels_as_classes(np.array(["F", "T"]), np.array(["no", "yes"]), "vote", names=["no", "yes"])
    array(['no', 'yes'], dtype='<U3')
    """
    found, index = np.unique(labels, return_inverse=True)
    chosen = _matched(found, classes, column, names)
    return classes[chosen][index]


def _matched(found: Array, classes: Array, column: str, names: Sequence[str]) -> list[int]:
    """The position of the class of each value that was found."""
    place = {str(name): position for position, name in enumerate(classes.tolist())}
    texts = [str(value) for value in (names or found.tolist())]
    if len(texts) != len(found):
        raise ValueError(f"column {column!r} has the values {found.tolist()}, but {len(texts)} names are given")
    if all(text in place for text in texts):
        return [place[text] for text in texts]
    if not names and found.dtype.kind in "biuf" and set(found.tolist()) <= set(range(len(classes))):
        said = ", ".join(f"{value:g} is {classes[int(value)]}" for value in found.astype(float))
        warnings.warn(f"column {column!r} holds numbers, taken in the order of the classes: {said}", stacklevel=4)
        return [int(value) for value in found]
    raise ValueError(
        f"column {column!r} has the values {texts}, but the classes are {list(place)}: name the class of each "
        f"value, in the order of the values (label_names)"
    )
