"""DLLP: a network trained on the proportions alone."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from lightning_fabric import Fabric

from llpgan.bags import Bags
from llpgan.estimators.deep import DeepClassifier
from llpgan.training.instance_terms import Entropy, InstanceTerm
from llpgan.training.objectives import Objective, ProportionObjective
from llpgan.utils.parameter_checks import Interval


@dataclass(kw_only=True, eq=False, repr=False)
class DLLP(DeepClassifier):
    """Deep learning from label proportions: a network fitted to the proportions of bags.

    The method minimizes −mean_i p_i · log p̄_i, the cross-entropy of the proportions p_i of each bag and its mean
    prediction p̄_i [1]_. The entropy term is eq. 3 of [2]_. With bags of size one (``fit`` without ``groups``)
    this is ordinary supervised training.

    Parameters
    ----------
    entropy_weight : float, default=0.0
        The weight λ of the mean entropy of the predictions for single instances, beside the cross-entropy of a
        bag. Beside the losses "counts", "dsq" and "easyllp", which grow with the bag, it is multiplied by the mean
        size of the bags.
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    LLPGAN : The same network, trained at the same time as the discriminator of a GAN.
    BagLogistic : The same loss with a linear classifier.

    References
    ----------
    .. [1] E. M. Ardehaly and A. Culotta, "Co-training for demographic classification using deep learning from
       label proportions", IEEE International Conference on Data Mining Workshops, 2017.
    .. [2] J. Liu, B. Wang, Z. Qi, Y. Tian and Y. Shi, "Learning from label proportions with generative adversarial
       networks", Advances in Neural Information Processing Systems 32, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import DLLP
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = DLLP(random_state=0).fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    entropy_weight: float = 0.0

    takes_weights: ClassVar = True
    takes_partial: ClassVar = True
    takes_bag_weights: ClassVar = True

    _parameter_constraints: ClassVar = {
        **DeepClassifier._parameter_constraints,
        "entropy_weight": [Interval(Real, 0, None, closed="left")],
    }

    def _own_terms(self) -> list[InstanceTerm]:
        return [Entropy(weight=self.entropy_weight), *super()._own_terms()]

    def _objective(self, bags: Bags, fabric: Fabric) -> Objective:
        classifier = self._player(self._fresh_networks(bags)["classifier"], fabric)
        return ProportionObjective(classifier=classifier, **self._fit_to_bags(bags))


@dataclass(kw_only=True, eq=False, repr=False)
class DLLPVariant(DLLP):
    """Base class of methods that are DLLP with a loss or bags of their own.

    These losses know neither weights nor shares of which less is known than a full vector.
    """

    takes_weights: ClassVar = False
    takes_bag_weights: ClassVar = False
    takes_partial: ClassVar = False
