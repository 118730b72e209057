"""From a folder to the trained model. Nothing that the folder holds is ever run."""

from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

import llpgan
from llpgan.estimators import METHODS
from llpgan.estimators.base import LLPClassifier
from llpgan.model_files.manifest import MANIFEST, WEIGHTS, Manifest
from llpgan.model_files.settings import from_json
from llpgan.plain import Arrays, from_plain


def load(path: str | Path, **settings: Any) -> LLPClassifier:
    """The estimator that was saved, with its preprocessing, ready to predict.

    Args:
        path: the folder.
        settings: parameters to change, such as ``device="cpu"``; and those that are code of your own, such as a
            ``classifier``, which a file does not hold.
    """
    folder = Path(path)
    manifest = Manifest.read(folder)
    if lacking := [name for name in manifest.own if name not in settings]:
        raise ValueError(
            f"{folder}: its {lacking[0]} is code of your own: load(..., {lacking[0]}=...) gives it back"
        )
    if manifest.method not in METHODS:
        raise ValueError(f"{folder} holds a {manifest.method}; this version knows {', '.join(METHODS)}")
    model: LLPClassifier = getattr(llpgan, manifest.method)(**{**from_json(manifest.settings), **settings})
    try:
        arrays: Arrays = load_file(folder / WEIGHTS)
        _restore(model, manifest, arrays)
        if hasattr(model, "_networks"):
            _restore_networks(model, arrays)
    except (SafetensorError, KeyError, TypeError, RuntimeError) as error:
        why = " ".join(str(error).split())
        raise ValueError(f"{folder / MANIFEST} and {WEIGHTS} do not make a {manifest.method}: {why}") from error
    return model


def _restore(model: LLPClassifier, manifest: Manifest, arrays: Arrays) -> None:
    for name, value in from_plain(manifest.learned, arrays).items():
        setattr(model, name, value)
    model.encoder_ = from_plain(manifest.preprocessing, arrays)
    model.classes_ = np.array(manifest.classes, dtype=manifest.class_type)
    model.instance_shape_ = tuple(manifest.shape)
    model.n_features_in_ = manifest.shape[0]
    if manifest.features is not None:
        model.feature_names_in_ = np.array(manifest.features, dtype=object)


def _restore_networks(model: Any, arrays: Arrays) -> None:
    """Networks are made anew from the settings, and take the weights."""
    import torch

    from llpgan.scaling import Scaling

    with torch.random.fork_rng(devices=[]):
        networks = model._networks(Scaling(arrays["classifier_.0.shift"], arrays["classifier_.0.scale"]))
    for name, network in networks.items():
        prefix = f"{name}_."
        weights = {k.removeprefix(prefix): torch.from_numpy(v) for k, v in arrays.items() if k.startswith(prefix)}
        network.load_state_dict(weights)
        setattr(model, f"{name}_", network.eval())
