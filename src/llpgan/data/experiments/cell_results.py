"""Rows as tables and figures read them: each with its cell, in an order, and in groups."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from llpgan.data.experiments import experiment_data, experiment_methods
from llpgan.data.experiments.cell_measuring import Row
from llpgan.data.experiments.cells import Cell

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


def results_of(rows: Iterable[Row]) -> Results:
    """Results in the order of tables: by data set, method, bag size and draw."""
    found = [Result(_cell(row["cell"]), row) for row in rows]
    return sorted(found, key=lambda result: _place(result.cell))


def grouped(results: Results, key: Callable[[Cell], K]) -> dict[K, Results]:
    """Results that agree in a key, by that key, in their order."""
    groups: dict[K, list[Result]] = {}
    for result in results:
        groups.setdefault(key(result.cell), []).append(result)
    return dict(groups)


def values(results: Results, key: Callable[[Cell], K]) -> list[K]:
    """All values of a key, in their order."""
    return list(grouped(results, key))


def errors(results: Results, **wanted: Any) -> list[float]:
    """The errors of results whose cells have these values."""
    return [r.error for r in results if all(getattr(r.cell, name) == value for name, value in wanted.items())]


def curves(results: Results, name: str) -> list[list[float]]:
    """A figure of every epoch, such as "error", for each of the results."""
    return [result.curve(name) for result in results]


def dataset_title(name: str) -> str:
    """As people write it."""
    return experiment_data.TITLES.get(name, name)


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
    return experiment_methods.TITLES.get(name, name)


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
