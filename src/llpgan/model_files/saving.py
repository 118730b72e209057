"""From a trained model to a folder."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from llpgan.estimators.base import LLPClassifier
from llpgan.files import refuse_existing, whole_folder
from llpgan.model_files import trusted
from llpgan.model_files.manifest import LEARNED, MANIFEST, PREPROCESSING, WEIGHTS, Manifest, digest_of_file
from llpgan.model_files.settings import as_json

_IN_THE_MANIFEST = {"classes_", "instance_shape_", "n_features_in_", "feature_names_in_", "encoder_"}


def save(
    model: LLPClassifier, path: str | Path, *, overwrite: bool = False, pages: Mapping[str, str] | None = None
) -> None:
    """Save a trained model as a folder, whole or not at all.

    Args:
        model: a fitted estimator, with the preprocessing that it learned from a table if there was one.
        path: the folder, which must not exist.
        overwrite: replace it, if it is a model.
        pages: other files to put beside it, by name: text, such as a report.
    """
    check_is_fitted(model, "classes_")
    refuse_existing(Path(path), overwrite, mark=MANIFEST)
    with whole_folder(Path(path)) as folder:
        _write_networks(model, folder / WEIGHTS)
        trusted.dump(_learned(model), folder / LEARNED)
        if model.encoder_ is not None:
            trusted.dump(model.encoder_, folder / PREPROCESSING)
        files = {file.name: digest_of_file(file) for file in sorted(folder.iterdir())}
        replace(_manifest(model), files=files).write(folder)
        for name, text in (pages or {}).items():
            (folder / name).write_text(text, encoding="utf-8")


def networks_of(model: LLPClassifier) -> dict[str, Any]:
    """The trained networks of a deep method by attribute; none of the others."""
    return {name: value for name, value in vars(model).items() if hasattr(value, "state_dict") and name[-1] == "_"}


def _write_networks(model: LLPClassifier, path: Path) -> None:
    networks = networks_of(model)
    if not networks:
        return
    from safetensors.torch import save_file

    tensors = {
        f"{name}.{part}": tensor.contiguous().clone()
        for name, network in networks.items()
        for part, tensor in network.state_dict().items()
    }
    save_file(tensors, path)


def _learned(model: LLPClassifier) -> dict[str, Any]:
    skipped = _IN_THE_MANIFEST | networks_of(model).keys()
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name not in skipped}


def _manifest(model: LLPClassifier) -> Manifest:
    settings, own = as_json(model)
    names = getattr(model, "feature_names_in_", None)
    return Manifest(
        method=type(model).__name__,
        settings=settings,
        own=own,
        classes=model.classes_.tolist(),
        class_type=model.classes_.dtype.str,
        shape=list(model.instance_shape_),
        features=None if names is None else names.tolist(),
    )
