"""Rows on disk, one appended as soon as it is known: a kill loses only what was under way."""

import json
import os
from pathlib import Path
from typing import Any

from llpgan.evaluation.selection.trials import SCORES
from llpgan.utils.dataclass_schemas import matches

Row = dict[str, Any]
_BEGINNING = b'{"run": "'  # of every row
_TEXTS, _NUMBERS = ("run", "method"), ("fold", "seconds")


def read_rows(path: Path) -> list[Row]:
    r"""The rows of a file, but for a last one that a kill cut short. The file stays as it is.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> append_row(path, {"run": "a", "method": "MeanMap", "fold": 0, "failed": "too slow", "seconds": 9.1})
    >>> _ = path.open("a").write('{"run": "a", "meth')
    >>> [row["failed"] for row in read_rows(path)]
    ['too slow']
    """
    content = _content(path)
    whole = content[: len(content) - len(_cut_short(content))]
    return [_parsed(path, number, line) for number, line in enumerate(whole.splitlines(), start=1)]


def append_row(path: Path, row: Row) -> None:
    """Add a row, in place of one that was cut short, and see it on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = _content(path)
    n_whole = len(content) - len(_cut_short(content))
    line_break = b"\n" if n_whole and not content[:n_whole].endswith(b"\n") else b""
    with path.open("ab") as file:
        file.truncate(n_whole)
        file.write(line_break + json.dumps(row).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file of rows, but a folder or a device")
    return path.read_bytes() if path.exists() else b""


def _cut_short(content: bytes) -> bytes:
    """The last line, if it is the beginning of a row and not all of it."""
    last = content[content.rfind(b"\n") + 1 :]
    if not last or not (last.startswith(_BEGINNING) or _BEGINNING.startswith(last)):
        return b""
    try:
        json.loads(last)
    except ValueError:
        return last
    return b""


def _parsed(path: Path, number: int, line: bytes) -> Row:
    try:
        row: Row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}, line {number}: not a row of a comparison ({error})") from error
    if not _is_row(row):
        raise ValueError(f"{path}, line {number}: not a row of a comparison, but {line[:60].decode()!r}")
    return row


def _is_row(row: Any) -> bool:
    """Whether it tells a method and a fold, and either scores of bags or why there are none."""
    if not isinstance(row, dict):
        return False
    if not all(isinstance(row.get(name), str) for name in _TEXTS):
        return False
    if not all(_is_number(row.get(name)) for name in _NUMBERS):
        return False
    if not matches(row.get("notes", []), list[str]):
        return False
    if "failed" in row:
        return isinstance(row["failed"], str)
    lists: list[Any] = [row.get(name) for name in ("bags", *SCORES)]
    if not all(isinstance(each, list) and each and all(map(_is_number, each)) for each in lists):
        return False
    return len(set(map(len, lists))) == 1


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
