"""LLP-DC: a network that learns labels of its own, which have the counts of the bags, on another view of them."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from llpgan.estimators.dllp import DLLPVariant
from llpgan.training.augmentation import AUGMENTATIONS, Augment
from llpgan.training.instance_terms import InstanceTerm, SelfTraining
from llpgan.utils.parameter_checks import Interval, StrOptions


@dataclass(kw_only=True, eq=False, repr=False)
class LLPDC(DLLPVariant):
    """Label proportions with constrained assignment (LLP-DC, 2026).

    In each step, the instances of a bag get the labels that its class counts allow and the network finds most
    probable. Beside the loss of the bag, the network then learns these labels on another view of the instances,
    such as distorted images. With a view it takes about twice as long as DLLP.

    Parameters
    ----------
    self_training_weight : float, default=0.5
        The weight of the cross-entropy of the labels; with 0 this is DLLP. Beside the losses "counts", "dsq" and
        "easyllp", which grow with the bag, it is multiplied by the mean size of the bags.
    soft : bool, default=False
        Whether labels are probabilities whose mean meets the proportions of the bag, instead of one class for each
        instance.
    confidence : float, default=0.6
        The smallest predicted probability of a label that is learned. Soft labels are all learned.
    view : {"shifts", "shifts_and_flips", "distortions", "distortions_and_flips"} or callable, default=None
        The random change of the images on which labels are learned, as in ``augment``. The labels are made from
        images without this change. None means that labels are learned on the same instances.
    ramp_until : float, default=0.0
        The part T of the training after which the weight is full. It rises as exp(−5 (1 − t/T)²), and with 0 it is
        full from the start.
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    ROT : Soft labels from relaxed optimal transport, on the same view.
    LLPVAT : Smoothness where instances change in the worst direction.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import LLPDC
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> LLPDC(random_state=0).fit(X, y, groups=bag).predict([[3.0], [35.0]])
    array([0, 1])
    """

    self_training_weight: float = 0.5
    soft: bool = False
    confidence: float = 0.6
    view: str | Augment | None = None
    ramp_until: float = 0.0

    _parameter_constraints: ClassVar = {
        **DLLPVariant._parameter_constraints,
        "self_training_weight": [Interval(Real, 0, None, closed="left")],
        "soft": ["boolean"],
        "confidence": [Interval(Real, 0, 1, closed="both")],
        "view": [StrOptions(set(AUGMENTATIONS)), callable, None],
        "ramp_until": [Interval(Real, 0, 1, closed="both")],
    }

    def _own_terms(self) -> list[InstanceTerm]:
        labels = SelfTraining(
            weight=self.self_training_weight,
            ramp_until=self.ramp_until,
            soft=self.soft,
            confidence=self.confidence,
            view=self.view,
        )
        return [labels, *super()._own_terms()]
