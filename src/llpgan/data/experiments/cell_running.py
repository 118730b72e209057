"""Cell by cell: each is run once, by whoever takes it first, and goes on where a kill left it."""

import time
from collections.abc import Sequence
from pathlib import Path

from llpgan.data.experiments.cell_measuring import measure
from llpgan.data.experiments.cell_store import Store
from llpgan.data.experiments.cells import Cell
from llpgan.data.experiments.experiment_data import data_of
from llpgan.data.experiments.progress import Watcher

_LOOK_AGAIN = 1.0  # seconds between looks at cells that others run


def run(cells: Sequence[Cell], store: Store, data: str, watcher: Watcher) -> dict[str, Exception]:
    """Run all cells that have no row, and wait for those that other processes run.

    Gives the cells that failed, and why: they do not keep the others from going on. Data that is not there,
    or damaged, ends all at once.
    """
    left, failed = list(cells), dict[str, Exception]()
    while left:
        n_before = len(left)
        left = [cell for cell in left if not _settled(cell, store, data, watcher, failed)]
        if left and len(left) == n_before:
            watcher.waits(len(left))
            time.sleep(_LOOK_AGAIN)
    return failed


def _settled(cell: Cell, store: Store, data: str, watcher: Watcher, failed: dict[str, Exception]) -> bool:
    """Run the cell if it is free; whether there is nothing left to do about it."""
    if (row := store.row(cell)) is not None:
        watcher.has(cell, row)
        return True
    with store.taken(cell) as mine:
        if not mine:
            return False  # another process has it, or just had it; the next look finds its row
        watcher.starts(cell)
        rows = data_of(cell, data)
        try:
            row = measure(cell, rows, Path(store.checkpoint(cell)), watcher.ticks)
        except Exception as error:
            failed[f"{cell.id} ({cell.title})"] = error
            watcher.fails(cell, error)
            return True
        store.add(cell, row)
        watcher.has(cell, row, new=True)
        return True
