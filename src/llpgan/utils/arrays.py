"""Arrays, frames and settings that users hand over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


_KINDS = {"U": "text", "S": "bytes", "T": "text", "M": "dates", "m": "durations", "c": "complex numbers"}


_LARGEST_LEARNED = 2**25 - 2**16  # bytes; glibc learns from nothing larger


def keep_freed_memory() -> None:
    """Let this process keep some megabytes that arrays have freed, for the arrays that come next.

    glibc gives large arrays back to the system when they are freed, until one of this size has been freed. Methods
    that compute some thousand rows at a time would otherwise wait longer for new pages, which the system fills
    with zeros, than for their arithmetic. It has no effect with other allocators.
    """
    np.empty(_LARGEST_LEARNED, np.uint8)  # freed at once


@contextmanager
def check_argument(name: str) -> Iterator[None]:
    """Whatever goes wrong with an argument is a ValueError or a TypeError that names it.

    >>> with check_argument("classes"):
    ...     float("few")
    Traceback (most recent call last):
        ...
    ValueError: classes: could not convert string to float: 'few'
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        if kind is type(error) and re.search(rf"\b{name}\b", str(error)):
            raise
        raise kind(f"{name}: {_first_line(error)}") from error
    except (OSError, MemoryError, RecursionError):
        raise
    except Exception as error:  # a user's object may raise anything when it is read
        raise ValueError(f"{name} cannot be read: {type(error).__name__}: {_first_line(error)}") from error


def check_numbers(given: Any, name: str) -> Array:
    """An array of numbers, without a copy where it is one already (also a memory-mapped one).

    >>> check_numbers([[1, 2], [3, 4.5]], "instances")
    array([[1. , 2. ],
           [3. , 4.5]])
    """
    kinds = given.dtypes if hasattr(given, "sparse") and is_frame(given) else ()
    if hasattr(given, "tocsr") or any(type(kind).__name__ == "SparseDtype" for kind in kinds):
        raise TypeError(f"{name} is sparse: give a dense array, such as {name}.toarray()")
    columns = list(given.columns) if is_frame(given) else []
    for column in columns:
        if columns.count(column) > 1:
            raise ValueError(f"{name} has more than one column {column!r}: columns need names of their own")
    array = _as_array(given, name)
    if array.dtype.kind in "biuf":
        return array
    if is_frame(given):
        return np.column_stack([_numbers_of_column(given[column], column, name) for column in columns])
    if array.dtype != object:
        raise ValueError(f"{name} must be numbers, got {_name_kind(array.dtype)}")
    for place, value in zip(np.ndindex(array.shape), array.ravel().tolist(), strict=True):
        if not _holds_number(value) and not is_missing(value):
            raise ValueError(f"{name} must be numbers, got {_quote_value(value)} at {list(place)}")
    return np.array([_as_float(value, name) for value in array.ravel().tolist()]).reshape(array.shape)


def check_between_0_and_1(given: Any, name: str, *, such_as: float) -> None:
    """Refuse what is no number between 0 and 1, both excluded.

    >>> check_between_0_and_1(90, "coverage", such_as=0.9)
    Traceback (most recent call last):
        ...
    ValueError: coverage must be a number between 0 and 1, such as 0.9, got 90
    """
    if not isinstance(given, int | float | np.number) or not 0 < given < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, such as {such_as:g}, got {given!r}")


def check_one_per_row(given: Any, name: str) -> Array | list[Any]:
    """One value for each row: an array if it is given as one, else a list.

    >>> check_one_per_row(("Ohio", "Iowa"), "bag_of_row")
    ['Ohio', 'Iowa']
    """
    if isinstance(given, list | tuple | range):
        return list(given)
    array = _as_array(given, name)
    if array.ndim != 1:
        raise ValueError(f"{name} needs one value for each row, got an array of shape {array.shape}")
    return array


