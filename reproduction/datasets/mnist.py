"""MNIST and Fashion-MNIST from their official files."""

from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

from llpgan.data.datasets import Images, Labels, Split, labelled_images
from reproduction.datasets.files import StrPath, first_file, open_decompressed

_BLOCK = 2**22
_UNSIGNED_BYTES = 8
_KINDS = {2049: "labels", 2051: "images"}


def read_idx(path: Path, n_dimensions: int) -> Images:
    """The array of an IDX file of unsigned bytes, plain or gzip; one dimension is labels, three are images."""
    with open_decompressed(path) as file:
        shape = _shape(path, file.read(4 + 4 * n_dimensions), n_dimensions)
        content = _at_most(prod(shape) + 1, file)
    if len(content) != prod(shape):
        found = f"only {len(content)}" if len(content) < prod(shape) else "more"
        raise ValueError(
            f"{path}: its header announces {prod(shape)} bytes of shape {shape}, but there are {found}"
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


def _at_most(n_bytes: int, file: BinaryIO) -> bytearray:
    """Read block by block: a header may announce more than there is memory."""
    content = bytearray()
    while block := file.read(min(_BLOCK, n_bytes - len(content))):
        content += block
    return content


def _shape(path: Path, header: bytes, n_dimensions: int) -> tuple[int, ...]:
    magic = int.from_bytes(header[:4], "big")
    right = 256 * _UNSIGNED_BYTES + n_dimensions
    if len(header) >= 4 and magic != right:
        kind = f"{_KINDS[magic]}, " if magic in _KINDS else ""
        raise ValueError(f"{path}: {kind}magic number {magic}, where {_KINDS[right]} ({right}) are expected")
    if len(header) < 4 + 4 * n_dimensions:
        raise ValueError(f"{path}: ends after {len(header)} bytes, within the header")
    return tuple(np.frombuffer(header[4:], ">u4").tolist())


_DIGITS = tuple("0123456789")
_CLOTHES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


def load_mnist(folder: StrPath) -> Split:
    """Load MNIST: 60,000 training and 10,000 test images of handwritten digits.

    Parameters
    ----------
    folder : str or Path
        The folder with the files ``train-images-idx3-ubyte`` and ``train-labels-idx1-ubyte`` and the two that
        start with ``t10k-``, with or without ``.gz``. They may also be in its folder ``mnist``.

    Returns
    -------
    Split
        The data, with uint8 images of shape (n_samples, 1, 28, 28).
    """
    return _load("MNIST", Path(folder), "mnist", _DIGITS)


def load_fashion_mnist(folder: StrPath) -> Split:
    """Load Fashion-MNIST: 60,000 training and 10,000 test images of clothes in ten classes.

    Parameters
    ----------
    folder : str or Path
        The folder with files of the same names as those of MNIST. They may also be in its folder
        ``fashion-mnist``.

    Returns
    -------
    Split
        The data, with uint8 images of shape (n_samples, 1, 28, 28).
    """
    return _load("Fashion-MNIST", Path(folder), "fashion-mnist", _CLOTHES)


def _load(what: str, folder: Path, name: str, class_names: tuple[str, ...]) -> Split:
    home = _find(what, [folder / name, folder], "train-images-idx3-ubyte").parent
    return Split(*_read(what, home, "train"), *_read(what, home, "t10k"), class_names)


def _read(what: str, home: Path, part: str) -> tuple[Images, Labels]:
    path = _find(what, [home], f"{part}-images-idx3-ubyte")
    images = read_idx(path, n_dimensions=3)
    if images.shape[1:] != (28, 28):
        raise ValueError(f"{path}: images of {images.shape[1]} x {images.shape[2]}, where 28 x 28 are expected")
    labels = read_idx(_find(what, [home], f"{part}-labels-idx1-ubyte"), n_dimensions=1)
    return labelled_images(str(path), images[:, None], labels, n_classes=10)


def _find(what: str, folders: list[Path], stem: str) -> Path:
    return first_file(what, folders, [stem, f"{stem}.gz"])
