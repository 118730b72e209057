"""Names of earlier versions: they still work, with a warning that says the new one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: Packages that were renamed in 0.3.
OLD_PACKAGES = {
    "llpgan.estimators": "llpgan.methods",
    "llpgan.deep.transforms": "llpgan.deep.mixed_bags",
    "llpgan.methods.kernels": "llpgan.methods.linear",
    "llpgan.training": "llpgan.deep",
    "llpgan.training.losses": "llpgan.deep.losses",
    "llpgan.training.networks": "llpgan.deep.networks",
    "llpgan.training.instance_terms": "llpgan.deep.terms",
    "llpgan.evaluation.groups": "llpgan.ecological",
    "llpgan.evaluation.selection": "llpgan.evaluation",
}


def getattr_of_old_names(package: str, moved: Mapping[str, str]) -> Any:
    """Make the ``__getattr__`` of a package: ``moved`` maps an old name to ``module:new name``."""

    def get(name: str) -> Any:
        if name not in moved:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, _, new = moved[name].partition(":")
        warnings.warn(f"{package}.{name} is now {home}.{new}", FutureWarning, stacklevel=2)
        return getattr(import_module(home), new)

    return get


class OldName:
    """The old name of a method or an attribute: it warns, and gives what has the new name.

    >>> class Basket:
    ...     eggs = 12
    ...     contents = OldName("eggs")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     print(Basket().contents, caught[0].message)
    12 Basket.contents is now Basket.eggs
    """

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, instance: Any, owner: type) -> Any:
        warnings.warn(
            f"{owner.__name__}.{self.old} is now {owner.__name__}.{self.new}", FutureWarning, stacklevel=2
        )
        return getattr(owner if instance is None else instance, self.new)


def accept_old_settings(cls: type, **renamed: str) -> None:
    """Let a class take settings under their old names, with a warning that says the new one."""
    plain = vars(cls)["__init__"]

    @wraps(plain)
    def initialize(self: Any, *given: Any, **settings: Any) -> None:
        for old in renamed.keys() & settings.keys():
            warnings.warn(f"{cls.__name__}({old}=...) is now {renamed[old]}", FutureWarning, stacklevel=2)
            settings[renamed[old]] = settings.pop(old)
        plain(self, *given, **settings)

    cls.__init__ = initialize  # type: ignore[misc]


class _OldPackageFinder(MetaPathFinder, Loader):
    """Finds the renamed packages under their old names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname in OLD_PACKAGES else None

    def exec_module(self, module: ModuleType) -> None:
        new = import_module(OLD_PACKAGES[module.__name__])
        warnings.warn(f"{module.__name__} is now {new.__name__}", FutureWarning, stacklevel=2)
        module.__dict__.update({name: value for name, value in vars(new).items() if not name.startswith("__")})
        module.__dict__["__getattr__"] = lambda name: getattr(new, name)


def find_old_packages() -> None:
    """Let imports of old packages find the new ones."""
    if not any(isinstance(finder, _OldPackageFinder) for finder in sys.meta_path):
        sys.meta_path.append(_OldPackageFinder())
