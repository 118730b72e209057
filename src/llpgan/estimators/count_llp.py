"""Count likelihood: how probable the bag's number of members of each class is."""

from dataclasses import dataclass
from typing import ClassVar

from llpgan.estimators.dllp import DLLPVariant
from llpgan.training.losses import ProportionLoss
from llpgan.training.losses.counts import HEADS, CountLoss
from llpgan.utils.parameter_checks import StrOptions


@dataclass(kw_only=True, eq=False, repr=False)
class CountLLP(DLLPVariant):
    """The likelihood of class counts (CountLoss, Shukla et al., 2023; LLP-PVC, 2026).

    Minimises −mean_i Σ_k log P(S_ik = m_i p_ik): for each class the number of its members in a bag, a sum of
    independent instances with the network's posteriors, should be the known one. The time grows with the square of
    the bag's size; bags have up to 10,000 instances of two classes, or 4,472 of ten.

    Parameters
    ----------
    heads : {"softmax", "sigmoid"}, default="softmax"
        "softmax" for the posteriors of all classes together, or "sigmoid" for each class by itself, as LLP-PVC has
        it. Predictions are always a softmax of the logits, which is too sure of its classes with "sigmoid": with
        two classes, their odds are squared.
    {own_loss: counts}
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    DLLP : The network with the cross-entropy of bags alone.
    MomentMatching : Moments of the counts instead of their likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import CountLLP
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> CountLLP(random_state=0).fit(X, y, groups=bag).predict([[3.0], [35.0]])
    array([0, 1])
    """

    heads: str = "softmax"
    proportion_loss: str = "counts"

    _parameter_constraints: ClassVar = {
        **DLLPVariant._parameter_constraints,
        "heads": [StrOptions(set(HEADS))],
        "proportion_loss": [StrOptions({"counts"})],
        "mini_bag_size": [None],
    }

    def bag_loss(self) -> ProportionLoss:
        """Make the loss of a step's bags.

        Returns
        -------
        callable
            The loss, with the settings of this estimator.
        """
        return CountLoss(self.heads)
