"""The data sets of the experiments, and the part of one that a cell asks for."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.datasets import IMAGE_DATASETS, load_digits
from llpgan.datasets.files import StrPath
from llpgan.datasets.sources import SOURCES
from llpgan.datasets.split import Split
from llpgan.experiments.cells import Cell

Array = NDArray[Any]
_SUBSET_SEED = 0  # of limits on rows: every method and every draw of bags has the same rows


def _digits(folder: StrPath) -> Split:
    return load_digits()


def _digit_images(folder: StrPath) -> Split:
    digits = load_digits()
    images, test_images = (rows.reshape(-1, 1, 8, 8) for rows in (digits.instances, digits.test_instances))
    return digits._replace(instances=images, test_instances=test_images)


DATASETS: dict[str, Callable[[StrPath], Split]] = {
    "digits": _digits,
    "digit-images": _digit_images,
    **IMAGE_DATASETS,
}
TITLES = {
    "mnist": "MNIST",
    "fashion-mnist": "Fashion-MNIST",
    "svhn": "SVHN",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "adult": "Adult",
}


def data_of(cell: Cell, folder: str) -> Split:
    """The rows that a cell trains and tests on."""
    split = _loaded(cell.dataset, folder)
    train, test = (
        _chosen(labels, cell.classes, limit)
        for labels, limit in ((split.labels, cell.train_rows), (split.test_labels, cell.test_rows))
    )
    return Split(
        split.instances[train],
        split.labels[train],
        split.test_instances[test],
        split.test_labels[test],
        split.class_names,
    )


@lru_cache(maxsize=1)  # cells of one data set stand together, and two would fill the memory
def _loaded(dataset: str, folder: str) -> Split:
    try:
        return DATASETS[dataset](folder)
    except FileNotFoundError as error:
        get = f"llpgan data get {dataset} --to {folder}" if dataset in SOURCES else "see docs/data.md"
        raise FileNotFoundError(f"{error}. To fetch it: {get}; where it is elsewhere, say --data DIR") from error


def _chosen(labels: Array, classes: tuple[int, int] | None, limit: int | None) -> slice | Array:
    if classes is None and (limit is None or limit >= len(labels)):
        return slice(None)  # no copy
    rows = np.arange(len(labels)) if classes is None else np.flatnonzero(np.isin(labels, classes))
    if limit is None or limit >= len(rows):
        return rows
    return np.sort(np.random.default_rng(_SUBSET_SEED).permutation(rows)[:limit])
