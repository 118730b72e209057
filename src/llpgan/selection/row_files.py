"""Rows on disk, one appended as soon as it is known: a kill loses only what was under way."""

import json
import os
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    r"""The whole rows of a file; a last line that a kill cut short is taken off it.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = path.write_text('{"fold": 0}\n{"fold":')
    >>> read_rows(path), path.read_text()
    ([{'fold': 0}], '{"fold": 0}\n')
    """
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with path.open("rb+") as file:
            file.truncate(len(whole))
    return [_parsed(path, number, line) for number, line in enumerate(whole.splitlines(), start=1)]


def append_row(path: Path, row: Row) -> None:
    """Add a row, and see it on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _parsed(path: Path, number: int, line: bytes) -> Row:
    try:
        row: Row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: not a row of a comparison ({error})") from error
    return row
