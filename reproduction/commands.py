"""``python -m reproduction``: run experiments, and fetch their data."""

import sys
from argparse import ArgumentError
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from llpgan.cli.arguments import help_on_command, parse_arguments
from llpgan.cli.main import make_console, make_visible
from llpgan.utils.messages import format_seconds
from reproduction import costs
from reproduction.cells import Cell
from reproduction.datasets.files import download
from reproduction.grids import read_grid
from reproduction.registry import EXPERIMENTS
from reproduction.run import Store, run, watching
from reproduction.write import write_outputs


def reproduce(
    name: str,
    *,
    preset: str = "cpu",
    data: str = "data",
    out: str = "results/reproduction",
    datasets: list[str] | str | None = None,
    methods: list[str] | str | None = None,
    bag_sizes: list[int] | int | None = None,
    draws: list[int] | int | None = None,
    epochs: int | None = None,
    dry_run: bool = False,
    train: bool = True,
    threads: int = 1,
) -> None:
    """Run the cells of an experiment that have no row yet, and make its table and figure from all rows.

    The command may be killed at any time and started again, and several may run side by side on the same output
    folder: no cell is run twice.

    Parameters
    ----------
    name : str
        The name of the experiment, such as table1 or convergence; "list" lists all.
    preset : str, default="cpu"
        The scale: paper (as published), cpu (an hour or two on two cores) or smoke (a minute).
    data : str, default="data"
        The folder of the data sets, see ``python -m reproduction get``.
    out : str, default="results/reproduction"
        The folder for the results. Rows go to OUT/PRESET/rows.jsonl, next to tables and figures.
    datasets : list of str or str, default=None
        The data sets to run, such as mnist,svhn. None means all.
    methods : list of str or str, default=None
        The methods to run, such as DLLP,LLPGAN. None means all.
    bag_sizes : list of int or int, default=None
        The bag sizes to run, such as 16,32. None means all.
    draws : list of int or int, default=None
        The random draws of the bags to run, such as 0,1. None means all.
    epochs : int, default=None
        The number of epochs, to try it out. Rows then go to OUT/PRESET-epochs-EPOCHS. None means the number of the
        preset.
    dry_run : bool, default=False
        List the cells and about how long each takes, and run nothing.
    train : bool, default=True
        Whether to run cells. If false, the table is made from the existing rows.
    threads : int, default=1
        The number of threads of each training. If networks are small, two runs side by side are faster than two
        threads.
    """
    console = Console(highlight=False)
    if name == "list":
        console.print(_list())
        return
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    cells = _cells(name, preset, epochs)
    folder = Path(out, preset if epochs is None else f"{preset}-epochs-{epochs}")
    chosen = _select_cells(
        cells,
        dataset=_names(datasets),
        method=_names(methods),
        bag_size=_numbers(bag_sizes),
        draw=_numbers(draws),
    )
    store = Store(folder)
    if dry_run:
        console.print(_plan(chosen, store))
        return
    failed = _train(chosen, store, data, threads) if train else {}
    store.merge()
    rows = store.rows(cells)
    if rows or not failed:
        table = write_outputs(name, EXPERIMENTS[name], rows, folder)
        console.print(table.to_terminal())
        console.print(make_visible(f"{table.about}\n{folder / name}.md, .csv, .svg, .png"), markup=False)
    if failed:
        reasons = "; ".join(f"{cell}: {error}" for cell, error in failed.items())
        others = "the others are in the table" if rows else "there is no other"
        raise ValueError(f"{len(failed)} of {len(chosen)} cells failed, {others}. {reasons}")


def _train(cells: Sequence[Cell], store: Store, data: str, threads: int) -> dict[str, Exception]:
    import torch

    torch.set_num_threads(threads)
    with watching(cells, Console(stderr=True)) as watcher:
        return run(cells, store, data, watcher)


def _cells(name: str, preset: str, epochs: int | None) -> list[Cell]:
    cells = read_grid(EXPERIMENTS[name].grid, preset)
    if epochs is None:
        return cells
    if epochs < 1:
        raise ValueError(f"epochs should be a whole number above 0, not {epochs}")
    return [cell.lasting(epochs) for cell in cells]


def _select_cells(cells: Sequence[Cell], **filters: Sequence[object] | None) -> list[Cell]:
    """The cells that all filters let pass; a filter that lets none pass is a mistake."""
    found = list(cells)
    for field, wanted in filters.items():
        there = sorted({getattr(cell, field) for cell in cells}, key=lambda value: (value is None, value))
        for value in wanted or ():
            if value not in there:
                raise ValueError(f"no cell with {field} {value}; there are {', '.join(map(str, there))}")
        found = [cell for cell in found if wanted is None or getattr(cell, field) in wanted]
    return found


def _plan(cells: Sequence[Cell], store: Store) -> Table:
    there = store.all_rows()
    left = [cell for cell in cells if cell.id not in there]
    total = format_seconds(sum(map(costs.seconds, left)))
    title = f"{len(left)} of {len(cells)} cells are left: about {total} on one core"
    table = Table("id", "cell", "rows", "epochs", "about", title=title, title_justify="left")
    for cell in cells:
        about = "done" if cell.id in there else format_seconds(costs.seconds(cell))
        table.add_row(cell.id, cell.title, f"{costs.count_rows(cell):,}", str(cell.epochs or ""), about)
    return table


def _list() -> Table:
    table = Table("name", "what it asks")
    for name, experiment in EXPERIMENTS.items():
        table.add_row(name, experiment.question)
    return table


def _names(given: list[str] | str | None) -> list[str] | None:
    return given.split(",") if isinstance(given, str) else given


def _numbers(given: list[int] | int | None) -> list[int] | None:
    return [given] if isinstance(given, int) else given


def get(name: str, *, to: str = "data") -> None:
    """Download the official files of a data set.

    An interrupted download is continued, and files that are there are checked.

    Parameters
    ----------
    name : str
        The data set: mnist, fashion-mnist, svhn, cifar10, cifar100 or adult.
    to : str, default="data"
        The folder. The files go to its folder NAME.
    """
    console = make_console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        tasks = {}

        def show(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file)
            bars.update(tasks[file], completed=done, total=total)

        folder = download(name, to, progress=show)
    console.print(f"{name} is in {folder}")


def main(words: Sequence[str]) -> int:
    """Run an experiment, or fetch the data of one.

    Parameters
    ----------
    words : sequence of str
        The words of the command line.

    Returns
    -------
    int
        The exit code: 0, 1 if an error was reported, 2 for wrong usage.
    """
    function = get if words[:1] == ["get"] else reproduce
    rest = list(words[1:] if function is get else words) or ["--help"]
    if {"-h", "--help"} & set(rest):
        print(help_on_command(f"python -m reproduction{' get' if function is get else ''}", function))
        return 0
    try:
        function(**parse_arguments(function.__name__, function, rest))
    except ArgumentError as error:
        print(f"python -m reproduction: error: {error}", file=sys.stderr)
        return 2
    except (ValueError, OSError) as error:
        print(f"python -m reproduction: error: {error}", file=sys.stderr)
        return 1
    return 0
