"""LLP-VAT: DLLP whose predictions do not change where instances change a little."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from llpgan.estimators.dllp import DLLP
from llpgan.training.instance_terms import InstanceTerm, Smoothness
from llpgan.utils.parameter_checks import Interval


@dataclass(kw_only=True, eq=False, repr=False)
class LLPVAT(DLLP):
    """Label proportions with consistency regularisation (Tsai and Lin, 2020), by virtual adversarial training.

    Adds w(t) · KL(f(x) ‖ f(x + r)) to DLLP's loss, where r is the small change of the instance that changes the
    prediction most. It takes two to three times as long as DLLP.

    Parameters
    ----------
    smoothness_weight : float, default=0.05
        The weight w of the smoothness term, which rises as exp(−5 (1 − t/T)²); with 0 this is DLLP. Beside the
        losses "counts", "dsq" and "easyllp", which grow with the bag, it is multiplied by the mean size of the
        bags.
    ramp_until : float, default=0.4
        The part T of the training after which the weight is full. With 0 it is full from the start.
    length : float, default=None
        The length ε of the change r in the range of the networks: pixels in [−1, 1], columns with deviation 1.
        None means a tenth of the square root of the number of features.
    probe : float, default=0.01
        The length ξ of the step by which the change is found.
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    DLLP : The network with the cross-entropy of bags alone.
    ROT : Self-training on single instances instead of smoothness.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import LLPVAT
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> LLPVAT(random_state=0).fit(X, y, groups=bag).predict([[3.0], [35.0]])
    array([0, 1])
    """

    smoothness_weight: float = 0.05
    ramp_until: float = 0.4
    length: float | None = None
    probe: float = 0.01

    takes_weights: ClassVar = False
    takes_bag_weights: ClassVar = False

    _parameter_constraints: ClassVar = {
        **DLLP._parameter_constraints,
        "smoothness_weight": [Interval(Real, 0, None, closed="left")],
        "ramp_until": [Interval(Real, 0, 1, closed="both")],
        "length": [Interval(Real, 0, None, closed="neither"), None],
        "probe": [Interval(Real, 0, None, closed="neither")],
    }

    def _own_terms(self) -> list[InstanceTerm]:
        smoothness = Smoothness(
            weight=self.smoothness_weight, ramp_until=self.ramp_until, length=self.length, probe=self.probe
        )
        return [smoothness, *super()._own_terms()]
