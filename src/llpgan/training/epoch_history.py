"""What was measured in each epoch of a training."""

from typing import Any

from llpgan.utils.frames import frame


class EpochHistory(list[dict[str, float]]):
    """One dict per epoch, as ``history_`` of a trained model has them.

    Examples
    --------
    >>> EpochHistory([{"epoch": 1, "proportion_loss": 0.7}]).to_frame().columns.tolist()
    ['epoch', 'proportion_loss']
    """

    def to_frame(self) -> Any:
        """The history as a pandas frame: one row per epoch, one column per figure; NaN where there is none.

        Returns
        -------
        pandas.DataFrame
        """
        names = dict.fromkeys(name for row in self for name in row)
        return frame({name: [row.get(name) for row in self] for name in names})
