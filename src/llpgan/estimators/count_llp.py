"""Count likelihood: how probable the bag's number of members of each class is."""

from dataclasses import dataclass
from typing import ClassVar

from llpgan.estimators.dllp import DLLP
from llpgan.training.losses import ProportionLoss
from llpgan.training.losses.counts import HEADS, CountLoss
from llpgan.utils.parameter_checks import StrOptions


@dataclass(kw_only=True, eq=False, repr=False)
class CountLLP(DLLP):
    """The likelihood of class counts (CountLoss, Shukla et al., 2023; LLP-PVC, 2026).

    Minimises −mean_i Σ_k log P(S_ik = m_i p_ik): for each class the number of its members in a bag, a sum of
    independent instances with the network's posteriors, should be the known one. The time grows with the square of
    the bag's size; bags have up to 10,000 instances of two classes, or 4,472 of ten.

    Args:
        heads: "softmax" posteriors, or "sigmoid" ones, each class by itself, as LLP-PVC; predictions are a softmax
            of the same logits.
        proportion_loss: is "counts".
        others: see :class:`~llpgan.estimators.dllp.DLLP`; ``mini_bag_size`` must be None.

    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> CountLLP(random_state=0).fit(X, y, groups=bag).predict([[3.0], [35.0]])
    array([0, 1])
    """

    heads: str = "softmax"
    proportion_loss: str = "counts"

    _parameter_constraints: ClassVar = {
        **DLLP._parameter_constraints,
        "heads": [StrOptions(set(HEADS))],
        "proportion_loss": [StrOptions({"counts"})],
        "mini_bag_size": [None],
    }

    def bag_loss(self) -> ProportionLoss:
        """The loss of a step's bags, with these settings."""
        return CountLoss(self.heads)
