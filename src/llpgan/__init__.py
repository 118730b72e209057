"""Learn a classifier of single instances from bags whose class proportions are all that is known.

>>> from llpgan import Bags
>>> bags = Bags.from_arrays([[0.0], [1.0], [2.0]], ["a", "a", "b"], {"a": [0.5, 0.5], "b": [0.0, 1.0]})
>>> bags.n_bags, bags.n_classes
(2, 2)

Names are imported when they are first used, so that ``import llpgan`` is quick and does not load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from llpgan.estimators import METHODS

if TYPE_CHECKING:
    from llpgan.bags import Bags as Bags
    from llpgan.estimators.alter_svm import AlterSVM as AlterSVM
    from llpgan.estimators.alternating_mean_map import AlternatingMeanMap as AlternatingMeanMap
    from llpgan.estimators.auto_llp import AutoLLP as AutoLLP
    from llpgan.estimators.bag_boosting import BagBoosting as BagBoosting
    from llpgan.estimators.bag_logistic import BagLogistic as BagLogistic
    from llpgan.estimators.conv_svm import ConvSVM as ConvSVM
    from llpgan.estimators.dllp import DLLP as DLLP
    from llpgan.estimators.inv_cal import InvCal as InvCal
    from llpgan.estimators.laplacian_mean_map import LaplacianMeanMap as LaplacianMeanMap
    from llpgan.estimators.llp_gan import LLPGAN as LLPGAN
    from llpgan.estimators.mean_map import MeanMap as MeanMap
    from llpgan.model_files import load as load
    from llpgan.model_files import save as save
    from llpgan.sources import Columns as Columns

__version__ = "0.1.0"

_HOMES = {
    "Bags": "llpgan.bags",
    "Columns": "llpgan.sources",
    "load": "llpgan.model_files",
    "save": "llpgan.model_files",
    **METHODS,
}
__all__ = [
    "DLLP",
    "LLPGAN",
    "AlterSVM",
    "AlternatingMeanMap",
    "AutoLLP",
    "BagBoosting",
    "BagLogistic",
    "Bags",
    "Columns",
    "ConvSVM",
    "InvCal",
    "LaplacianMeanMap",
    "MeanMap",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
