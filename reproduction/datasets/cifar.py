"""CIFAR-10 and CIFAR-100 from their official files, without running code from a pickle."""

import io
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from llpgan.data.datasets import Images, Split, labelled_images
from reproduction.datasets.files import StrPath, not_found, read_members


def read_pickle(where: str, content: bytes) -> dict[str, Any]:
    """The dict in a pickle of Python 2 or 3, with keys as text; byte arrays are arrays, byte strings are bytes.

    >>> read_pickle("batch", pickle.dumps({b"labels": [3, 7]}, protocol=2))
    {'labels': [3, 7]}
    >>> read_pickle("batch", pickle.dumps({b"labels": print}, protocol=2))
    Traceback (most recent call last):
    ValueError: batch: not a pickle of byte arrays: it asks for __builtin__.print, which nothing in it may call
    """
    try:
        found = _ArrayUnpickler(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a damaged pickle can raise anything
        raise ValueError(f"{where}: not a pickle of byte arrays: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{where}: holds a {type(found).__name__}, where a dict is expected")
    return {text(key): value.array if isinstance(value, _Array) else value for key, value in found.items()}


class _Array:
    """Stands for an array of numpy, which a pickle makes empty and then fills."""

    array: Images = np.empty(0, np.uint8)

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, state: tuple[int, tuple[int, ...], "_Dtype", bool, bytes]) -> None:
        _, shape, dtype, by_columns, content = state
        if dtype.code not in ("u1", b"u1"):
            raise ValueError(f"an array of type {dtype.code!r}, where bytes ('u1') are expected")
        self.array = np.frombuffer(content, np.uint8).reshape(shape, order="F" if by_columns else "C")


class _Dtype:
    """Stands for numpy's dtype; a byte has no byte order, so only its code counts."""

    code: str | bytes = ""

    def __init__(self, code: str | bytes, *_: object) -> None:
        self.code = code

    def __setstate__(self, state: object) -> None:
        pass


def _encode(text: str, encoding: str) -> bytes:
    """How Python 3 writes byte strings in pickles of protocol 2; no other codec is looked up."""
    if encoding != "latin1":
        raise ValueError(f"a byte string in {encoding!r}, where 'latin1' is expected")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    """How it writes an empty byte string."""
    return b""


_ADMITTED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): _no_bytes,
}


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which nothing in it may call")
        return _ADMITTED[module, name]


def text(value: Any) -> str:
    """Text, also of a byte string, as all text is in a pickle of Python 2."""
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


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
    return _check_class_names(where, [text(name) for name in names], n_classes)


def names_in_lines(where: str, content: bytes, *, n_classes: int) -> tuple[str, ...]:
    """The classes' names from a text, a name a line."""
    return _check_class_names(where, content.decode("latin1").split(), n_classes)


def _entry(where: str, batch: dict[str, Any], key: str) -> Any:
    if key not in batch:
        raise ValueError(f"{where}: no entry {key!r}; there are {sorted(batch)}")
    return batch[key]


def _list(where: str, batch: dict[str, Any], key: str) -> list[Any]:
    values = _entry(where, batch, key)
    if not isinstance(values, list) or not all(isinstance(value, int | float | str | bytes) for value in values):
        raise ValueError(f"{where}: {key!r} is not a list of numbers or names")
    return values


def _check_class_names(where: str, names: list[str], n_classes: int) -> tuple[str, ...]:
    if len(names) != n_classes:
        raise ValueError(f"{where}: {len(names)} names of classes, where {n_classes} are expected")
    return tuple(names)


_FIVE = tuple(f"data_batch_{i}" for i in range(1, 6))
_FIVE_BINARY = tuple(f"{name}.bin" for name in _FIVE)


