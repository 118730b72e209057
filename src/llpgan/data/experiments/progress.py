"""What is shown while cells run: a bar over all of them, and a line for each that is done."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from llpgan.data.experiments.cell_measuring import Row
from llpgan.data.experiments.cells import Cell
from llpgan.data.experiments.costs import in_words, seconds

_SPEED_OVER = 3600.0  # seconds of the past that the time left is judged by


class Watcher:
    """Told of all that happens. It measures progress in estimated seconds, so that a long cell counts as one."""

    def __init__(self, progress: Progress, cells: Sequence[Cell]) -> None:
        self.progress = progress
        self.n_cells = len(cells)
        self.n_done = 0
        self.weights = {cell.id: seconds(cell) for cell in cells}
        self.done = 0.0
        self.task = progress.add_task("", total=sum(self.weights.values()))
        self.tick = 0.0

    def starts(self, cell: Cell) -> None:
        """A cell begins."""
        self.tick = self.weights[cell.id] / (cell.epochs or 1)
        self.progress.update(self.task, description=f"{self.n_done + 1}/{self.n_cells} {cell.title}")

    def ticks(self) -> None:
        """An epoch is over."""
        self.progress.advance(self.task, self.tick)

    def has(self, cell: Cell, row: Row, *, new: bool = False) -> None:
        """A cell has its row."""
        self._is_over(cell)
        if new:
            words = f"{cell.title}: error {row['error']:.2f} % in {in_words(row['seconds'])}"
            self._say(f"{self.n_done}/{self.n_cells} {words}")

    def fails(self, cell: Cell, error: Exception) -> None:
        """A cell has come to nothing."""
        self._is_over(cell)
        self._say(f"{self.n_done}/{self.n_cells} {cell.title}: failed, {error}")

    def waits(self, n_cells: int) -> None:
        """Only cells that other processes run are left."""
        self.progress.update(self.task, description=f"waiting for {n_cells} cells of other processes")

    def _is_over(self, cell: Cell) -> None:
        self.n_done += 1
        self.done += self.weights[cell.id]
        self.progress.update(self.task, completed=self.done)

    def _say(self, words: str) -> None:
        self.progress.console.print(words, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def watching(cells: Sequence[Cell], console: Console) -> Iterator[Watcher]:
    """A watcher with a bar in the terminal; without a terminal only the lines are left."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TimeElapsedColumn())
    left = (TextColumn("left:"), TimeRemainingColumn(compact=True))
    with Progress(
        *columns, *left, console=console, speed_estimate_period=_SPEED_OVER, disable=not console.is_terminal
    ) as progress:
        yield Watcher(progress, cells)
