"""Small made-up data sets, written in the official layouts."""

import gzip
import io
import pickle
import struct
import tarfile

import numpy as np
from scipy.io import savemat

MNIST_STEMS = {"train": 6, "t10k": 4}
CIFAR10_BATCHES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
CIFAR10_NAMES = [f"thing_{k}" for k in range(10)]
FINE_NAMES, COARSE_NAMES = [f"fine_{k}" for k in range(100)], [f"coarse_{k}" for k in range(20)]


def idx(array):
    array = np.asarray(array, dtype=np.uint8)
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_mnist(folder, rng, zipped=True):
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for part, n in MNIST_STEMS.items():
        written[part] = (
            rng.integers(256, size=(n, 28, 28), dtype=np.uint8),
            rng.integers(10, size=n, dtype=np.uint8),
        )
        for kind, array in zip(("images-idx3", "labels-idx1"), written[part], strict=True):
            content = gzip.compress(idx(array)) if zipped else idx(array)
            (folder / f"{part}-{kind}-ubyte{'.gz' if zipped else ''}").write_bytes(content)
    return written


def python2_pickle(batch):
    """A pickle as Python 2 writes it: protocol 2, raw byte strings, ``numpy.core.multiarray``."""
    return b"\x80\x02}(" + b"".join(_string(key) + _value(value) for key, value in batch.items()) + b"u."


def python3_pickle(batch):
    """The same by Python 3, in protocol 2, where byte strings are calls of ``_codecs.encode``."""
    return pickle.dumps(batch, protocol=2)


def _string(text):
    return b"T" + struct.pack("<i", len(text)) + text


def _value(value):
    if isinstance(value, bytes):
        return _string(value)
    if isinstance(value, list):
        return b"](" + b"".join(_value(item) for item in value) + b"e"
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    return _array(value)


def _array(array):
    dtype = (
        b"cnumpy\ndtype\n("
        + _string(b"u1")
        + b"K\x00K\x01tR(K\x03"
        + _string(b"|")
        + b"NNN"
        + 2 * _value(-1)
        + b"K\x00tb"
    )
    shape = b"(" + b"".join(_value(n) for n in array.shape) + b"t"
    empty = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + _string(b"b") + b"tR"
    return empty + b"(K\x01" + shape + dtype + b"\x89" + _string(array.tobytes()) + b"tb"


def random_batch(rng, n, n_classes):
    return rng.integers(256, size=(n, 3072), dtype=np.uint8), rng.integers(n_classes, size=n).tolist()


def write_cifar10(folder, rng, dump=python2_pickle):
    """Pickled; the images and labels of each batch are given back."""
    folder.mkdir(parents=True, exist_ok=True)
    batches = {name: random_batch(rng, 3, 10) for name in CIFAR10_BATCHES}
    for name, (images, labels) in batches.items():
        (folder / name).write_bytes(dump({b"data": images, b"labels": labels, b"batch_label": b"some"}))
    (folder / "batches.meta").write_bytes(dump({b"label_names": [name.encode() for name in CIFAR10_NAMES]}))
    return batches


def write_cifar10_binary(folder, rng):
    folder.mkdir(parents=True, exist_ok=True)
    batches = {name: random_batch(rng, 3, 10) for name in CIFAR10_BATCHES}
    for name, (images, labels) in batches.items():
        rows = np.column_stack([np.array(labels, np.uint8), images])
        (folder / f"{name}.bin").write_bytes(rows.tobytes())
    (folder / "batches.meta.txt").write_text("\n".join(CIFAR10_NAMES) + "\n\n")
    return batches


def write_cifar100(folder, rng):
    """Pickled and binary beside each other, with the same content; it is given back."""
    pickled, binary = folder / "cifar-100-python", folder / "cifar-100-binary"
    pickled.mkdir(parents=True)
    binary.mkdir()
    written = {}
    for name in ("train", "test"):
        (images, fine), (_, coarse) = random_batch(rng, 5, 100), random_batch(rng, 5, 20)
        written[name] = images, fine, coarse
        batch = {b"data": images, b"fine_labels": fine, b"coarse_labels": coarse}
        (pickled / name).write_bytes(python3_pickle(batch))
        (binary / f"{name}.bin").write_bytes(np.column_stack([coarse, fine, images]).astype(np.uint8).tobytes())
    names = {"fine_label_names": FINE_NAMES, "coarse_label_names": COARSE_NAMES}
    (pickled / "meta").write_bytes(python2_pickle({k.encode(): [n.encode() for n in v] for k, v in names.items()}))
    for key, values in names.items():
        (binary / f"{key}.txt").write_text("\n".join(values) + "\n")
    return written


def pack(folder, archive):
    """A folder into a ``.tar.gz``, as the official ones are made."""
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname=folder.name)
    return archive


def archive_of(path, entries):
    """An archive of (TarInfo, content) pairs, whatever they are."""
    with tarfile.open(path, "w:gz") as tar:
        for info, content in entries:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def write_svhn(folder, rng):
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, n in (("train", 7), ("test", 5)):
        pixels = rng.integers(256, size=(32, 32, 3, n), dtype=np.uint8)
        digits = np.resize(np.arange(10, 0, -1, dtype=np.uint8), (n, 1))
        savemat(folder / f"{name}_32x32.mat", {"X": pixels, "y": digits}, do_compression=True)
        written[name] = pixels, digits
    return written
