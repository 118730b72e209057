"""LLP-GAN: the classifier is a GAN's discriminator."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import torch
from lightning_fabric import Fabric
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from torch import nn

from llpgan.bags import Bags
from llpgan.deep.batches import Player
from llpgan.deep.images import Scaling, put_before_unscaling
from llpgan.deep.networks import ACTIVATIONS, MakeGenerator, Pair, check_generator
from llpgan.deep.networks.parts import make_network, use_channels_last
from llpgan.deep.objectives import (
    CRITICS,
    GENERATOR_LOSSES,
    NOISES,
    AdversarialObjective,
    CriticObjective,
    GeneratorLoss,
    Noise,
    Objective,
    critic_head,
)
from llpgan.methods.deep import DeepClassifier, make_adam, terms_in_training
from llpgan.utils.arrays import Array
from llpgan.utils.workers import processes


@dataclass(kw_only=True, eq=False, repr=False)
class LLPGAN(DeepClassifier):
    """LLP-GAN: the classifier is also the discriminator of a generative adversarial network.

    The classifier distinguishes K real classes and, as one more class, the instances that a generator makes. It
    minimizes (eq. 4 of [1]_)

        −mean log P(real | x) − mean log P(fake | G(z)) − λ · mean_i p_i · log p̄_i

    and the generator minimizes the squared distance between the mean features of the classifier on real and on
    generated instances.

    Parameters
    ----------
    proportion_weight : float, default=None
        The weight λ of the proportion loss. None means the mean size of the bags. The larger a bag is, the less
        its proportions say about an instance, and the adversarial terms would otherwise dominate. With the losses
        "counts", "dsq" and "easyllp", which grow with the bag themselves, None means 1.
    generator : torch.nn.Module or callable, default=None
        The generator: a module from noise of shape ``(n, noise_size)`` to instances, or a callable that makes one
        from the shape of an instance, the size of the noise and the activation. Instances are in the range of the
        networks: images in [−1, 1], tables with standardized columns. None means the generator that suits the
        shape of the instances.
    generator_loss : {"feature_matching", "feature_matching_pull_away", "saturating", "nonsaturating"} \
            or callable, default="feature_matching"
        The loss of the generator. "saturating" is eq. 12 of the paper. A callable takes the outputs of the
        classifier for real and for generated instances, each with ``logits`` and ``features``.
    critic : {"wasserstein", "hinge"}, default=None
        The kind of critic, in addition to the classes: "wasserstein", with a gradient penalty, or "hinge". The
        generator then raises the score of the critic instead of minimizing ``generator_loss``. None means no
        critic. The classifier itself then distinguishes real from generated instances.
    fakes_per_instance : float, default=None
        The number of instances that a step generates for each of its real instances. Fewer take less time. None
        means 0.5 for the default classifier of photographs, and 1 otherwise.
    noise : {"uniform", "normal"} or callable, default="uniform"
        The distribution of the noise: "uniform" on (−1, 1), or "normal". A callable takes the number of samples,
        ``noise_size`` and the device.
    noise_size : int, default=100
        The number of dimensions of the noise.
    {inherited}

    Attributes
    ----------
    generator_ : torch.nn.Module
        The trained generator, on the CPU. It returns instances in the range of the training instances.
    {inherited}

    See Also
    --------
    DLLP : The same network without a generator.

    References
    ----------
    .. [1] J. Liu, B. Wang, Z. Qi, Y. Tian and Y. Shi, "Learning from label proportions with generative adversarial
       networks", Advances in Neural Information Processing Systems 32, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import LLPGAN
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = LLPGAN(random_state=0).fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    >>> model.sample(2).shape
    (2, 1)
    """

    proportion_weight: float | None = None
    generator: nn.Module | MakeGenerator | None = None
    generator_loss: str | GeneratorLoss = "feature_matching"
    critic: str | None = None
    fakes_per_instance: float | None = None
    noise: str | Noise = "uniform"
    noise_size: int = 100

    takes_partial: ClassVar = True
    takes_bag_weights: ClassVar = True

    _parameter_constraints: ClassVar = {
        **DeepClassifier._parameter_constraints,
        "proportion_weight": [Interval(Real, 0, None, closed="neither"), None],
        "generator": [callable, None],
        "generator_loss": [StrOptions(set(GENERATOR_LOSSES)), callable],
        "critic": [StrOptions(set(CRITICS)), None],
        "fakes_per_instance": [Interval(Real, 0, None, closed="neither"), None],
        "noise": [StrOptions(set(NOISES)), callable],
        "noise_size": [Interval(Integral, 1, None, closed="left")],
    }

    @torch.no_grad()
    def sample(self, n: int, random_state: int | None = None) -> Array:
        """Draw instances from the generator.

        Parameters
        ----------
        n : int
            The number of instances.
        random_state : int, default=None
            The seed of the noise. Pass an integer for the same instances in every call.

        Returns
        -------
        ndarray of shape (n, ...)
            The generated instances, in the range of the training instances.
        """
        check_is_fitted(self, "generator_")
        n = int(check_scalar(n, "n", Integral, min_val=1))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(check_random_state(random_state).randint(2**31)))
            noise = self._noise()(n, self.noise_size, torch.device("cpu"))
            device = next(self.generator_.parameters()).device  # not the CPU while a monitor looks on
            return self.generator_.eval()(noise.to(device)).cpu().numpy()

    def _objective(self, recipe: Pair, networks: dict[str, nn.Module], bags: Bags, fabric: Fabric) -> Objective:
        self.generator_ = networks["generator"]  # so that a monitor can sample from it
        if self.critic is not None:
            if self.max_instances_per_step is not None or processes()[0] > 1:
                raise ValueError(
                    f"critic={self.critic!r} takes a step whole, in one process: chunks need critic=None"
                )
            networks["critic"] = critic_head(networks["classifier"], self.instance_shape_)
        adam, at_once = partial(make_adam, self, recipe), self.max_instances_per_step
        others = {name: network for name, network in networks.items() if name != "classifier"}
        shared: Any = {
            **{name: Player(network, adam, fabric, at_once) for name, network in others.items()},
            "classifier": self._player(recipe, networks["classifier"], fabric),
            "terms": terms_in_training(self, recipe, bags),
            "term_scale": self._loss_scale(bags),
            "proportion_weight": self.proportion_weight or float(bags.sizes.mean()) / self._loss_scale(bags),
            "fakes_per_instance": recipe.fakes_per_instance,
            "noise": self._noise(),
            "noise_size": self.noise_size,
        }
        if self.critic is not None:
            scaling = cast(Scaling, cast(nn.Sequential, networks["classifier"])[0])
            return CriticObjective(**shared, kind=CRITICS[self.critic], scaling=scaling)
        given = self.generator_loss
        return AdversarialObjective(**shared, generator_loss=given if callable(given) else GENERATOR_LOSSES[given])

    def _networks(self, recipe: Pair, scaling: Scaling) -> dict[str, nn.Module]:
        networks, shape = super()._networks(recipe, scaling), self.instance_shape_
        if isinstance(self.generator, nn.Module):
            generator = copy.deepcopy(self.generator)
        else:
            activation = ACTIVATIONS[self.activation or "leaky_relu"]
            generator = make_network("generator", recipe.generator, shape, self.noise_size, activation)
        check_generator(generator, shape, self.noise_size)
        return {**networks, "generator": use_channels_last(put_before_unscaling(generator, scaling))}

    def _keep(self, classifier: nn.Module, objective: Objective) -> None:
        super()._keep(classifier, objective)
        self.generator_ = objective.players["generator"].bare.cpu().eval()

    def _noise(self) -> Noise:
        return self.noise if callable(self.noise) else NOISES[self.noise]
