"""MNIST and Fashion-MNIST from their official IDX files, plain or gzip."""

from pathlib import Path

from llpgan.data.datasets.dataset_files import StrPath, first_file
from llpgan.data.datasets.idx import read_idx
from llpgan.data.datasets.split import Images, Labels, Split, labelled_images

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
    """Handwritten digits, 60,000 to train on and 10,000 to test on: uint8 ``(N, 1, 28, 28)``.

    The files ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte`` and their ``t10k-`` fellows, with or
    without ``.gz``, lie in ``folder`` or in ``folder/mnist``.
    """
    return _load("MNIST", Path(folder), "mnist", _DIGITS)


def load_fashion_mnist(folder: StrPath) -> Split:
    """Clothes in ten classes, in MNIST's shape and files, in ``folder`` or in ``folder/fashion-mnist``."""
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
