"""A model as a folder: saving and loading."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from inspect import isfunction
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from safetensors.numpy import save as safe_bytes
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from llpgan.methods import METHODS, SAVED_METHODS, estimator_class
from llpgan.methods.base import LLPClassifier, changed_settings, describe_method
from llpgan.tables.store import ENCODER_TYPES
from llpgan.utils.files import FolderKind, check_path, output_folder
from llpgan.utils.json_files import (
    Arrays,
    describe_lack,
    digest_of_file,
    from_plain,
    is_learned,
    matches,
    read_sealed,
    refuse_damaged,
    refuse_misfit,
    refuse_other_type,
    to_plain,
    write_sealed,
)
from llpgan.utils.version import __version__

SAVED_TYPES = {
    **ENCODER_TYPES,
    "AlternatingMeanMap": "llpgan.methods.mean_map",
    "BagBoosting": "llpgan.methods.bag_boosting",
    "BagLogistic": "llpgan.methods.bag_logistic",
    "Calibrator": "llpgan.evaluation.calibrate",
    "KernelMap": "llpgan.methods.linear",
    "KernelSigmoid": "llpgan.methods.inv_cal",
    "LaplacianMeanMap": "llpgan.methods.mean_map",
    "Linear": "llpgan.methods.linear",
    "Refinement": "llpgan.methods.refinement",
    "MeanMap": "llpgan.methods.mean_map",
    "NamedKernel": "llpgan.methods.linear",
    "PredictionSets": "llpgan.evaluation.sets",
    "Sigmoid": "llpgan.methods.linear",
    "Steps": "llpgan.methods.linear",
    "ValueEncoder": "llpgan.tables.encode",
}


MANIFEST = "model.json"
WEIGHTS = "weights.safetensors"
REPORT = "report.html"
CARD = "model_card.md"
SETS_PAGE = "prediction_sets.html"
FORMAT = 1
MODEL_FOLDER = FolderKind(MANIFEST, files=(WEIGHTS,), pages=(REPORT, CARD, SETS_PAGE))


@dataclass(frozen=True)
class Manifest:
    """What a reader of the folder should know first.

    Attributes
    ----------
    method : str
        One of :data:`llpgan.methods.SAVED_METHODS`.
    settings : dict
        Its parameters; those that a file cannot hold are in ``own``.
    own : list of str
        Parameters that are code of the user's own, and have to be given again.
    classes : list of object
        Their names, and the type of these.
    shape : list of int
        Of an instance.
    features : list of str or None
        The names of columns, if they have any.
    learned : object
        What training found, but for weights; arrays are among these.
    preprocessing : object
        How rows of a user's table become instances, if the model learned from one.
    files : dict
        The SHA-256 of each file.
    pages : list of str
        The names of files for people, which may change.
    """

    method: str
    settings: dict[str, Any]
    own: list[str]
    classes: list[Any]
    class_type: str
    shape: list[int]
    features: list[str] | None
    learned: Any
    preprocessing: Any
    files: dict[str, str] = field(default_factory=dict)
    pages: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """With a digest of itself."""
        write_sealed(folder / MANIFEST, asdict(self), FORMAT)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Of a folder whose files are all there and as they were written; else an error that names the file."""
        path = folder / MANIFEST
        if not path.is_file():
            raise FileNotFoundError(f"{folder} is not a saved model: {describe_lack(folder, MANIFEST, 'model')}")
        content = read_sealed(path, FORMAT)
        try:
            refuse_misfit(cls, content)
            manifest = cls(**content)
            manifest._check()
        except ValueError as error:
            raise ValueError(f"{path} is not a model that can be read: {error}") from error
        refuse_damaged(folder, manifest.files)
        return manifest

    def _check(self) -> None:
        """What the types of the fields do not say."""
        if self.method not in SAVED_METHODS:
            raise ValueError(f"it holds a {self.method}; this version knows {', '.join(SAVED_METHODS)}")
        if not matches(self.classes, list[str | int | float | bool]) or not self.classes:
            raise ValueError(f"classes should be the names of classes, not {self.classes}")
        if len(set(self.classes)) < len(self.classes):
            raise ValueError(f"class names must differ, but the classes are {self.classes}")
        refuse_other_type(self.class_type, self.classes)
        if not self.shape or min(self.shape) < 1:
            raise ValueError(f"shape should be of one dimension at least, and no side 0, not {self.shape}")
        if self.features is not None and len(self.features) != self.shape[0]:
            raise ValueError(f"there are {len(self.features)} features, but the shape is {self.shape}")
        if self.files.keys() != {WEIGHTS}:
            raise ValueError(f"files should be {WEIGHTS} alone, not {', '.join(self.files)}")


