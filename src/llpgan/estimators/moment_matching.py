"""Moment matching: the class counts among several members of a bag, not only their mean."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

from llpgan.estimators.dllp import DLLPVariant
from llpgan.training.losses import ProportionLoss
from llpgan.training.losses.moments import FORMS, MomentLoss
from llpgan.utils.parameter_checks import Interval, StrOptions


@dataclass(kw_only=True, eq=False, repr=False)
class MomentMatching(DLLPVariant):
    """Moment matching for label proportions (LLP-MM): DLLP with the laws of counts among up to R members.

    The mean prediction of a bag does not tell a network that knows its instances from one that gives each the
    bag's proportions; the counts among two or more members, drawn without replacement, do. With ``order=1`` it is
    DLLP.

    Parameters
    ----------
    order : int, default=8
        The largest number R of members that are drawn. Time grows with its fourth power, but little up to 8.
    form : {"one_vs_rest", "joint"}, default="one_vs_rest"
        "one_vs_rest" compares the count of each class by itself; "joint" all counts together, which for
        many classes is only possible at low orders.
    {own_loss: moments}
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    DLLP : The network with the cross-entropy of bags alone.
    CountLLP : The likelihood of all counts instead of their moments.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import MomentMatching
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> MomentMatching(random_state=0).fit(X, y, groups=bag).predict([[3.0], [35.0]])
    array([0, 1])
    """

    order: int = 8
    form: str = "one_vs_rest"
    proportion_loss: str = "moments"

    _parameter_constraints: ClassVar = {
        **DLLPVariant._parameter_constraints,
        "order": [Interval(Integral, 1, None, closed="left")],
        "form": [StrOptions(set(FORMS))],
        "proportion_loss": [StrOptions({"moments"})],
    }

    def bag_loss(self) -> ProportionLoss:
        """Make the loss of a step's bags.

        Returns
        -------
        callable
            The loss, with the settings of this estimator.
        """
        return MomentLoss(self.order, self.form)
