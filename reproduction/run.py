"""Running cells: each one once, resumed after a kill, its row kept."""

import fcntl
import json
import os
import platform
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import llpgan
from llpgan.bags import Bags
from llpgan.methods.base import LLPClassifier
from llpgan.utils.files import remove_leftovers, replace_file
from llpgan.utils.messages import format_seconds
from reproduction.cells import Cell
from reproduction.costs import seconds
from reproduction.inputs import DATASET_TITLES, METHOD_TITLES, Data, load_data, make_bags, make_estimator
from reproduction.pictures import N_SAMPLES, as_text

Row = dict[str, Any]
Tick = Callable[[], None]
_PACKAGES = ("torch", "lightning-fabric", "numpy", "scipy", "scikit-learn")


def measure(cell: Cell, data: Data, checkpoint: Path, tick: Tick) -> Row:
    """A cell's row, from the data that it asks for. ``tick`` is called after each epoch."""
    bags = make_bags(cell, data)
    model = make_estimator(cell, checkpoint)
    started = time.perf_counter()
    history = _history(_fit(model, bags, data, cell.snapshots, tick))
    errors = [row["error"] for row in history] or [measure_error(model, data)]
    samples = {str(int(epoch["epoch"])): epoch.pop("samples") for epoch in history if "samples" in epoch}
    if samples:
        samples["real"] = as_text(data.test_instances[:N_SAMPLES], like=data.test_instances)
    return {
        "id": cell.id,
        "cell": cell.content,
        "error": errors[-1],
        "history": history,
        "seconds": sum(row["seconds"] for row in history) or time.perf_counter() - started,
        "train_rows": len(bags.instances),
        "test_rows": len(data.test_labels),
        "bags": bags.n_bags,
        "settings": _settings(model),
        "versions": list_versions(_PACKAGES),
        "machine": machine(),
        **({"samples": samples} if samples else {}),
    }


def measure_error(model: LLPClassifier, data: Data) -> float:
    """The percentage of test instances whose class is missed."""
    return 100 * float(np.mean(model.predict(data.test_instances) != data.test_labels))


def list_versions(packages: Sequence[str]) -> dict[str, str]:
    """Versions of the code that runs, and of installed packages."""
    return {"llpgan": llpgan.__version__} | {name: version(name) for name in packages}


def machine() -> Row:
    """What may matter to times and to last digits; neither names nor paths."""
    import torch

    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _fit(model: LLPClassifier, bags: Bags, data: Data, snapshots: Sequence[int], tick: Tick) -> LLPClassifier:
    from llpgan.methods.deep import DeepClassifier

    if not isinstance(model, DeepClassifier):
        return model.fit_bags(bags)

    def after_epoch(model: Any) -> dict[str, Any]:
        tick()
        row: dict[str, Any] = {"error": measure_error(model, data)}
        if snapshots:
            row["samples"] = as_text(model.sample(N_SAMPLES, random_state=0), like=data.test_instances)
        return row

    model.fit_bags(bags, monitor=after_epoch)
    for epoch in model.history_:
        if epoch["epoch"] not in snapshots:
            epoch.pop("samples", None)
    return model


def _history(model: LLPClassifier) -> list[dict[str, Any]]:
    return [dict(row) for row in getattr(model, "history_", [])]


def _settings(model: LLPClassifier) -> dict[str, str]:
    """All settings, chosen or not, but for the checkpoint's place and functions' addresses."""
    given = model.get_params(deep=False)
    given.pop("checkpoint", None)
    return {name: getattr(value, "__name__", repr(value)) for name, value in given.items()}


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
            words = f"{cell.title}: error {row['error']:.2f} % in {format_seconds(row['seconds'])}"
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


K = TypeVar("K", bound=Hashable)
_DATASETS = ("mnist", "fashion-mnist", "svhn", "cifar10", "cifar100")
_METHODS = ("Supervised", "InvCal", "AlterSVM", "DLLP", "LLPGAN")


