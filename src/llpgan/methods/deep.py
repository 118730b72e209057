"""The base class of deep methods."""

from __future__ import annotations

import copy
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from lightning_fabric import Fabric
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from torch import nn
from torch.optim import Optimizer

from llpgan.bags import Bags, fit_warnings
from llpgan.bags.fit_warnings import EpochHistory, Watcher, refuse_lost, sample_rows
from llpgan.deep.batches import (
    BagDataset,
    Player,
    Rows,
    as_tensor,
    default_bags_per_step,
    mixes_instances,
    photo_bags_a_step,
    refuse_batch_norm,
)
from llpgan.deep.devices import Ranks, choose_precision, launch_ranks, select_device
from llpgan.deep.images import (
    AUGMENTATIONS,
    MIRRORING,
    Augment,
    Scaling,
    check_coarse,
    named_augmentation,
    put_after_scaling,
    set_image_scale,
    small_shape,
)
from llpgan.deep.loop import (
    MUON_RATE,
    MUON_RATE_WITHOUT_NORM,
    OPTIMIZERS,
    SGD_RATE,
    Checkpoint,
    Listener,
    MakeOptimizer,
    Plan,
    named_optimizer,
    predict_posteriors,
    progress_listener,
    tensorboard_listener,
    train,
)
from llpgan.deep.losses import PROPORTION_LOSSES, BagLoss, ProportionLoss, proportion_loss
from llpgan.deep.networks import (
    ACTIVATIONS,
    MakeClassifier,
    Pair,
    check_classifier,
    default_pair,
    keeps_own_weights,
    learn_patches,
    paper_pair,
    settle_weights,
    signal_spread,
)
from llpgan.deep.networks.parts import StepNorm, describe_factory, make_network, use_channels_last
from llpgan.deep.networks.photo import PhotoClassifier
from llpgan.deep.objectives import INSTANCE_TERMS, InstanceTerm, Objective, Terms, resolve_terms
from llpgan.methods.base import LLPClassifier
from llpgan.methods.calibration import (
    apply_temperature,
    plan_calibration,
)
from llpgan.utils.arrays import Array
from llpgan.utils.messages import warn_user
from llpgan.utils.workers import processes

USUAL_EPOCHS, _FEWEST_EPOCHS = 100, 5
_FEWEST_EPOCHS_TO_GROW = 10  # with fewer, coarse images would not grow in time
_FEWEST_EPOCHS_ON_PHOTOS, _FEWEST_PHOTO_EPOCHS_TO_GROW = 12, 4
_STEPS_ON_TABLES = 3_000  # after which networks begin to memorize the bags of a table
_ONLY_WATCHING = {"verbose", "checkpoint", "tensorboard"}  # settings that do not change what is learned


def find_recipe(model: DeepClassifier) -> Pair:
    """The networks and settings of a fit: as the user gave them, and otherwise as suits the instances.

    With a network of the user's, settings are those of the paper's networks, and images are not coarse at first.
    """
    usual = default_pair(model.instance_shape_)
    is_usual = model.classifier in (None, usual.classifier)
    recipe = usual if is_usual else paper_pair(model.instance_shape_)
    fewest = _FEWEST_EPOCHS_TO_GROW if recipe.n_steps is None else _FEWEST_PHOTO_EPOCHS_TO_GROW
    if not is_usual or (model.epochs or USUAL_EPOCHS) < fewest:
        recipe = recipe._replace(coarse_until=0.0)
    named = {name: getattr(model, name, None) for name in Pair._fields if name not in ("augment", "learning_rate")}
    given: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if model.augment != "auto":
        given["augment"] = model.augment
    return recipe._replace(**given)


def make_plan(model: DeepClassifier, recipe: Pair, bags: Bags, seed: int) -> Plan:
    """Epochs, steps, rates and averages of the training."""
    return Plan(
        epochs=count_epochs(model, recipe, bags),
        bags_a_step=_choose_bags_per_step(model, recipe, bags),
        seed=seed,
        warm_up=recipe.warm_up,
        decay_from=recipe.decay_from,
        average=recipe.average,
        patience=model.patience,
        augment=named_augmentation("augment", recipe.augment, as_tensor(bags.instances[:2])),
        coarse_until=recipe.coarse_until,
        coarsest=recipe.coarsest,
    )


