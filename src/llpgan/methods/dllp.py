"""DLLP and the later methods that differ from it in their loss, terms or bags."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from lightning_fabric import Fabric
from sklearn.utils._param_validation import Interval, StrOptions
from torch import nn

from llpgan.bags import Bags
from llpgan.deep.batches import BagDataset, Rows
from llpgan.deep.images import AUGMENTATIONS, Augment
from llpgan.deep.losses import ProportionLoss
from llpgan.deep.losses.bag_losses import HEADS, CountLoss
from llpgan.deep.losses.moments import FORMS, MomentLoss
from llpgan.deep.losses.self_labels import TransportLoss
from llpgan.deep.mixed_bags import GroupedBags, MixedBags
from llpgan.deep.networks import Pair
from llpgan.deep.objectives import Entropy, InstanceTerm, Objective, ProportionObjective, SelfTraining, Smoothness
from llpgan.methods.deep import DeepClassifier, terms_in_training


@dataclass(kw_only=True, eq=False, repr=False)
class DLLP(DeepClassifier):
    """Deep learning from label proportions: a network fitted to the proportions of bags.

    The method minimizes −mean_i p_i · log p̄_i, the cross-entropy of the proportions p_i of each bag and its mean
    prediction p̄_i [1]_. The entropy term is eq. 3 of [2]_. With bags of size one (``fit`` without ``groups``)
    this is ordinary supervised training.

    Parameters
    ----------
    entropy_weight : float, default=0.0
        The weight λ of the mean entropy of the predictions for single instances, relative to the cross-entropy of
        a bag. With the losses "counts", "dsq" and "easyllp", which grow with the bag, it is multiplied by the mean
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

    def _objective(self, recipe: Pair, networks: dict[str, nn.Module], bags: Bags, fabric: Fabric) -> Objective:
        return ProportionObjective(
            classifier=self._player(recipe, networks["classifier"], fabric),
            terms=terms_in_training(self, recipe, bags),
            term_scale=self._loss_scale(bags),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class DLLPVariant(DLLP):
    """Base class of methods that are DLLP with a loss or bags of their own.

    These losses know neither weights nor shares of which less is known than a full vector.
    """

    takes_weights: ClassVar = False
    takes_bag_weights: ClassVar = False
    takes_partial: ClassVar = False


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

    {example: MomentMatching}
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

    def _own_loss(self) -> ProportionLoss:
        return MomentLoss(self.order, self.form)


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

    {example: CountLLP}
    """

    heads: str = "softmax"
    proportion_loss: str = "counts"

    _parameter_constraints: ClassVar = {
        **DLLPVariant._parameter_constraints,
        "heads": [StrOptions(set(HEADS))],
        "proportion_loss": [StrOptions({"counts"})],
        "mini_bag_size": [None],
    }

    def _own_loss(self) -> ProportionLoss:
        return CountLoss(self.heads)


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
        The cost τ of missing the proportions. None means labels that match them.
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

    {example: ROT}
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

    def _own_loss(self) -> ProportionLoss:
        return TransportLoss(
            weight=self.transport_weight,
            hard=self.hard,
            epsilon=self.epsilon,
            relaxation=float("inf") if self.relaxation is None else self.relaxation,
            n_iterations=self.sinkhorn_iterations,
        )


@dataclass(kw_only=True, eq=False, repr=False)
class LLPVAT(DLLP):
    """Label proportions with consistency regularisation (Tsai and Lin, 2020), by virtual adversarial training.

    Adds w(t) · KL(f(x) ‖ f(x + r)) to DLLP's loss, where r is the small change of the instance that changes the
    prediction most. It takes two to three times as long as DLLP.

    Parameters
    ----------
    smoothness_weight : float, default=0.05
        The weight w of the smoothness term, which rises as exp(−5 (1 − t/T)²); with 0 this is DLLP. With the
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

    {example: LLPVAT}
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


@dataclass(kw_only=True, eq=False, repr=False)
class LLPDC(DLLPVariant):
    """Label proportions with constrained assignment (LLP-DC, 2026).

    In each step, the instances of a bag get the labels that its class counts allow and the network finds most
    probable. In addition to the bag loss, the network learns these labels on another view of the instances,
    such as distorted images. With a view it takes about twice as long as DLLP.

    Parameters
    ----------
    self_training_weight : float, default=0.5
        The weight of the cross-entropy of the labels; with 0 this is DLLP. With the losses "counts", "dsq" and
        "easyllp", which grow with the bag, it is multiplied by the mean size of the bags.
    soft : bool, default=False
        Whether labels are probabilities whose mean matches the proportions of the bag, instead of one class for
        each instance.
    confidence : float, default=0.6
        The smallest predicted probability of a label that is learned. Soft labels are all learned.
    view : {"shifts", "shifts_and_flips", "slight_shifts_and_flips", "distortions", "distortions_and_flips"} \
            or callable, default=None
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

    {example: LLPDC}
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

    {example: MixBag}
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

    def _make_dataset(self, bags: Bags, which: Rows | None = None, **settings: Any) -> BagDataset:
        mixing = {"mix_probability": self.mix_probability, "confidence": self.confidence}
        return MixedBags(bags, which, **mixing, **settings)


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

    {example: LLPFC}
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

    def _make_dataset(self, bags: Bags, which: Rows | None = None, **settings: Any) -> BagDataset:
        return GroupedBags(bags, which, regroup_every=self.regroup_every, **settings)
