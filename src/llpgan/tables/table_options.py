"""What a user says of tables, checked before they are read: names, sizes and tolerances of the right type."""

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

from llpgan.bags import validation
from llpgan.tables.column_kinds import Columns


def check_options(
    *, bag: Any, label: Any, classes: Any, columns: Any, image: Any, image_size: Any, tolerance: Any
) -> None:
    """Refuse what no table could be read with."""
    if bag is not None:
        names(bag, "bag")
    if label is not None and not _is_name(label):
        raise TypeError(f"label must be the name of a column, got {label!r}")
    if bag is not None and label is not None and str(label) in names(bag, "bag"):
        raise ValueError(f"column {label!r} is given as bag and as label: a label tells the class of a row")
    if classes is not None:
        class_columns(classes)
    if columns is not None and not isinstance(columns, Columns):
        raise TypeError(
            f"columns must be Columns of llpgan.tables, such as Columns(drop=['name']), "
            f"got a {type(columns).__name__}"
        )
    if image is not None and not isinstance(image, str):
        raise TypeError(f"image must be the name of a column of paths, got {image!r}")
    if image_size is not None:
        _check_size(image_size)
    validation.tolerance(tolerance)


def refuse_empty_path(given: Any, option: str) -> None:
    """Refuse an empty text, which would be the path of the current folder."""
    if isinstance(given, str) and not given.strip():
        raise ValueError(f"{option} is an empty text: the path of a file or folder would be right")


def names(given: Any, option: str) -> list[str]:
    """One name of a column, or several.

    >>> names("state", "bag"), names(["state", "county"], "bag")
    (['state'], ['state', 'county'])
    """
    several = [given] if _is_name(given) else given
    if isinstance(several, str) or not isinstance(several, Sequence) or not all(map(_is_name, several)):
        raise TypeError(f"{option} must be the name of a column, or a list of names, got {given!r}")
    if not several:
        raise ValueError(f"{option} is an empty list: name at least one column")
    found = [str(name) for name in several]
    if len(set(found)) < len(found):
        raise ValueError(f"{option} names a column twice: {found}")
    return found


def class_columns(given: Any) -> Sequence[Hashable]:
    """The columns that are classes: at least two."""
    listed = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(listed, list | tuple) or not all(map(_is_name, listed)):
        raise TypeError(f"classes must be a list of names of columns, such as ['no', 'yes'], got {given!r}")
    if len(set(listed)) < max(2, len(listed)):
        raise ValueError(f"classes must be at least two names that differ, got {listed}")
    return listed


def _is_name(given: Any) -> bool:
    """Names are text; columns of frames may be numbered too."""
    return isinstance(given, str | Integral)


def _check_size(given: Any) -> None:
    is_pair = isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2
    if not is_pair or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in given):
        raise ValueError(f"image_size must be height and width in pixels, such as (32, 32), got {given!r}")
