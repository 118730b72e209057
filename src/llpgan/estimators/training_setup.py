"""How the settings of a deep method become a training: held-out bags, the plan, listeners, the checkpoint."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn
from torch.optim import Optimizer

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import Watcher
from llpgan.training.augmentation import Augment, named_augmentation
from llpgan.training.batches import BagDataset, photo_bags_a_step, usual_bags_a_step
from llpgan.training.checkpoints import Checkpoint
from llpgan.training.chunked_gradients import as_tensor
from llpgan.training.distributed import Ranks
from llpgan.training.epoch_listeners import progress, tensorboard
from llpgan.training.losses import BagLoss
from llpgan.training.networks import Pair, default_pair, paper_pair
from llpgan.training.networks.network_making import in_words
from llpgan.training.optimisers import MUON_RATE, MUON_RATE_WITHOUT_NORM, SGD_RATE, named_optimizer
from llpgan.training.training_loop import Listener, Plan

if TYPE_CHECKING:
    from llpgan.estimators.deep import DeepClassifier

USUAL_EPOCHS, _FEWEST_EPOCHS = 100, 5
_FEWEST_EPOCHS_TO_GROW = 10  # with fewer, coarse images would not grow in time
_FEWEST_EPOCHS_ON_PHOTOS, _FEWEST_PHOTO_EPOCHS_TO_GROW = 12, 4
_STEPS_ON_TABLES = 3_000  # after which networks begin to memorize the bags of a table
_ONLY_WATCHING = {"verbose", "checkpoint", "tensorboard"}  # settings that do not change what is learned


def plan_of(model: "DeepClassifier", bags: Bags, seed: int) -> Plan:
    """Epochs, steps, rates and averages of the training."""
    recipe = recipe_of(model)
    return Plan(
        epochs=epochs_of(model, bags),
        bags_a_step=_bags_a_step(model, bags),
        seed=seed,
        warm_up=recipe.warm_up if model.warm_up is None else model.warm_up,
        decay_from=recipe.decay_from if model.decay_from is None else model.decay_from,
        average=recipe.average if model.average is None else model.average,
        patience=model.patience,
        augment=named_augmentation("augment", augmentation_of(model), as_tensor(bags.instances[:2])),
        coarse_until=coarse_until_of(model),
        coarsest=recipe.coarsest,
    )


def recipe_of(model: "DeepClassifier") -> Pair:
    """The networks and settings for instances of this shape; with a network of the user's, those of the paper."""
    usual = default_pair(model.instance_shape_)
    return usual if model.classifier in (None, usual.classifier) else paper_pair(model.instance_shape_)


def augmentation_of(model: "DeepClassifier") -> str | Augment | None:
    """As asked for, or as suits the network."""
    return recipe_of(model).augment if model.augment == "auto" else model.augment


def optimizer_of(model: "DeepClassifier", parameters: list[nn.Parameter], *, has_norm: bool) -> Optimizer:
    """The optimizer of the classifier: as asked for, or as suits the network."""
    recipe = recipe_of(model)
    name = recipe.optimizer if model.optimizer is None else model.optimizer
    if callable(name):
        optimizer = name(parameters)
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"optimizer made a {type(optimizer).__name__}, not a torch.optim.Optimizer")
        return optimizer
    if name == "adam":
        return adam_of(model, parameters)
    usual = SGD_RATE if name == "sgd" else MUON_RATE if has_norm else MUON_RATE_WITHOUT_NORM
    rate = model.learning_rate or usual
    return named_optimizer(name, parameters, rate, model.betas, model.weight_decay, has_norm=has_norm)


def adam_of(model: "DeepClassifier", parameters: list[nn.Parameter]) -> Optimizer:
    """Adam, of a classifier or a generator; the learning rate of another optimizer is not Adam's."""
    usual, is_adam = paper_pair(model.instance_shape_), (model.optimizer or recipe_of(model).optimizer) == "adam"
    rate = model.learning_rate if is_adam and model.learning_rate else usual.learning_rate
    betas = model.betas or usual.betas
    return named_optimizer("adam", parameters, rate, betas, model.weight_decay, has_norm=False)


def refuse_settings_of_optimizer(model: "DeepClassifier") -> None:
    """Refuse settings that would be without effect beside a function that makes the optimizer."""
    if not callable(model.optimizer):
        return
    for name, unset in (("learning_rate", None), ("betas", None), ("weight_decay", 0.0)):
        if getattr(model, name) != unset:
            raise ValueError(f"{name}={getattr(model, name)!r}: set it in the function that is given as optimizer")