def check_labels(given: Any, name: str) -> Array:
    """The class of each row, none of which may be missing.

    >>> check_labels(["no", "yes"], "labels")
    array(['no', 'yes'], dtype='<U3')
    """
    values = check_one_per_row(given, name)
    array = values if isinstance(values, np.ndarray) else _refuse_mixed_kinds(values, name)
    if array.dtype == object:
        missing = np.array([is_missing(value) for value in array.tolist()], dtype=bool)
    else:
        missing = array != array  # NaN and NaT differ from themselves
    for row in np.flatnonzero(missing):
        raise ValueError(f"{name}: row {row} has no label, but {array[row]}")
    if array.dtype.kind == "f" and (array % 1 != 0).any() and (n_values := len(np.unique(array))) > _MANY_CLASSES:
        raise ValueError(f"{name} are {n_values} different fractional numbers: a few classes would be right")
    return array


_MANY_CLASSES = 20  # more are no classes, if they are fractional numbers


def check_class_names(given: Any, name: str) -> Array:
    """Names of classes, each of the type that it came with: text, whole numbers, floats, or truth values.

    >>> check_class_names([0, "other"], "classes")
    array([0, 'other'], dtype=object)
    """
    values = check_one_per_row(given, name)
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in plain:
        if not isinstance(value, str | int | float) or is_missing(value):
            raise ValueError(f"{name}: classes are named by text or numbers, but one is {_quote_value(value)}")
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    kinds = {next(kind for kind in (bool, str, int, float) if isinstance(value, kind)) for value in plain}
    if len(kinds) > 1 or isinstance(values, np.ndarray):
        mixed = np.empty(len(plain), dtype=object)
        mixed[:] = plain
        return mixed
    return np.asarray(plain)


def is_frame(given: Any) -> bool:
    """Whether this is a table with named columns: of pandas, of polars, or alike."""
    is_arrow = hasattr(given, "column_names")
    return hasattr(given, "columns") and not isinstance(given, type | np.ndarray) and not is_arrow


def is_missing(value: Any) -> bool:
    """Whether a single value is none: None, NaN, or the signs of pandas for that.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0)
    (True, True, False)
    """
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def refuse_masked(given: Any, name: str) -> Array:
    """The array that numpy makes of it, unless a value of it is masked."""
    if isinstance(given, np.ma.MaskedArray):
        for place in np.argwhere(np.ma.getmaskarray(given)).tolist():
            raise ValueError(
                f"{name}: the value at {place} is masked: fill masked values, or leave their rows out"
            )
    return np.asarray(given)


def _as_array(given: Any, name: str) -> Array:
    """Whatever numpy makes of it; a masked array only where nothing is masked."""
    if isinstance(given, np.ma.MaskedArray):
        return refuse_masked(given, name)
    if hasattr(given, "column_names"):
        raise TypeError(
            f"{name} is an Arrow table, which goes to Bags.from_tables; an array or a frame would be right"
        )
    if isinstance(given, str | bytes) or not (hasattr(given, "__array__") or isinstance(given, Sequence)):
        kind = "nothing" if given is None else f"a {type(given).__name__}"
        raise TypeError(f"{name} must be an array, a frame or a list, got {kind}")
    try:
        return np.asanyarray(given)
    except ValueError as error:
        lengths = "its rows have different lengths" if "inhomogeneous" in str(error) else str(error)
        raise ValueError(f"{name} cannot be made an array: {lengths}") from error


def _numbers_of_column(column: Any, title: Any, name: str) -> Array:
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values
    if values.dtype != object:
        raise ValueError(f"{name}: column {title!r} holds {_name_kind(values.dtype)}, not numbers; {_USE_TABLES}")
    for row, value in enumerate(values.tolist()):
        if not _holds_number(value) and not is_missing(value):
            raise ValueError(
                f"{name}: column {title!r}, row {row}: {_quote_value(value)} is not a number; {_USE_TABLES}"
            )
    return np.array([_as_float(value, f"{name}: column {title!r}") for value in values.tolist()])


def _as_float(value: Any, name: str) -> float:
    try:
        return np.nan if is_missing(value) else float(value)
    except OverflowError:
        raise ValueError(f"{name}: {_quote_value(value)} is too large for a float") from None


def _refuse_mixed_kinds(values: list[Any], name: str) -> Array:
    """Numpy would make text of the numbers in a list that has both."""
    if len({isinstance(value, str) for value in values if value is not None}) > 1:
        raise TypeError(f"{name} must be all text or all numbers, got both")
    if any(value is None for value in values):
        mixed = np.empty(len(values), dtype=object)
        mixed[:] = values
        return mixed
    array = _as_array(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} needs one value for each row, got an array of shape {array.shape}")
    return array


