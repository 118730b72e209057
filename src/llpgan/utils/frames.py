"""Tables for people who work with pandas, which is not required otherwise."""

from collections.abc import Mapping, Sequence
from typing import Any


def frame(columns: Mapping[str, Sequence[Any]]) -> Any:
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
    >>> frame({"bag": ["Iowa", "Ohio"], "error": [0.1, 0.2]}).shape
    (2, 2)
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame needs pandas, which is not installed: pip install pandas") from error
    return pandas.DataFrame(dict(columns))
