"""What charts and tables need to know of bags: a page on a model has it, and so has one on an evaluation."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from llpgan.evaluation import BagScores


class BagFacts(Protocol):
    """Sizes and proportions of bags, and the names of the classes."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of instances in each bag."""

    @property
    def proportions(self) -> NDArray[np.float64]:
        """The given shares, of shape (n_bags, n_classes)."""

    @property
    def classes(self) -> Sequence[str]:
        """The names of the classes."""


class ToldBags(BagFacts, Protocol):
    """The same with the names of bags, and with how well each is met."""

    @property
    def bag_names(self) -> Sequence[str]:
        """The names of the bags."""

    @property
    def scores(self) -> BagScores:
        """How well each bag is met."""
