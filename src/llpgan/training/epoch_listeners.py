"""Who listens to a training: each is called with every epoch's row."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llpgan.training.training_loop import Listener, Row

_LINES = 5  # of progress, where there is no terminal


@contextmanager
def progress(title: str, epochs: int) -> Iterator[Listener]:
    """How far a training is: a bar of epochs in a terminal; elsewhere, as in a log file, a few plain lines."""
    from rich.console import Console

    console = Console()
    if console.is_terminal or console.is_jupyter:
        with _bar(title, epochs) as bar:
            yield bar
    else:
        yield _lines(title, epochs)


def _lines(title: str, epochs: int) -> Listener:
    """A line after the first epoch, which tells how long the others will take, and after each fifth of them."""
    start = time.perf_counter()
    told = {1, *(round(part * epochs / _LINES) for part in range(1, _LINES + 1))}

    def show(row: Row) -> None:
        epoch = int(row["epoch"])
        if epoch in told:
            seconds = time.perf_counter() - start
            print(f"{title}: epoch {epoch} of {epochs}, {_losses(row)}; {seconds:.0f} s so far", file=sys.stderr)

    return show


@contextmanager
def _bar(title: str, epochs: int) -> Iterator[Listener]:
    """With the newest losses."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    bar = (BarColumn(bar_width=16), MofNCompleteColumn(), TimeRemainingColumn(compact=True))
    rest_of_line = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    losses = TextColumn("{task.fields[losses]}", table_column=rest_of_line)
    with Progress(TextColumn("{task.description}"), *bar, losses, expand=True) as progress:
        task = progress.add_task(title, total=epochs, losses="")

        def show(row: Row) -> None:
            progress.update(task, completed=row["epoch"], losses=_losses(row))

        yield show


@contextmanager
def tensorboard(folder: str | Path) -> Iterator[Listener]:
    """A TensorBoard log of every column (needs the extra ``llpgan[tensorboard]``)."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("TensorBoard is not installed: pip install 'llpgan[tensorboard]'") from error

    with SummaryWriter(str(folder)) as writer:

        def write(row: Row) -> None:
            for name in row.keys() - {"epoch"}:
                writer.add_scalar(name, row[name], int(row["epoch"]))

        yield write


def _losses(row: Row) -> str:
    """Short, so that they fit beside the bar in a narrow terminal."""
    shown = {name.removesuffix("_loss"): row[name] for name in row if name not in ("epoch", "seconds")}
    return " ".join(f"{name} {value:.3g}" for name, value in shown.items())
