"""Learn a classifier of single instances from bags whose class proportions are all that is known.

>>> from llpgan import Bags
>>> bags = Bags.from_arrays([[0.0], [1.0], [2.0]], ["a", "a", "b"], {"a": [0.5, 0.5], "b": [0.0, 1.0]})
>>> bags.n_bags, bags.n_classes
(2, 2)

Names are imported when they are first used, so that ``import llpgan`` is quick and does not load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from llpgan.methods import SAVED_METHODS
from llpgan.utils.old_names import find_old_packages
from llpgan.utils.version import __version__ as __version__

if TYPE_CHECKING:
    from llpgan.bags import Bags
    from llpgan.methods.auto_llp import AutoLLP
    from llpgan.methods.bag_boosting import BagBoosting
    from llpgan.methods.bag_logistic import BagLogistic
    from llpgan.methods.dllp import DLLP, DSQ, LLPDC, LLPFC, LLPVAT, ROT, CountLLP, MixBag, MomentMatching
    from llpgan.methods.inv_cal import InvCal
    from llpgan.methods.llp_gan import LLPGAN
    from llpgan.methods.mean_map import AlternatingMeanMap, LaplacianMeanMap, MeanMap
    from llpgan.methods.pairs import MarginalLogistic
    from llpgan.methods.svm import AlterSVM, ConvSVM
    from llpgan.persistence import load, save
    from llpgan.tables import Columns

_HOMES = {
    "Bags": "llpgan.bags",
    "Columns": "llpgan.tables",
    "Embedding": "llpgan.tables",
    "ImagePreprocessing": "llpgan.tables",
    "load": "llpgan.persistence",
    "save": "llpgan.persistence",
    **SAVED_METHODS,
}
__all__ = [
    "DLLP",
    "DSQ",
    "LLPDC",
    "LLPFC",
    "LLPGAN",
    "LLPVAT",
    "ROT",
    "AlterSVM",
    "AlternatingMeanMap",
    "AutoLLP",
    "BagBoosting",
    "BagLogistic",
    "Bags",
    "Columns",
    "ConvSVM",
    "CountLLP",
    "Embedding",
    "ImagePreprocessing",
    "InvCal",
    "LaplacianMeanMap",
    "MarginalLogistic",
    "MeanMap",
    "MixBag",
    "MomentMatching",
    "load",
    "save",
]


find_old_packages()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
