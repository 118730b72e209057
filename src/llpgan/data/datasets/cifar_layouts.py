"""The two official layouts of CIFAR: what their files are called, and what stands in them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from llpgan.data.datasets.safe_unpickling import read_pickle, text
from llpgan.data.datasets.split import Images

Batch = tuple[Images, NDArray[Any]]
_PIXELS = 3 * 32 * 32


class _ReadsNames(Protocol):
    def __call__(self, where: str, content: bytes, *, n_classes: int) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Layout:
    """One official layout: its folder, its archive, the files in them, and how to read their contents."""

    folder: str
    archive: str
    train: tuple[str, ...]
    test: str
    names: str
    read_batch: Callable[[str, bytes], Batch]
    read_names: _ReadsNames

    @property
    def files(self) -> tuple[str, ...]:
        """All files that are read."""
        return (*self.train, self.test, self.names)


def pickled_batch(where: str, content: bytes, *, key: str) -> Batch:
    """Images and labels of a pickled batch: rows of bytes in ``data``, a list of numbers in ``key``."""
    batch = read_pickle(where, content)
    images, labels = _entry(where, batch, "data"), _list(where, batch, key)
    if not isinstance(images, np.ndarray) or images.ndim != 2 or images.shape[1] != _PIXELS:
        raise ValueError(f"{where}: 'data' has shape {np.shape(images)}, where (images, {_PIXELS}) is expected")
    return images.reshape(-1, 3, 32, 32), np.array(labels)


def binary_batch(where: str, content: bytes, *, n_labels: int, column: int) -> Batch:
    """Images and labels of a binary batch: an image is its labels, a byte each, and then its pixels."""
    record = n_labels + _PIXELS
    if len(content) % record:
        raise ValueError(f"{where}: {len(content)} bytes are no whole number of images of {record} bytes")
    rows = np.frombuffer(content, np.uint8).reshape(-1, record)
    return rows[:, n_labels:].reshape(-1, 3, 32, 32), rows[:, column]


def names_in_pickle(where: str, content: bytes, *, key: str, n_classes: int) -> tuple[str, ...]:
    """The classes' names from a pickled list of byte strings."""
    names = _list(where, read_pickle(where, content), key)
    return _counted(where, [text(name) for name in names], n_classes)


def names_in_lines(where: str, content: bytes, *, n_classes: int) -> tuple[str, ...]:
    """The classes' names from a text, a name a line."""
    return _counted(where, content.decode("latin1").split(), n_classes)


def _entry(where: str, batch: dict[str, Any], key: str) -> Any:
    if key not in batch:
        raise ValueError(f"{where}: no entry {key!r}; there are {sorted(batch)}")
    return batch[key]


def _list(where: str, batch: dict[str, Any], key: str) -> list[Any]:
    values = _entry(where, batch, key)
    if not isinstance(values, list) or not all(isinstance(value, int | float | str | bytes) for value in values):
        raise ValueError(f"{where}: {key!r} is not a list of numbers or names")
    return values


def _counted(where: str, names: list[str], n_classes: int) -> tuple[str, ...]:
    if len(names) != n_classes:
        raise ValueError(f"{where}: {len(names)} names of classes, where {n_classes} are expected")
    return tuple(names)
