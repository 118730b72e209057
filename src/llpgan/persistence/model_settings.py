"""Parameters of an estimator as JSON, and back: plain values as they are, code of ours by name."""

from collections.abc import Mapping
from inspect import isfunction
from pathlib import Path
from typing import Any

from llpgan.estimators import METHODS, estimator_class
from llpgan.estimators.base import LLPClassifier

_OF_THE_TRAINING = {"checkpoint", "tensorboard"}  # files on the machine where it was trained
_PLAIN = (str, int, float, bool, type(None))


def as_json(model: LLPClassifier) -> tuple[dict[str, Any], list[str]]:
    """The settings that a file can hold, and the names of those that are the user's own code."""
    settings: dict[str, Any] = {}
    own = []
    for name, value in model.get_params(deep=False).items():
        if name in _OF_THE_TRAINING:
            continue
        if _is_network_of_ours(value):
            settings[name] = {"network": value.__name__}
        elif isinstance(value, LLPClassifier):
            inner, own_inside = as_json(value)
            if own_inside or type(value).__name__ not in METHODS:
                own.append(name)
            else:
                settings[name] = {"estimator": type(value).__name__, "settings": inner}
        elif callable(value):
            own.append(name)
        elif name == "random_state" and not isinstance(value, _PLAIN):
            settings[name] = None  # a generator of random numbers: a trained model needs none
        else:
            settings[name] = _plain(name, value)
    return settings, own


def from_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters from what :func:`as_json` made of them."""
    if wrong := settings.keys() & _OF_THE_TRAINING:
        raise ValueError(f"a model has no {min(wrong)}")
    return {name: _value(value) for name, value in settings.items()}


def _plain(name: str, value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(name, part) for part in value]
    if isinstance(value, _PLAIN):
        return value
    raise TypeError(f"the setting {name} is a {type(value).__name__}, which cannot be saved")


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return _estimator(value) if "estimator" in value else _network(value)
    return tuple(map(_value, value)) if isinstance(value, list) else value


def _estimator(plain: Mapping[str, Any]) -> LLPClassifier:
    """An estimator of ours that another one has as a parameter, not fitted."""
    if plain["estimator"] not in METHODS:
        raise ValueError(f"llpgan has no method {plain['estimator']!r}")
    made: LLPClassifier = estimator_class(plain["estimator"])(**from_json(plain["settings"]))
    return made


def _network(plain: Mapping[str, Any]) -> Any:
    from llpgan.training import networks

    if plain.keys() != {"network"} or plain["network"] not in networks.__all__:
        raise ValueError(f"llpgan has no network {plain.get('network')!r}")
    return getattr(networks, plain["network"])


def _is_network_of_ours(value: Any) -> bool:
    return isfunction(value) and value.__module__.startswith("llpgan.training.networks.")