def load_cifar10(folder: StrPath) -> Split:
    """Load CIFAR-10: 50,000 training and 10,000 test colour images in ten classes.

    Parameters
    ----------
    folder : str or Path
        The folder ``cifar-10-batches-py`` or ``cifar-10-batches-bin``, the archive ``cifar-10-python.tar.gz`` or
        ``cifar-10-binary.tar.gz``, or a folder with one of these.

    Returns
    -------
    Split
        The data, with uint8 images of shape (n_samples, 3, 32, 32).
    """
    pickled = Layout(
        "cifar-10-batches-py", "cifar-10-python.tar.gz", _FIVE, "test_batch", "batches.meta",
        partial(pickled_batch, key="labels"), partial(names_in_pickle, key="label_names"),
    )  # fmt: skip
    binary = Layout(
        "cifar-10-batches-bin", "cifar-10-binary.tar.gz", _FIVE_BINARY, "test_batch.bin", "batches.meta.txt",
        partial(binary_batch, n_labels=1, column=0), names_in_lines,
    )  # fmt: skip
    return _load("CIFAR-10", Path(folder), "cifar10", (pickled, binary), n_classes=10)


def load_cifar100(folder: StrPath, coarse: bool = False) -> Split:
    """Load CIFAR-100: 50,000 training and 10,000 test colour images in a hundred classes.

    Parameters
    ----------
    folder : str or Path
        The folder ``cifar-100-python`` or ``cifar-100-binary``, the archive ``cifar-100-python.tar.gz`` or
        ``cifar-100-binary.tar.gz``, or a folder with one of these.
    coarse : bool, default=False
        Whether to use the twenty coarse classes instead of the hundred fine ones.

    Returns
    -------
    Split
        The data, with uint8 images of shape (n_samples, 3, 32, 32).
    """
    kind = "coarse" if coarse else "fine"
    pickled = Layout(
        "cifar-100-python", "cifar-100-python.tar.gz", ("train",), "test", "meta",
        partial(pickled_batch, key=f"{kind}_labels"), partial(names_in_pickle, key=f"{kind}_label_names"),
    )  # fmt: skip
    binary = Layout(
        "cifar-100-binary", "cifar-100-binary.tar.gz", ("train.bin",), "test.bin", f"{kind}_label_names.txt",
        partial(binary_batch, n_labels=2, column=0 if coarse else 1), names_in_lines,
    )  # fmt: skip
    return _load("CIFAR-100", Path(folder), "cifar100", (pickled, binary), n_classes=20 if coarse else 100)


def _load(what: str, folder: Path, name: str, layouts: tuple[Layout, ...], n_classes: int) -> Split:
    layout, place = _find(what, folder, name, layouts)
    batches: dict[str, Batch] = {}
    class_names: tuple[str, ...] = ()
    for file, content in _contents(layout, place):
        where = f"{place}, {file}"
        if file == layout.names:
            class_names = layout.read_names(where, content, n_classes=n_classes)
        else:
            batches[file] = labelled_images(where, *layout.read_batch(where, content), n_classes)
    images, labels = zip(*(batches[file] for file in layout.train), strict=True)
    test_images, test_labels = batches[layout.test]
    return Split(np.concatenate(images), np.concatenate(labels), test_images.copy(), test_labels, class_names)


def _find(what: str, folder: Path, name: str, layouts: tuple[Layout, ...]) -> tuple[Layout, Path]:
    """The layout that is there and its place, a folder or an archive."""
    homes = [folder, folder / name]
    for layout, home in product(layouts, homes):
        if home.is_file() and home.name == layout.archive:
            return layout, home
        for place in (home, home / layout.folder):
            if (place / layout.train[0]).is_file():
                return layout, place
        if (home / layout.archive).is_file():
            return layout, home / layout.archive
    raise not_found(what, homes, [name for layout in layouts for name in (layout.folder, layout.archive)])


def _contents(layout: Layout, place: Path) -> Iterator[tuple[str, bytes]]:
    if place.is_file():
        yield from read_members(place, layout.folder, layout.files)
        return
    for name in layout.files:
        if not (place / name).is_file():
            raise not_found(f"file {name}", [place], layout.files)
        yield name, (place / name).read_bytes()
