"""Estimators: every method with the interface of scikit-learn."""

from importlib import import_module
from typing import Any

__all__ = ["METHODS", "SAVED_METHODS", "estimator_class"]

#: The one list of methods, by class, with the module that holds it: the package's names, the common tests and the
#: comparisons read it. Nothing is imported here, so that a method without torch never loads it.
METHODS = {
    "DLLP": "llpgan.estimators.dllp",
    "LLPGAN": "llpgan.estimators.llp_gan",
    "MomentMatching": "llpgan.estimators.moment_matching",
    "CountLLP": "llpgan.estimators.count_llp",
    "DSQ": "llpgan.estimators.dsq",
    "ROT": "llpgan.estimators.rot",
    "LLPVAT": "llpgan.estimators.llp_vat",
    "LLPDC": "llpgan.estimators.llp_dc",
    "MixBag": "llpgan.estimators.mix_bag",
    "LLPFC": "llpgan.estimators.llpfc",
    "MeanMap": "llpgan.estimators.mean_map",
    "LaplacianMeanMap": "llpgan.estimators.laplacian_mean_map",
    "AlternatingMeanMap": "llpgan.estimators.alternating_mean_map",
    "BagLogistic": "llpgan.estimators.bag_logistic",
    "AutoLLP": "llpgan.estimators.auto_llp",
    "BagBoosting": "llpgan.estimators.bag_boosting",
    "InvCal": "llpgan.estimators.inv_cal",
    "AlterSVM": "llpgan.estimators.alter_svm",
    "ConvSVM": "llpgan.estimators.conv_svm",
}

#: All methods whose models can be saved: those, and one that learns from tables of counts instead of bags.
SAVED_METHODS = {**METHODS, "MarginalLogistic": "llpgan.estimators.marginal_logistic"}


def estimator_class(name: str) -> Any:
    """Return the class of a method.

    Parameters
    ----------
    name : str
        The name of the method, one of :data:`SAVED_METHODS`.

    Returns
    -------
    type
        The class of the estimator.

    Examples
    --------
    >>> estimator_class("MeanMap")
    <class 'llpgan.estimators.mean_map.MeanMap'>
    """
    return getattr(import_module(SAVED_METHODS[name]), name)
