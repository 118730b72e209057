"""Losses of bags and terms on single instances that have settings of their own, by the names of their classes."""

from dataclasses import is_dataclass
from typing import Any

from llpgan.training.instance_terms import INSTANCE_TERMS
from llpgan.training.losses import PROPORTION_LOSSES

#: What a saved model can have as ``proportion_loss`` or among its ``instance_terms``.
OBJECTIVE_PARTS: dict[str, type[Any]] = {
    type(part).__name__: type(part)
    for part in (*PROPORTION_LOSSES.values(), *INSTANCE_TERMS.values())
    if is_dataclass(part)
}
