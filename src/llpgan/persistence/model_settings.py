"""Parameters of an estimator as JSON, and back: plain values as they are, code of ours by name."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import isfunction
from pathlib import Path
from typing import Any

from llpgan.estimators import METHODS, estimator_class
from llpgan.estimators.base import LLPClassifier

_OF_THE_TRAINING = {"checkpoint", "tensorboard"}  # files on the machine where it was trained
#: Settings that predictions do not need.
FOR_TRAINING_ALONE = {"augment", "generator_loss", "instance_terms", "optimizer", "proportion_loss", "view"}
_PLAIN = (str, int, float, bool, type(None))


class _OwnCodeError(Exception):
    """A setting is code of the user's, which a file cannot hold."""


def as_json(model: LLPClassifier) -> tuple[dict[str, Any], list[str]]:
    """The settings that a file can hold, and the names of those that are the user's own code."""
    settings: dict[str, Any] = {}
    own = []
    for name, value in model.get_params(deep=False).items():
        if name in _OF_THE_TRAINING:
            continue
        if name == "random_state" and not isinstance(value, _PLAIN):
            settings[name] = None  # a generator of random numbers: a trained model needs none
            continue
        try:
            settings[name] = _saved(name, value)
        except _OwnCodeError:
            own.append(name)
    return settings, own


def from_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters from what :func:`as_json` made of them."""
    if wrong := settings.keys() & _OF_THE_TRAINING:
        raise ValueError(f"a model has no {min(wrong)}")
    return {name: _value(value) for name, value in settings.items()}


def _saved(name: str, value: Any) -> Any:
    """A setting as JSON."""
    if _is_network_of_ours(value):
        return {"network": value.__name__}
    if isinstance(value, LLPClassifier):
        inner, own = as_json(value)
        if own or type(value).__name__ not in METHODS:
            raise _OwnCodeError
        return {"estimator": type(value).__name__, "settings": inner}
    if _is_part_of_ours(value):
        settings = {field.name: _saved(name, getattr(value, field.name)) for field in fields(value)}
        return {"part": type(value).__name__, "settings": settings}
    if callable(value):
        raise _OwnCodeError
    if isinstance(value, tuple | list):
        return [_saved(name, part) for part in value]
    return _plain(name, value)


def _plain(name: str, value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, _PLAIN):
        return value
    raise TypeError(f"the setting {name} is a {type(value).__name__}, which cannot be saved")


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        make = _estimator if "estimator" in value else _part if "part" in value else _network
        return make(value)
    return tuple(map(_value, value)) if isinstance(value, list) else value


def _part(plain: Mapping[str, Any]) -> Any:
    """A loss of bags or a term on single instances."""
    from llpgan.training.objective_parts import OBJECTIVE_PARTS

    if plain["part"] not in OBJECTIVE_PARTS:
        raise ValueError(f"llpgan has no loss or term {plain['part']!r}")
    return OBJECTIVE_PARTS[plain["part"]](**{name: _value(value) for name, value in plain["settings"].items()})


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


def _is_part_of_ours(value: Any) -> bool:
    return is_dataclass(value) and type(value).__module__.startswith("llpgan.training.")
