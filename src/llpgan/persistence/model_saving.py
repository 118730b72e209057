"""From a trained model to a folder."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors.numpy import save as safe_bytes
from sklearn.utils.validation import check_is_fitted

from llpgan.estimators.base import LLPClassifier
from llpgan.persistence.manifest import CARD, MODEL_FOLDER, WEIGHTS, Manifest
from llpgan.persistence.model_card import model_card
from llpgan.persistence.model_settings import as_json
from llpgan.persistence.saved_types import SAVED_TYPES
from llpgan.utils.checked_json import digest_of_file
from llpgan.utils.output_paths import output_folder
from llpgan.utils.state_json import Arrays, to_plain

_ELSEWHERE = {"classes_", "instance_shape_", "n_features_in_", "feature_names_in_", "encoder_"}
_FOR_TRAINING_ALONE = {"start_"}  # which a trained model does not need, and which may be any method


def save(
    model: LLPClassifier, path: str | Path, *, overwrite: bool = False, pages: Mapping[str, str] | None = None
) -> None:
    """Save a trained model as a folder.

    The folder is written completely or not at all. Its ``model_card.md`` tells people what the model is.

    Parameters
    ----------
    model : LLPClassifier
        A fitted estimator, with the preprocessing that it learned from a table if there was one.
    path : str or Path
        The folder, which must not exist.
    overwrite : bool, default=False
        Whether to replace a model that is there. Other files in the folder are kept.
    pages : mapping, default=None
        Other text files to write into the folder, by name, such as a report, or a model card of your own
        (``model_card.md``).

    See Also
    --------
    load : Load a model.

    Examples
    --------
    >>> import tempfile
    >>> from llpgan import MeanMap, save
    >>> model = MeanMap().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], groups=[0, 1, 2, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model")
    ...     sorted(file.name for file in Path(folder, "model").iterdir())
    ['model.json', 'model_card.md', 'weights.safetensors']
    """
    check_is_fitted(model, "classes_")
    arrays: Arrays = {}
    manifest = _manifest(model, arrays)
    all_pages = {CARD: model_card(model)} | dict(pages or {})
    with output_folder(Path(path), MODEL_FOLDER, overwrite=overwrite) as folder:
        (folder / WEIGHTS).write_bytes(safe_bytes({**arrays, **_weights(model)}))
        for name, text in all_pages.items():
            (folder / name).write_text(text, encoding="utf-8")
        digests = {WEIGHTS: digest_of_file(folder / WEIGHTS)}
        replace(manifest, files=digests, pages=list(all_pages)).write(folder)


def _networks(model: LLPClassifier) -> dict[str, Any]:
    """The trained networks of a deep method by attribute; none of the others."""
    return {name: value for name, value in vars(model).items() if name[-1] == "_" and hasattr(value, "state_dict")}


def _weights(model: LLPClassifier) -> Arrays:
    return {
        f"{name}.{part}": tensor.contiguous().numpy()  # safetensors writes memory as it lies
        for name, network in _networks(model).items()
        for part, tensor in network.state_dict().items()
    }


def _manifest(model: LLPClassifier, arrays: Arrays) -> Manifest:
    settings, own = as_json(model)
    names = getattr(model, "feature_names_in_", None)
    elsewhere = _ELSEWHERE | _FOR_TRAINING_ALONE | _networks(model).keys()
    learned = {name: value for name, value in vars(model).items() if name[-1] == "_" and name not in elsewhere}
    return Manifest(
        method=type(model).__name__,
        settings=settings,
        own=own,
        classes=model.classes_.tolist(),
        class_type=model.classes_.dtype.str,
        shape=list(model.instance_shape_),
        features=None if names is None else names.tolist(),
        learned=to_plain(learned, arrays, SAVED_TYPES),
        preprocessing=to_plain(model.encoder_, arrays, SAVED_TYPES),
    )
