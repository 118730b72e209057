"""From a folder to the trained model. Nothing that the folder holds is ever run."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from llpgan.estimators import estimator_class
from llpgan.estimators.base import LLPClassifier
from llpgan.persistence.manifest import MANIFEST, WEIGHTS, Manifest
from llpgan.persistence.model_settings import FOR_TRAINING_ALONE, from_json
from llpgan.persistence.saved_types import SAVED_TYPES
from llpgan.utils.state_json import Arrays, from_plain, is_learned


def load(path: str | Path, **settings: Any) -> LLPClassifier:
    """Load a saved model, ready to predict.

    No code in the folder is ever run.

    Parameters
    ----------
    path : str or Path
        The folder of the model.
    **settings : dict
        Parameters of the estimator to change, such as ``device="cpu"``. Parameters that are the user's own code,
        such as a ``classifier``, are not part of a saved model and must be given here.

    Returns
    -------
    LLPClassifier
        The fitted estimator, with its preprocessing.

    Raises
    ------
    ValueError
        If a file is missing, damaged or not that of a model, or a parameter that is the user's own code is not
        given.

    See Also
    --------
    save : Save a model.
    llpgan.persistence.onnx.to_onnx : Export a model for machines without llpgan.

    Examples
    --------
    >>> import tempfile
    >>> from llpgan import MeanMap, load, save
    >>> model = MeanMap().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], groups=[0, 1, 2, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model")
    ...     load(f"{folder}/model").predict([[0.5], [2.5]])
    array([0, 1])
    """
    folder = Path(path)
    manifest = Manifest.read(folder)
    lacking = [name for name in manifest.own if name not in settings]
    if for_training := [name for name in lacking if name in FOR_TRAINING_ALONE]:
        warnings.warn(
            f"{folder}: {', '.join(for_training)} of the training is code of your own, which is not in the file; "
            f"predictions do not need it, and load(..., {for_training[0]}=...) gives it back",
            stacklevel=2,
        )
    if lacking := [name for name in lacking if name not in FOR_TRAINING_ALONE]:
        raise ValueError(
            f"{folder / MANIFEST}: its {lacking[0]} is code of your own: load(..., {lacking[0]}=...) gives it back"
        )
    model: LLPClassifier = estimator_class(manifest.method)().set_params(**settings)
    model._validate_params()  # what the caller gives; what the file gives, is checked below
    try:
        model.set_params(**{**from_json(manifest.settings), **settings})
        arrays: Arrays = load_file(folder / WEIGHTS)
        _restore(model, manifest, arrays)
        if hasattr(model, "restore_training"):
            model.restore_training(arrays)
        _try_out(model)
    except MemoryError:
        raise
    except Exception as error:  # whatever a file of another shape leads to
        why = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{folder / MANIFEST} and {WEIGHTS} do not make a {manifest.method}: {why}") from error
    return model


def _restore(model: LLPClassifier, manifest: Manifest, arrays: Arrays) -> None:
    learned = from_plain(manifest.learned, arrays, SAVED_TYPES)
    if not isinstance(learned, dict) or not all(map(is_learned, learned)):
        raise ValueError("what is learned should be attributes that end in _")
    for name, value in learned.items():
        setattr(model, name, value)
    model.encoder_ = from_plain(manifest.preprocessing, arrays, SAVED_TYPES)
    model.classes_ = np.array(manifest.classes, dtype=manifest.class_type)
    model.instance_shape_ = tuple(manifest.shape)
    model.n_features_in_ = manifest.shape[0]
    if manifest.features is not None:
        model.feature_names_in_ = np.array(manifest.features, dtype=object)


def _try_out(model: Any) -> None:
    """Predict one instance, of zeros: a model that cannot do that was never saved by us."""
    model._validate_params()
    encoder = model.encoder_
    if encoder is not None and not hasattr(encoder, "encode"):
        raise ValueError(f"its preprocessing is a {type(encoder).__name__}")
    if encoder is not None and encoder.features is not None and len(encoder.features) != model.n_features_in_:
        raise ValueError(f"its preprocessing gives {len(encoder.features)} features, not {model.n_features_in_}")
    instance = np.zeros((1, *model.instance_shape_), dtype=model.instance_type_)
    if hasattr(model, "restore_training"):
        found = model._predicted(_posteriors(model.classifier_, instance))
    else:
        found = model._probabilities(instance)
    if np.shape(found) != (1, len(model.classes_)):
        raise ValueError(f"it gives probabilities of shape {np.shape(found)} for {len(model.classes_)} classes")


def _posteriors(classifier: Any, instance: Any) -> Any:
    """On the CPU, whatever the model was trained on."""
    import torch

    from llpgan.training.training_loop import posteriors_of

    return posteriors_of(classifier, instance, torch.device("cpu"))