def epochs_of(model: "DeepClassifier", bags: Bags) -> int:
    """As many as asked for, or as usual: fewer for tables of many bags."""
    if model.epochs is not None:
        return model.epochs
    steps, on_photos = -(-bags.n_bags // _bags_a_step(model, bags)), recipe_of(model).n_steps
    if on_photos is not None:
        return min(USUAL_EPOCHS, max(_FEWEST_EPOCHS_ON_PHOTOS, round(on_photos / steps)))
    if len(model.instance_shape_) > 1:
        return USUAL_EPOCHS
    return min(USUAL_EPOCHS, max(_FEWEST_EPOCHS, round(_STEPS_ON_TABLES / steps)))


def coarse_until_of(model: "DeepClassifier") -> float:
    """The part of the training that sees smaller images: as asked for, or as suits the default network."""
    if model.coarse_until is not None:
        return model.coarse_until
    recipe = recipe_of(model)
    fewest = _FEWEST_EPOCHS_TO_GROW if recipe.n_steps is None else _FEWEST_PHOTO_EPOCHS_TO_GROW
    is_usual = model.classifier in (None, default_pair(model.instance_shape_).classifier)
    if not is_usual or (model.epochs or USUAL_EPOCHS) < fewest:
        return 0.0
    return recipe.coarse_until


def _bags_a_step(model: "DeepClassifier", bags: Bags) -> int:
    """As many as asked for, or as usual; enough for a loss that compares the bags of a step."""
    loss = model.bag_loss()
    fewest = loss.fewest_bags if isinstance(loss, BagLoss) else 1
    if fewest > 1 and bags.n_bags - round(model.validation_fraction * bags.n_bags) < 2:
        raise ValueError("a single bag cannot tell the classes apart by this proportion_loss: give more bags")
    if model.bags_per_step is None:
        is_photo = recipe_of(model).n_steps is not None
        usual = photo_bags_a_step if is_photo else usual_bags_a_step
        return max(fewest, usual(bags, model.mini_bag_size))
    if model.bags_per_step < fewest:
        raise ValueError(
            f"bags_per_step={model.bags_per_step}: this proportion_loss compares the bags of a step; give "
            f"{fewest} or more, or None"
        )
    return model.bags_per_step


def split(
    model: "DeepClassifier", bags: Bags, held_out: Bags | None, seed: int, ranks: Ranks
) -> tuple[BagDataset, BagDataset | None]:
    """The bags to train with, and those that judge each epoch: given, or a share of them drawn at random."""
    training = partial(
        BagDataset, at_once=model.max_instances_per_step, mini_bag_size=model.mini_bag_size, share=ranks.share
    )
    if held_out is not None:
        if held_out.classes.tolist() != bags.classes.tolist():
            raise ValueError(f"held-out bags have classes {held_out.classes}, the others {bags.classes}")
        model._check_others(held_out)
        return training(bags), BagDataset(held_out)
    n_held_out = round(model.validation_fraction * bags.n_bags)
    if n_held_out == 0:
        _refuse_in_vain(model)
        return training(bags), None
    if n_held_out == bags.n_bags:
        raise ValueError(f"validation_fraction={model.validation_fraction} leaves no bag: give a smaller one")
    order = np.random.default_rng(seed).permutation(bags.n_bags)
    return training(bags, np.sort(order[n_held_out:])), BagDataset(bags, np.sort(order[:n_held_out]))


def _refuse_in_vain(model: "DeepClassifier") -> None:
    if model.validation_fraction > 0:
        raise ValueError(f"validation_fraction={model.validation_fraction} holds out no bag: give a larger one")
    if model.patience is not None:
        raise ValueError("patience looks at held-out bags: set validation_fraction, or give held_out bags")


def checkpoint_of(model: "DeepClassifier", bags: Bags, held_out: Bags | None = None) -> Checkpoint | None:
    """Where the state after each epoch goes, with what it must agree with to be continued."""
    if model.checkpoint is None:
        return None
    settings = {k: in_words(v) for k, v in model.get_params(deep=False).items() if k not in _ONLY_WATCHING}
    judging = {} if held_out is None else {"held_out": held_out.digest}
    return Checkpoint(model.checkpoint, {**settings, "bags": bags.digest, **judging})


@contextmanager
def listeners_of(model: "DeepClassifier", plan: Plan, ranks: Ranks) -> Iterator[list[Listener]]:
    """Who is told of each epoch: the watcher, and progress and TensorBoard if asked for."""
    with ExitStack() as stack:
        listeners: list[Listener] = [Watcher(plan.coarse_epochs)]
        if model.verbose and ranks.is_first:
            listeners.append(stack.enter_context(progress(type(model).__name__, plan.epochs)))
        if model.tensorboard is not None and ranks.is_first:
            listeners.append(stack.enter_context(tensorboard(model.tensorboard)))
        yield listeners


def refuse_betas(betas: Any) -> None:
    """Refuse what Adam could not take."""
    if betas is None:
        return
    if len(betas) != 2 or not all(isinstance(beta, Real) and 0 <= float(beta) < 1 for beta in betas):
        raise ValueError(f"betas={betas!r}: give two numbers from 0 to below 1, such as (0.5, 0.999)")
