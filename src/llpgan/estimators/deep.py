"""What the deep methods share: settings, networks, the training, and predictions."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import isfunction
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from lightning_fabric import Fabric
from sklearn.utils import check_random_state
from torch import nn
from torch.optim import AdamW, Optimizer

from llpgan.bags import Bags, fit_warnings
from llpgan.bags.fit_warnings import Watcher, refuse_lost, some_rows
from llpgan.estimators.base import LLPClassifier
from llpgan.estimators.calibration import N_FOLDS, few_large_bags, temperature_of, tempered
from llpgan.estimators.paper_bound import undo_bound
from llpgan.training.augmentation import AUGMENTATIONS, Augment, check_augment
from llpgan.training.batches import BagDataset, usual_bags_a_step
from llpgan.training.checkpoints import Checkpoint
from llpgan.training.chunked_gradients import as_tensor, refuse_batch_norm
from llpgan.training.devices import device_named, launched, precision_for
from llpgan.training.distributed import Ranks
from llpgan.training.epoch_history import EpochHistory
from llpgan.training.epoch_listeners import progress, tensorboard
from llpgan.training.input_scaling import Scaling
from llpgan.training.launch_environment import processes
from llpgan.training.losses import PROPORTION_LOSSES, ProportionLoss, proportion_bound
from llpgan.training.networks import (
    ACTIVATIONS,
    MakeClassifier,
    check_classifier,
    default_pair,
    settle,
    settles,
    signal,
)
from llpgan.training.objectives import Objective, Player
from llpgan.training.training_loop import Listener, Plan, posteriors_of, train
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval, StrOptions

_SETTLED_ON = 256  # instances
_ONLY_WATCHING = {"verbose", "checkpoint", "tensorboard"}  # settings that do not change what is learned


@dataclass(kw_only=True, eq=False, repr=False)
class DeepClassifier(LLPClassifier):
    """Settings that every deep method has. They are stored as given, and checked when it is fitted.

    Args:
        classifier: a module from instances to logits and features; or a function of shape, classes and
            activation that makes one; or None, for the network that goes with the instances' shape. A module is
            copied, and training starts from its weights.
        activation: of the default networks, "leaky_relu" (as the authors' code) or "relu" (as the paper's text).
        proportion_loss: "exact", or "bound" for the paper's lower bound; its bias towards the prior is then taken
            out of the predictions, which is right for bags drawn at random.
        epochs: how often every bag is seen.
        bags_per_step: how many whole bags a step takes; None for as many as have some 64 instances.
        max_instances_per_step: how many instances a network sees at once; a step with more is computed in chunks
            of this size, with the same gradient, a third more time, and the memory of one chunk. None for all.
        mini_bag_size: from each larger bag a step takes only a new sample of this size: quicker, and approximate.
            The exact proportion loss is freed of the sample's bias (to second order). None for whole bags.
        learning_rate: of Adam; None for 3e-3 on tables; on images 1e-3 with MNIST's networks, 3e-4 with CIFAR's.
        betas: of Adam; None for (0.5, 0.999) on tables and (0.5, 0.99) on images.
        weight_decay: of Adam, decoupled from the gradient.
        decay_from: from this part of the epochs on, the learning rate falls linearly to zero; 1 keeps it.
        average: decay of the moving average of weights that predicts; 0 for the weights themselves.
        augment: how images are changed each time that they are seen in training, at random: "shifts" (by up to an
            eighth of their sides), "shifts_and_flips" (also left to right), or a function from a batch of
            instances, on the device, to another of the same shape; None for instances as they are. Bags keep their
            proportions.
        validation_fraction: the share of bags that are held out of training. Where there are any, the last epoch
            is kept that meets them as well as the best does, up to one standard error over bags.
        patience: stop after so many epochs without improvement on held-out bags.
        calibrate: whether to divide logits by a temperature, so that networks trained without a third of the bags
            each meet those as well as they can, and are no surer than need be. The classes stay as they are, the
            training takes three times as long. None for tables in memory with 6 to 200 bags of 32 rows or more on
            average, in one process: on these, networks are far too sure of themselves.
        checkpoint: a file for the state after each epoch. A fit that finds it goes on from there, and ends as if
            it had never been interrupted. Needs an integer ``random_state``.
        tensorboard: a folder for a TensorBoard log.
        device: "auto", "cpu", "cuda", "cuda:1", "mps".
        precision: "auto", "32-true", "bf16-mixed", "16-mixed" or "64-true", as Fabric names them. "auto" trains
            networks of several convolutions in "bf16-mixed" where the device computes in bfloat16 natively (recent
            GPUs, CPUs with AVX512-BF16 or AMX), and all others in "32-true". Predictions are always in 32 bit.
        verbose: whether to show progress: a bar in a terminal, else a few lines.
        random_state: an integer makes the fit repeatable.

    Attributes:
        temperature_: by which logits are divided; 1 where nothing was calibrated.
    """

    classifier: nn.Module | MakeClassifier | None = None
    activation: str = "leaky_relu"
    proportion_loss: str | ProportionLoss = "exact"
    epochs: int = 100
    bags_per_step: int | None = None
    max_instances_per_step: int | None = None
    mini_bag_size: int | None = None
    learning_rate: float | None = None
    betas: tuple[float, float] | None = None
    weight_decay: float = 0.0
    decay_from: float = 0.5
    average: float = 0.999
    augment: str | Augment | None = None
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

    _parameter_constraints: ClassVar = {
        "classifier": [callable, None],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "proportion_loss": [StrOptions(set(PROPORTION_LOSSES)), callable],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "bags_per_step": [Interval(Integral, 1, None, closed="left"), None],
        "max_instances_per_step": [Interval(Integral, 1, None, closed="left"), None],
        "mini_bag_size": [Interval(Integral, 2, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "betas": [tuple, None],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "decay_from": [Interval(Real, 0, 1, closed="both")],
        "average": [Interval(Real, 0, 1, closed="left")],
        "augment": [StrOptions(set(AUGMENTATIONS)), callable, None],
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

        Args:
            bags: to learn from.
            held_out: bags to choose the epoch by, instead of a ``validation_fraction`` of the others.
            monitor: called after each epoch with this estimator, ready to predict; what it returns joins the
                epoch's row in ``history_``. It chooses nothing.
        """
        self._start(bags)
        _refuse_betas(self.betas)
        self.temperature_ = 1.0
        self.bag_size_ = float(1 / np.mean(1 / bags.sizes))
        self.prior_ = bags.prior
        fabric = self._fabric()
        ranks = Ranks(fabric)
        seed = ranks.from_first(self._seed)
        training, held_out_bags = self._split(bags, held_out, seed, ranks)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            objective = self._objective(bags, fabric)
        with self._listeners(ranks) as listeners:
            classifier, history = train(
                objective,
                training,
                self._plan(bags, seed),
                fabric,
                held_out=held_out_bags,
                correction=self._predicted,
                monitor=None if monitor is None else partial(self._monitored, monitor),
                checkpoint=self._checkpoint(bags),
                listeners=listeners,
            )
        self.history_ = EpochHistory(history)
        self._keep(classifier, objective)
        refuse_lost(type(self).__name__, self._weights())
        if self._calibrates(bags):
            self.temperature_ = temperature_of(self, bags, seed)
        return self._finish(bags)

    @abstractmethod
    def _objective(self, bags: Bags, fabric: Fabric) -> Objective:
        """Networks, optimisers and losses for these bags."""

    def _fresh_networks(self, bags: Bags) -> dict[str, nn.Module]:
        """Untrained networks for these bags, whose classifier tells instances apart; a warning if it does not.

        A network of ours that is made here is settled on some of the instances; a module that the user made starts
        from its own weights.
        """
        networks = self._networks(Scaling.of(bags.instances))
        classifier = networks["classifier"]
        shown = as_tensor(some_rows(bags.instances, _SETTLED_ON))
        if not isinstance(self.classifier, nn.Module) and settles(classifier):
            settle(classifier, shown)
        fit_warnings.warn_of(fit_warnings.lost_signal(signal(classifier, shown)))
        return networks

    def _fabric(self) -> Fabric:
        """Of the device and the precision that are asked for, or that suit the network."""
        device = device_named(self.device)
        with torch.random.fork_rng(devices=[]):
            network = self._classifier()
        return launched(device, precision_for(self.precision, network, device))

    def _networks(self, scaling: Scaling) -> dict[str, nn.Module]:
        """The untrained networks by name; when trained, they are the attributes of that name and an underscore."""
        return {"classifier": quick(nn.Sequential(scaling, self._classifier()))}

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
        device = device_named(self.device)
        posteriors = posteriors_of(self.classifier_.to(device), instances, device)
        self.classifier_.to(home)
        return self._predicted(posteriors)

    def _predicted(self, posteriors: Array) -> Array:
        """What is predicted where the classifier says this: the same, but for the bound's bias and temperature."""
        if self._bag_loss() is proportion_bound:
            posteriors = undo_bound(posteriors, self.bag_size_, self.prior_)
        return tempered(posteriors, self.temperature_)

    def _calibrates(self, bags: Bags) -> bool:
        if self.calibrate is None:
            return processes()[0] == 1 and few_large_bags(bags)
        if self.calibrate and bags.n_bags < 2 * N_FOLDS:
            raise ValueError(f"calibrate=True needs {2 * N_FOLDS} bags at least, here are {bags.n_bags}")
        if self.calibrate and processes()[0] > 1:
            raise ValueError("calibrate=True trains in one process alone: set calibrate=False")
        return self.calibrate

    def _classifier(self) -> nn.Module:
        shape, n_classes = self.instance_shape_, len(self.classes_)
        if isinstance(self.classifier, nn.Module):
            network = copy.deepcopy(self.classifier)
        else:
            make = self.classifier or default_pair(shape).classifier
            network = made("classifier", make, shape, n_classes, ACTIVATIONS[self.activation])
        check_classifier(network, shape, n_classes)
        if self.max_instances_per_step is not None:
            refuse_batch_norm(network, f"max_instances_per_step={self.max_instances_per_step}")
        if processes()[0] > 1:
            refuse_batch_norm(network, "training in several processes")
        return network

    def _bag_loss(self) -> ProportionLoss:
        return self.proportion_loss if callable(self.proportion_loss) else PROPORTION_LOSSES[self.proportion_loss]

    def _player(self, network: nn.Module, fabric: Fabric) -> Player:
        return Player(network, self._optimiser, fabric, self.max_instances_per_step)

    def _optimiser(self, parameters: list[nn.Parameter]) -> Optimizer:
        usual = default_pair(self.instance_shape_)
        rate, betas = self.learning_rate or usual.learning_rate, self.betas or usual.betas
        return AdamW(parameters, rate, betas, weight_decay=self.weight_decay, fused=True)

    def _plan(self, bags: Bags, seed: int) -> Plan:
        return Plan(
            epochs=self.epochs,
            bags_a_step=self.bags_per_step or usual_bags_a_step(bags, self.mini_bag_size),
            seed=seed,
            decay_from=self.decay_from,
            average=self.average,
            patience=self.patience,
            augment=self._augment(bags),
        )

    def _augment(self, bags: Bags) -> Augment | None:
        if self.augment is None:
            return None
        if isinstance(self.augment, str) and len(self.instance_shape_) != 3:
            raise ValueError(
                f"augment={self.augment!r} is for images, not instances of shape {self.instance_shape_}"
            )
        augment = AUGMENTATIONS[self.augment] if isinstance(self.augment, str) else self.augment
        check_augment(augment, as_tensor(bags.instances[:2]))
        return augment

    def _seed(self) -> int:
        if self.checkpoint is not None and not isinstance(self.random_state, Integral):
            raise ValueError("a checkpoint needs an integer random_state, or the fit could not be continued")
        return int(check_random_state(self.random_state).randint(2**31))

    def _split(
        self, bags: Bags, held_out: Bags | None, seed: int, ranks: Ranks
    ) -> tuple[BagDataset, BagDataset | None]:
        training = partial(
            BagDataset, at_once=self.max_instances_per_step, mini_bag_size=self.mini_bag_size, share=ranks.share
        )
        if held_out is not None:
            if held_out.classes.tolist() != bags.classes.tolist():
                raise ValueError(f"held-out bags have classes {held_out.classes}, the others {bags.classes}")
            return training(bags), BagDataset(held_out)
        n_held_out = round(self.validation_fraction * bags.n_bags)
        if n_held_out == 0:
            self._refuse_in_vain()
            return training(bags), None
        if n_held_out == bags.n_bags:
            raise ValueError(f"validation_fraction={self.validation_fraction} leaves no bag: give a smaller one")
        order = np.random.default_rng(seed).permutation(bags.n_bags)
        return training(bags, np.sort(order[n_held_out:])), BagDataset(bags, np.sort(order[:n_held_out]))

    def _refuse_in_vain(self) -> None:
        if self.validation_fraction > 0:
            raise ValueError(f"validation_fraction={self.validation_fraction} holds out no bag: give a larger one")
        if self.patience is not None:
            raise ValueError("patience looks at held-out bags: set validation_fraction, or give held_out bags")

    def _checkpoint(self, bags: Bags) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        settings = {k: _said(v) for k, v in self.get_params(deep=False).items() if k not in _ONLY_WATCHING}
        return Checkpoint(self.checkpoint, {**settings, "bags": bags.digest})

    def _monitored(
        self, monitor: Callable[[Self], Mapping[str, float]], classifier: nn.Module
    ) -> Mapping[str, float]:
        self.classifier_ = classifier
        return monitor(self)

    @contextmanager
    def _listeners(self, ranks: Ranks) -> Iterator[list[Listener]]:
        with ExitStack() as stack:
            listeners: list[Listener] = [Watcher()]
            if self.verbose and ranks.is_first:
                listeners.append(stack.enter_context(progress(type(self).__name__, self.epochs)))
            if self.tensorboard is not None and ranks.is_first:
                listeners.append(stack.enter_context(tensorboard(self.tensorboard)))
            yield listeners


def quick(network: nn.Module) -> nn.Module:
    """The network with its weights in the layout in which convolutions are quickest."""
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def made(parameter: str, make: Callable[..., nn.Module], *arguments: Any) -> nn.Module:
    """The network that a function makes, or an error that names the parameter."""
    wanted = f"{parameter} is a module, or a function of three arguments (see its documentation) that makes one"
    try:
        network = make(*arguments)
    except TypeError as error:
        raise TypeError(f"{wanted}; {_said(make)} does not take them: {error}") from error
    if not isinstance(network, nn.Module):
        raise TypeError(f"{wanted}; {_said(make)} gave a {type(network).__name__}")
    return network


def _refuse_betas(betas: Any) -> None:
    if betas is None:
        return
    if len(betas) != 2 or not all(isinstance(beta, Real) and 0 <= float(beta) < 1 for beta in betas):
        raise ValueError(f"betas={betas!r}: give two numbers from 0 to below 1, such as (0.5, 0.999)")


def _said(value: Any) -> str:
    """A setting in words that another process says too: a function's by its name, not by its address."""
    if isinstance(value, partial):
        return f"{_said(value.func)} of {value.args}, {value.keywords}"
    return f"{value.__module__}.{value.__qualname__}" if isfunction(value) else repr(value)
