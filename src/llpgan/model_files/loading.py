"""From a folder to the trained model. Nothing that the folder holds is ever run."""

from pathlib import Path
from typing import Any

import numpy as np

import llpgan
from llpgan.estimators import METHODS
from llpgan.estimators.base import LLPClassifier
from llpgan.model_files import trusted
from llpgan.model_files.manifest import LEARNED, PREPROCESSING, WEIGHTS, Manifest
from llpgan.model_files.settings import from_json


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
    _restore(model, manifest)
    for name, value in trusted.load(folder / LEARNED).items():
        setattr(model, name, value)
    model.encoder_ = trusted.load(folder / PREPROCESSING) if PREPROCESSING in manifest.files else None
    if WEIGHTS in manifest.files:
        _restore_networks(model, folder / WEIGHTS)
    return model


def _restore(model: LLPClassifier, manifest: Manifest) -> None:
    model.classes_ = np.array(manifest.classes, dtype=manifest.class_type)
    model.instance_shape_ = tuple(manifest.shape)
    model.n_features_in_ = manifest.shape[0]
    if manifest.features is not None:
        model.feature_names_in_ = np.array(manifest.features, dtype=object)


def _restore_networks(model: Any, path: Path) -> None:
    """Networks are made anew from the settings, and take the weights."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from llpgan.scaling import Scaling

    try:
        tensors = load_file(path)
        scaling = Scaling(*(tensors[f"classifier_.0.{name}"].numpy() for name in ("shift", "scale")))
        with torch.random.fork_rng(devices=[]):
            networks = model._networks(scaling)
        for name, network in networks.items():
            prefix = f"{name}_."
            network.load_state_dict(
                {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
            )
            setattr(model, f"{name}_", network.eval())
    except (SafetensorError, KeyError, RuntimeError) as error:
        raise ValueError(f"{path} does not hold the weights of this {type(model).__name__}: {error}") from error
