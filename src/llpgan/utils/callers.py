"""Who called: a user's own line, or scikit-learn on behalf of one."""

import sys
import warnings
from types import FrameType

_BETWEEN = ("sklearn.", "joblib.")
_WARNED: set[tuple[str, int, str]] = set()


def is_called_by_scikit_learn() -> bool:
    """Whether scikit-learn called the function that asks."""
    return _is_between(sys._getframe(2))


def warn_once(text: str, about: str) -> None:
    """Warn at the user's line that called the function that warns.

    Where scikit-learn stands between, it may call again and again for that line: one warning is enough. (Python's
    own filter forgets what it has shown whenever filters change, as they do in many fits.)

    Parameters
    ----------
    text : str
        Of the warning.
    about : str
        What it is about; the same line may be warned of several things.
    """
    frame, level = sys._getframe(2), 3
    while _is_between(frame) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    place = (frame.f_code.co_filename, frame.f_lineno, about)
    if level == 3 or place not in _WARNED:
        warnings.warn(text, stacklevel=level)
    _WARNED.add(place)


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's that called this library, however deep inside it the reason was found."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("llpgan."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def _is_between(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith(_BETWEEN)
