"""LLPFC: which bag of a group an instance is in, as a label with known noise."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

from llpgan.bags import Bags
from llpgan.estimators.dllp import DLLPVariant
from llpgan.training.bag_transforms import GroupedBags
from llpgan.training.batches import BagDataset
from llpgan.training.distributed import Ranks
from llpgan.utils.parameter_checks import Interval, StrOptions


@dataclass(kw_only=True, eq=False, repr=False)
class LLPFC(DLLPVariant):
    """Forward correction of label noise (Zhang, Wang and Scott, 2022).

    Bags are dealt to groups of as many as there are classes. Which of the group's bags an instance is in is a
    noisy label of its class, with noise that follows from the bags' proportions; the cross-entropy of these labels
    is corrected for it. Made for few large bags that differ much. On random bags, which hardly differ, it learns
    little.

    Parameters
    ----------
    regroup_every : int, default=1
        The number of epochs after which bags are dealt to groups anew. The authors take 20.
    {own_loss: exact}
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    DLLP : The network with the cross-entropy of bags alone.
    MixBag : Another way to make the bags of a step.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import LLPFC
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> LLPFC(random_state=0).fit(X, y, groups=bag).predict([[3.0], [35.0]])
    array([0, 1])
    """

    regroup_every: int = 1
    proportion_loss: str = "exact"

    _parameter_constraints: ClassVar = {
        **DLLPVariant._parameter_constraints,
        "regroup_every": [Interval(Integral, 1, None, closed="left")],
        "proportion_loss": [StrOptions({"exact"})],
    }

    def _fewest_bags(self, bags: Bags) -> int:
        return bags.n_classes

    def _split(
        self, bags: Bags, held_out: Bags | None, seed: int, ranks: Ranks
    ) -> tuple[BagDataset, BagDataset | None]:
        training, judging = super()._split(bags, held_out, seed, ranks)
        grouped = GroupedBags(
            training.bags,
            training.which,
            regroup_every=self.regroup_every,
            at_once=training.at_once,
            mini_bag_size=training.mini_bag_size,
            share=training.share,
        )
        return grouped, judging
