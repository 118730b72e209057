"""``model.json``: what a model is, by which version, and the digest of every file beside it."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import llpgan

MANIFEST = "model.json"
WEIGHTS = "weights.safetensors"
FORMAT = 1


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

    def write(self, folder: Path) -> None:
        """With a digest of itself."""
        content = {"format": FORMAT, "llpgan": llpgan.__version__, **asdict(self)}
        text = json.dumps({**content, "digest": _digest_of(content)}, indent=2, ensure_ascii=False)
        (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Of a folder whose files are all there and as they were written; else an error that names the file."""
        path = folder / MANIFEST
        if not path.is_file():
            raise FileNotFoundError(f"{folder} is not a saved model: {_lack_of(folder)}")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            digest = content.pop("digest")
            version, saved_by = content.pop("format"), content.pop("llpgan")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} is damaged: {error!r}") from error
        if version != FORMAT:
            raise ValueError(
                f"{folder} was saved by llpgan {saved_by} in format {version}; this is llpgan "
                f"{llpgan.__version__}, which reads format {FORMAT}"
            )
        if digest != _digest_of({"format": version, "llpgan": saved_by, **content}):
            raise ValueError(f"{path} is damaged: it is not what was saved")
        manifest = cls(**content)
        manifest._refuse_damaged(folder)
        return manifest

    def _refuse_damaged(self, folder: Path) -> None:
        for name, digest in self.files.items():
            path = folder / name
            if not path.is_file():
                raise FileNotFoundError(f"{folder} is not whole: it has no {name}")
            if digest_of_file(path) != digest:
                raise ValueError(f"{path} is damaged: it is not what was saved (its SHA-256 differs)")


def _lack_of(folder: Path) -> str:
    if not folder.exists():
        return "there is no such folder"
    return f"it has no {MANIFEST}" if folder.is_dir() else "it is a file, and a model is a folder"


def digest_of_file(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
