"""The paper's own figures, as data."""

from functools import cache
from pathlib import Path

import yaml

_Table = dict[str, dict[str, dict[int, list[float]]]]  # data set, method, bag size


@cache
def _all() -> dict[str, _Table]:
    return dict(yaml.safe_load(Path(__file__).with_name("paper.yaml").read_text(encoding="utf-8")))


def published(table: str, dataset: str, method: str, bag_size: int) -> list[float]:
    """An entry of one of the paper's tables: of the first two the error, and its deviation where it is told.

    >>> published("table1", "mnist", "LLPGAN", 16)
    [1.1, 0.026]
    >>> published("table1", "digits", "LLPGAN", 16)
    []
    """
    return _all()[table].get(dataset, {}).get(method, {}).get(bag_size, [])