def make_optimizer(
    model: DeepClassifier, recipe: Pair, parameters: list[nn.Parameter], *, has_norm: bool
) -> Optimizer:
    """The optimizer of the classifier."""
    name: Any = recipe.optimizer
    if callable(name):
        optimizer = name(parameters)
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"optimizer made a {type(optimizer).__name__}, not a torch.optim.Optimizer")
        return optimizer
    if name == "adam":
        return make_adam(model, recipe, parameters)
    rate = model.learning_rate or (
        SGD_RATE if name == "sgd" else MUON_RATE if has_norm else MUON_RATE_WITHOUT_NORM
    )
    return named_optimizer(name, parameters, rate, model.betas, model.weight_decay, has_norm=has_norm)


def make_adam(model: DeepClassifier, recipe: Pair, parameters: list[nn.Parameter]) -> Optimizer:
    """Adam, of a classifier or a generator; the learning rate of another optimizer is not Adam's."""
    own_rate = model.learning_rate if recipe.optimizer == "adam" else None
    rate = own_rate or paper_pair(model.instance_shape_).learning_rate
    return named_optimizer("adam", parameters, rate, recipe.betas, model.weight_decay, has_norm=False)


def count_epochs(model: DeepClassifier, recipe: Pair, bags: Bags) -> int:
    """As many as asked for, or as usual: fewer for tables of many bags."""
    if model.epochs is not None:
        return model.epochs
    fewest, n_steps = _FEWEST_EPOCHS_ON_PHOTOS, recipe.n_steps
    if n_steps is None:
        if len(model.instance_shape_) > 1:
            return USUAL_EPOCHS
        fewest, n_steps = _FEWEST_EPOCHS, _STEPS_ON_TABLES
    steps = -(-bags.n_bags // _choose_bags_per_step(model, recipe, bags))
    return min(USUAL_EPOCHS, max(fewest, round(n_steps / steps)))


def _choose_bags_per_step(model: DeepClassifier, recipe: Pair, bags: Bags) -> int:
    """As many as asked for, or as usual; enough for a loss that compares the bags of a step."""
    loss = model.bag_loss()
    fewest = loss.fewest_bags if isinstance(loss, BagLoss) else 1
    if fewest > 1 and bags.n_bags - round(model.validation_fraction * bags.n_bags) < 2:
        raise ValueError("a single bag cannot tell the classes apart by this proportion_loss: give more bags")
    if model.bags_per_step is None:
        usual = default_bags_per_step if recipe.n_steps is None else photo_bags_a_step
        return max(fewest, usual(bags, model.mini_bag_size))
    if model.bags_per_step < fewest:
        raise ValueError(
            f"bags_per_step={model.bags_per_step}: this proportion_loss compares the bags of a step; give "
            f"{fewest} or more, or None"
        )
    return model.bags_per_step


def split_bags(
    model: DeepClassifier, bags: Bags, held_out: Bags | None, seed: int, ranks: Ranks
) -> tuple[BagDataset, BagDataset | None]:
    """The bags to train with, and those that judge each epoch: given, or a share of them drawn at random."""
    training = partial(
        model._make_dataset,
        at_once=model.max_instances_per_step,
        mini_bag_size=model.mini_bag_size,
        share=ranks.share,
        loss=model.bag_loss(),
    )
    if held_out is not None:
        if held_out.classes.tolist() != bags.classes.tolist():
            raise ValueError(f"held-out bags have classes {held_out.classes}, the others {bags.classes}")
        model._check_others(held_out)
        return training(bags), BagDataset(held_out)
    n_held_out = round(model.validation_fraction * bags.n_bags)
    if n_held_out == 0:
        if model.validation_fraction > 0:
            raise ValueError(
                f"validation_fraction={model.validation_fraction} holds out no bag: give a larger one"
            )
        if model.patience is not None:
            raise ValueError("patience looks at held-out bags: set validation_fraction, or give held_out bags")
        return training(bags), None
    if n_held_out == bags.n_bags:
        raise ValueError(f"validation_fraction={model.validation_fraction} leaves no bag: give a smaller one")
    order = np.random.default_rng(seed).permutation(bags.n_bags)
    return training(bags, np.sort(order[n_held_out:])), BagDataset(bags, np.sort(order[:n_held_out]))


def make_checkpoint(model: DeepClassifier, bags: Bags, held_out: Bags | None = None) -> Checkpoint | None:
    """Where the state after each epoch goes, with what it must agree with to be continued."""
    if model.checkpoint is None:
        return None
    settings = {k: describe_factory(v) for k, v in model.get_params(deep=False).items() if k not in _ONLY_WATCHING}
    judging = {} if held_out is None else {"held_out": held_out.digest}
    return Checkpoint(model.checkpoint, {**settings, "bags": bags.digest, **judging})


@contextmanager
def make_listeners(model: DeepClassifier, plan: Plan, ranks: Ranks) -> Iterator[list[Listener]]:
    """What is notified of each epoch: the watcher, and progress and TensorBoard if asked for."""
    with ExitStack() as stack:
        listeners: list[Listener] = [Watcher(plan.coarse_epochs)]
        if model.verbose and ranks.is_first:
            listeners.append(stack.enter_context(progress_listener(type(model).__name__, plan.epochs)))
        if model.tensorboard is not None and ranks.is_first:
            listeners.append(stack.enter_context(tensorboard_listener(model.tensorboard)))
        yield listeners


def check_settings(model: DeepClassifier, bags: Bags) -> None:
    """Refuse settings of the optimizer, and bags, that the training could not take, before it comes to them."""
    betas: Any = model.betas
    loss, most = model.bag_loss(), model.mini_bag_size
    if betas is not None and not (
        len(betas) == 2 and all(isinstance(beta, Real) and 0 <= float(beta) < 1 for beta in betas)
    ):
        raise ValueError(f"betas={betas!r}: give two numbers from 0 to below 1, such as (0.5, 0.999)")
    if callable(model.optimizer):
        for name, unset in (("learning_rate", None), ("betas", None), ("weight_decay", 0.0)):
            if (value := getattr(model, name)) != unset:
                raise ValueError(f"{name}={value!r}: set it in the function that is given as optimizer")
    sizes = bags.sizes if most is None else np.minimum(bags.sizes, most)
    limits = {type(term).__name__: term.largest_bag for term in model.weighted_terms()}
    if isinstance(loss, BagLoss):
        limits[type(loss).__name__] = loss.largest_bag(bags.n_classes)
        if loss.needs_whole_bags and most is not None and int(bags.sizes.max()) > most:
            raise ValueError(
                f"mini_bag_size={most}: {type(loss).__name__} needs whole bags: leave mini_bag_size at None, or "
                "use another proportion_loss"
            )
    bag = int(sizes.argmax())
    for name, limit in limits.items():
        if limit is not None and sizes[bag] > limit:
            raise ValueError(
                f"bag {bags.bag_ids[bag]!r} has {sizes[bag]:,} instances; {name} is for bags of up to {limit:,}: "
                "use smaller bags, or other settings of the loss or term, or another one"
            )


def terms_in_training(model: DeepClassifier, recipe: Pair, bags: Bags) -> list[InstanceTerm]:
    """The terms on single instances that have a weight; an error for those that do not suit model or bags."""
    terms, at_once = model.weighted_terms(), model.max_instances_per_step
    for term in terms:
        name = type(term).__name__
        term.check(as_tensor(bags.instances[:2]))
        if sum(term.column == other.column for other in terms) > 1:
            raise ValueError(f"{type(model).__name__} has the term {name} twice: leave it out of instance_terms")
        if term.sees_instances_again and recipe.augment is not None and at_once is not None:
            raise ValueError(
                f"max_instances_per_step={at_once}: a chunk is augmented anew each time that it is read, so that "
                f"{name} would compare different instances: set augment or max_instances_per_step to None"
            )
    return terms


_SETTLED_ON, _PATCHES_OF = 256, 1024  # instances


@dataclass(kw_only=True, eq=False, repr=False)
class DeepClassifier(LLPClassifier):
    """Base class of the deep methods: their settings, networks, training and predictions.

    Parameters are stored as given, and checked when the model is fitted.

    Parameters
    ----------
    classifier : torch.nn.Module or callable, default=None
        The network: a module that returns logits and features for a batch of instances, or a callable that makes
        one from the shape of an instance, the number of classes and the activation. A module is copied, and
        training starts from its weights; ``model.classifier_`` continues from a fitted model. None means the
        network that suits the shape of the instances. See :func:`~llpgan.deep.networks.default_pair` for these
        networks.
    activation : {"leaky_relu", "relu", "gelu"}, default=None
        The activation of the networks that are made: "leaky_relu", as in the authors' code, "relu", as in the
        text of the paper, or "gelu". None means "gelu" for the default classifier of photographs, and "leaky_relu"
        for all other networks.
    proportion_loss : {"exact", "moments", "counts", "dsq", "easyllp", "transport", "assignment"} or callable, \
            default="exact"
        The loss of a bag. "exact" is the cross-entropy of its proportions and its mean prediction; the others are
        the losses of :class:`MomentMatching`, :class:`CountLLP`, :class:`DSQ`, EasyLLP, :class:`ROT` and LLP-DC,
        with their default settings. A callable takes the logits, the bag of each instance and the proportions.
    instance_terms : {"entropy", "smoothness", "self_training"}, InstanceTerm or sequence of these, default=()
        Terms on single instances, added to the loss of bags. "entropy" makes predictions more confident,
        "smoothness" is the term of :class:`LLPVAT`, and "self_training" that of :class:`LLPDC`. A name has
        the default settings; others are given by an object of :mod:`llpgan.deep.objectives`, such as
        ``Smoothness(weight=0.3)``.
    epochs : int, default=None
        The number of passes over the bags. None means about 2,400 steps for photographs (12 to 100 epochs), about
        3,000 steps for tables (5 to 100 epochs), and 100 epochs for other images.
    bags_per_step : int, default=None
        The number of whole bags in each step. None means as many as have about 64 instances together; for
        photographs up to 256 instances, and at least eight bags if these have no more than 1,024 instances.
    max_instances_per_step : int, default=None
        The maximum number of instances that a network sees at once. A larger step is computed in chunks of this
        size, with the same gradient, in about a third more time and with the memory of one chunk. None means no
        limit.
    mini_bag_size : int, default=None
        The number of instances that a step samples from each larger bag. This is faster than whole bags, but
        approximate; the exact proportion loss is corrected for the bias of the sample to second order. None means
        whole bags.
    optimizer : {"adam", "sgd", "muon"} or callable, default=None
        The optimizer of the classifier. "adam" is Adam with decoupled weight decay, "sgd" has Nesterov momentum,
        and "muon" takes orthogonal steps in the weights of hidden layers and Adam's in all others. A callable
        makes a :class:`torch.optim.Optimizer` from a list of parameters. None means "muon" for the default
        classifier of photographs, and "adam" for all other networks. Generators are always trained by Adam.
    learning_rate : float, default=None
        The learning rate. None means for Adam 0.003 for tables, 0.001 for grey images of up to 28 x 28 pixels, and
        0.0003 for other images; 0.3 for SGD; and for Muon 0.08, or 0.02 without batch normalization.
    betas : tuple of float, default=None
        The two decay rates of Adam. None means (0.5, 0.999) for tables, (0.5, 0.99) for images, and (0.8, 0.98)
        within Muon.
    weight_decay : float, default=0.0
        The decoupled weight decay.
    warm_up : float, default=None
        The fraction of the epochs over which the learning rate rises linearly from zero. A rate that is too high
        for a network that does not yet tell instances apart is often the better one later. None means 0.1 for the
        default classifier of photographs, and 0 otherwise.
    decay_from : float, default=None
        The fraction of the epochs after which the learning rate decreases linearly to zero. 1 keeps it constant.
        None means 0.1 for the default classifier of photographs, and 0.5 otherwise.
    average : float, default=None
        The decay of the moving average of the weights that is used for prediction. 0 means the weights themselves.
        None means 0.995 for the default classifier of photographs, and 0.999 otherwise.
    augment : {"auto", "shifts", "shifts_and_flips", "slight_shifts_and_flips", "distortions", \
            "distortions_and_flips"} or callable, default="auto"
        The random changes that images go through each time they are seen in training. "shifts" moves them by up to
        an eighth of their height and width. "distortions" turns, stretches and shifts them a little, and blanks a
        rectangle of most of them. "shifts_and_flips" and "distortions_and_flips" also mirror half of them, and
        "slight_shifts_and_flips" moves them by up to a sixteenth. A callable takes a batch of instances on the
        device and returns another of the same shape. The proportions of bags stay the same. "auto" means
        "slight_shifts_and_flips" for the default classifier of photographs, and no augmentation otherwise. None
        means no augmentation.
    coarse_until : float, default=None
        The fraction of the training that sees smaller images. They are smallest for two thirds of it, with half
        their height and width (photographs: five eighths), and half-way to full size in the last third. Few or
        large bags of images are often learned only this way, and it saves time. The network must take images of
        any size. None means 0.75 for photographs with at least 4 epochs, 0.8 for other images of 32 x 32 pixels or
        more with at least 10 epochs, and 0 otherwise or with a classifier of your own.
    validation_fraction : float, default=0.0
        The fraction of bags that is held out of training. If there are any, the model keeps the last epoch that
        fits them as well as the best epoch does, within one standard error over bags.
    patience : int, default=None
        The number of epochs without improvement on the held-out bags after which training stops. None means that
        all epochs are run.
    calibrate : bool, default=None
        Whether to divide the logits by a temperature, which is selected by bags that the network has not seen. The
        predicted classes stay the same. For images, 20 or more bags that are held out of training
        (``validation_fraction``) select it in no extra time; else copies are trained without some bags, which
        takes up to three times as long. None means images with 20 or more held-out bags, and tables in memory with
        6 to 200 bags of 32 rows or more on average, in a single process. On these, networks are overconfident.
    checkpoint : str or Path, default=None
        A file for the state of the training after each epoch. A fit that finds this file resumes from it, with the
        same result as an uninterrupted fit. It needs an integer ``random_state``.
    tensorboard : str or Path, default=None
        A folder for a TensorBoard log.
    device : str, default="auto"
        The device to train and predict on, such as "cpu", "cuda", "cuda:1" or "mps". "auto" selects the best
        device that is available.
    precision : str, default="auto"
        The precision of the training: "auto", "32-true", "bf16-mixed", "16-mixed" or "64-true", as named by
        Lightning Fabric. "auto" selects "bf16-mixed" for networks with several convolutions if the device computes
        in bfloat16 natively (recent GPUs, and CPUs with AVX512-BF16 or AMX), and "32-true" otherwise. Predictions
        are always computed in 32 bit.
    verbose : bool, default=False
        Whether to show progress, as a bar or a few lines.
    {random_state: the first weights, the order of bags, dropout, augmentation and noise}

    Attributes
    ----------
    classifier_ : torch.nn.Module
        The trained network, on the CPU.
    history_ : list of dict
        The losses and other figures of the training: one dict per epoch.
    temperature_ : float
        The temperature by which logits are divided; 1 if the model is not calibrated.
    prior_ : ndarray of shape (n_classes,)
        The proportion of each class among all training instances.
    bag_size_ : float
        The harmonic mean of the sizes of the training bags.
    {inherited}
    """

    classifier: nn.Module | MakeClassifier | None = None
    activation: str | None = None
    proportion_loss: str | ProportionLoss = "exact"
    instance_terms: Terms = ()
    epochs: int | None = None
    bags_per_step: int | None = None
    max_instances_per_step: int | None = None
    mini_bag_size: int | None = None
    optimizer: str | MakeOptimizer | None = None
    learning_rate: float | None = None
    betas: tuple[float, float] | None = None
    weight_decay: float = 0.0
    warm_up: float | None = None
    decay_from: float | None = None
    average: float | None = None
    augment: str | Augment | None = "auto"
    coarse_until: float | None = None
    validation_fraction: float = 0.0
    patience: int | None = None
    calibrate: bool | None = None
    checkpoint: str | Path | None = None
    tensorboard: str | Path | None = None
    device: str = "auto"
    precision: str = "auto"
    verbose: bool = False
    random_state: int | np.random.RandomState | None = None

    temperature_ = 1.0

    trains_together: ClassVar = True

    _parameter_constraints: ClassVar = {
        "classifier": [callable, None],
        "activation": [StrOptions(set(ACTIVATIONS)), None],
        "proportion_loss": [StrOptions(set(PROPORTION_LOSSES)), callable],
        "instance_terms": [StrOptions(set(INSTANCE_TERMS)), InstanceTerm, tuple, list],
        "epochs": [Interval(Integral, 1, None, closed="left"), None],
        "bags_per_step": [Interval(Integral, 1, None, closed="left"), None],
        "max_instances_per_step": [Interval(Integral, 1, None, closed="left"), None],
        "mini_bag_size": [Interval(Integral, 2, None, closed="left"), None],
        "optimizer": [StrOptions(set(OPTIMIZERS)), callable, None],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "betas": [tuple, None],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "warm_up": [Interval(Real, 0, 1, closed="left"), None],
        "decay_from": [Interval(Real, 0, 1, closed="both"), None],
        "average": [Interval(Real, 0, 1, closed="left"), None],
        "augment": [StrOptions({"auto", *AUGMENTATIONS}), callable, None],
        "coarse_until": [Interval(Real, 0, 1, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "calibrate": ["boolean", None],
        "checkpoint": [str, Path, None],
        "tensorboard": [str, Path, None],
        "device": [str],
        "precision": [str],
        "verbose": ["boolean"],
        "random_state": ["random_state"],
    }

    def fit_bags(
        self,
        bags: Bags,
        *,
        held_out: Bags | None = None,
        monitor: Callable[[Self], Mapping[str, float]] | None = None,
    ) -> Self:
        """Learn from bags.

        Parameters
        ----------
        bags : Bags
            The bags to learn from.
        held_out : Bags, default=None
            Bags to select the epoch by, instead of a ``validation_fraction`` of the training bags.
        monitor : callable, default=None
            A function that is called after each epoch with this estimator, ready to predict, and returns a dict of
            figures. They are added to the dict of the epoch in ``history_``. It does not affect training.

        Returns
        -------
        Self
            The fitted estimator.

        Raises
        ------
        ValueError
            If parameters contradict each other or do not suit the bags.
        TrainingError
            If the training ends in weights that are not finite.
        """
        bags = self._start(bags)
        check_settings(self, bags)
        self.temperature_ = 1.0
        self.prior_ = bags.prior
        recipe, seed = find_recipe(self), self._seed()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            networks = self._fresh_networks(recipe, bags)
            fabric = self._launch(recipe, networks["classifier"])
            ranks = Ranks(fabric)
            if (
                shared := ranks.from_first(lambda: seed)
            ) != seed:  # without random_state, ranks draw different ones
                seed = shared
                torch.manual_seed(seed)
                networks = self._fresh_networks(recipe, bags)
            objective = self._objective(recipe, networks, bags, fabric)
        training, held_out_bags = split_bags(self, bags, held_out, seed, ranks)
        calibrate = plan_calibration(self, training, held_out_bags, self._fewest_bags(bags), seed)
        plan = make_plan(self, recipe, bags, seed)

        def run_monitor(classifier: nn.Module) -> Mapping[str, float]:
            self.classifier_ = classifier
            return monitor(self) if monitor else {}

        with make_listeners(self, plan, ranks) as listeners:
            classifier, history = train(
                objective,
                training,
                plan,
                fabric,
                held_out=held_out_bags,
                correction=self._apply_temperature,
                monitor=None if monitor is None else run_monitor,
                checkpoint=make_checkpoint(self, bags, held_out),
                listeners=listeners,
            )
        self.history_ = EpochHistory(history)
        self._keep(classifier, objective)
        refuse_lost(type(self).__name__, self._weights())
        if calibrate is not None:
            self.temperature_ = calibrate(sum(row["seconds"] for row in history))
        return self._finish(bags)

    def _refuse_unsupported(self, bags: Bags) -> None:
        super()._refuse_unsupported(bags)
        if bags.uneven_weights is not None or bags.uneven_bag_weights is not None:
            self._require_exact_loss("rows or bags have weights", self.weighted_terms())
        if bags.share_constraints is not None:
            needing = [term for term in self.weighted_terms() if term.needs_proportions]
            self._require_exact_loss("less is known than all shares", needing)

    def _require_exact_loss(self, what: str, unsuitable: list[InstanceTerm]) -> None:
        """Refuse losses, terms and samples that cannot learn from such bags."""
        if self.bag_loss() is not proportion_loss:
            raise ValueError(f'{what}, from which only proportion_loss="exact" learns')
        if unsuitable:
            raise ValueError(
                f"{what}, which the term {type(unsuitable[0]).__name__} does not support: leave it out"
            )
        if self.mini_bag_size is not None:
            raise ValueError(f"{what}: leave mini_bag_size at None")

    @abstractmethod
    def _objective(self, recipe: Pair, networks: dict[str, nn.Module], bags: Bags, fabric: Fabric) -> Objective:
        """The networks with their optimizers, and the losses for these bags."""

    def _fresh_networks(self, recipe: Pair, bags: Bags) -> dict[str, nn.Module]:
        """Untrained networks for these bags, whose classifier tells instances apart; a warning if it does not.

        A network of ours that is made here is settled on some of the instances; a module that the user made starts
        from its own weights.
        """
        networks = self._networks(recipe, Scaling.from_instances(bags.instances, bags.uneven_weights))
        classifier, shown = networks["classifier"], as_tensor(sample_rows(bags.instances, _SETTLED_ON))
        is_ours = not isinstance(self.classifier, nn.Module)
        if is_ours:
            scaling, network = cast(nn.Sequential, classifier)
            with torch.no_grad():
                learn_patches(network, scaling(as_tensor(sample_rows(bags.instances, _PATCHES_OF))))
        if recipe.coarse_until > 0:  # settled on images as it sees them first
            set_image_scale(classifier, recipe.coarsest)
        if is_ours and keeps_own_weights(classifier):
            settle_weights(classifier, shown)
        said = fit_warnings.describe_equal_instances(shown.numpy())
        said = said or fit_warnings.describe_lost_signal(signal_spread(classifier, shown))
        if said is not None:
            warn_user(said, fit_warnings.TrainingWarning)
        set_image_scale(classifier, 1.0)
        return networks

    def _launch(self, recipe: Pair, classifier: nn.Module) -> Fabric:
        """The device and the precision that are asked for, or that suit the network, in all processes."""
        device, shape = select_device(self.device), self.instance_shape_
        smallest = small_shape(shape, recipe.coarsest) if recipe.coarse_until > 0 else shape
        return launch_ranks(device, choose_precision(self.precision, classifier, device, smallest))

    def _networks(self, recipe: Pair, scaling: Scaling) -> dict[str, nn.Module]:
        """The untrained networks by name; when trained, they are the attributes of that name and an underscore."""
        return {"classifier": use_channels_last(put_after_scaling(self._classifier(recipe), scaling))}

    def restore_training(self, weights: Mapping[str, Array]) -> None:
        """Make what training left: the networks, from the settings and from saved weights, and the history.

        Parameters
        ----------
        weights : mapping of str to ndarray
            The weights of all networks, by the name of the attribute and of the parameter in it.
        """
        shift, scale = (weights[f"classifier_.0.{name}"] for name in ("shift", "scale"))
        with torch.random.fork_rng(devices=[]):
            networks = self._networks(find_recipe(self), Scaling(shift, scale))
        for name, network in networks.items():
            prefix = f"{name}_."
            of_it = {
                k.removeprefix(prefix): torch.from_numpy(v) for k, v in weights.items() if k.startswith(prefix)
            }
            network.load_state_dict(of_it)
            setattr(self, f"{name}_", network.eval())
        self.history_ = EpochHistory(self.history_)

    def _keep(self, classifier: nn.Module, objective: Objective) -> None:
        """What is left of a training: networks that any machine can load."""
        self.classifier_ = classifier.cpu().eval()

    def _weights(self) -> dict[str, Array]:
        """The weights of all trained networks, by name."""
        networks = {
            name: value for name, value in vars(self).items() if isinstance(value, nn.Module) and name[-1] == "_"
        }
        return {
            f"{network}.{name}": weights.detach().float().numpy()
            for network, module in networks.items()
            for name, weights in module.named_parameters()
        }

    def _probabilities(self, instances: Array) -> Array:
        home = next(self.classifier_.parameters()).device  # not the CPU while a monitor looks on
        device = select_device(self.device)
        posteriors = predict_posteriors(self.classifier_.to(device), instances, device)
        self.classifier_.to(home)
        return self._apply_temperature(posteriors)

    def _apply_temperature(self, posteriors: Array) -> Array:
        """What is predicted where the classifier says this: the same, but for the temperature."""
        return apply_temperature(posteriors, self.temperature_)

    def report_phase(self, what: str) -> None:
        """Print what begins, if ``verbose``.

        Parameters
        ----------
        what : str
            The phase, and about how long it takes.
        """
        if self.verbose:
            print(f"{type(self).__name__}: {what}", file=sys.stderr)

    def _fewest_bags(self, bags: Bags) -> int:
        """How many bags the method needs to learn from."""
        return 1

    def _classifier(self, recipe: Pair) -> nn.Module:
        shape, n_classes = self.instance_shape_, len(self.classes_)
        if isinstance(self.classifier, nn.Module):
            network = copy.deepcopy(self.classifier)
        else:
            activation = ACTIVATIONS[recipe.activation]
            network = make_network("classifier", recipe.classifier, shape, n_classes, activation)
            if isinstance(network, PhotoClassifier):
                network.mirrors = recipe.augment in MIRRORING
        check_classifier(network, shape, n_classes)
        if recipe.coarse_until > 0:
            epochs = self.epochs or USUAL_EPOCHS
            check_coarse(network, shape, n_classes, recipe.coarse_until, epochs, recipe.coarsest)
        if self.max_instances_per_step is not None:
            refuse_batch_norm(network, f"max_instances_per_step={self.max_instances_per_step}")
        if processes()[0] > 1:
            refuse_batch_norm(network, "training in several processes", allowed=(StepNorm,))
        return network

    def bag_loss(self) -> ProportionLoss:
        """Make the loss of a step's bags that ``proportion_loss`` stands for.

        Returns
        -------
        callable
            A function of logits, bag index and proportions.
        """
        given = self._own_loss()
        if isinstance(given, type):
            raise ValueError(f"proportion_loss={given.__name__} is a class: give an object, as {given.__name__}()")
        loss = PROPORTION_LOSSES[given] if isinstance(given, str) else given
        if isinstance(loss, BagLoss) and hasattr(self, "prior_"):  # not yet while settings are checked
            return loss.knowing(tuple(map(float, self.prior_)))
        return loss

    def _own_loss(self) -> str | ProportionLoss:
        """The loss that is asked for, or that makes the method what it is."""
        return self.proportion_loss

    def terms(self) -> list[InstanceTerm]:
        """List the terms on single instances that are added to the loss of bags.

        Returns
        -------
        list of InstanceTerm
            Those of the method itself, then those of ``instance_terms``.
        """
        return [*self._own_terms(), *resolve_terms(self.instance_terms)]

    def weighted_terms(self) -> list[InstanceTerm]:
        """List the terms that have a weight.

        Returns
        -------
        list of InstanceTerm
            Those of :meth:`terms` without the ones that are switched off.
        """
        return [term for term in self.terms() if term.weight > 0]

    def _own_terms(self) -> list[InstanceTerm]:
        """Those that the method has by itself."""
        return []

    def check_machine(self) -> None:
        """Check that the device is available, and that the files of the training can be written.

        Raises
        ------
        ValueError
            If the device is not available, or the checkpoint or the folder of TensorBoard is something else.
        """
        select_device(self.device)
        if self.checkpoint is not None:
            Checkpoint(self.checkpoint, {}).check_file()
        if self.tensorboard is not None and Path(self.tensorboard).is_file():
            raise ValueError(f"tensorboard: {self.tensorboard} is a file: the name of a folder would be right")

    def _loss_scale(self, bags: Bags) -> float:
        """How many times as large as the cross-entropy of a bag its loss is, and so the weight of other terms."""
        loss = self.bag_loss()
        return float(bags.sizes.mean()) if isinstance(loss, BagLoss) and loss.grows_with_bags else 1.0

    def _player(self, recipe: Pair, network: nn.Module, fabric: Fabric) -> Player:
        make = partial(make_optimizer, self, recipe, has_norm=mixes_instances(network))
        return Player(network, make, fabric, self.max_instances_per_step)

    def _make_dataset(self, bags: Bags, which: Rows | None = None, **settings: Any) -> BagDataset:
        """The bags to train with, as batches."""
        return BagDataset(bags, which, **settings)

    def _seed(self) -> int:
        if self.checkpoint is not None and not isinstance(self.random_state, Integral):
            raise ValueError("a checkpoint needs an integer random_state, or the fit could not be continued")
        return int(check_random_state(self.random_state).randint(2**31))
