"""``llpgan data``: the official files of data sets."""

from typing import Literal

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from llpgan.cli.console import terminal
from llpgan.data.datasets.download import download


def data(
    action: Literal["get"],
    name: str,
    *,
    to: str = "data",
) -> None:
    """Download the official files of a data set.

    An interrupted download is continued, and files that are there are checked.

    Parameters
    ----------
    action : {"get"}
        The word get.
    name : str
        The data set: mnist, fashion-mnist, svhn, cifar10, cifar100 or adult.
    to : str, default="data"
        The folder. The files go to its folder NAME.
    """
    console = terminal(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        tasks = {}

        def show(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file)
            bars.update(tasks[file], completed=done, total=total)

        folder = download(name, to, progress=show)
    console.print(f"{name} is in {folder}")
