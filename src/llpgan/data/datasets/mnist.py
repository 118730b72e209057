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
