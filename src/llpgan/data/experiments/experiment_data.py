"""The data sets of the experiments, and the part of one that a cell asks for."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from llpgan.data.datasets import IMAGE_DATASETS, load_adult, load_digits
from llpgan.data.datasets.dataset_files import StrPath
from llpgan.data.datasets.official_files import SOURCES
from llpgan.data.datasets.split import Split
from llpgan.data.experiments.cells import Cell
from llpgan.utils.arrays import Array

_SUBSET_SEED = 0  # of limits on rows: every method and every draw of bags has the same rows


class Data(NamedTuple):
    """Labelled rows to train and to test on, and columns that the training rows can be put into bags by."""

    instances: Array
    labels: Array
    test_instances: Array
    test_labels: Array
    features: tuple[Array, ...] = ()


def _images(load: Callable[[StrPath], Split], folder: StrPath) -> Data:
    return Data(*load(folder)[:4])


def _digits(folder: StrPath) -> Data:
    return Data(*load_digits()[:4])


def _digit_images(folder: StrPath) -> Data:
    digits = _digits(folder)
    images, test_images = (rows.reshape(-1, 1, 8, 8) for rows in (digits.instances, digits.test_instances))
    return digits._replace(instances=images, test_instances=test_images)


def _adult(folder: StrPath) -> Data:
    """Its columns encoded as those of any table; bags by education and occupation, as the paper suggests."""
    from llpgan.tables import TableEncoder, open_rows

    adult = load_adult(folder)
    encoder = TableEncoder.learned(open_rows(adult.columns).table)
    train, test = (encoder.encode(open_rows(columns)) for columns in (adult.columns, adult.test_columns))
    by = (adult.columns["education"], adult.columns["occupation"])
    return Data(train, adult.labels, test, adult.test_labels, by)


DATASETS: dict[str, Callable[[StrPath], Data]] = {
    "digits": _digits,
    "digit-images": _digit_images,
    "adult": _adult,
    **{name: partial(_images, load) for name, load in IMAGE_DATASETS.items()},
}
TITLES = {
    "mnist": "MNIST",
    "fashion-mnist": "Fashion-MNIST",
    "svhn": "SVHN",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "adult": "Adult",
}


def data_of(cell: Cell, folder: str) -> Data:
    """The rows that a cell trains and tests on."""
    data = _loaded(cell.dataset, folder)
    train, test = (
        _chosen(labels, cell.classes, limit)
        for labels, limit in ((data.labels, cell.train_rows), (data.test_labels, cell.test_rows))
    )
    return Data(
        data.instances[train],
        data.labels[train],
        data.test_instances[test],
        data.test_labels[test],
        tuple(feature[train] for feature in data.features),
    )


@lru_cache(maxsize=1)  # cells of one data set stand together, and two would fill the memory
def _loaded(dataset: str, folder: str) -> Data:
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
