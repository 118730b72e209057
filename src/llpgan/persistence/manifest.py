"""``model.json``: what a model is, by which version, and the digest of every file beside it."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from llpgan.estimators import SAVED_METHODS
from llpgan.utils.checked_json import lack_of, read_sealed, refuse_damaged, write_sealed
from llpgan.utils.dataclass_schemas import matches, refuse_misfit, refuse_other_type
from llpgan.utils.output_paths import FolderKind

MANIFEST = "model.json"
WEIGHTS = "weights.safetensors"
REPORT = "report.html"
CARD = "model_card.md"
FORMAT = 1
MODEL_FOLDER = FolderKind(MANIFEST, files=(WEIGHTS,), pages=(REPORT, CARD))


@dataclass(frozen=True)
class Manifest:
    """What a reader of the folder should know first.

    Attributes
    ----------
    method : str
        One of :data:`llpgan.estimators.SAVED_METHODS`.
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
        What training found, but for weights; arrays stand among these.
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
    def read(cls, folder: Path) -> "Manifest":
        """Of a folder whose files are all there and as they were written; else an error that names the file."""
        path = folder / MANIFEST
        if not path.is_file():
            raise FileNotFoundError(f"{folder} is not a saved model: {lack_of(folder, MANIFEST, 'model')}")
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
