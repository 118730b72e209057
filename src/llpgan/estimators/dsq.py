"""DSQ: the squared distance of proportions, freed of what random bags add to it."""

from dataclasses import dataclass
from typing import ClassVar

from llpgan.estimators.dllp import DLLPVariant
from llpgan.utils.parameter_checks import StrOptions


@dataclass(kw_only=True, eq=False, repr=False)
class DSQ(DLLPVariant):
    """The debiased square (2024): for bags drawn at random, an unbiased estimate of instances' squared loss.

    Minimises m‖p_i − p̄_i‖² less an estimate of (m − 1)‖E f − π‖² from the step's other bags. Where bags are not
    random, as states or schools, what is subtracted is wrong, and DLLP is the method.

    Parameters
    ----------
    {own_loss: dsq}
    bags_per_step : int, default=None
        The number of bags per step, at least three, because the bags of a step are compared.
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    DLLP : The network with the cross-entropy of bags alone.
    MomentMatching : Second moments with the exact loss.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import DSQ
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 1))
    >>> y, bag = (X[:, 0] > 0).astype(int), np.arange(80) // 4
    >>> DSQ(random_state=0).fit(X, y, groups=bag).predict([[-1.0], [1.0]])
    array([0, 1])
    """

    proportion_loss: str = "dsq"

    _parameter_constraints: ClassVar = {
        **DLLPVariant._parameter_constraints,
        "proportion_loss": [StrOptions({"dsq"})],
        "mini_bag_size": [None],
    }
