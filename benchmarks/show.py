"""Rows as a table on the terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table

Row = dict[str, Any]


def show(title: str, rows: list[Row]) -> None:
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    Console(width=140).print(table)
