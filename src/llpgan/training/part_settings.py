"""Checks of the settings of losses of bags and of terms on single instances, which are made by users."""

from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np


def require(holds: bool, name: str, value: Any, right: str) -> None:
    """Refuse a setting of a loss or a term."""
    if not holds:
        raise ValueError(f"{name}={value!r}: give {right}")


def require_weight(value: Any) -> None:
    """Refuse a weight that is negative or not a number."""
    require(is_number(value) and value >= 0, "weight", value, "a number, zero or more")


def require_share(name: str, value: Any) -> None:
    """Refuse what is not a part of one."""
    require(is_number(value) and 0 <= value <= 1, name, value, "a number from 0 to 1")


def require_whole(name: str, value: Any) -> None:
    """Refuse what is not a whole number from one on."""
    require(isinstance(value, Integral) and int(value) >= 1, name, value, "a whole number, one or more")


def require_truth(name: str, value: Any) -> None:
    """Refuse what is neither true nor false; numpy's truth values are, as in scikit-learn."""
    require(isinstance(value, bool | np.bool_), name, value, "True or False")


def is_number(value: Any) -> bool:
    """Whether a setting is a finite number."""
    return isinstance(value, Real) and isfinite(value)
