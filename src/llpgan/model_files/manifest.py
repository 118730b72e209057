"""``model.json``: what a model is, by which version, and the digest of every file beside it."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from llpgan.outputs import FolderKind
from llpgan.sealed import lack_of, read_sealed, refuse_damaged, write_sealed

MANIFEST = "model.json"
WEIGHTS = "weights.safetensors"
REPORT = "report.html"
FORMAT = 1
MODEL_FOLDER = FolderKind(MANIFEST, files=(WEIGHTS,), pages=(REPORT,))


@dataclass(frozen=True)
class Manifest:
    """What a reader of the folder should know first.

    Attributes:
        method: one of :data:`llpgan.estimators.METHODS`.
        settings: its parameters; those that a file cannot hold are in ``own``.
        own: parameters that are code of the user's own, and have to be given again.
        classes: their names, and the type of these.
        shape: of an instance.
        features: the names of columns, if they have any.
        learned: what training found, but for weights; arrays stand among these.
        preprocessing: how rows of a user's table become instances, if the model learned from one.
        files: the SHA-256 of each file.
        pages: the names of files for people, which may change.
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
        manifest = cls(**read_sealed(path, FORMAT))
        refuse_damaged(folder, manifest.files)
        return manifest


def files_of_model(folder: str | Path) -> list[Path]:
    """The files of a saved model, by which it is an input."""
    return [Path(folder) / name for name in MODEL_FOLDER.ours(Path(folder))]
