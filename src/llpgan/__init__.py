"""Learn a classifier of single instances from bags whose class proportions are all that is known.

>>> from llpgan import Bags
>>> bags = Bags.from_arrays([[0.0], [1.0], [2.0]], ["a", "a", "b"], {"a": [0.5, 0.5], "b": [0.0, 1.0]})
>>> bags.n_bags, bags.n_classes
(2, 2)

Names are imported when they are first used, so that ``import llpgan`` is quick and does not load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from llpgan.estimators import SAVED_METHODS
from llpgan.utils.version import __version__ as __version__

if TYPE_CHECKING:
    from llpgan.bags import Bags as Bags
    from llpgan.estimators.alter_svm import AlterSVM as AlterSVM
    from llpgan.estimators.alternating_mean_map import AlternatingMeanMap as AlternatingMeanMap
    from llpgan.estimators.auto_llp import AutoLLP as AutoLLP
    from llpgan.estimators.bag_boosting import BagBoosting as BagBoosting
    from llpgan.estimators.bag_logistic import BagLogistic as BagLogistic
    from llpgan.estimators.conv_svm import ConvSVM as ConvSVM
    from llpgan.estimators.count_llp import CountLLP as CountLLP
    from llpgan.estimators.dllp import DLLP as DLLP
    from llpgan.estimators.dsq import DSQ as DSQ
    from llpgan.estimators.inv_cal import InvCal as InvCal
    from llpgan.estimators.laplacian_mean_map import LaplacianMeanMap as LaplacianMeanMap
    from llpgan.estimators.llp_dc import LLPDC as LLPDC
    from llpgan.estimators.llp_gan import LLPGAN as LLPGAN
    from llpgan.estimators.llp_vat import LLPVAT as LLPVAT
    from llpgan.estimators.llpfc import LLPFC as LLPFC
    from llpgan.estimators.marginal_logistic import MarginalLogistic as MarginalLogistic
    from llpgan.estimators.mean_map import MeanMap as MeanMap
    from llpgan.estimators.mix_bag import MixBag as MixBag
    from llpgan.estimators.moment_matching import MomentMatching as MomentMatching
    from llpgan.estimators.rot import ROT as ROT
    from llpgan.persistence import load as load
    from llpgan.persistence import save as save
    from llpgan.tables import Columns as Columns

_HOMES = {
    "Bags": "llpgan.bags",
    "Columns": "llpgan.tables",
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
    "InvCal",
    "LaplacianMeanMap",
    "MarginalLogistic",
    "MeanMap",
    "MixBag",
    "MomentMatching",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
