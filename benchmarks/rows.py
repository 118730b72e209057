"""Rows of results: measured once, kept on disk, shown as tables."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from reproduction.run import list_versions, machine
from rich.table import Table

from llpgan.utils.files import replace_file

Row = dict[str, Any]
RESULTS = Path(__file__).parent.parent / "results"
PACKAGES = ("torch", "numpy", "scikit-learn")


def measure_rows(
    path: Path, names: tuple[str, ...], cells: Iterable[tuple[Any, ...]], measure: Callable[..., Row]
) -> list[Row]:
    """A row for each cell of a grid, told apart by names; cells that the file has are not measured again."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {tuple(row[name] for name in names) for row in rows}
    for cell in cells:
        if cell not in done:
            rows.append(dict(zip(names, cell, strict=True)) | measure(*cell))
            write_whole(path, "".join(json.dumps(row) + "\n" for row in rows))
    return rows


def as_markdown(title: str, about: str, rows: list[Row]) -> str:
    """A page with one table."""
    return f"# {title}\n\n{about}\n\n{format_table(rows)}"


def format_table(rows: list[Row]) -> str:
    """A table in Markdown, with a column for each name in the first row."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
    lines += ["| " + " | ".join(str(value) for value in row.values()) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def describe_earlier_rows(rows: list[Row]) -> str:
    """What is to be said of rows that were measured before defaults changed; nothing if there are none."""
    counts = Counter(row["defaults"] for row in rows if "defaults" in row)
    return "".join(f" Measured with earlier defaults: {n} rows ({what})." for what, n in counts.items())


def describe_versions() -> Row:
    """The versions and the machine, which are part of every row."""
    return {"versions": list_versions(PACKAGES), "machine": machine()}


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, so that a kill leaves the old one whole."""
    with replace_file(path) as aside:
        aside.write_text(text, encoding="utf-8")


def find_data_folder(*names: str) -> Path:
    """The first folder in ``LLPGAN_DATA``, separated as in PATH, with a file or folder of one of these names."""
    folders = [Path(folder) for folder in os.environ.get("LLPGAN_DATA", "").split(os.pathsep) if folder]
    found = next((folder for folder in folders if any((folder / name).exists() for name in names)), None)
    if found is None:
        where = ", ".join(map(str, folders)) or "nothing"
        raise FileNotFoundError(
            f"there is no {names[0]}: LLPGAN_DATA should name a folder that holds it, not {where}"
        )
    return found


def as_table(name: str, rows: list[Row]) -> Table:
    """All figures and words, without settings; rows of different dates may have different columns."""
    columns = list(
        dict.fromkeys(name for row in rows for name, value in row.items() if not isinstance(value, dict))
    )
    table = Table(*columns, title=name)
    for row in rows:
        table.add_row(*(as_text(row.get(column)) for column in columns))
    return table


def as_text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "" if value is None else str(value)
