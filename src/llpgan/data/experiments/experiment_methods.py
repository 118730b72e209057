"""The methods of the experiments: the library's own, and the two that stand beside them in the paper."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llpgan import estimators
from llpgan.data.experiments.cells import Cell
from llpgan.estimators import estimator_class
from llpgan.estimators.base import LLPClassifier

if TYPE_CHECKING:
    from torch import Tensor

RUNNERS_OWN = {"epochs", "random_state", "checkpoint", "verbose", "tensorboard"}  # set by the cell or the runner
_MakeMethod = Callable[..., LLPClassifier]


def _dllp() -> _MakeMethod:
    return estimator_class("DLLP")


def _gan() -> _MakeMethod:
    """LLP-GAN without proportions: a GAN with feature matching, whose classifier tells only real from fake."""
    return partial(estimator_class("LLPGAN"), proportion_loss=no_proportions)


def no_proportions(logits: "Tensor", bag_index: "Tensor", proportions: "Tensor") -> "Tensor":
    """A proportion loss of nothing."""
    return logits.new_zeros(())


def _of_the_library(name: str) -> Callable[[], _MakeMethod]:
    return lambda: estimator_class(name)


# Each is a function that gives the estimator's class, so that a list of cells loads no torch.
METHODS: dict[str, Callable[[], _MakeMethod]] = {
    **{name: _of_the_library(name) for name in estimators.METHODS},
    "Supervised": _dllp,  # with bags of one
    "GAN": _gan,
}
TITLES = {
    "LLPGAN": "LLP-GAN",
    "AlterSVM": "alter-∝SVM",
    "Supervised": "supervised",
    "GAN": "GAN with feature matching",
}


def estimator(cell: Cell, checkpoint: Path | None = None) -> LLPClassifier:
    """The cell's untrained estimator; those with epochs go on from a checkpoint."""
    make = METHODS[cell.method]()
    own = {"epochs": cell.epochs, "random_state": cell.seed, "checkpoint": checkpoint}
    takes = inspect.signature(make).parameters
    chosen = {name: value for name, value in own.items() if name in takes and value is not None}
    return make(**{name: _value(name, value) for name, value in cell.settings}, **chosen)


def _value(name: str, value: Any) -> Any:
    """Networks by name, and tuples where YAML has lists."""
    if name in ("classifier", "generator") and isinstance(value, str):
        from llpgan.training import networks

        if value not in networks.__all__:
            raise ValueError(f"{name}: llpgan has no network {value!r}")
        return getattr(networks, value)
    return tuple(value) if isinstance(value, list) else value
