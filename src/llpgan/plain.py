"""What a model has learned, as JSON and arrays, and back: values, containers, and types of ours by name.

Nothing else goes in, and nothing else comes out: to read it back runs no code but the types' own, which are listed
here. (A general format such as skops does the same, but imports all of scikit-learn and torch to read one file.)
"""

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.schemas import matches, refuse_misfit

Arrays = dict[str, NDArray[Any]]
_VALUES = (str, int, float, bool, type(None))
_KINDS: tuple[dict[str, Any], ...] = (
    {"array": str},
    {"texts": list[str]},
    {"tuple": list[Any]},
    {"dict": dict[str, Any]},
    {"type": str, "dict": dict[str, Any]},
)
_TYPES = {
    "AlternatingMeanMap": "llpgan.estimators.alternating_mean_map",
    "ArrayEncoder": "llpgan.sources.arrays",
    "BagBoosting": "llpgan.estimators.bag_boosting",
    "BagLogistic": "llpgan.estimators.bag_logistic",
    "Category": "llpgan.sources.encoders",
    "Date": "llpgan.sources.encoders",
    "ImageEncoder": "llpgan.sources.images",
    "KernelMap": "llpgan.estimators.kernels",
    "KernelSigmoid": "llpgan.estimators.inv_cal",
    "LaplacianMeanMap": "llpgan.estimators.laplacian_mean_map",
    "Linear": "llpgan.estimators.linear",
    "MeanMap": "llpgan.estimators.mean_map",
    "NamedKernel": "llpgan.estimators.kernels",
    "Number": "llpgan.sources.encoders",
    "Sigmoid": "llpgan.estimators.one_vs_rest",
    "TableEncoder": "llpgan.sources.table_encoder",
}


def is_learned(name: str) -> bool:
    """Whether an attribute is what training found, as scikit-learn marks it."""
    return name.isidentifier() and name[-1] == "_" and name[0] != "_"


def to_plain(value: Any, arrays: Arrays) -> Any:
    """The value as JSON; its arrays are put among ``arrays``, and named.

    >>> arrays = {}
    >>> to_plain({"scale": (1, np.ones(2))}, arrays), arrays
    ({'dict': {'scale': {'tuple': [1, {'array': '0'}]}}}, {'0': array([1., 1.])})
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _VALUES):
        return value
    if isinstance(value, np.ndarray):
        return _named_array(value, arrays)
    if isinstance(value, list):
        return [to_plain(part, arrays) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [to_plain(part, arrays) for part in value]}
    if isinstance(value, Mapping):
        return {"dict": {str(name): to_plain(part, arrays) for name, part in value.items()}}
    name = type(value).__name__
    if _TYPES.get(name) != type(value).__module__:
        raise TypeError(f"this model holds a {name}, code of your own, which a saved model cannot hold: pickle it")
    return {"type": name, **to_plain(vars(value), arrays)}


def from_plain(plain: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value that :func:`to_plain` took apart; a ValueError, if it is nothing of the kind.

    >>> from_plain({"tuple": [1, {"array": "0"}]}, {"0": np.ones(2)})
    (1, array([1., 1.]))
    """
    if isinstance(plain, list):
        return [from_plain(part, arrays) for part in plain]
    if not isinstance(plain, dict):
        return plain
    _refuse_other_kind(plain)
    if "array" in plain:
        return _array(plain["array"], arrays)
    if "texts" in plain:
        return np.array(plain["texts"], dtype=str)
    if "tuple" in plain:
        return tuple(from_plain(part, arrays) for part in plain["tuple"])
    parts = {name: from_plain(part, arrays) for name, part in plain["dict"].items()}
    return _made(plain["type"], parts) if "type" in plain else parts


def _refuse_other_kind(plain: dict[str, Any]) -> None:
    kinds = next((kinds for kinds in _KINDS if kinds.keys() == plain.keys()), None)
    if kinds is None or not all(matches(value, kinds[name]) for name, value in plain.items()):
        raise ValueError(f"{{{', '.join(map(repr, plain))}}} is nothing that a model holds")


def _array(name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"there is no array {name!r}")
    return arrays[name]


def _named_array(array: NDArray[Any], arrays: Arrays) -> dict[str, Any]:
    if array.dtype.kind in "UO":
        return {"texts": [str(text) for text in array.tolist()]}
    name = str(len(arrays))
    arrays[name] = np.ascontiguousarray(array)
    return {"array": name}


def _made(name: str, attributes: dict[str, Any]) -> Any:
    if name not in _TYPES:
        raise ValueError(f"a {name!r} is nothing that a model holds")
    kind = getattr(import_module(_TYPES[name]), name)
    try:
        if hasattr(kind, "_probabilities"):
            _refuse_other_attributes(kind, attributes)
        else:
            refuse_misfit(kind, attributes)
    except ValueError as error:
        raise ValueError(f"a {name} is damaged: {error}") from None
    made = kind.__new__(kind)
    vars(made).update(attributes)
    return made


def _refuse_other_attributes(kind: Any, attributes: Mapping[str, Any]) -> None:
    """Refuse what is not a trained estimator: its settings, and what it learned."""
    settings = {name for name in attributes if not is_learned(name)}
    if wrong := settings ^ {field.name for field in fields(kind)}:
        raise ValueError(f"it lacks {min(wrong)!r}, or should not have it")
