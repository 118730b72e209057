"""MixBag: DLLP with bags that are mixed from two, of which proportions are known up to an interval."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from llpgan.bags import Bags
from llpgan.estimators.dllp import DLLPVariant
from llpgan.training.bag_transforms import MixedBags
from llpgan.training.batches import BagDataset
from llpgan.training.distributed import Ranks
from llpgan.utils.parameter_checks import Interval, StrOptions


@dataclass(kw_only=True, eq=False, repr=False)
class MixBag(DLLPVariant):
    """Bag-level augmentation (Asanomi, Matsuo, Suehiro and Bise, 2023).

    A bag of a step is replaced, every other time, by a sample from it and a sample from another bag, together as
    large. Its proportions are then known up to chance: a class whose mean prediction lies in their confidence
    interval adds nothing to DLLP's loss.

    Parameters
    ----------
    mix_probability : float, default=0.5
        The probability that a bag is replaced by a mixed one; with 0 this is DLLP.
    confidence : float, default=0.99
        The confidence of the interval of the proportions of a mixed bag.
    {own_loss: exact}
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    DLLP : The network with the cross-entropy of bags alone.
    LLPFC : Another way to make the bags of a step.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import MixBag
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> MixBag(random_state=0).fit(X, y, groups=bag).predict([[3.0], [35.0]])
    array([0, 1])
    """

    mix_probability: float = 0.5
    confidence: float = 0.99
    proportion_loss: str = "exact"

    _parameter_constraints: ClassVar = {
        **DLLPVariant._parameter_constraints,
        "mix_probability": [Interval(Real, 0, 1, closed="both")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "proportion_loss": [StrOptions({"exact"})],
        "mini_bag_size": [None],
    }

    def _split(
        self, bags: Bags, held_out: Bags | None, seed: int, ranks: Ranks
    ) -> tuple[BagDataset, BagDataset | None]:
        training, judging = super()._split(bags, held_out, seed, ranks)
        mixed = MixedBags(
            training.bags,
            training.which,
            mix_probability=self.mix_probability,
            confidence=self.confidence,
            at_once=training.at_once,
            share=training.share,
        )
        return mixed, judging
