"""Groups of instances by how sure the classifier is of them, as a table."""

from typing import Any, NamedTuple

from llpgan.utils.frames import frame


class CalibrationBin(NamedTuple):
    """Instances with about the same confidence of the classifier.

    Attributes
    ----------
    confidence : float
        The mean probability of the most probable class.
    accuracy : float
        The share of instances whose most probable class is right.
    n : int
        The number of instances.
    """

    confidence: float
    accuracy: float
    n: int


class CalibrationTable(tuple[CalibrationBin, ...]):
    """The groups that are not empty, from unsure to sure.

    Parameters
    ----------
    iterable : iterable of CalibrationBin, default=()
        The groups.

    Examples
    --------
    >>> CalibrationTable([CalibrationBin(0.9, 0.8, 10)]).to_frame().shape
    (1, 3)
    """

    __slots__ = ()

    def to_frame(self) -> Any:
        """The groups as a pandas frame, with one row per group.

        Returns
        -------
        pandas.DataFrame
            One row per entry.
        """
        return frame({name: [getattr(row, name) for row in self] for name in CalibrationBin._fields})
