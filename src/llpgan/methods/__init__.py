"""Estimators: every method with the interface of scikit-learn."""

import re
from importlib import import_module
from typing import Any

__all__ = ["METHODS", "SAVED_METHODS", "docs_page", "estimator_class"]

#: The one list of methods, by class, with the module that holds it: the package's names, the common tests and the
#: comparisons read it. Nothing is imported here, so that a method without torch never loads it.
METHODS = {
    "DLLP": "llpgan.methods.dllp",
    "LLPGAN": "llpgan.methods.llp_gan",
    "MomentMatching": "llpgan.methods.dllp",
    "CountLLP": "llpgan.methods.dllp",
    "DSQ": "llpgan.methods.dllp",
    "ROT": "llpgan.methods.dllp",
    "LLPVAT": "llpgan.methods.dllp",
    "LLPDC": "llpgan.methods.dllp",
    "MixBag": "llpgan.methods.dllp",
    "LLPFC": "llpgan.methods.dllp",
    "MeanMap": "llpgan.methods.mean_map",
    "LaplacianMeanMap": "llpgan.methods.mean_map",
    "AlternatingMeanMap": "llpgan.methods.mean_map",
    "BagLogistic": "llpgan.methods.bag_logistic",
    "AutoLLP": "llpgan.methods.auto_llp",
    "BagBoosting": "llpgan.methods.bag_boosting",
    "InvCal": "llpgan.methods.inv_cal",
    "AlterSVM": "llpgan.methods.svm",
    "ConvSVM": "llpgan.methods.svm",
}

#: All methods whose models can be saved: those, and one that learns from tables of counts instead of bags.
SAVED_METHODS = {**METHODS, "MarginalLogistic": "llpgan.methods.pairs"}


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
    <class 'llpgan.methods.mean_map.MeanMap'>
    """
    return getattr(import_module(SAVED_METHODS[name]), name)


def docs_page(name: str) -> str:
    """Return the name of the documentation page of a method.

    Parameters
    ----------
    name : str
        The name of the method.

    Returns
    -------
    str
        The file name in ``docs/methods`` without its ending.

    Examples
    --------
    >>> docs_page("MeanMap"), docs_page("LLPGAN"), docs_page("DLLP")
    ('mean_map', 'llp_gan', 'dllp')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=^LLP)(?=[A-Z])", "_", name).lower()
