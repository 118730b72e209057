"""``python -m benchmarks [name ...]``: run benchmarks, else those of speed and memory, and show their rows."""

import json
import sys
from importlib import import_module

from rich.console import Console
from rich.table import Table

from benchmarks.rows import RESULTS, Row, write_aside

SPEED_AND_MEMORY = ["step_time", "alter_svm_speed", "classical_scale", "table_encoding"]


def main(names: list[str]) -> None:
    for name in names or SPEED_AND_MEMORY:
        rows = import_module(f"benchmarks.{name}").run()
        Console().print(as_table(name, rows))
        if (
            name in SPEED_AND_MEMORY
        ):  # each run is complete in itself; accuracies keep their own rows, cell by cell
            write_aside(RESULTS / f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def as_table(name: str, rows: list[Row]) -> Table:
    table = Table(*rows[0], title=name)
    for row in rows:
        table.add_row(*(as_text(value) for value in row.values()))
    return table


def as_text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "" if value is None else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
