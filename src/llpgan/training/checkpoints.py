"""A training's state on disk: written aside and renamed, so that a kill leaves the last one whole."""

import io
from pathlib import Path
from typing import Any

import torch

from llpgan.utils.atomic_files import clear_halves, whole_file

_UNKNOWN = "unknown"  # a setting that the other version of the library does not have


class Checkpoint:
    """One file that holds the newest state of one training.

    The fingerprint says of which: a file that some other training wrote is refused, not continued.
    """

    def __init__(self, path: str | Path, fingerprint: dict[str, str]) -> None:
        self.path = Path(path)
        self.fingerprint = fingerprint

    def load(self) -> dict[str, Any] | None:
        """The saved state, or None where there is no file yet. Never runs code from the file."""
        clear_halves(self.path)
        if not self.path.exists():
            return None
        if not self.path.is_file():
            raise ValueError(f"{self.path} is not a checkpoint: it is not a regular file")
        try:
            saved = torch.load(self.path, map_location="cpu", weights_only=True)
            fingerprint, state = saved["fingerprint"], saved["state"]
        except Exception as error:
            raise ValueError(f"{self.path} is not a checkpoint that can be read: {error}") from error
        self._refuse_another(fingerprint)
        return dict(state)

    def save(self, state: dict[str, Any]) -> None:
        """Replace the file by this state, in one step."""
        memory = io.BytesIO()  # torch does not say why it cannot write to a file
        torch.save({"fingerprint": self.fingerprint, "state": state}, memory)
        with whole_file(self.path) as aside:
            aside.write_bytes(memory.getbuffer())

    def _refuse_another(self, fingerprint: dict[str, str]) -> None:
        differing = [
            f"{name} was {fingerprint.get(name, _UNKNOWN)}, is {self.fingerprint.get(name, _UNKNOWN)}"
            for name in sorted(fingerprint.keys() | self.fingerprint.keys())
            if fingerprint.get(name) != self.fingerprint.get(name)
        ]
        if differing:
            raise ValueError(
                f"{self.path} belongs to another training ({'; '.join(differing)}): "
                f"delete it, or name another file"
            )
