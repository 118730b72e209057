"""What is public: the names that packages list in ``__all__``, and the methods and properties of their classes."""

import inspect
from collections.abc import Iterator
from typing import Any

PACKAGES = (
    "llpgan",
    "llpgan.bags",
    "llpgan.tables",
    "llpgan.tables.store",
    "llpgan.deep",
    "llpgan.deep.objectives",
    "llpgan.deep.losses",
    "llpgan.deep.networks",
    "llpgan.methods",
    "llpgan.evaluation",
    "llpgan.ecological",
    "llpgan.persistence",
    "llpgan.persistence.onnx",
    "llpgan.report",
    "llpgan.report.displays",
    "llpgan.data",
    "llpgan.data.bagging",
)


def public_members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class defines, or inherits from a class of llpgan."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("llpgan")]
    for member in sorted({member for base in ours for member in vars(base) if not member.startswith("_")}):
        thing = inspect.getattr_static(cls, member)
        if is_property(thing) or inspect.isfunction(thing) or isinstance(thing, classmethod | staticmethod):
            yield member, thing


def is_property(thing: Any) -> bool:
    """Whether a member of a class is read like an attribute: a property, or one that is computed once."""
    return isinstance(thing, property) or hasattr(thing, "attrname")
