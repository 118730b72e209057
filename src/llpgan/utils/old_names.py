"""Names of earlier versions: they still work, with a warning that says the new one."""

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: Packages that were renamed in 0.3.
OLD_PACKAGES = {
    "llpgan.estimators": "llpgan.methods",
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
