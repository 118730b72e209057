"""ROT: a network that learns from its own labels, shared out so that they meet the proportions."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

from llpgan.estimators.dllp import DLLPVariant
from llpgan.training.losses import ProportionLoss
from llpgan.training.losses.transport import TransportLoss
from llpgan.utils.parameter_checks import Interval, StrOptions


@dataclass(kw_only=True, eq=False, repr=False)
class ROT(DLLPVariant):
    """Relaxed optimal transport (Dulac-Arnold, Zeghidour, Cuturi, Beyer and Vert, 2019).

    Minimises (1 − w) · DLLP's loss + w · cross-entropy of the instances' labels, where the labels of a bag are the
    cheapest way to share its proportions out among its instances, by the network's own predictions.

    Parameters
    ----------
    transport_weight : float, default=0.4
        The weight w of the self-training term, from 0, which is DLLP, to 1.
    hard : bool, default=False
        Whether an instance gets one class, that of the largest share, as in later reports of the method. The
        labels of the authors are soft.
    epsilon : float, default=1.0
        The weight ε of the plan's entropy. Larger values make softer labels.
    relaxation : float, default=1.0
        The cost τ of missing the proportions. None means labels that meet them.
    sinkhorn_iterations : int, default=50
        The largest number of iterations of Sinkhorn's algorithm.
    {own_loss: transport}
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    DLLP : The network with the cross-entropy of bags alone.
    LLPVAT : Smoothness on single instances instead of self-training.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import ROT
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> ROT(random_state=0).fit(X, y, groups=bag).predict([[3.0], [35.0]])
    array([0, 1])
    """

    transport_weight: float = 0.4
    hard: bool = False
    epsilon: float = 1.0
    relaxation: float | None = 1.0
    sinkhorn_iterations: int = 50
    proportion_loss: str = "transport"

    _parameter_constraints: ClassVar = {
        **DLLPVariant._parameter_constraints,
        "transport_weight": [Interval(Real, 0, 1, closed="both")],
        "hard": ["boolean"],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "relaxation": [Interval(Real, 0, None, closed="neither"), None],
        "sinkhorn_iterations": [Interval(Integral, 1, None, closed="left")],
        "proportion_loss": [StrOptions({"transport"})],
    }

    def bag_loss(self) -> ProportionLoss:
        """Make the loss of a step's bags.

        Returns
        -------
        callable
            The loss, with the settings of this estimator.
        """
        return TransportLoss(
            weight=self.transport_weight,
            hard=self.hard,
            epsilon=self.epsilon,
            relaxation=float("inf") if self.relaxation is None else self.relaxation,
            n_iterations=self.sinkhorn_iterations,
        )
