"""From a cell's rows to its bags: the ways to make them, and the noise on their proportions."""

from collections.abc import Callable

import numpy as np

from llpgan.bags import Bags
from llpgan.bags.column_scales import steady
from llpgan.data.bagging import (
    clustered_bags,
    dirichlet_bags,
    feature_bags,
    gaussian_noise,
    into_bags,
    laplace_noise,
    random_bags,
    rounded,
    swapped,
)
from llpgan.data.bagging.labelled_rows import BagOfRow
from llpgan.data.experiments.cells import Cell
from llpgan.data.experiments.experiment_data import Data

_DELTA = 1e-3  # of Gaussian noise


def _size(cell: Cell) -> int:
    if cell.bag_size is None:
        raise ValueError(f"{cell.title}: {cell.bag_kind} bags need a bag_size")
    return cell.bag_size


def _random(data: Data, cell: Cell) -> BagOfRow:
    return random_bags(len(data.labels), _size(cell), cell.draw)


def _clustered(data: Data, cell: Cell) -> BagOfRow:
    instances = data.instances
    if instances.ndim == 2:  # columns of a table, each with its unit
        shift, scale = steady(instances)
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
    "clustered": _clustered,
    "dirichlet": _dirichlet,
}
NOISES: dict[str, Callable[[Bags, float, int], Bags]] = {
    "laplace": laplace_noise,
    "gaussian": lambda bags, level, seed: gaussian_noise(bags, level, _DELTA, seed),
    "rounded": lambda bags, level, seed: rounded(bags, level),
    "swapped": swapped,
}


def bags_of(cell: Cell, data: Data) -> Bags:
    """The bags that a cell trains on; their draw, and that of their noise, is the cell's."""
    bags = into_bags(data.instances, data.labels, BAG_KINDS[cell.bag_kind](data, cell))
    if cell.noise is None:
        return bags
    if cell.noise_level is None:
        raise ValueError(f"{cell.title}: say how much noise (noise_level)")
    return NOISES[cell.noise](bags, cell.noise_level, cell.draw)
