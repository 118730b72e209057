"""SVHN from its official files."""

from pathlib import Path
from typing import Any

import numpy as np

from llpgan.data.datasets import Images, Labels, Split, labelled_images
from llpgan.utils.arrays import Array
from reproduction.datasets.files import StrPath, first_file


def load_svhn(folder: StrPath) -> Split:
    """Load Street View House Numbers: 73,257 training and 26,032 test images of digits.

    Parameters
    ----------
    folder : str or Path
        The folder with the files ``train_32x32.mat`` and ``test_32x32.mat``. They may also be in its folder
        ``svhn``.

    Returns
    -------
    Split
        The data, with uint8 images of shape (n_samples, 3, 32, 32). The digit 0, which is class 10 in the files,
        is class 0.
    """
    home = first_file("SVHN", [Path(folder), Path(folder, "svhn")], ["train_32x32.mat"]).parent
    test = first_file("SVHN", [home], ["test_32x32.mat"])
    return Split(*_read(home / "train_32x32.mat"), *_read(test), tuple("0123456789"))


def _read(path: Path) -> tuple[Images, Labels]:
    content = _matrices(path)
    pixels, digits = _entry(path, content, "X"), _entry(path, content, "y").ravel()
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[:3] != (32, 32, 3):
        raise ValueError(
            f"{path}: X is {pixels.dtype} {pixels.shape}, where uint8 (32, 32, 3, images) is expected"
        )
    if digits.dtype.kind not in "iu":
        raise ValueError(f"{path}: y is {digits.dtype}, where whole numbers are expected")
    wrong = np.flatnonzero((digits < 1) | (digits > 10))
    if len(wrong):
        raise ValueError(f"{path}: image {wrong[0]} has label {digits[wrong[0]]}, but the labels are 1 to 10")
    images = np.ascontiguousarray(pixels.transpose(3, 2, 0, 1))
    return labelled_images(str(path), images, digits % 10, n_classes=10)


def _matrices(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    try:
        with path.open("rb") as file:
            return loadmat(file, variable_names=["X", "y"])
    except Exception as error:  # a damaged file can raise anything
        raise ValueError(f"{path}: not a MATLAB file of version 5, or a damaged one ({error})") from error


def _entry(path: Path, content: dict[str, Any], name: str) -> Array:
    if name not in content:
        raise ValueError(f"{path}: no matrix {name!r}, where X (the images) and y (the labels) are expected")
    return np.asarray(content[name])