@dataclass(frozen=True)
class Result:
    """A row and the cell that it is of."""

    cell: Cell
    row: Row

    @property
    def error(self) -> float:
        """Of the last epoch, in per cent."""
        return float(self.row["error"])

    def curve(self, name: str) -> list[float]:
        """A figure of every epoch, such as "error"."""
        return [epoch[name] for epoch in self.row["history"] if name in epoch]


Results = Sequence[Result]


def make_results(rows: Iterable[Row]) -> Results:
    """Results in the order of tables: by data set, method, bag size and draw."""
    found = [Result(_cell(row["cell"]), row) for row in rows]
    return sorted(found, key=lambda result: _place(result.cell))


def group_results(results: Results, key: Callable[[Cell], K]) -> dict[K, Results]:
    """Results that agree in a key, by that key, in their order."""
    groups: dict[K, list[Result]] = {}
    for result in results:
        groups.setdefault(key(result.cell), []).append(result)
    return dict(groups)


def values(results: Results, key: Callable[[Cell], K]) -> list[K]:
    """All values of a key, in their order."""
    return list(group_results(results, key))


def errors(results: Results, **wanted: Any) -> list[float]:
    """The errors of results whose cells have these values."""
    return [r.error for r in results if all(getattr(r.cell, name) == value for name, value in wanted.items())]


def curves(results: Results, name: str) -> list[list[float]]:
    """A figure of every epoch, such as "error", for each of the results."""
    return [result.curve(name) for result in results]


def dataset_title(name: str) -> str:
    """As people write it."""
    return DATASET_TITLES.get(name, name)


def problem_title(cell: Cell) -> str:
    """The data set, and the pair of classes where there are only two.

    >>> problem_title(Cell("mnist", "DLLP", classes=(4, 9)))
    'MNIST, 4 and 9'
    """
    pair = "" if cell.classes is None else f", {cell.classes[0]} and {cell.classes[1]}"
    return dataset_title(cell.dataset) + pair


def part_title(results: Results) -> str:
    """How many rows there are, where they are fewer than in the paper.

    >>> part_title([Result(Cell("svhn", "DLLP", train_rows=3000), {})])
    ', 3,000 rows'
    """
    limits = values(results, lambda cell: cell.train_rows)
    return "".join(f", {limit:,} rows" for limit in limits if limit is not None)


def method_title(name: str) -> str:
    """As the paper writes it."""
    return METHOD_TITLES.get(name, name)


def method_label(cell: Cell) -> str:
    """The method, with its kernel, whether its weights decay and its network, where the grid says so.

    >>> method_label(Cell("mnist", "InvCal", settings=(("kernel", "rbf"),)))
    'InvCal, rbf'
    >>> method_label(Cell("mnist", "DLLP", settings=(("weight_decay", 0.2),)))
    'DLLP, weight decay'
    >>> method_label(Cell("svhn", "DLLP", settings=(("classifier", "mnist_classifier"),)))
    'DLLP, small network'
    """
    settings = dict(cell.settings)
    told = [settings["kernel"]] if "kernel" in settings else []
    if settings.get("weight_decay"):
        told.append("weight decay")
    if cell.has_small_network:
        told.append("small network")
    return ", ".join([method_title(cell.method), *told])


def _cell(content: dict[str, Any]) -> Cell:
    settings = tuple(sorted(content.get("settings", {}).items()))
    tuples: dict[str, Any] = {name: tuple(content[name]) for name in ("classes", "snapshots") if name in content}
    given: dict[str, Any] = {**content, **tuples, "settings": settings}
    return Cell(**given)


def _place(cell: Cell) -> tuple[Any, ...]:
    return (
        _rank(_DATASETS, cell.dataset),
        cell.classes or (),
        _rank(_METHODS, cell.method),
        method_label(cell),
        cell.bag_size or 0,
        cell.draw,
        cell.seed,
        cell.id,
    )


