"""Grids: the cells of an experiment, listed in a YAML file."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from reproduction.cells import Cell
from reproduction.inputs import BAG_KINDS, DATASETS, METHODS, NOISES, RUNNERS_OWN

FOLDER = Path(__file__).parent / "grids"
_FIELDS = {field.name for field in fields(Cell)} | {"vary"}
_NAMES: dict[str, Mapping[str, Any]] = {
    "dataset": DATASETS,
    "method": METHODS,
    "bag_kind": BAG_KINDS,
    "noise": NOISES,
}
_WHOLE = ("bag_size", "epochs", "train_rows", "test_rows")
_Block = Mapping[str, Any]


def read_grid(path: Path, preset: str) -> list[Cell]:
    """The cells of one preset of a grid, each once, in the file's order."""
    presets = read_presets(path)
    if preset not in presets:
        raise ValueError(f"{path.name} has no preset {preset!r}; there are {', '.join(presets)}")
    found: dict[str, Cell] = {}
    for number, block in enumerate(presets[preset], start=1):
        where = f"{path.name}, preset {preset!r}, block {number}"
        for cell in _cells(where, block):
            found.setdefault(cell.id, cell)
    return list(found.values())


def read_presets(path: Path) -> dict[str, Sequence[_Block]]:
    """The presets of a grid by name, in the file's order."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path.name} is not YAML: {' '.join(str(error).split())}") from error
    presets = content.get("presets") if isinstance(content, dict) else None
    if not isinstance(presets, dict) or not all(isinstance(blocks, list) for blocks in presets.values()):
        raise ValueError(f"{path.name} should have 'presets', each a list of blocks")
    return presets


def _cells(where: str, block: Any) -> Iterator[Cell]:
    if not isinstance(block, dict) or not {"dataset", "method"} <= block.keys():
        raise ValueError(f"{where}: a block needs at least a dataset and a method")
    for name in block.keys() - _FIELDS:
        raise ValueError(f"{where}: there is no {name!r}; a block has {', '.join(sorted(_FIELDS))}")
    shared, snapshots = block.get("settings", {}), block.get("snapshots", ())
    lists = {name: _as_list(name, value) for name, value in block.items() if name not in ("settings", "snapshots")}
    for combination in product(*lists.values()):
        chosen = dict(zip(lists, combination, strict=True))
        settings = {**shared, **chosen.pop("vary", {})}
        chosen.setdefault("seed", chosen.get("draw", 0))
        yield _cell(where, {**chosen, "settings": settings, "snapshots": tuple(snapshots)})


def _cell(where: str, given: dict[str, Any]) -> Cell:
    for name, known in _NAMES.items():
        if given.get(name) is not None and given[name] not in known:
            raise ValueError(f"{where}: no {name} {given[name]!r}; there are {', '.join(known)}")
    for name in _WHOLE:
        value = given.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise ValueError(f"{where}: {name} should be a whole number above 0, not {value!r}")
    takes = inspect.signature(METHODS[given["method"]]()).parameters
    given = {name: value for name, value in given.items() if name != "epochs" or "epochs" in takes}
    allowed = set(takes) - RUNNERS_OWN
    for name in given["settings"].keys() - allowed:
        raise ValueError(f"{where}: {given['method']} has no setting {name!r} to choose here")
    if given.get("classes") is not None:
        given["classes"] = tuple(given["classes"])
    return Cell(**{**given, "settings": tuple(sorted(given["settings"].items()))})


def _as_list(name: str, value: Any) -> list[Any]:
    """What is varied: lists, but a single pair of classes is one value."""
    single = not isinstance(value, list) or (name == "classes" and not isinstance(value[0], list))
    return [value] if single else value


Describe = Callable[[Cell], str]
