"""Who listens to a training: each is called with every epoch's row."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llpgan.training import Listener, Row


@contextmanager
def progress_bar(title: str, epochs: int) -> Iterator[Listener]:
    """A bar of epochs in the terminal, with the newest losses."""
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
