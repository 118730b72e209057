"""``python -m benchmarks [name ...]``: run benchmarks, show their rows, and keep them in ``results/``."""

import json
import platform
import sys
from importlib import import_module
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

import llpgan

RESULTS = Path(__file__).parent.parent / "results"
NAMES = ["step_time"]


def main(names: list[str]) -> None:
    for name in names or NAMES:
        rows = import_module(f"benchmarks.{name}").run()
        show(name, rows)
        keep(name, rows)


def show(name: str, rows: list[dict[str, object]]) -> None:
    table = Table(title=name)
    for column in rows[0]:
        table.add_column(column)
    for row in rows:
        table.add_row(*(as_text(value) for value in row.values()))
    Console().print(table)


def as_text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "" if value is None else str(value)


def keep(name: str, rows: list[dict[str, object]]) -> None:
    """Replace the rows of this benchmark: each run is complete in itself."""
    versions = {"llpgan": llpgan.__version__, "torch": torch.__version__, "python": platform.python_version()}
    lines = [json.dumps({**row, **versions}) for row in rows]
    aside = RESULTS / f"{name}.jsonl.part"
    aside.write_text("\n".join(lines) + "\n")
    aside.replace(RESULTS / f"{name}.jsonl")


if __name__ == "__main__":
    main(sys.argv[1:])
