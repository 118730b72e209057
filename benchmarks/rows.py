"""Rows of results: measured once, kept on disk, shown as tables."""

import json
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from reproduction.run import machine

from llpgan.utils.files import replace_file

Row = dict[str, Any]
RESULTS = Path(__file__).parent.parent / "results"
PACKAGES = ("llpgan", "torch", "numpy", "scikit-learn")


def measured_rows(
    path: Path, names: tuple[str, ...], cells: Iterable[tuple[Any, ...]], measure: Callable[..., Row]
) -> list[Row]:
    """A row for each cell of a grid, told apart by names; cells that the file has are not measured again."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {tuple(row[name] for name in names) for row in rows}
    for cell in cells:
        if cell not in done:
            rows.append(dict(zip(names, cell, strict=True)) | measure(*cell))
            write_aside(path, "".join(json.dumps(row) + "\n" for row in rows))
    return rows


def as_markdown(title: str, about: str, rows: list[Row]) -> str:
    """A page with one table."""
    return f"# {title}\n\n{about}\n\n{table_of(rows)}"


def table_of(rows: list[Row]) -> str:
    """A table in Markdown, with a column for each name in the first row."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
    lines += ["| " + " | ".join(str(value) for value in row.values()) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def made_with() -> Row:
    """Versions and machine, which stand beside every figure of speed and memory."""
    return {"versions": {name: version(name) for name in PACKAGES}, "machine": machine()}


def write_aside(path: Path, text: str) -> None:
    """Replace a file in one step, so that a kill leaves the old one whole."""
    with replace_file(path) as aside:
        aside.write_text(text, encoding="utf-8")