def _holds_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal | np.number | np.bool_) and not isinstance(value, complex)


def _name_kind(dtype: np.dtype[Any]) -> str:
    return _KINDS.get(dtype.kind, f"values of type {dtype}")


def _quote_value(value: Any) -> str:
    text = " ".join(repr(value).split())
    return f"{text if len(text) <= 40 else text[:40] + '...'} ({type(value).__name__})"


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


_USE_TABLES = "Bags.from_tables encodes columns of text and dates"


def to_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A pandas frame of these columns.

    Parameters
    ----------
    columns : mapping of str to sequence
        The columns by name, all of the same length.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ImportError
        If pandas is not installed.

    Examples
    --------
    >>> to_frame({"bag": ["Iowa", "Ohio"], "error": [0.1, 0.2]}).shape
    (2, 2)
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame needs pandas, which is not installed: pip install pandas") from error
    return pandas.DataFrame(dict(columns))


def require(holds: bool, name: str, value: Any, right: str) -> None:
    """Refuse a setting of a loss or a term."""
    if not holds:
        raise ValueError(f"{name}={value!r}: give {right}")


def require_weight(value: Any) -> None:
    """Refuse a weight that is negative or not a number."""
    require(is_finite_number(value) and value >= 0, "weight", value, "a number, zero or more")


def require_share(name: str, value: Any) -> None:
    """Refuse what is not a part of one."""
    require(is_finite_number(value) and 0 <= value <= 1, name, value, "a number from 0 to 1")


def require_whole(name: str, value: Any) -> None:
    """Refuse what is not a whole number from one on."""
    require(isinstance(value, Integral) and int(value) >= 1, name, value, "a whole number, one or more")


def require_truth(name: str, value: Any) -> None:
    """Refuse what is neither true nor false; numpy's truth values are, as in scikit-learn."""
    require(isinstance(value, bool | np.bool_), name, value, "True or False")


def is_finite_number(value: Any) -> bool:
    """Whether a setting is a finite number."""
    return isinstance(value, Real) and isfinite(value)


def choose_classes(
    probabilities: Array, classes: Array, threshold: float | Mapping[Any, float] | None
) -> NDArray[np.int64]:
    """The position of the predicted class of each row.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
        The probability of each class.
    classes : ndarray of shape (n_classes,)
        The classes.
    threshold : float or mapping of class to float or None
        The probability from which a class is predicted; a number is that of the second of two classes. If several
        classes reach theirs, the one with the largest multiple of its threshold wins; if none does, the most
        probable of the other classes. None means the most probable class.

    Examples
    --------
    >>> rows, classes = np.array([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]]), np.array(["a", "b", "rare"])
    >>> choose_classes(rows, classes, {"rare": 0.15}).tolist()
    [0, 2]
    >>> choose_classes(rows[:, :2], classes[:2], 0.3).tolist()
    [1, 1]
    """
    if threshold is None:
        return probabilities.argmax(axis=1)
    names = [str(name) for name in classes.tolist()]
    if not isinstance(threshold, Mapping):
        if len(names) != 2:
            raise ValueError(
                f"a single threshold is for two classes, and there are {len(names)}: name the class of each "
                f"threshold, such as {names[-1]}=0.2 (threshold)"
            )
        threshold = {names[1]: threshold}
    limits = np.full(len(names), np.nan)
    for name, limit in threshold.items():
        if str(name) not in names:
            raise ValueError(f"there is no class {name!r} (threshold); the classes are {', '.join(names)}")
        if not 0 < limit < 1:
            raise ValueError(f"the threshold of {name!r} must be between 0 and 1, got {limit:g} (threshold)")
        limits[names.index(str(name))] = limit
    has_limit = np.isfinite(limits)
    multiples = np.where(has_limit, probabilities / np.where(has_limit, limits, 1), 0.0)
    others = probabilities if has_limit.all() else np.where(has_limit, -1.0, probabilities)
    reached = multiples.max(axis=1) >= 1
    chosen: NDArray[np.int64] = np.where(reached, multiples.argmax(axis=1), others.argmax(axis=1))
    return chosen
