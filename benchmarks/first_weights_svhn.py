"""The same as :mod:`benchmarks.first_weights`, on SVHN."""

from benchmarks.first_weights import compared_on
from benchmarks.rows import Row
from reproduction.datasets import load_svhn


def run() -> list[Row]:
    return compared_on("12,000 images of SVHN at half size", load_svhn, "svhn", "first_weights_svhn")
