"""CIFAR-10 and CIFAR-100 from their official files: pickled or binary, unpacked or in the archive."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from llpgan.data.datasets.archives import read_members
from llpgan.data.datasets.cifar_layouts import (
    Batch,
    Layout,
    binary_batch,
    names_in_lines,
    names_in_pickle,
    pickled_batch,
)
from llpgan.data.datasets.dataset_files import StrPath, not_found
from llpgan.data.datasets.split import Split, labelled_images

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