def files_of_model(folder: str | Path) -> list[Path]:
    """The files of a saved model, by which it is an input."""
    return [Path(folder) / name for name in MODEL_FOLDER.ours(Path(folder))]


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")
_NOT_RECORDED = """\
## Training data and quality

Not recorded: the model was saved without them."""
_WHERE = """ `model.report("report.html", bags)` shows them, and so does the
card of a model that `llpgan fit` has saved."""
_OF_BAGS = """\
- The model learned from class proportions of bags, not from labels. Errors on single instances cancel within a
  bag, so a small bag error does not prove that single predictions are right. Check some of them by labels.
"""
_LIMITS = """\
- It expects instances like those that it learned from. How well it does on others, and whether it treats groups
  of people alike, was not measured unless this card says so.
"""
_NOT_JUDGED = "How often it is right was not measured: check some predictions by labels."
_USE = """\
## Use

```python
import llpgan

model = llpgan.load("path/of/this/folder")  # runs no code from the folder
model.predict_proba(rows)
```
"""


def model_card(model: LLPClassifier, sections: str | None = None) -> str:
    """Describe a trained model in Markdown.

    Parameters
    ----------
    model : LLPClassifier
        The model.
    sections : str, default=None
        Sections on the training data and on how good the model is. None means that they say that nothing is known.

    Returns
    -------
    str
        The card.
    """
    method, classes = type(model).__name__, _shorten_list(model.classes_.tolist())
    head = f"# Model card: {method}\n\n{describe_method(model)} Saved by llpgan {__version__}.\n"
    task = f"The class of a single instance, one of {classes}, and the probability of each. {_input(model)}"
    own = getattr(model, "learns_from", None)
    data = f"{_NOT_RECORDED}{_WHERE if own is None else ''}\n" if sections is None else sections
    first = _OF_BAGS if own is None else f"- The model learned from {own}, not from labels. {_NOT_JUDGED}\n"
    limits = f"## Limits\n\n{first}{_LIMITS}"
    return "\n".join([head, f"## What it predicts\n\n{task}\n", _settings(model), data, limits, _USE])


