"""``python -m benchmarks [name ...]``: run benchmarks, else those of speed and memory, and show their rows."""

import json
import sys
from importlib import import_module

from rich.console import Console
from rich.table import Table

from benchmarks.rows import RESULTS, Row, made_with, write_aside

WHOLE_RUNS = [  # their rows are those of the last run; other benchmarks keep their own, cell by cell
    "step_time",
    "plain_loop",
    "peak",
    "time_to_accuracy",
    "chunked",
    "instance_memory",
    "several_processes",
    "alter_svm_speed",
    "classical_scale",
    "table_speed",
    "table_encoding",
    "start_up",
]
SPEED_AND_MEMORY = [*WHOLE_RUNS, "growth", "billion", "speed"]


def main(names: list[str]) -> None:
    for name in names or SPEED_AND_MEMORY:
        rows = import_module(f"benchmarks.{name}").run()
        Console().print(as_table(name, rows))
        if name in WHOLE_RUNS:
            write_rows(name, rows)


def write_rows(name: str, rows: list[Row]) -> None:
    lines = [json.dumps(row | made_with()) + "\n" for row in rows]
    write_aside(RESULTS / f"{name}.jsonl", "".join(lines))


def as_table(name: str, rows: list[Row]) -> Table:
    """All that is a figure or a word; settings stand in the file."""
    columns = [column for column, value in rows[0].items() if not isinstance(value, dict)]
    table = Table(*columns, title=name)
    for row in rows:
        table.add_row(*(as_text(row[column]) for column in columns))
    return table


def as_text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "" if value is None else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