def _rank(order: Sequence[str], name: str) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order)), name


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
        return _read_row(path) if path.exists() else self._merged_rows().get(cell.id)

    def rows(self, cells: Iterable[Cell]) -> list[Row]:
        """The rows that there are of these cells."""
        there = self.all_rows()
        return [there[cell.id] for cell in cells if cell.id in there]

    def all_rows(self) -> dict[str, Row]:
        """All rows by id."""
        single = map(_read_row, self.rows_folder.glob("[!.]*.json"))
        return self._merged_rows() | {row["id"]: row for row in single}

    def add(self, cell: Cell, row: Row) -> None:
        """Keep a row, and then forget the checkpoint that led to it."""
        with replace_file(self._path(cell)) as aside:
            aside.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
        self.checkpoint(cell).unlink(missing_ok=True)

    def merge(self) -> Path:
        """All rows in one sorted file."""
        with self._lock(self.work_folder / "merge.lock", wait=True):
            remove_leftovers(self.merged)
            rows = sorted(self.all_rows().values(), key=_order)
            with replace_file(self.merged) as aside:
                aside.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return self.merged

    def checkpoint(self, cell: Cell) -> Path:
        """Where the cell's training keeps its state."""
        return self.work_folder / f"{cell.id}.checkpoint"

    @contextmanager
    def take(self, cell: Cell) -> Iterator[bool]:
        """Whether the cell is this process's to run: nobody else has it, and it has no row."""
        with self._lock(self.work_folder / f"{cell.id}.lock", wait=False) as mine:
            if mine:
                self._clear_up(cell)
            yield mine and self.row(cell) is None

    def _clear_up(self, cell: Cell) -> None:
        """What a killed holder of the lock left half written; only who holds it may ask."""
        remove_leftovers(self._path(cell))
        remove_leftovers(self.checkpoint(cell))
        if self._path(cell).exists():
            self.checkpoint(cell).unlink(missing_ok=True)

    @contextmanager
    def _lock(self, path: Path, *, wait: bool) -> Iterator[bool]:
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
        rows = (_parse_row(line, f"{self.merged}, line {number}") for number, line in lines)
        return {row["id"]: row for row in rows}

    def _path(self, cell: Cell) -> Path:
        return self.rows_folder / f"{cell.id}.json"


def _read_row(path: Path) -> Row:
    return _parse_row(path.read_bytes(), str(path))


def _parse_row(text: bytes, where: str) -> Row:
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


_LOOK_AGAIN = 1.0  # seconds between looks at cells that others run


def run(cells: Sequence[Cell], store: Store, data: str, watcher: Watcher) -> dict[str, Exception]:
    """Run all cells that have no row, and wait for those that other processes run.

    Gives the cells that failed, and why: they do not keep the others from going on. Data that is not there,
    or damaged, ends all at once.
    """
    left, failed = list(cells), dict[str, Exception]()
    while left:
        n_before = len(left)
        left = [cell for cell in left if not _settle_cell(cell, store, data, watcher, failed)]
        if left and len(left) == n_before:
            watcher.waits(len(left))
            time.sleep(_LOOK_AGAIN)
    return failed


def _settle_cell(cell: Cell, store: Store, data: str, watcher: Watcher, failed: dict[str, Exception]) -> bool:
    """Run the cell if it is free; whether there is nothing left to do about it."""
    if (row := store.row(cell)) is not None:
        watcher.has(cell, row)
        return True
    with store.take(cell) as mine:
        if not mine:
            return False  # another process has it, or just had it; the next look finds its row
        watcher.starts(cell)
        rows = load_data(cell, data)
        try:
            row = measure(cell, rows, Path(store.checkpoint(cell)), watcher.ticks)
        except Exception as error:
            failed[f"{cell.id} ({cell.title})"] = error
            watcher.fails(cell, error)
            return True
        store.add(cell, row)
        watcher.has(cell, row, new=True)
        return True
