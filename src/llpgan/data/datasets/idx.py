"""The IDX format of MNIST and its relatives: a magic number, the shape, and the bytes."""

from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

from llpgan.data.datasets.dataset_files import opened
from llpgan.data.datasets.split import Images

_BLOCK = 2**22
_UNSIGNED_BYTES = 8
_KINDS = {2049: "labels", 2051: "images"}


def read_idx(path: Path, n_dimensions: int) -> Images:
    """The array of an IDX file of unsigned bytes, plain or gzip; one dimension is labels, three are images."""
    with opened(path) as file:
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