def plain_text(text: object) -> str:
    r"""A name of the user's as it is: without meaning in Markdown, and on one line.

    >>> print(plain_text("a|b <i>"))
    a\|b \<i\>
    """
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _shorten_list(names: list[object], most: int = 20) -> str:
    shown = ", ".join(map(plain_text, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _input(model: LLPClassifier) -> str:
    encoder, shape = model.encoder_, model.instance_shape_
    if encoder is not None and encoder.features is not None:
        return f"It takes rows of a table with the columns {_shorten_list(list(encoder.positions))}."
    if len(shape) > 1:
        return f"It takes images of {' x '.join(map(str, shape))} (channels, height, width)."
    named = getattr(model, "feature_names_in_", None)
    names = "" if named is None else f": {_shorten_list(named.tolist())}"
    return f"It takes rows of {shape[0]} numbers{names}."


def _settings(model: LLPClassifier) -> str:
    changed = [setting for setting in changed_settings(model) if setting.differs]
    if not changed:
        return "## Settings\n\nAll have their default values.\n"
    rows = [
        f"| {plain_text(each.name)} | {plain_text(each.value)} | {plain_text(each.usual)} |" for each in changed
    ]
    return "\n".join(
        ["## Settings that were changed\n", "| setting | value | default |", "|---|---|---|", *rows, ""]
    )


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
            settings[name] = _setting_as_json(name, value)
        except _OwnCodeError:
            own.append(name)
    return settings, own


def from_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters from what :func:`as_json` made of them."""
    if wrong := settings.keys() & _OF_THE_TRAINING:
        raise ValueError(f"a model has no {min(wrong)}")
    return {name: _load_value(value) for name, value in settings.items()}


def _setting_as_json(name: str, value: Any) -> Any:
    """A setting as JSON."""
    module = str(type(value).__module__)
    if isfunction(value) and value.__module__.startswith("llpgan.deep.networks."):
        return {"network": value.__name__}
    if isinstance(value, LLPClassifier):
        inner, own = as_json(value)
        if own or type(value).__name__ not in METHODS:
            raise _OwnCodeError
        return {"estimator": type(value).__name__, "settings": inner}
    if is_dataclass(value) and (module.startswith("llpgan.deep.") or module == "llpgan.methods.refinement"):
        settings = {field.name: _setting_as_json(name, getattr(value, field.name)) for field in fields(value)}
        return {"part": type(value).__name__, "settings": settings}
    if callable(value):
        raise _OwnCodeError
    if isinstance(value, tuple | list):
        return [_setting_as_json(name, part) for part in value]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, _PLAIN):
        return value
    raise TypeError(f"the setting {name} is a {type(value).__name__}, which cannot be saved")


def _load_value(value: Any) -> Any:
    if isinstance(value, dict):
        make = _estimator if "estimator" in value else _part if "part" in value else _load_network
        return make(value)
    return tuple(map(_load_value, value)) if isinstance(value, list) else value


def _part(plain: Mapping[str, Any]) -> Any:
    """A loss of bags, a term on single instances, or a refinement."""
    if plain["part"] == "Refinement":
        from llpgan.methods.refinement import Refinement

        return Refinement(**{name: _load_value(value) for name, value in plain["settings"].items()})
    from llpgan.deep.objectives import OBJECTIVE_PARTS

    if plain["part"] not in OBJECTIVE_PARTS:
        raise ValueError(f"llpgan has no loss or term {plain['part']!r}")
    return OBJECTIVE_PARTS[plain["part"]](
        **{name: _load_value(value) for name, value in plain["settings"].items()}
    )


def _estimator(plain: Mapping[str, Any]) -> LLPClassifier:
    """An estimator of ours that another one has as a parameter, not fitted."""
    if plain["estimator"] not in METHODS:
        raise ValueError(f"llpgan has no method {plain['estimator']!r}")
    made: LLPClassifier = estimator_class(plain["estimator"])(**from_json(plain["settings"]))
    return made


def _load_network(plain: Mapping[str, Any]) -> Any:
    from llpgan.deep import networks

    if plain.keys() != {"network"} or plain["network"] not in networks.__all__:
        raise ValueError(f"llpgan has no network {plain.get('network')!r}")
    return getattr(networks, plain["network"])


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
    target = check_path(path, "path")
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model must be a fitted estimator of llpgan, got {model!r}")
    check_is_fitted(model, "classes_")
    arrays: Arrays = {}
    manifest = _manifest(model, arrays)
    weights = {
        f"{name}.{part}": tensor.contiguous().numpy()  # safetensors writes memory as it lies
        for name, network in _trained_networks(model).items()
        for part, tensor in network.state_dict().items()
    }
    pages = pages or {}
    all_pages = {CARD: pages[CARD] if CARD in pages else model_card(model), **pages}
    with output_folder(target, MODEL_FOLDER, overwrite=overwrite) as folder:
        (folder / WEIGHTS).write_bytes(safe_bytes({**arrays, **weights}))
        for name, text in all_pages.items():
            (folder / name).write_text(text, encoding="utf-8")
        digests = {WEIGHTS: digest_of_file(folder / WEIGHTS)}
        replace(manifest, files=digests, pages=list(all_pages)).write(folder)


def _trained_networks(model: LLPClassifier) -> dict[str, Any]:
    """The trained networks of a deep method by attribute; none of the others."""
    return {name: value for name, value in vars(model).items() if name[-1] == "_" and hasattr(value, "state_dict")}


def _manifest(model: LLPClassifier, arrays: Arrays) -> Manifest:
    settings, own = as_json(model)
    names = getattr(model, "feature_names_in_", None)
    elsewhere = _ELSEWHERE | _FOR_TRAINING_ALONE | _trained_networks(model).keys()
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
    folder = check_path(path, "path")
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
        import torch

        from llpgan.deep.loop import predict_posteriors

        posteriors = predict_posteriors(
            model.classifier_, instance, torch.device("cpu")
        )  # wherever it was trained
        found = model._apply_temperature(posteriors)
    else:
        found = model._probabilities(instance)
    if np.shape(found) != (1, len(model.classes_)):
        raise ValueError(f"it gives probabilities of shape {np.shape(found)} for {len(model.classes_)} classes")
    for name, parts in {"calibrator_": ("slopes", "knots"), "sets_": ("coverages",)}.items():
        for part in parts if hasattr(model, name) else ():
            shape = np.shape(getattr(getattr(model, name), part))
            if len(model.classes_) not in shape and shape[-1:] != (1,):
                raise ValueError(f"{part} of its {name} have shape {shape} for {len(model.classes_)} classes")
