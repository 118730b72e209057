"""Real data: the election of 2016 and scikit-learn's digits are included; others are read from official files."""

from collections.abc import Callable

from llpgan.data.datasets import Election, Split, load_digits, load_election
from reproduction.datasets.adult import TableSplit, load_adult
from reproduction.datasets.cifar import load_cifar10, load_cifar100
from reproduction.datasets.files import StrPath, download
from reproduction.datasets.mnist import load_fashion_mnist, load_mnist
from reproduction.datasets.svhn import load_svhn

#: The data sets of images by name, with the functions that load them from a folder of official files.
IMAGE_DATASETS: dict[str, Callable[[StrPath], Split]] = {
    "mnist": load_mnist,
    "fashion-mnist": load_fashion_mnist,
    "cifar10": load_cifar10,
    "cifar100": load_cifar100,
    "svhn": load_svhn,
}

__all__ = [
    "IMAGE_DATASETS",
    "Election",
    "Split",
    "TableSplit",
    "download",
    "load_adult",
    "load_cifar10",
    "load_cifar100",
    "load_digits",
    "load_election",
    "load_fashion_mnist",
    "load_mnist",
    "load_svhn",
]
