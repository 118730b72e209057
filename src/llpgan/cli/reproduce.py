"""``llpgan reproduce``: the paper's tables and figures."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from llpgan.cli.terminal_text import visible
from llpgan.data.experiments import costs
from llpgan.data.experiments.cell_running import run
from llpgan.data.experiments.cell_store import Store
from llpgan.data.experiments.cells import Cell
from llpgan.data.experiments.experiment_outputs import write_outputs
from llpgan.data.experiments.grids import read_grid
from llpgan.data.experiments.progress import watching
from llpgan.data.experiments.registry import EXPERIMENTS


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
        The folder of the data sets, see ``llpgan data get``.
    out : str, default="results/reproduction"
        The folder for the results. Rows go to OUT/PRESET/rows.jsonl, with tables and figures beside it.
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
    chosen = _chosen(
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
        console.print(table.for_terminal())
        console.print(visible(f"{table.about}\n{folder / name}.md, .csv, .svg, .png"), markup=False)
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


def _chosen(cells: Sequence[Cell], **filters: Sequence[object] | None) -> list[Cell]:
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
    total = costs.in_words(sum(map(costs.seconds, left)))
    title = f"{len(left)} of {len(cells)} cells are left: about {total} on one core"
    table = Table("id", "cell", "rows", "epochs", "about", title=title, title_justify="left")
    for cell in cells:
        about = "done" if cell.id in there else costs.in_words(costs.seconds(cell))
        table.add_row(cell.id, cell.title, f"{costs.rows_of(cell):,}", str(cell.epochs or ""), about)
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
