"""Names of earlier versions: they still work, with a warning that says the new one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import partial, wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: Packages and modules that were renamed or merged in 0.3.
OLD_PACKAGES = {
    "llpgan.tables.images": "llpgan.tables.streams",
    "llpgan.bags.scales": "llpgan.bags.on_disk",
    "llpgan.cli.cluster": "llpgan.utils.workers",
    "llpgan.cli.help": "llpgan.cli.arguments",
    "llpgan.data.digits": "llpgan.data.datasets",
    "llpgan.data.election": "llpgan.data.datasets",
    "llpgan.deep.chunks": "llpgan.deep.batches",
    "llpgan.deep.epochs": "llpgan.bags.fit_warnings",
    "llpgan.deep.losses.counts": "llpgan.deep.losses.bag_losses",
    "llpgan.deep.losses.squares": "llpgan.deep.losses.bag_losses",
    "llpgan.deep.networks.defaults": "llpgan.deep.networks",
    "llpgan.deep.networks.dense": "llpgan.deep.networks.parts",
    "llpgan.deep.optimizers": "llpgan.deep.loop",
    "llpgan.deep.terms": "llpgan.deep.objectives",
    "llpgan.deep.transforms": "llpgan.deep.mixed_bags",
    "llpgan.estimators": "llpgan.methods",
    "llpgan.evaluation.by_bags": "llpgan.evaluation.scores",
    "llpgan.evaluation.by_labels": "llpgan.evaluation.scores",
    "llpgan.evaluation.count_regression": "llpgan.evaluation.calibrate",
    "llpgan.evaluation.groups": "llpgan.ecological",
    "llpgan.evaluation.intervals": "llpgan.evaluation.scores",
    "llpgan.evaluation.selection": "llpgan.evaluation",
    "llpgan.evaluation.suggest": "llpgan.evaluation.choose",
    "llpgan.methods.diagnostics": "llpgan.methods.base and llpgan.methods.bag_boosting",
    "llpgan.methods.kernels": "llpgan.methods.linear",
    "llpgan.persistence.network_graphs": "llpgan.persistence.graphs",
    "llpgan.report.assess": "llpgan.report.text",
    "llpgan.tables.leakage": "llpgan.tables.build",
    "llpgan.training": "llpgan.deep",
    "llpgan.training.instance_terms": "llpgan.deep.objectives",
    "llpgan.training.losses": "llpgan.deep.losses",
    "llpgan.training.networks": "llpgan.deep.networks",
    "llpgan.utils.docs": "llpgan.utils.messages",
    "llpgan.utils.prefetch": "llpgan.utils.workers",
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


def write_new_home(name: str) -> str:
    """Write a dotted name with the module where it is now.

    >>> write_new_home("llpgan.deep.networks.dense.mlp_classifier")
    'llpgan.deep.networks.parts.mlp_classifier'
    """
    module, dot, last = name.rpartition(".")
    return OLD_PACKAGES.get(module, module) + dot + last


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
        homes = OLD_PACKAGES[module.__name__]
        warnings.warn(f"{module.__name__} is now {homes}", FutureWarning, stacklevel=2)
        for new in map(import_module, reversed(homes.split(" and "))):
            module.__dict__.update({name: value for name, value in vars(new).items() if not name.startswith("__")})
            module.__dict__["__getattr__"] = partial(getattr, new)


def find_old_packages() -> None:
    """Let imports of old packages find the new ones."""
    if not any(isinstance(finder, _OldPackageFinder) for finder in sys.meta_path):
        sys.meta_path.append(_OldPackageFinder())
