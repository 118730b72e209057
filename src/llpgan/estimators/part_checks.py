"""Whether the loss of bags and the terms of a deep method suit its other settings and its bags."""

from typing import TYPE_CHECKING

import numpy as np

from llpgan.bags import Bags
from llpgan.estimators.training_setup import augmentation_of
from llpgan.training.chunked_gradients import as_tensor
from llpgan.training.instance_terms import InstanceTerm
from llpgan.training.losses import BagLoss

if TYPE_CHECKING:
    from llpgan.estimators.deep import DeepClassifier


def refuse_unsuitable_sizes(model: "DeepClassifier", bags: Bags) -> None:
    """Refuse bags that the loss or a term could not take, before the training comes to them."""
    loss, most = model.bag_loss(), model.mini_bag_size
    sizes = bags.sizes if most is None else np.minimum(bags.sizes, most)
    limits = {type(term).__name__: term.largest_bag for term in model.terms() if term.weight > 0}
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


def terms_in_training(model: "DeepClassifier", bags: Bags) -> list[InstanceTerm]:
    """The terms on single instances that have a weight; an error for those that do not suit model or bags."""
    terms = [term for term in model.terms() if term.weight > 0]
    for term in terms:
        term.check(as_tensor(bags.instances[:2]))
        if sum(term.column == other.column for other in terms) > 1:
            raise ValueError(
                f"{type(model).__name__} has the term {type(term).__name__} twice: leave it out of instance_terms"
            )
        if (
            term.sees_instances_again
            and augmentation_of(model) is not None
            and model.max_instances_per_step is not None
        ):
            raise ValueError(
                f"max_instances_per_step={model.max_instances_per_step}: a chunk is augmented anew each time that "
                f"it is read, so that {type(term).__name__} would compare different instances: set augment or "
                "max_instances_per_step to None"
            )
    return terms
