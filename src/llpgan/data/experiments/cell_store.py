"""Rows on disk, a file each: written once, whole or not there, by any number of processes and machines."""

import fcntl
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from llpgan.data.experiments.cell_measuring import Row
from llpgan.data.experiments.cells import Cell
from llpgan.utils.atomic_files import clear_halves, whole_file


class Store:
    """A folder of rows.

    ``rows/<id>.json`` is a cell's row; ``rows.jsonl`` holds all rows, sorted, for keeping and for others to read;
    ``work`` holds a lock a cell, which the system lets go of when its holder dies, and checkpoints.
    """

    def __init__(self, folder: Path) -> None:
        self.rows_folder = folder / "rows"
        self.work_folder = folder / "work"
        self.merged = folder / "rows.jsonl"

    def row(self, cell: Cell) -> Row | None:
        """The cell's row, if there is one."""
        path = self._path(cell)
        return _row_of(path) if path.exists() else self._merged_rows().get(cell.id)

    def rows(self, cells: Iterable[Cell]) -> list[Row]:
        """The rows that there are of these cells."""
        there = self.all_rows()
        return [there[cell.id] for cell in cells if cell.id in there]

    def all_rows(self) -> dict[str, Row]:
        """All rows by id."""
        single = map(_row_of, self.rows_folder.glob("[!.]*.json"))
        return self._merged_rows() | {row["id"]: row for row in single}

    def add(self, cell: Cell, row: Row) -> None:
        """Keep a row, and then forget the checkpoint that led to it."""
        with whole_file(self._path(cell)) as aside:
            aside.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
        self.checkpoint(cell).unlink(missing_ok=True)

    def merge(self) -> Path:
        """All rows in one sorted file."""
        with self._locked(self.work_folder / "merge.lock", wait=True):
            clear_halves(self.merged)
            rows = sorted(self.all_rows().values(), key=_order)
            with whole_file(self.merged) as aside:
                aside.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return self.merged

    def checkpoint(self, cell: Cell) -> Path:
        """Where the cell's training keeps its state."""
        return self.work_folder / f"{cell.id}.checkpoint"

    @contextmanager
    def taken(self, cell: Cell) -> Iterator[bool]:
        """Whether the cell is this process's to run: nobody else has it, and it has no row."""
        with self._locked(self.work_folder / f"{cell.id}.lock", wait=False) as mine:
            if mine:
                self._clear_up(cell)
            yield mine and self.row(cell) is None

    def _clear_up(self, cell: Cell) -> None:
        """What a killed holder of the lock left half written; only who holds it may ask."""
        clear_halves(self._path(cell))
        clear_halves(self.checkpoint(cell))
        if self._path(cell).exists():
            self.checkpoint(cell).unlink(missing_ok=True)

    @contextmanager
    def _locked(self, path: Path, *, wait: bool) -> Iterator[bool]:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:  # never deleted: another process may be about to lock it
            mine = False
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                mine = True
            yield mine

    def _merged_rows(self) -> dict[str, Row]:
        if not self.merged.exists():
            return {}
        lines = enumerate(self.merged.read_bytes().splitlines(), start=1)
        rows = (_parsed(line, f"{self.merged}, line {number}") for number, line in lines)
        return {row["id"]: row for row in rows}

    def _path(self, cell: Cell) -> Path:
        return self.rows_folder / f"{cell.id}.json"


def _row_of(path: Path) -> Row:
    return _parsed(path.read_bytes(), str(path))


def _parsed(text: bytes, where: str) -> Row:
    try:
        row: Row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: not a row of an experiment ({error})") from error
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not isinstance(row.get("cell"), dict):
        raise ValueError(f"{where}: not a row of an experiment, which has an id and a cell")
    return row


def _order(row: Row) -> tuple[str, str, int, str, str]:
    cell = row["cell"]
    rest = json.dumps(cell, sort_keys=True)
    return cell["dataset"], cell["method"], cell.get("bag_size") or 0, rest, row["id"]
