"""The data, bags and methods of a cell."""

import inspect
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from llpgan import methods as estimators
from llpgan.bags import Bags
from llpgan.bags.on_disk import robust_scale
from llpgan.data.bagging import (
    BagOfRow,
    clustered_bags,
    dirichlet_bags,
    feature_bags,
    gaussian_noise,
    into_bags,
    laplace_noise,
    random_bags,
    round_proportions,
    swap_labels,
)
from llpgan.data.datasets import Split
from llpgan.methods import estimator_class
from llpgan.methods.base import LLPClassifier
from llpgan.utils.arrays import Array
from reproduction.cells import Cell
from reproduction.datasets import IMAGE_DATASETS, load_adult, load_digits
from reproduction.datasets.files import SOURCES, StrPath

if TYPE_CHECKING:
    from torch import Tensor


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
    encoder = TableEncoder.learn(open_rows(adult.columns).table)
    train, test = (encoder.encode(open_rows(columns)) for columns in (adult.columns, adult.test_columns))
    by = (adult.columns["education"], adult.columns["occupation"])
    return Data(train, adult.labels, test, adult.test_labels, by)


DATASETS: dict[str, Callable[[StrPath], Data]] = {
    "digits": _digits,
    "digit-images": _digit_images,
    "adult": _adult,
    **{name: partial(_images, load) for name, load in IMAGE_DATASETS.items()},
}
DATASET_TITLES = {
    "mnist": "MNIST",
    "fashion-mnist": "Fashion-MNIST",
    "svhn": "SVHN",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "adult": "Adult",
}


def load_data(cell: Cell, folder: str) -> Data:
    """The rows that a cell trains and tests on."""
    data = _load(cell.dataset, folder)
    train, test = (
        _select_rows(labels, cell.classes, limit)
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
def _load(dataset: str, folder: str) -> Data:
    try:
        return DATASETS[dataset](folder)
    except FileNotFoundError as error:
        get = f"python -m reproduction get {dataset} --to {folder}" if dataset in SOURCES else "see docs/data.md"
        raise FileNotFoundError(f"{error}. To fetch it: {get}; where it is elsewhere, say --data DIR") from error


def _select_rows(labels: Array, classes: tuple[int, int] | None, limit: int | None) -> slice | Array:
    if classes is None and (limit is None or limit >= len(labels)):
        return slice(None)  # no copy
    rows = np.arange(len(labels)) if classes is None else np.flatnonzero(np.isin(labels, classes))
    if limit is None or limit >= len(rows):
        return rows
    return np.sort(np.random.default_rng(_SUBSET_SEED).permutation(rows)[:limit])


_DELTA = 1e-3  # of Gaussian noise


def _size(cell: Cell) -> int:
    if cell.bag_size is None:
        raise ValueError(f"{cell.title}: {cell.bag_kind} bags need a bag_size")
    return cell.bag_size


def _random(data: Data, cell: Cell) -> BagOfRow:
    return random_bags(len(data.labels), _size(cell), cell.draw)


def _cluster(data: Data, cell: Cell) -> BagOfRow:
    instances = data.instances
    if instances.ndim == 2:  # columns of a table, each with its unit
        shift, scale = robust_scale(instances)
        instances = (instances - shift) / scale
    return clustered_bags(instances, max(1, len(data.labels) // _size(cell)), cell.draw)


def _dirichlet(data: Data, cell: Cell) -> BagOfRow:
    return dirichlet_bags(data.labels, _size(cell), cell.concentration or 1.0, cell.draw)


def _feature(data: Data, cell: Cell) -> BagOfRow:
    """By the data set's columns, if it has such; else rows of like brightness, so many in a bag."""
    if data.features:
        return feature_bags(*data.features, minimum=cell.bag_size or 1)
    brightness = data.instances.reshape(len(data.instances), -1).mean(axis=1)
    return np.argsort(np.argsort(brightness, kind="stable")) // _size(cell)


BAG_KINDS: dict[str, Callable[[Data, Cell], BagOfRow]] = {
    "random": _random,
    "feature": _feature,
    "clustered": _cluster,
    "dirichlet": _dirichlet,
}
NOISES: dict[str, Callable[[Bags, float, int], Bags]] = {
    "laplace": laplace_noise,
    "gaussian": lambda bags, level, seed: gaussian_noise(bags, level, _DELTA, seed),
    "rounded": lambda bags, level, seed: round_proportions(bags, level),
    "swapped": swap_labels,
}


def make_bags(cell: Cell, data: Data) -> Bags:
    """The bags that a cell trains on; their draw, and that of their noise, is the cell's."""
    bags = into_bags(data.instances, data.labels, BAG_KINDS[cell.bag_kind](data, cell))
    if cell.noise is None:
        return bags
    if cell.noise_level is None:
        raise ValueError(f"{cell.title}: say how much noise (noise_level)")
    return NOISES[cell.noise](bags, cell.noise_level, cell.draw)


RUNNERS_OWN = {"epochs", "random_state", "checkpoint", "verbose", "tensorboard"}  # set by the cell or the runner
_MakeMethod = Callable[..., LLPClassifier]


def _dllp() -> _MakeMethod:
    return estimator_class("DLLP")


def _gan() -> _MakeMethod:
    """LLP-GAN without proportions: a GAN with feature matching, whose classifier tells only real from fake."""
    return partial(estimator_class("LLPGAN"), proportion_loss=no_proportions)


def no_proportions(logits: "Tensor", bag_index: "Tensor", proportions: "Tensor") -> "Tensor":
    """A proportion loss of nothing."""
    return logits.new_zeros(())


def _library_class(name: str) -> Callable[[], _MakeMethod]:
    return lambda: estimator_class(name)


# Each is a function that gives the estimator's class, so that a list of cells loads no torch.
METHODS: dict[str, Callable[[], _MakeMethod]] = {
    **{name: _library_class(name) for name in estimators.METHODS},
    "Supervised": _dllp,  # with bags of one
    "GAN": _gan,
}
METHOD_TITLES = {
    "LLPGAN": "LLP-GAN",
    "AlterSVM": "alter-∝SVM",
    "Supervised": "supervised",
    "GAN": "GAN with feature matching",
}


def make_estimator(cell: Cell, checkpoint: Path | None = None) -> LLPClassifier:
    """The cell's untrained estimator; those with epochs go on from a checkpoint."""
    make = METHODS[cell.method]()
    own = {"epochs": cell.epochs, "random_state": cell.seed, "checkpoint": checkpoint}
    takes = inspect.signature(make).parameters
    chosen = {name: value for name, value in own.items() if name in takes and value is not None}
    return make(**{name: _value(name, value) for name, value in cell.settings}, **chosen)


def _value(name: str, value: Any) -> Any:
    """Networks by name, and tuples where YAML has lists."""
    if name in ("classifier", "generator") and isinstance(value, str):
        from llpgan.deep import networks

        if value not in networks.__all__:
            raise ValueError(f"{name}: llpgan has no network {value!r}")
        return getattr(networks, value)
    return tuple(value) if isinstance(value, list) else value
