"""JSON files that know what they should hold: the format, who wrote them, and a digest of the rest."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llpgan.utils.version import __version__

DEEPEST = 32  # lists and dicts in each other


def write_sealed(path: Path, content: Mapping[str, Any], version: int) -> None:
    """Write what a folder holds, with a digest of itself."""
    whole = {"format": version, "llpgan": __version__, **content}
    text = json.dumps({**whole, "digest": _digest_of(whole)}, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def read_sealed(path: Path, version: int) -> dict[str, Any]:
    """What was written; an error names the file if it is damaged, or of a format that this version cannot read."""
    whole = _read(path)
    digest, written, writer = whole.pop("digest"), whole["format"], whole["llpgan"]
    if written != version:
        raise ValueError(
            f"{path} was saved by llpgan {writer} in format {written}; this is llpgan "
            f"{__version__}, which reads format {version}"
        )
    if digest != _digest_of(whole):
        raise ValueError(f"{path} is damaged: it is not what was saved")
    return {name: value for name, value in whole.items() if name not in ("format", "llpgan")}


def sealed_content(path: Path) -> dict[str, Any] | None:
    """What a file of any format holds, if it is just as :func:`write_sealed` left it."""
    try:
        whole = _read(path)
    except (ValueError, OSError):
        return None
    return whole if whole.pop("digest") == _digest_of(whole) else None


def _read(path: Path) -> dict[str, Any]:
    """The JSON of a sealed file, which is no deeper than what we write."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from error
    if not isinstance(whole, dict) or not whole.keys() >= {"digest", "format", "llpgan"}:
        raise ValueError(f"{path} is damaged: it has no digest, format or version of llpgan")
    if _is_deeper(whole, DEEPEST):
        raise ValueError(f"{path} is damaged: it is nested more than {DEEPEST} deep")
    return whole


def _is_deeper(value: Any, limit: int) -> bool:
    """Whether lists and dicts stand in each other more often than this; level by level, without recursion."""
    level = [value]
    for _ in range(limit):
        level = [
            part
            for each in level
            if isinstance(each, list | dict)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
    return any(isinstance(each, list | dict) for each in level)


def lack_of(folder: Path, name: str, what: str) -> str:
    """Why a path is not the folder of something that is told by a file of this name."""
    if not folder.exists():
        return "there is no such folder"
    return f"it has no {name}" if folder.is_dir() else f"it is a file, and a {what} is a folder"


def refuse_damaged(folder: Path, digests: Mapping[str, str]) -> None:
    """Refuse a folder of which a file is lacking, or is not the one that was saved."""
    for name, digest in digests.items():
        path = folder / name
        if not path.is_file():
            raise FileNotFoundError(f"{folder} is not whole: it has no {name}")
        if digest_of_file(path) != digest:
            raise ValueError(f"{path} is damaged: it is not what was saved (its SHA-256 differs)")


def digest_of_file(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
