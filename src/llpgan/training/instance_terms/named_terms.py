"""Terms on single instances by the names that users give."""

from collections.abc import Sequence

from llpgan.training.instance_terms.entropy_term import Entropy
from llpgan.training.instance_terms.instance_term import InstanceTerm
from llpgan.training.instance_terms.self_training_term import SelfTraining
from llpgan.training.instance_terms.smoothness_term import Smoothness

#: The terms that can be named in the parameter ``instance_terms`` of deep methods, with their default settings.
INSTANCE_TERMS: dict[str, InstanceTerm] = {
    "entropy": Entropy(),
    "smoothness": Smoothness(),
    "self_training": SelfTraining(),
}
Terms = Sequence[str | InstanceTerm] | str | InstanceTerm


def terms_of(given: Terms) -> list[InstanceTerm]:
    """The terms that a user named or made.

    >>> terms_of("smoothness")
    [Smoothness(weight=0.05, ramp_until=0.4, length=None, probe=0.01)]
    """
    parts = [given] if isinstance(given, str | InstanceTerm) else list(given)
    return [_term(part) for part in parts]


def _term(given: str | InstanceTerm) -> InstanceTerm:
    if isinstance(given, InstanceTerm):
        return given
    if given not in list(INSTANCE_TERMS):
        raise ValueError(
            f"instance_terms: there is no term {given!r}; give one of {', '.join(INSTANCE_TERMS)}, or a term with "
            "settings such as llpgan.training.instance_terms.Smoothness(weight=0.3)"
        )
    return INSTANCE_TERMS[given]
